"""A CASE on bounds against the results of the values under each label."""

from __future__ import annotations

from random import Random

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from tableveil.endpoint.cases import BoundsCase, read_case
from tableveil.endpoint.grammar import AnalystSql
from tableveil.endpoint.meanings import LabelMeaning, Part

LEAST, MOST = 0, 12


def meaning_of(column: exp.Expr) -> LabelMeaning | None:
    part = {"n_from": Part.LOW, "n_to": Part.HIGH}.get(column.name)
    return LabelMeaning(part, "n", ("n",), bounds=True) if part is not None else None


def read(text: str) -> BoundsCase | None:
    tree = sqlglot.parse_one(f"SELECT {text}", dialect=AnalystSql)
    case = tree.find(exp.Case)
    assert isinstance(case, exp.Case)
    return read_case(case, meaning_of, "BIGINT", ("n_from", "n_to"))


def condition(random: Random, depth: int = 2) -> str:
    kind = random.randrange(6) if depth else 0
    if kind == 1:
        return f"NOT ({condition(random, depth - 1)})"
    if kind in (2, 3):
        parts = (condition(random, depth - 1) for _ in range(2))
        return f"({(' AND ', ' OR ')[kind - 2].join(parts)})"
    if kind == 4:
        return f"coalesce({condition(random, 0)}, {random.choice(['TRUE', 'FALSE'])})"
    if kind == 5:
        low, high = sorted(random.randrange(LEAST, MOST) for _ in range(2))
        return f"{random.choice(['n_from', 'n_to'])} BETWEEN {low} AND {high}"
    end, operator = random.choice(["n_from", "n_to"]), random.choice(["<", "<=", ">", ">="])
    return f"{end} {operator} {random.choice([random.randrange(LEAST, MOST), random.randrange(LEAST, MOST) + 0.5])}"


def random_case(random: Random) -> str:
    whens = " ".join(f"WHEN {condition(random)} THEN '{name}'" for name in "abc"[: random.randrange(1, 4)])
    return f"CASE {whens}{random.choice(['', ' ELSE NULL', ' ELSE ' + chr(39) + 'z' + chr(39)])} END"


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    """All labels of whole numbers, and all values under them; an open end has values beyond the range."""
    connection = duckdb.connect()
    points = f"range({LEAST - 3}, {MOST + 4})"
    ends = f"(SELECT unnest(list_concat([NULL], {points})) AS v)"
    connection.execute(
        "CREATE TABLE labels AS SELECT row_number() OVER () AS id, f.v AS n_from, t.v AS n_to "
        f"FROM {ends} AS f, {ends} AS t WHERE coalesce(f.v <= t.v, TRUE)"
    )
    connection.execute(
        f"CREATE TABLE under AS SELECT id, v AS n_from, v AS n_to FROM labels, (SELECT unnest({points}) AS v) "
        "WHERE coalesce(v >= labels.n_from, TRUE) AND coalesce(v <= labels.n_to, TRUE)"
    )
    return connection


def results(connection: duckdb.DuckDBPyConnection, table: str, case: str) -> dict[int, set[str | None]]:
    found: dict[int, set[str | None]] = {}
    for label, result in connection.execute(f"SELECT id, {case} FROM {table}").fetchall():
        found.setdefault(label, set()).add(result)
    return found


def test_labels_have_the_result_of_their_values(connection: duckdb.DuckDBPyConnection) -> None:
    random, exact, known = Random(7), 0, 0
    for _ in range(150):
        text = random_case(random)
        case = read(text)
        assert case is not None, text
        of_values = results(connection, "under", text)
        of_labels = results(connection, "labels", case.exact())
        for label, (given,) in of_labels.items():
            is_known = len(of_values[label]) == 1
            known += is_known
            assert {given} == of_values[label] if is_known else given in (None, "unknown"), (text, case.exact())
        again = read(case.exact())
        assert again is None or again.is_exact, case.exact()
        if case.is_exact:
            exact += 1
            otherwise = "z" if text.endswith("'z' END") else None
            for label, (given,) in results(connection, "labels", text).items():
                assert {given} == of_values[label] or given == otherwise, text
    assert exact > 2
    assert known > 1000


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN n_from >= 5 AND other > 3 THEN 'a' END",
        "CASE n_from WHEN 3 THEN 'a' END",
        "CASE WHEN n_from >= 5 + 1 THEN 'a' END",
        "CASE WHEN n_from > n_to THEN 'a' END",
        "CASE WHEN n_from IS NULL THEN 'a' WHEN n_from > 3 THEN 'b' END",
        f"CASE WHEN {' OR '.join(f'n_from > {i}' for i in range(30))} THEN 'a' END",
    ],
)
def test_others_are_not_read(text: str) -> None:
    assert read(text) is None


def test_results_without_a_text_have_no_word_for_the_unknown() -> None:
    case = read("CASE WHEN n_to < 5 THEN 0 ELSE 1 END")
    assert case is not None
    assert case.exact() == "CASE WHEN n_to < 5 THEN 0 WHEN n_from >= 5 THEN 1 END"
