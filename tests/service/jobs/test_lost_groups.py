"""A release that keeps the whole and loses a group says so, with the group's size before and after."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tableveil.backend import Database, Session
from tableveil.errors import Rank
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    Dominance,
    KAnonymity,
    NullHandling,
    Policy,
    Role,
    Scale,
    SearchOptions,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.release.lost_groups import MOST_LOST, SMALLEST
from tableveil.state.releases import Release
from tests.inserted import insert
from tests.once import once
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
Row = tuple[Any, ...]
Released = Callable[..., Release]

K = 5
COLUMNS = ("sex", "town", "died", "drug")
LOST = re.compile(r"The ([\d,]+) records with (.*) are lost but for ([\d,]+) under a label that tells it, while ")

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        *(AttributePolicy(name, Role.QUASI_IDENTIFIER, SuppressionOnly()) for name in COLUMNS[:3]),
        AttributePolicy("drug", Role.SENSITIVE, acknowledged=True),
    ),
    person_column=None,
    privacy_models=(KAnonymity(K),),
    release=plain_target("given", "released"),
    suppression_limit=Decimal("0.5"),
    search=SearchOptions(levels=tuple((name, 0) for name in COLUMNS[:3])),
)


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def released(database: Database, session: Session, run: Run) -> Released:
    """The release of some rows under a policy."""
    session.execute("CREATE SCHEMA IF NOT EXISTS given")
    count = iter(range(100))

    def release(rows: Sequence[Row], policy: Policy = POLICY, who: Role = Role.IDENTIFYING) -> Release:
        session.execute("CREATE OR REPLACE TABLE people (sex VARCHAR, town INT, died VARCHAR, drug VARCHAR, who INT)")
        insert(session, "people", [(*row, i) if len(row) == len(COLUMNS) else row for i, row in enumerate(rows)])
        session.execute("DROP SCHEMA given CASCADE")
        session.execute("CREATE SCHEMA given")
        target = plain_target("given", f"released_{next(count)}")
        with_who = (*policy.attributes, AttributePolicy("who", who, acknowledged=True))
        return run(database, replace(policy, attributes=with_who, release=target, repeat_reason="another draw"))

    return release


def lost(release: Release) -> list[tuple[int, str, int]]:
    """The groups that the release says it lost: their size, what they are, and what is left."""
    found = []
    for warning in release.warnings:
        if match := LOST.match(warning):
            assert warning.rank is Rank.MUST_BE_DECIDED
            assert (warning.count_of or 0) > 0
            assert warning.field
            found.append((int(match[1].replace(",", "")), match[2], int(match[3].replace(",", ""))))
    return found


def groups(before: Counter[Any], after: Counter[Any]) -> Iterator[tuple[int, int]]:
    """All groups by brute force: each value, and all but each value that is the commonest."""
    for value, number in before.items():
        yield number, after[value]
        yield before.total() - number, after.total() - after[value]


def drawn(seed: int) -> list[Row]:
    random = np.random.default_rng(seed)
    number = int(random.integers(200, 1500))
    towns, rare = int(random.integers(2, 12)), random.choice([0.005, 0.01, 0.02, 0.05])
    rows = []
    for _ in range(number):
        died = str(random.integers(0, 200)) if random.random() < rare else ("alive" if random.random() < 0.97 else None)
        drug = "new" if died not in ("alive", None) and random.random() < 0.9 else random.choice(["a", "b"])
        rows.append((random.choice(["f", "m"]), 1 + int(random.zipf(1.5) % towns), died, drug))
    return rows


@pytest.mark.parametrize("seed", once(range(40), 6))
def test_the_group_that_lost_most_by_suppression(session: Session, released: Released, seed: int) -> None:
    rows = drawn(seed)
    release = released(rows)
    told = {next(name for name in COLUMNS if f"'{name}'" in what): (n, left) for n, what, left in lost(release)}
    place = f"given.{release.target_name}"
    least = max(K, math.ceil(SMALLEST * len(rows)))
    expected = {}
    for position, name in enumerate(COLUMNS):
        before = Counter(row[position] and str(row[position]) for row in rows)
        after = Counter(value for (value,) in session.rows(f'SELECT "{name}"::VARCHAR FROM {place}'))
        gone = [(n, left) for n, left in groups(before, after) if n >= least and 2 * left < n]
        if gone and release.suppressed_records < MOST_LOST * len(rows):
            expected[name] = min(left / n for n, left in gone)
    assert {name: left / n for name, (n, left) in told.items()} == pytest.approx(expected)


DEATHS = [("fm"[i % 2], i % 4, "alive" if i % 50 else f"day {i}", "ab"[i // 2 % 2]) for i in range(2000)]
"""Forty people died, each on a day that nobody else has."""


def test_the_dead_are_gone_at_one_level_for_all_and_kept_by_local_recoding(released: Released) -> None:
    assert lost(released(DEATHS)) == [(40, "another value of 'died' than the commonest", 0)]
    local = replace(POLICY, search=SearchOptions(), methods=(LocalRecoding(),))
    assert lost(released(DEATHS, local)) == []


def test_the_dead_are_gone_beside_an_aggregated_column(released: Released) -> None:
    """Such a job failed whenever it suppressed half as many records as a group needs."""
    sex, town, died, drug = POLICY.attributes
    aggregated = replace(town, hierarchy=None, nulls=NullHandling.ERROR, aggregation=Aggregation())
    levels = SearchOptions(levels=(("sex", 0), ("died", 0)))
    release = released(DEATHS, replace(POLICY, attributes=(sex, aggregated, died, drug), search=levels))
    assert release.suppressed_records == 40
    assert lost(release) == [(40, "another value of 'died' than the commonest", 0)]


def test_no_value_and_a_value_are_groups(released: Released) -> None:
    filled = [(*row[:2], None if row[2] == "alive" else row[2], row[3]) for row in DEATHS]
    assert lost(released(filled)) == [(40, "a value of 'died'", 0)]
    empty = [
        (sex, i if died != "alive" else town, None if died != "alive" else died, drug)
        for i, (sex, town, died, drug) in enumerate(DEATHS)
    ]
    assert (40, "no value of 'died'", 0) in lost(released(empty))


def test_a_label_that_tells_its_commonest_value_alone(released: Released) -> None:
    rows = [
        ("fm"[i % 2], i % 4, "ill" if i % 20 == 0 else "gone" if i % 20 == 1 else "alive", "a") for i in range(2000)
    ]
    joined = InlineLevels((("alive", "here", "*"), ("ill", "here", "*"), ("gone", "gone", "*")))
    died = replace(POLICY.attributes[2], hierarchy=joined)
    at_one = SearchOptions(levels=(("sex", 0), ("town", 0), ("died", 1)))
    policy = replace(POLICY, attributes=(*POLICY.attributes[:2], died, POLICY.attributes[3]), search=at_one)
    assert lost(released(rows, policy)) == [(100, "one value of 'died'", 0)]


def test_one_person_with_many_rows_is_no_group(released: Released) -> None:
    rows = [(*row, 7 if row[2] != "alive" else 100 + i) for i, row in enumerate(DEATHS)]
    policy = replace(POLICY, person_column="who", privacy_models=(KAnonymity(K), Dominance(Decimal("0.2"))))
    assert lost(released(rows, policy)) == []


def test_a_release_that_loses_much_or_nothing_has_no_such_warning(released: Released) -> None:
    assert lost(released([("f", 1, "alive", "a")] * 50)) == []
    assert lost(released([("f", 1, "alive", "a")] * 9 + [("m", i, "dead", "a") for i in range(5)])) == []


@pytest.mark.parametrize("seed", once(range(12), 2))
def test_the_group_that_lost_most_by_aggregates(session: Session, released: Released, seed: int) -> None:
    sex, town, died, drug = POLICY.attributes
    mode = Aggregation(AggregateFunction.MODE, Scale.NOMINAL)
    attributes = (
        replace(sex, hierarchy=None, role=Role.INSENSITIVE, acknowledged=True),
        replace(town, hierarchy=None, nulls=NullHandling.ERROR, aggregation=Aggregation()),
        replace(died, nulls=NullHandling.ERROR, aggregation=mode, weight=0.01),
        drug,
    )
    policy = replace(POLICY, attributes=attributes, methods=(Microaggregation(),), search=SearchOptions())
    rows = [(sex, town, died or "dead", drug) for sex, town, died, drug in drawn(seed)]
    release = released([(*row, place) for place, row in enumerate(rows)], policy, Role.INSENSITIVE)
    place, least = f"given.{release.target_name}", max(K, math.ceil(SMALLEST * len(rows)))
    before = Counter(row[2] for row in rows)
    told = dict(session.rows(f"SELECT who, died FROM {place}"))
    after = Counter(row[2] for i, row in enumerate(rows) if told[i] == row[2])
    commonest = max(before, key=lambda value: before[value])
    by_hand = [(n, after[value]) for value, n in before.items()]
    by_hand.append((len(rows) - before[commonest], after.total() - after[commonest]))
    gone = [left / n for n, left in by_hand if n >= least and 2 * left < n]
    expected = [min(gone)] if gone and after.total() > (1 - MOST_LOST) * len(rows) else []
    found = [warning for warning in release.warnings if " are lost but for " in warning]
    assert all("under an aggregate" in warning and "'died'" in warning for warning in found)
    sizes = [re.findall(r"[\d,]+", warning.replace(",", "")) for warning in found]
    assert [int(left) / int(n) for n, left, *_ in sizes] == pytest.approx(expected)
