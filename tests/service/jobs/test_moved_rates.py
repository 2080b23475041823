"""The rates of values under labels that moved most, against a count of the rows one by one."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.convert import canonical_json, stored_policy
from tableveil.hierarchy import InlineLevels
from tableveil.lookups import Results
from tableveil.pipelines.utility_report import utility_report_work
from tableveil.policy import AttributePolicy, KAnonymity, Policy, Role, TableReference
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.runtime import open_jobs
from tableveil.state.jobs import JobKind, JobState
from tableveil.state.releases import Release
from tableveil.state.utility_reports import StoredUtility
from tableveil.usefulness import MovedRate
from tests.once import once
from tests.service.convert.policy_to_proto import policy_to_proto
from tests.service.jobs.plain import plain_target

Text = str | None

BANDS = InlineLevels(
    tuple(
        (str(score), "Low" if score < 4 else "Medium" if score < 7 else "High", "any" if score < 7 else "High", "*")
        for score in range(10)
    )
)
"""One label stands at two levels, and one is a value's, too."""

GROUPS = InlineLevels((("a", "ab", "*"), ("b", "ab", "*"), ("c'\"", "other", "*"), ("", "other", "*")))

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("score", Role.QUASI_IDENTIFIER, BANDS),
        AttributePolicy("group", Role.QUASI_IDENTIFIER, GROUPS),
        AttributePolicy("again", Role.SENSITIVE),
        AttributePolicy("charge", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("whose", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("name", Role.IDENTIFYING),
    ),
    person_column="name",
    privacy_models=(KAnonymity(12),),
    release=plain_target("main", "published"),
    suppression_limit=Decimal("0.2"),
)

METHODS: list[dict[str, Any]] = [{"methods": (LocalRecoding(),)}, {}]


def people(chance: Random, number: int, rows_each: int) -> pa.Table:
    score = [chance.choice((None, *range(10), 1, 1, 2)) for _ in range(number)]
    group = [chance.choice(("a", "a", "b", "c'\"", "", None)) for _ in range(number)]
    again = [int(chance.random() < 0.1 + 0.08 * (s or 0) * (g == "a")) for s, g in zip(score, group, strict=True)]
    whose = [place // chance.randint(1, rows_each) for place in range(number)]
    return pa.table(
        {
            "score": pa.array(score, pa.int64()),
            "group": group,
            "again": again,
            "charge": [chance.choice((None, "theft", "it's", "")) if s != 4 else "theft" for s in score],
            "whose": whose,
            "name": [f"p{each}" for each in whose],
        }
    )


def labels(levels: InlineLevels, value: Text) -> list[Text]:
    """Per level the label of a value."""
    if value is None:
        return [None, None, *([None] * (len(levels.rows[0]) - 3)), "*"]
    return list(next(row for row in levels.rows if row[0] == value))


def text(value: Any) -> Text:
    return None if value is None else str(value)


def counted(
    before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]], release: Release
) -> dict[tuple[str, Text, str, Text], tuple[int, int, int, int, int]]:
    """Per column, label, column and value: records and those with the value, before and after; the fewest people."""
    before, after, found = list(before), list(after), {}
    for result, levels in zip(release.attributes, (BANDS, GROUPS), strict=True):
        used = [level for level, _ in result.levels] or [result.level]
        told = [{labels(levels, text(row[result.column]))[level] for level in used} for row in before]
        for label in set().union(*told):
            mine = [row for row, of in zip(before, told, strict=True) if label in of]
            left = [row for row in after if text(row[result.column]) == label]
            if len(mine) == len(before) or not left:
                continue
            people = min(len({row["whose"] for row in side}) for side in (mine, left))
            for of in ("again", "charge", "whose"):
                had, has = (Counter(text(row[of]) for row in side) for side in (mine, left))
                for value in had | has:
                    sizes = (len(mine), had[value], len(left), has[value], people)
                    found[result.column, label, of, value] = sizes
    return found


def moved(sizes: tuple[int, ...]) -> float:
    return round(abs(sizes[1] / sizes[0] - sizes[3] / sizes[2]), 12)


@pytest.mark.parametrize("method", once(METHODS), ids=["local recoding", "one transformation"])
@pytest.mark.parametrize("rows_each", [1, 3])
def test_they_are_counted_as_the_rows_are(
    database: Database, session: Session, run: Callable[..., Release], method: Mapping[str, Any], rows_each: int
) -> None:
    chance = Random(f"{rows_each}/{len(method)}")
    with session.relation("drawn", people(chance, 700, rows_each)):
        session.execute("CREATE TABLE people AS FROM drawn")
    policy = replace(POLICY, **method)
    release = run(database, policy, document=canonical_json(policy_to_proto(policy)))
    rates = rates_of(database, release)
    names = ("score", "group", "again", "charge", "whose")
    listed = ", ".join(f'"{name}"' for name in names)
    before, after = (
        [dict(zip(names, row, strict=True)) for row in session.rows(f"SELECT {listed} FROM {table}")]
        for table in ("people", "published")
    )
    by_hand = counted(before, after, release)
    for rate in rates:
        told = (rate.records_before, rate.having_before, rate.records_after, rate.having_after)
        assert by_hand[rate.column, rate.label, rate.of, rate.value][:4] == told
        assert by_hand[rate.column, rate.label, rate.of, rate.value][4] >= 30
    found = [moved(by_hand[rate.column, rate.label, rate.of, rate.value]) for rate in rates]
    if rows_each == 1:
        expected = sorted((moved(sizes) for sizes in by_hand.values() if sizes[4] >= 30), reverse=True)
        assert found == [each for each in expected[:5] if each]
    else:
        assert found == sorted(found, reverse=True)
    assert found


def rates_of(database: Database, release: Release) -> tuple[MovedRate, ...]:
    manager = open_jobs(database)
    try:
        number = manager.submit(utility_report_work(release.number, "{}", stored_policy)).number
        *_, last = manager.watch(number, lambda: False)
    finally:
        manager.close(60.0)
    assert last.state is JobState.SUCCEEDED, last.failure
    assert last.result is not None
    return Results[StoredUtility](database, JobKind.UTILITY_REPORT).get(last.result).report.rates
