"""Columns released unchanged are counted again, in a part of the classes where these are many."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from tableveil.backend import Database, Session
from tableveil.policy import AttributePolicy, KAnonymity, Policy, Role
from tableveil.privacy.exposure.cells import Codes, counted
from tableveil.privacy.exposure.judged import OwnValues, Readings, Unchanged, judge
from tableveil.privacy.exposure.rows import ClassRows, HeldValues
from tableveil.verification import unchanged
from tableveil.verification.coded import HeldRows, OwnCodes, Records, ValueCodes, tally
from tableveil.verification.derived import least_of_two
from tableveil.verification.left import Rule, least_of_one, rule_of
from tableveil.verification.owners import count_owners
from tableveil.verification.written import Judged
from tests.sql.verification.cases import Case, drop, written_case

SEEDS = range(4)


def asked(case: Case) -> Policy:
    """The policy of a case, whose sensitive column now is an insensitive one."""
    attributes = (*case.policy.attributes[:2], AttributePolicy("s", Role.INSENSITIVE))
    return replace(case.policy, attributes=attributes, privacy_models=(KAnonymity(4),))


@contextmanager
def judged(session: Session, case: Case) -> Iterator[None]:
    """The classes that the verification would judge, with their people."""
    gone = "gone" if case.plan.marker else "FALSE"
    pool = f"UNION ALL SELECT -1, TRUE, count(*), NULL, NULL FROM released WHERE {gone}" if case.pool else ""
    session.stage(
        "judged_classes",
        "SELECT row_number() OVER () AS class, FALSE AS pool, * FROM ("
        f"SELECT count(*) AS size, a AS q0, b AS q1 FROM released WHERE NOT {gone} GROUP BY ALL) {pool}",
    )
    count_owners(session, case.policy, case.written, own_levels=False)
    yield
    session.execute("DROP TABLE IF EXISTS temp.main.owned")
    drop(session, case)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def cases(shared_database: Database) -> Iterator[Iterator[tuple[Session, Case]]]:
    def made(session: Session) -> Iterator[tuple[Session, Case]]:
        for seed in SEEDS:
            case = written_case(session, seed)
            with judged(session, case):
                yield session, case

    with shared_database.session() as session:
        yield made(session)


def test_a_part_of_the_classes_is_looked_at_where_there_are_many_records(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever part it is, copies are found, and nothing of random columns."""
    with database.session() as session:
        case = written_case(session, 3)
        with judged(session, case):
            whole = Judged(session, asked(case), ["a", "b"], case.plan.marker, case.plan.records, case.written)
            for most in (10**6, 7, 1):
                monkeypatch.setattr(unchanged, "MOST_CODED", most)
                assert unchanged.check_unchanged(whole) == []


def test_rows_find_their_classes_by_hashes(cases: Iterator[tuple[Session, Case]]) -> None:
    for session, case in cases:
        whole = Judged(session, asked(case), ["a", "b"], case.plan.marker, case.plan.records, case.written)
        ((_, plan),) = session.rows(f"EXPLAIN {unchanged._held(whole, ['s'], 1)}")
        assert "Hash Join" in plan
        assert "Nested Loop" not in plan
        assert "Blockwise" not in plan
        break


@pytest.mark.parametrize("number", [10, 10**6])
def test_keys_are_counted_however_many_are_possible(number: int) -> None:
    for seed in range(6):
        random = np.random.default_rng(seed)
        keys, times = random.integers(0, number, 200), random.integers(1, 4, 200)
        expected = Counter[int]()
        for key, often in zip(keys.tolist(), times.tolist(), strict=True):
            expected[key] += often
        for some, of_keys in ((times, expected), (None, Counter(keys.tolist()))):
            different, often = tally(keys, some, number)
            assert dict(zip(different.tolist(), often.tolist(), strict=True)) == of_keys
            assert different.tolist() == sorted(of_keys)


@pytest.mark.parametrize("people", [False, True])
def test_it_fails_only_what_the_release_finds_as_well_in_small_tables(people: bool) -> None:
    """Somebody with a value of their own shows as little here as there."""
    found = 0
    for seed in range(1_000):
        random = np.random.default_rng(seed)
        rows = int(random.integers(2, 31))
        # Some own values are frequent, others of one row; a value follows, or is drawn.
        own = np.where(random.random(rows) < random.random(), random.integers(0, 3, rows), 3 + np.arange(rows))
        own = np.unique(own, return_inverse=True)[1].astype(np.int64)
        drawn = np.where(random.random(rows) < random.random(), 3 + np.arange(rows), random.integers(0, 3, rows))
        value = np.where(random.random(rows) < random.random(), own % 5, drawn)
        value = np.unique(value, return_inverse=True)[1].astype(np.int64)
        label = random.integers(0, int(random.integers(1, 4)), int(own.max()) + 1)
        label = np.unique(label, return_inverse=True)[1].astype(np.int64)
        whose = random.integers(0, rows, rows) if people else None
        verified = rule_of(_records(own, value, label, whose), 0, 0) is not None
        assert not verified or _told(own, value, label, whose), seed
        found += verified
    assert found > 20


@pytest.mark.parametrize("people", [False, True])
def test_the_least_number_that_is_left_is_that_of_plain_loops(people: bool) -> None:
    found = Counter[int]()
    for seed in range(200):
        random = np.random.default_rng(seed)
        classes = np.append([0, 1, 2], random.integers(0, 3, 27)) * 10
        own, value, whose = (np.append(np.arange(most), random.integers(0, most, 30 - most)) for most in (4, 5, 12))
        fits = random.random((4, 5)) < 0.5
        fits[own, value] |= random.random(30) < 0.9
        records = replace(_records(own, value, np.zeros(4, np.int64), None), classes=classes // 10)
        hashes = records.values[0].hashes[value]
        held = HeldRows.of(
            np.unique(classes), {"class": classes, "v0": hashes, "w": whose.astype(np.uint64)}, records.values
        )
        rule = Rule(0, 0, np.ones(4, np.bool_), np.flatnonzero(fits), 5)
        left = [
            len(
                {
                    whose[row] if people else row
                    for row in range(30)
                    if classes[row] == number and fits[mine, value[row]]
                }
            )
            for number, mine in {*zip(classes.tolist(), own.tolist(), strict=True)}
            if len({*own[classes == number]}) > 1
        ]
        least = least_of_one(records, held, [rule], 5, held if people else None)
        assert least == min([5, *left]), seed
        found[least] += 1
    assert len(found) > 3


@pytest.mark.parametrize("rows", [120, 200])
@pytest.mark.parametrize("follows", [False, True])
def test_a_column_of_numbers_is_judged_by_differences_in_few_rows_and_more(rows: int, follows: bool) -> None:
    random = np.random.default_rng(rows)
    one, other, drawn = (random.permutation(rows).astype(np.int64) for _ in range(3))
    shown = np.unique(one - other if follows else drawn, return_inverse=True)
    records = _records(one, shown[1], 0 * one, None)
    own = [OwnCodes(each, 0 * one, np.arange(rows), np.arange(rows).astype(float)) for each in (one, other)]
    value = replace(records.values[0], numbers=np.append(shown[0], np.nan))
    held = HeldRows(np.zeros(1, np.int64), 0 * one, 0 * one + 1, [shown[1]], 0 * one)
    least = least_of_two(replace(records, own=own, values=[value]), lambda: held, [0, 1], 2)
    assert least == (1 if follows else 2)


def _records(own: Codes, value: Codes, label: Codes, whose: Codes | None) -> Records:
    rows, hashes = np.arange(len(own)), np.unique(value).astype(np.uint64)
    identifier = OwnCodes(own, label, np.arange(len(label)), np.full(len(label), np.nan))
    return Records(
        0 * rows,
        None,
        [identifier],
        [ValueCodes(value, hashes, np.full(len(hashes) + 1, np.nan))],
        whose,
        rows.astype(np.uint64),
    )


def _told(own: Codes, value: Codes, label: Codes, whose: Codes | None) -> bool:
    """Whether the release judges the column by the quasi-identifier."""
    rows = ClassRows(np.zeros(len(own), np.int64), None, whose)
    cells = counted(own, value, None, len(label), int(value.max()) + 1)
    column = HeldValues(rows, value, int(value.max()) + 1)
    table = Unchanged(
        rows, [OwnValues(own, label, True)], [column], lambda j, i: cells, np.zeros(1, np.bool_), shown=False
    )
    nothing = Readings([], lambda _: None)
    return bool(judge(table, [nothing], lambda i: nothing).judgements)
