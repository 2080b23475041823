"""Numbers of distinct values in words; losses that count values which do not occur are explained below them."""

import io

import pytest
from rich.console import Console

from tableveil.cli.account import account
from tableveil.v1 import policy_pb2, release_service_pb2
from tableveil.wording.distinct import before_and_after, declared_domains, is_erased
from tests.service.client import samples


def release(hierarchy: policy_pb2.Hierarchy, aggregation: str = "") -> release_service_pb2.Release:
    """One column with that hierarchy, of which 60 values occur."""
    found = release_service_pb2.Release()
    found.policy.attributes.add(column="x", hierarchy=hierarchy)
    found.attributes.add(column="x", distinct_before=60, level=1, top_level=2, aggregation=aggregation)
    return found


def redaction(length: int, alphabet_size: int = 0, alphabet: str = "") -> policy_pb2.Hierarchy:
    rule = policy_pb2.Redaction(length=length, alphabet_size=alphabet_size, alphabet=alphabet)
    return policy_pb2.Hierarchy(redaction=rule)


def intervals(minimum: str, maximum: str) -> policy_pb2.Hierarchy:
    return policy_pb2.Hierarchy(intervals=policy_pb2.Intervals(minimum=minimum, maximum=maximum))


def dates(minimum: str, maximum: str) -> policy_pb2.Hierarchy:
    return policy_pb2.Hierarchy(dates=policy_pb2.Dates(minimum=minimum, maximum=maximum))


@pytest.mark.parametrize(
    ("hierarchy", "line"),
    [
        (redaction(length=5, alphabet_size=10), "  x: 100,000 codes of 5 characters, of which 60 occur"),
        (redaction(length=2, alphabet="ABCDEFGHIJ"), "  x: 100 codes of 2 characters, of which 60 occur"),
        (redaction(length=20, alphabet_size=36), "  x: 36^20 codes of 20 characters, of which 60 occur"),
        (intervals("0", "99"), "  x: 100 from 0 to 99, of which 60 occur"),
        (intervals("2024-01-01", "2024-12-31"), "  x: 366 from 2024-01-01 to 2024-12-31, of which 60 occur"),
        (dates("2024-01-01", "2024-12-31"), "  x: 366 from 2024-01-01 to 2024-12-31, of which 60 occur"),
    ],
)
def test_more_is_declared_than_occurs(hierarchy: policy_pb2.Hierarchy, line: str) -> None:
    said, *lines = declared_domains(release(hierarchy))
    assert "whether they occur or not" in said
    assert lines == [line]


@pytest.mark.parametrize(
    "found",
    [
        release(intervals("0", "59")),
        # Width is measured here, and nothing is counted.
        release(intervals("0.5", "99.5")),
        release(policy_pb2.Hierarchy(suppression_only=policy_pb2.SuppressionOnly())),
        release(policy_pb2.Hierarchy(stored=policy_pb2.StoredHierarchy(name="zip"))),
        release(intervals("0", "99"), aggregation="mean"),
        release_service_pb2.Release(),
    ],
)
def test_nothing_to_explain(found: release_service_pb2.Release) -> None:
    assert list(declared_domains(found)) == []


@pytest.mark.parametrize(
    ("before", "after", "words", "erased"),
    [
        (2_345, 1, "2,345 → 1", True),
        (2, 2, "2 → 2", False),
        # Nothing is lost of a column that had one value.
        (1, 1, "1 → 1", False),
    ],
)
def test_before_and_after(before: int, after: int, words: str, erased: bool) -> None:
    result = release_service_pb2.AttributeResult(distinct_before=before, distinct_after=after)
    assert (before_and_after(result), is_erased(result)) == (words, erased)


def test_it_stands_below_the_losses() -> None:
    found = samples.release()
    found.policy.attributes.add(column="zip_code", hierarchy=redaction(length=5, alphabet_size=10))
    console = Console(file=io.StringIO(), width=200)
    console.print(account(found, everything=True))
    assert isinstance(console.file, io.StringIO)
    lines = [line.strip() for line in console.file.getvalue().splitlines()]
    assert "zip_code: 100,000 codes of 5 characters, of which 2,345 occur" in lines
    assert lines.index("Attributes") < lines.index("zip_code: 100,000 codes of 5 characters, of which 2,345 occur")
