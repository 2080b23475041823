"""Numbers, names and times as people read them."""

from decimal import Decimal
from pathlib import Path

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from tableveil import wording
from tableveil.policy import METHODS
from tableveil.v1 import policy_pb2
from tableveil.v1.release_service_pb2 import AttributeResult, LevelRecords
from tableveil.wording import methods
from tableveil.wording.methods import method_words

MODULES = Path(methods.__path__[0]).glob("*.py")


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (0.0, "0 %"),
        (Decimal("0.05"), "5 %"),
        (0.036789, "3.68 %"),
        (0.2, "20 %"),
        (0.00001, "< 0.01 %"),
        (0.99999, "> 99.99 %"),
        (1.0, "100 %"),
        (1.5, "150 %"),
    ],
)
def test_share(part: float | Decimal, shown: str) -> None:
    assert wording.share(part) == shown


@pytest.mark.parametrize(
    ("text", "shown"), [("0", "0"), ("5184", "5,184"), ("1" + 30 * "0", "1.0e+30"), ("?\x1b", "?\\x1b"), ("", "")]
)
def test_large_count(text: str, shown: str) -> None:
    assert wording.large_count(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.21338, "0.2134"), (0.0004123, "0.000412"), (0.0, "0.0000"), (12.5, "12.5000")]
)
def test_score(value: float, shown: str) -> None:
    assert wording.score(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.0123, "0.012 s"), (1.25, "1.2 s"), (200.4, "3 min 20 s")])
def test_seconds(value: float, shown: str) -> None:
    assert wording.seconds(value) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Käse 'x' \"y\"", "Käse 'x' \"y\""),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("two\nlines\t", r"two\nlines\t"),
        ("right\u202eleft", r"right\u202eleft"),
        ("\udce9", r"\udce9"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert wording.printable(text) == shown


def test_long_names_are_cut() -> None:
    assert wording.short("x" * 10_000) == "x" * 60 + "…"
    assert wording.table_name(policy_pb2.TableReference(schema="main", table="t")) == "main.t"
    assert wording.table_name(policy_pb2.TableReference(catalog="hospital")) == "a query"


def test_moment() -> None:
    assert wording.moment(Timestamp(seconds=1_700_000_000, nanos=999)) == "2023-11-14 22:13:20Z"
    assert wording.moment(Timestamp()) == ""


AT_1 = AttributeResult(level=1, loss=0.25)


@pytest.mark.parametrize(
    ("first", "second", "change"),
    [
        (AT_1, AttributeResult(level=1, loss=0.25, distinct_after=9), ""),
        (AT_1, AttributeResult(level=1, loss=0.25, levels=[LevelRecords(level=1, records=9)]), ""),
        (AT_1, AttributeResult(level=2, loss=0.5), "coarser"),
        (AttributeResult(level=2, loss=0.5), AT_1, "finer"),
        (AT_1, AttributeResult(level=2, loss=0.25), "differs"),
        (AT_1, AttributeResult(level=1, loss=0.25, levels=[LevelRecords(level=0), LevelRecords(level=1)]), "differs"),
        (AT_1, AttributeResult(aggregation="mean", loss=0.25), "differs"),
        (AT_1, None, "differs"),
        (None, AT_1, "differs"),
    ],
)
def test_change_of_labels(first: AttributeResult | None, second: AttributeResult | None, change: str) -> None:
    assert wording.change_of_labels(first, second) == change


def test_every_method_has_words() -> None:
    fields = {method.field for method in METHODS if method.field}
    for field in fields:
        policy = policy_pb2.Policy()
        getattr(policy, field).SetInParent()
        assert method_words(policy).name != method_words(policy_pb2.Policy()).name
    assert {path.stem for path in MODULES} == fields | {"__init__", "words", "full_domain"}
