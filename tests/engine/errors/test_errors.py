"""Errors say where, what and what to do; names stay readable and hints name what is close."""

import difflib
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.errors import (
    BusyError,
    CancelledError,
    ConflictError,
    Fault,
    GuardedError,
    InfeasibleError,
    InternalError,
    InvalidError,
    NearestNames,
    NotFoundError,
    TableveilError,
    errors,
    nearest,
    shortened,
)
from tableveil.errors.codes import CODES
from tableveil.errors.wording import MOST_CHOICES, MOST_COMPARED, MOST_HINTS


def test_fault_reads_as_a_sentence() -> None:
    assert str(Fault("release.name", "nothing", "a name")) == "release.name: found nothing; expected a name"
    assert str(Fault("f", "a", "b", "Do c.")) == "f: found a; expected b. Do c."


@pytest.mark.parametrize("kind", [BusyError, ConflictError, InfeasibleError, InvalidError, NotFoundError])
def test_error_of_one_fault_is_of_its_kind_and_worded_by_it(kind: type[TableveilError]) -> None:
    error = kind.of("SOME_CODE", "source.table", "'x'", "a table", "Try y.")
    assert type(error) is kind
    assert error.code == "SOME_CODE"
    assert error.faults == (Fault("source.table", "'x'", "a table", "Try y."),)
    assert str(error) == error.message == str(error.faults[0])


def test_error_keeps_all_faults_and_lists_them() -> None:
    faults = [Fault("a", "b", "c"), Fault("d", "e", "f")]
    error = InvalidError.about("X", "it is wrong", faults)
    assert error.faults == tuple(faults)
    assert error.message == "it is wrong (2 faults)"
    assert str(error).splitlines() == ["it is wrong (2 faults)", "  a: found b; expected c", "  d: found e; expected f"]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (BusyError("QUEUE_FULL", ""), True),
        (BusyError("QUERY_MEMORY", ""), False),
        (ConflictError("TARGET_IN_USE", ""), True),
        (ConflictError("TARGET_EXISTS", ""), False),
        (CancelledError("INTERRUPTED", ""), True),
        (CancelledError("CANCELLED", ""), False),
        (GuardedError("GUARDED", ""), False),
        (NotFoundError("TABLE_NOT_FOUND", ""), False),
        (InternalError("INTERNAL", ""), False),
    ],
)
def test_an_error_says_whether_the_same_request_is_worth_another_try(error: TableveilError, again: bool) -> None:
    assert error.retryable is again


def test_codes_that_are_tried_again_or_not_are_codes_that_exist() -> None:
    assert set(CODES) >= errors.PASSING | errors.LASTING


def test_short_names_are_quoted_whole() -> None:
    assert shortened("patients") == "'patients'"
    assert shortened("x" * 120) == f"'{'x' * 120}'"


def test_long_names_are_cut_and_counted() -> None:
    text = shortened("y" * 10_000)
    assert len(text) < 160
    assert text.startswith("'yyy")
    assert "10,000 characters" in text


@pytest.mark.parametrize(
    ("name", "expected"), [("pateints", "patients"), ("PATIENTS", "patients"), ("Zip_Cod", "zip_code"), ("ag", "age")]
)
def test_nearest_names_the_closest(name: str, expected: str) -> None:
    assert nearest(name, ["patients", "zip_code", "age"]) == f"Did you mean '{expected}'?"


def test_nearest_keeps_quiet_when_nothing_is_close() -> None:
    assert nearest("diagnosis", ["patients", "zip_code"]) == ""
    assert nearest("x", []) == ""


def test_nearest_is_quick_for_names_of_10_000_characters() -> None:
    valid = [f"{'n' * 9_990}{i}" for i in range(50)]
    started = time.thread_time()
    nearest("n" * 10_000, valid)
    assert time.thread_time() - started < 2


def test_many_unknown_names_are_compared_with_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    matching = difflib.get_close_matches

    def counted(name: str, choices: Sequence[str], n: int, cutoff: float) -> list[str]:
        compared.append(len(choices))
        return matching(name, choices, n, cutoff)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    hint = NearestNames(f"a_rather_long_name_of_a_column_{i:04}" for i in range(4000))
    hints = [hint(f"a_rather_long_name_of_a_colunm_{i:04}") for i in range(400)]
    assert hints[7] == "Did you mean 'a_rather_long_name_of_a_column_0007'?"
    assert sum(map(bool, hints)) == len(compared) == MOST_HINTS
    assert max(compared) <= MOST_COMPARED
    assert len(hint._choices) == MOST_CHOICES


@given(st.text("abcd", max_size=8), st.lists(st.text("abcd", max_size=8), min_size=1, max_size=30, unique=True))
def test_the_nearest_name_is_about_as_near_as_any(name: str, valid: list[str]) -> None:
    def ratio(other: str) -> float:
        return difflib.SequenceMatcher(None, other, name).ratio()

    found = [other for other in valid if nearest(name, valid) == f"Did you mean '{other}'?"]
    best = max(map(ratio, valid))
    if name in valid:
        assert found == [name]
    elif found:
        assert ratio(found[0]) >= 0.6
    elif best:
        assert best < 0.6 or len(valid) > MOST_COMPARED
