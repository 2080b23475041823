"""Statements that are written as text, with trees in place of their `$names`."""

import pytest
from sqlglot import exp

from tableveil.backend import Session, alias, column, expression, identifier, number, sql, table
from tableveil.backend.render import render

HOSTILE = 'x"; DROP TABLE t; -- $keys'


def test_names_of_users_stay_names(session: Session) -> None:
    session.execute(
        exp.Create(this=table(HOSTILE), kind="TABLE", expression=sql("SELECT 3 AS $name", name=identifier(HOSTILE)))
    )
    query = sql(
        "SELECT $keys, count(*) AS n FROM $rows AS r GROUP BY $keys ORDER BY $keys, n",
        keys=[column(HOSTILE, "r")],
        rows=table(HOSTILE),
    )
    assert session.rows(query) == [(3, 1)]


def test_a_part_keeps_its_place_among_operators(session: Session) -> None:
    both = expression("1 + $1")
    assert session.rows(sql("SELECT $both * 2, -$both, $both", both=both), [2]) == [(6, -3, 3)]


def test_several_parts_or_none_stand_in_lists() -> None:
    keys = [column("a"), alias(number(1), "b")]
    assert render(sql("SELECT $keys, c FROM t", keys=keys)) == 'SELECT "a", 1 AS "b", "c" FROM "t"'
    assert render(sql("SELECT $keys, c FROM t", keys=[])) == 'SELECT "c" FROM "t"'


def test_a_text_is_parsed_once_and_its_tree_is_not_shared() -> None:
    text, condition = "SELECT a FROM $rows WHERE $condition", column("b")
    first = sql(text, rows=table("t"), condition=condition).where("c", copy=False)
    assert "AND" in render(first)
    assert render(sql(text, rows=sql("SELECT 1 AS a").subquery("s"), condition=condition)) == (
        'SELECT "a" FROM (SELECT 1 AS "a") AS s WHERE "b"'
    )


def test_a_part_that_is_missing_is_no_statement() -> None:
    with pytest.raises(KeyError):
        sql("SELECT $a FROM $b", a=column("a"))


def test_an_empty_text_may_end_a_statement_with_parts() -> None:
    """Beside a `$`, sqlglot took the end for a text without an end."""
    assert sql("SELECT $a FROM t WHERE a <> ''", a=column("a")).sql("duckdb") == 'SELECT "a" FROM "t" WHERE "a" <> \'\''
