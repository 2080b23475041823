"""Rows that are sorted while their texts are small numbers are the rows that are sorted as they are, in their order."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from sqlglot import exp

from tableveil.backend import Database, Session
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals
from tableveil.policy import (
    AttributePolicy,
    IfExists,
    KAnonymity,
    NullHandling,
    Policy,
    ReleaseTarget,
    Role,
    TableReference,
)
from tableveil.release import listed_rows, write
from tableveil.release.listed_rows import in_packed_order
from tableveil.state.releases import Release

Run = Callable[..., Release]

TEXTS = ["", " ", "a", "A", "ä", "a\u0308", "it's", 'a "quote"', "😀", "\ufffd", "NULL", "x\ny", "9", "10"]
POLICY = Policy(
    source=TableReference("", "main", "listed_source"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "100", ("10", "50")), nulls=NullHandling.VALUE),
        AttributePolicy("region", Role.QUASI_IDENTIFIER, InlineLevels((("north", "*"), ("south", "*")))),
        AttributePolicy("few", Role.SENSITIVE, acknowledged=True),
        AttributePolicy("many", Role.SENSITIVE, acknowledged=True),
        AttributePolicy("long", Role.SENSITIVE, acknowledged=True),
        AttributePolicy("number", Role.SENSITIVE, acknowledged=True),
        AttributePolicy("json", Role.SENSITIVE, acknowledged=True),
    ),
    person_column=None,
    privacy_models=(KAnonymity(3),),
    release=ReleaseTarget("main", "listed", if_exists=IfExists.REPLACE),
    suppression_limit=Decimal("0.2"),
    repeat_reason="a test",
)


@pytest.fixture
def source(session: Session) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE listed_source AS SELECT "
        "CASE WHEN i % 7 < 2 THEN NULL ELSE i * 7 % 95 END AS age, "
        "CASE WHEN i % 2 = 0 THEN 'north' ELSE 'south' END AS region, "
        "CASE WHEN i % 5 > 0 THEN $1[1 + i % len($1)::INTEGER] END AS few, "
        "'t' || (hash(i) % 1500) AS many, "
        "repeat(chr(97 + (i % 26)::INTEGER), 5000) AS long, "
        "CASE WHEN i % 3 > 0 THEN (i % 11) / 4 END AS number, "
        "json_object('b', i % 3) AS json FROM range(2500) AS t(i)",
        [TEXTS],
    )


@pytest.mark.usefixtures("source")
def test_equals_rows_that_are_sorted_as_they_are(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(database, POLICY)
    listed = session.rows("SELECT * FROM listed")
    monkeypatch.setattr(write, "listable", lambda plan: False)
    run(database, replace(POLICY, release=replace(POLICY.release, name="unlisted")))
    assert listed == session.rows("SELECT * FROM unlisted")
    assert session.rows("DESCRIBE listed") == session.rows("DESCRIBE unlisted")
    assert {row[-5] for row in listed} == {*TEXTS, None}
    assert any(row[0] is None and row[3] is None for row in listed)


@pytest.mark.long
@pytest.mark.usefixtures("source")
def test_lists_few_and_short_texts(database: Database, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[list[int | None]] = []

    def noted(rows: exp.Select, sizes: list[int | None], shown: list[exp.Expr]) -> exp.Select:
        listed.append(sizes)
        return in_packed_order(rows, sizes, shown)

    monkeypatch.setattr(listed_rows, "in_packed_order", noted)
    run(database, POLICY)
    ((*_, few, many, long, number, json),) = listed
    assert (few, json) == (len(TEXTS) + 1, 4)
    assert (many, long, number) == (None, None, None)
