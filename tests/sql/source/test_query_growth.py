"""Queries of a few hundred bytes that would take minutes, gigabytes or the stack to be understood are refused."""

import threading
import time

import pytest

from tableveil.backend import Database, Session, trial
from tableveil.control import Control, Stopped
from tableveil.errors import BusyError
from tableveil.source.query import resolve_query
from tableveil.source.query_statement import MOST_BRACKETS, MOST_CHARACTERS, MOST_READS, read_statement
from tests.once import once

SECONDS = 60.0
"""How long a refusal may take on a busy machine; without limits, each would take minutes at least."""


@pytest.fixture(scope="module")
def tables(shared_database: Database) -> Database:
    with shared_database.session() as session:
        session.execute("CREATE TABLE people (id INTEGER, age INTEGER, part STRUCT(a INTEGER))")
    return shared_database


@pytest.fixture
def database(tables: Database) -> Database:
    return tables


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are reached soon."""
    monkeypatch.setattr(trial, "CPU_SECONDS", 1)
    monkeypatch.setattr(trial, "MOST_BYTES", 128 * 2**20)


def steps(number: int, step: str, last: str = "SELECT * FROM c{n}") -> str:
    """Common table expressions, each of which is made of the one before."""
    parts = ", ".join(step.format(n=n, before=n - 1) for n in range(1, number + 1))
    return f"WITH c0 AS (SELECT id FROM people), {parts} {last.format(n=number)}"


def nested(number: int, start: str, middle: str, end: str) -> str:
    return start * number + middle + end * number


GROWING = {
    "tables": (steps(16, "c{n} AS (SELECT x.id FROM c{before} x, c{before} y)"), f"more than {MOST_READS:,} tables"),
    "columns": (steps(40, "c{n} AS (SELECT *, * FROM c{before})"), "to be understood"),
    "aliases": (
        "SELECT id + id AS x0" + "".join(f", x{n} + x{n} AS x{n + 1}" for n in range(40)) + " FROM people",
        "to be understood",
    ),
    "types": (steps(40, "c{n} AS (SELECT {{'a': id, 'b': id}} AS id FROM c{before})"), "to be understood"),
    "constants": ("SELECT id FROM people WHERE len(range(1000000000)) = 3", "to be understood"),
    "joins": (
        "SELECT t0.id FROM people t0" + "".join(f" JOIN people t{n} ON t{n}.id = t0.id" for n in range(1, 500)),
        "nested too deeply",
    ),
    "functions": (f"SELECT {nested(95, 'abs(', 'id', ')')}{' + 1' * 800} AS id FROM people", "nested too deeply"),
    "brackets": (f"SELECT {'(' * (MOST_CHARACTERS // 2)}", "nested too deeply"),
    "parts of a name": (f"SELECT people{'.part' * 3000} AS id FROM people", ""),
}


@pytest.mark.parametrize("kind", once(GROWING, 2))
def test_a_query_that_grows_when_it_is_understood_is_refused(session: Session, small: None, kind: str) -> None:
    text, expected = GROWING[kind]
    assert len(text) <= MOST_CHARACTERS
    began = time.monotonic()
    query, faults = resolve_query(session, text)
    assert query is None
    assert expected in faults[0].found
    assert time.monotonic() - began < SECONDS


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT id FROM people WHERE id IN ({', '.join(map(str, range(3000)))})",
        " UNION ALL ".join(["SELECT id FROM people"] * 100),
        steps(20, "c{n} AS (SELECT id + 1 AS id FROM c{before})"),
        f"SELECT {nested(30, '(', 'id', ' + 1)')} AS id FROM people",
    ],
    ids=["a long list", "many unions", "many steps", "nested"],
)
def test_a_long_query_that_does_not_grow_may_be_a_source(session: Session, text: str) -> None:
    query, faults = resolve_query(session, text)
    assert faults == []
    assert query is not None


def test_tables_are_counted_as_often_as_they_are_read(session: Session) -> None:
    def of(text: str) -> bool:
        return read_statement(session, text)[0] is not None

    doubled = "c{n} AS (SELECT x.id FROM c{before} x JOIN c{before} y USING (id))"
    assert of(steps(8, doubled))
    assert not of(steps(9, doubled))
    # A name that is one's own inside hides another of the same name.
    assert of("WITH a AS (FROM people), b AS (WITH a AS (FROM a) FROM a) SELECT id FROM a, b")
    assert of(f"SELECT {nested(MOST_BRACKETS, '(', 'id', ')')} AS id FROM people")


def test_what_passed_is_not_tried_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT id, 'not tried before' AS note FROM people"
    assert resolve_query(session, text)[1] == []
    monkeypatch.setattr(trial, "_answer", None)
    assert resolve_query(session, text)[1] == []
    with pytest.raises(TypeError):
        resolve_query(session, f"{text} WHERE id > 1")


def test_a_trial_ends_with_its_caller(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CPU_SECONDS", "MOST_SECONDS", "MOST_BYTES"):
        monkeypatch.setattr(trial, name, 2**40)
    session.control = Control()
    text, _ = GROWING["aliases"]
    threading.Timer(0.3, session.control.cancel).start()
    began = time.monotonic()
    with pytest.raises(Stopped):
        resolve_query(session, text)
    assert time.monotonic() - began < SECONDS


def test_one_trial_too_many_is_told_to_come_back(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "SECONDS_FOR_A_PLACE", 0.2)
    trials = trial.Trials()
    for _ in range(trial.AT_ONCE):
        trials._free.acquire()
    with pytest.raises(BusyError, match="Try again"):
        trials.run("SELECT 1 AS one", [], Control())
