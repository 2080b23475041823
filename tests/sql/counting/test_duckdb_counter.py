"""The counter's choices and stored roll-ups, and that its answers do not show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.classes import NumpyCounter
from tableveil.counting import BaseHistogram, DuckDBCounter
from tableveil.counting.cost import Costs, memory_limit
from tableveil.counting.roll_ups import RollUp
from tableveil.lattice import Transformation
from tests.once import once
from tests.sql.tables import base_of, random_table, with_details

KIB = 2**10
GIB = 2**30


class Clock:
    """A clock on which whatever is timed takes as many seconds as the test says."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._now = 0.0

    def __call__(self) -> float:
        self._now += self._seconds()
        return self._now


def always(seconds: float) -> Clock:
    return Clock(lambda: seconds)


def base_in(session: Session) -> BaseHistogram:
    """About 2,000 combinations of four quasi-identifiers with five levels each."""
    return base_of(session, random_table(rows=2000, width=4, values=2000, seed=5))


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def base(session: Session) -> BaseHistogram:
    return base_in(session)


def regions(base: BaseHistogram, seed: int) -> list[Transformation]:
    """Many checks in one region of the lattice, then in another, as searches make them."""
    random = Random(seed)
    tops = [dictionary.levels.top for dictionary in base.dictionaries]
    found: list[Transformation] = []
    for _ in range(8):
        low = [random.randint(1, top) for top in tops]
        found += [tuple(random.randint(lo, top) for lo, top in zip(low, tops, strict=True)) for _ in range(20)]
    return found


def kept_tables(session: Session) -> set[str]:
    return {name for (name,) in session.rows("FROM duckdb_tables() SELECT table_name WHERE table_name ~ 'roll_up_.*'")}


@dataclass(frozen=True)
class Answer:
    """A counter's answers about a transformation, as lists."""

    layout: object
    words: list[list[int]]
    counts: list[int]
    small_at: Transformation
    small: list[list[int]]

    @classmethod
    def of(cls, counter: DuckDBCounter, transformation: Transformation) -> Answer:
        classes = counter.classes(transformation)
        small = counter.records_in(transformation, classes.counts < 5)
        return cls(
            classes.layout,
            [word.tolist() for word in classes.words],
            classes.counts.tolist(),
            small.at,
            [counts.tolist() for counts in small.counts],
        )


@pytest.fixture(scope="module")
def answers(shared_database: Database) -> dict[Transformation, Answer]:
    """The answers of the base alone, in the order in which it is asked."""
    with shared_database.session() as session:
        base = base_in(session)
        counter = DuckDBCounter(session, base, memory=0)
        found = {transformation: Answer.of(counter, transformation) for transformation in regions(base, seed=1)}
    assert counter.combinations.roll_ups.made == 0
    return found


@pytest.mark.parametrize(
    ("memory", "hand_over_rows"),
    [
        pytest.param(40 * KIB, 0, id="few tables", marks=pytest.mark.long),
        pytest.param(GIB, 0, id="any tables", marks=pytest.mark.long),
        pytest.param(400 * KIB, None, id="few arrays"),
        pytest.param(GIB, None, id="any arrays", marks=pytest.mark.long),
    ],
)
def test_answers_do_not_depend_on_budget_speed_or_what_was_asked_before(
    session: Session,
    base: BaseHistogram,
    answers: dict[Transformation, Answer],
    memory: int,
    hand_over_rows: int | None,
) -> None:
    """They equal the answers of the base alone, in order; and no budget is exceeded on the way."""
    random = Random(memory)
    clock = Clock(lambda: random.choice([1e-6, 1e-5, 1e-4]))
    counter = DuckDBCounter(session, base, hand_over_rows, memory=memory, clock=clock)
    for field in fields(Costs):
        # As large tables cost: only rows count.
        getattr(counter.combinations.costs, field.name).fixed = 0.0
    for transformation in regions(base, seed=1):
        assert Answer.of(counter, transformation) == answers[transformation]
        held = [counter.combinations.roll_ups.held(in_arrays) for in_arrays in (True, False)]
        assert max(held) <= memory // 4
    assert counter.combinations.roll_ups.made > 2
    if (memory, hand_over_rows) == (40 * KIB, 0):
        assert len(counter.combinations.roll_ups.kept) < counter.combinations.roll_ups.made
    assert kept_tables(session) == {
        kept.table_name for kept in counter.combinations.roll_ups.kept if kept.table_name is not None
    }


@pytest.mark.parametrize("hand_over_rows", once([None, 0]))
def test_values_and_population_share_the_budget(session: Session, hand_over_rows: int | None) -> None:
    """They are counted from roll-ups of their own, and only once they are asked for."""
    table = random_table(rows=2000, width=4, values=2000, seed=5)
    base = base_of(session, with_details(table, values=[5, 300], seed=5))
    memory = 400 * KIB
    counter = DuckDBCounter(session, base, hand_over_rows, memory=memory, clock=always(1e-5))
    assert counter.others == {}
    for field in fields(Costs):
        getattr(counter.combinations.costs, field.name).fixed = 0.0
    for transformation in regions(base, seed=1)[:50]:
        classes = counter.classes(transformation)
        for attribute in (0, 1):
            assert classes.values(attribute).counts.sum() == base.records
        assert classes.population().sum() <= base.population_records
        for costs in (other.costs for other in counter.others.values()):
            for field in fields(Costs):
                getattr(costs, field.name).fixed = 0.0
        everything = [counter.combinations, *counter.others.values()]
        for in_arrays in (True, False):
            assert sum(one.roll_ups.held(in_arrays) for one in everything) <= memory // 4
    assert set(counter.others) == {"values_0", "values_1", "population"}
    assert sum(one.roll_ups.made for one in counter.others.values()) > 1


def test_slow_statements_hand_the_base_over(session: Session, base: BaseHistogram) -> None:
    counter = DuckDBCounter(session, base, memory=GIB, clock=always(0.5))
    for _ in range(3):
        counter.classes((4, 4, 4, 4))
    assert counter.account.startswith(f"{base.combinations:,} combinations in DuckDB and numpy; ")
    assert not counter.account.endswith("checks: 0 of 3 in numpy")


def test_fast_statements_leave_the_base_in_the_database(session: Session, base: BaseHistogram) -> None:
    counter = DuckDBCounter(session, base, memory=GIB, clock=always(1e-9))
    for _ in range(20):
        counter.classes((0, 0, 0, 0))
    assert counter.account.startswith(f"{base.combinations:,} combinations in DuckDB; ")
    assert counter.account.endswith("checks: 0 of 20 in numpy")


@pytest.mark.long
def test_arrays_that_do_not_fit_are_not_made(session: Session, base: BaseHistogram) -> None:
    counter = DuckDBCounter(session, base, memory=KIB, clock=always(0.5))
    for transformation in regions(base, seed=4):
        counter.classes(transformation)
    assert counter.account.endswith("0 of them in numpy; checks: 0 of 160 in numpy")


def test_a_roll_up_is_made_at_the_bottom_of_the_search(session: Session, base: BaseHistogram) -> None:
    counter = DuckDBCounter(session, base, hand_over_rows=0, bottom=(3, 3, 3, 3), memory=GIB)
    counter.classes((4, 4, 4, 4))
    made = "roll-ups: 1 made, 1 kept, 0 of them in numpy; checks: 0 of 1 in numpy"
    assert counter.account == f"{base.combinations:,} combinations in DuckDB; {made}"
    assert counter.combinations.roll_ups.kept[0].used == 1


def test_the_cheapest_finer_histogram_is_chosen(session: Session, base: BaseHistogram) -> None:
    """By seconds, not by rows."""
    counter = DuckDBCounter(session, base, hand_over_rows=0, bottom=(3, 3, 3, 3), memory=GIB)
    (in_table,) = counter.combinations.roll_ups.kept
    finer = counter.classes((2, 2, 2, 2))
    arrays = NumpyCounter(counter.levels, [finer.groups(j) for j in range(4)], finer.counts, at=(2, 2, 2, 2))
    in_arrays = RollUp((2, 2, 2, 2), len(finer.counts), 0, arrays=arrays)
    assert in_table.rows < in_arrays.rows < base.combinations
    counter.combinations.roll_ups.kept.append(in_arrays)
    counter.combinations.costs.count_in_table.observe(1000, 10.0)
    counter.classes((4, 4, 4, 4))
    assert (in_table.used, in_arrays.used) == (0, 2)
    counter.combinations.costs.count_in_arrays.observe(1000, 10_000.0)
    counter.classes((4, 4, 4, 4))
    assert (in_table.used, in_arrays.used) == (3, 2)
    counter.classes((2, 4, 4, 4))
    counter.classes((0, 4, 4, 4))
    assert (counter.combinations.roll_ups.base.used, in_arrays.used) == (5, 2)


@pytest.mark.parametrize(("setting", "least", "most"), [("100MB", 95e6, 100e6), ("2GiB", 2 * GIB, 2 * GIB)])
def test_the_budget_follows_the_memory_limit(tmp_path: Path, setting: str, least: float, most: float) -> None:
    database = Database(Settings(tmp_path / "limited.duckdb", memory_limit=setting))
    with database.session() as session:
        assert least <= memory_limit(session) <= most
    database.close()
