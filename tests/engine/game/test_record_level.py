"""Record-level generalization against its definition, record by record, on small random tables."""

import math
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.control import Control, Stopped
from tableveil.game import (
    SUPPRESSED,
    Assignment,
    Choice,
    Combinations,
    Stakes,
    enumerable,
    in_order,
    payouts_against,
    pre_image_sizes,
)
from tableveil.game.record_level import best_transformations, solve_against_inversion
from tableveil.game.record_level.solving import stable_choices
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import BreakEven, Game
from tests.engine.search.problems import hierarchies, lattices

Values = tuple[int, ...]


def amounts(*texts: str) -> st.SearchStrategy[Decimal]:
    return st.sampled_from([Decimal(text) for text in texts])


GAMES = st.builds(
    Game,
    publisher_benefit=amounts("1200", "3", "0.5"),
    publisher_loss=amounts("0", "1", "300", "2000", "12.5"),
    adversary_gain=amounts("0", "4", "10", "300"),
    adversary_cost=amounts("4", "1.5", "100"),
)


CHOICES = st.builds(Choice, st.sampled_from([*BreakEven, None]), st.booleans())


@dataclass(frozen=True)
class Table:
    combinations: Combinations
    lattice: Lattice

    @property
    def values(self) -> list[Values]:
        return list(zip(*(codes.tolist() for codes in self.combinations.codes), strict=True))

    def labels(self, values: Values, at: Transformation) -> Values:
        levels = self.combinations.levels
        return tuple(int(of.groups[level][code]) for of, level, code in zip(levels, at, values, strict=True))

    def loss(self, values: Values, at: Transformation) -> float:
        """The information loss, by its definition."""
        levels = self.combinations.levels
        groups = self.labels(values, at)
        leaves = math.prod(float(of.leaves[level][group]) for of, level, group in zip(levels, at, groups, strict=True))
        whole = math.prod(of.domain_size for of in levels)
        return math.log(leaves) / math.log(whole) if whole > 1 else 0.0


@st.composite
def tables(draw: st.DrawFn, population: bool | None = None, most_attributes: int = 2) -> Table:
    """Some tables have a population, in which other people are, and some of the source's may be missing."""
    chosen = draw(st.lists(hierarchies(), min_size=1, max_size=most_attributes))
    levels = []
    for rows in chosen:
        names = [row[0] for row in rows]
        levels.append(attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, names, names), has_null=False))
    combination = st.tuples(*(st.integers(0, len(rows) - 1) for rows in chosen))
    records = draw(st.dictionaries(combination, st.integers(1, 4), max_size=12))
    people = dict(records)
    if draw(st.booleans()) if population is None else population:
        people = draw(st.dictionaries(combination, st.integers(1, 30), max_size=10))
        for values, count in records.items():
            if draw(st.integers(0, 9)):
                people[values] = people.get(values, 0) + count
    everybody = sorted({*records, *people})
    combinations = Combinations(
        tuple(levels),
        tuple(np.array([values[j] for values in everybody], np.int32) for j in range(len(chosen))),
        np.array([records.get(values, 0) for values in everybody], np.int64),
        np.array([people.get(values, 0) for values in everybody], np.int64),
    )
    return Table(combinations, draw(lattices([of.top for of in levels])))


# --- the definitions, one record at a time ----------------------------------------------------------------------------


def payout(game: Game, loss: float, people: int) -> float:
    success = 1 / max(people, 1)
    attacked = game.adversary_gain > game.adversary_cost * max(people, 1)
    return float(game.publisher_benefit) * (1 - loss) - (success * float(game.publisher_loss) if attacked else 0)


def safe(game: Game, people: int) -> bool:
    return game.adversary_gain <= game.adversary_cost * max(people, 1)


def pays(amount: float, game: Game, break_even: BreakEven | None) -> bool:
    nothing = 1e-12 * float(game.publisher_benefit)
    match break_even:
        case BreakEven.KEEP:
            return amount > -nothing
        case BreakEven.SUPPRESS:
            return amount > nothing
        case None:
            return True


def may_be_released(game: Game, choice: Choice, amount: float, people: int) -> bool:
    return pays(amount, game, choice.break_even) and (safe(game, people) or not choice.no_attack)


def best_of(table: Table, game: Game, choice: Choice, values: Values) -> tuple[Transformation, int, float] | None:
    """The best transformation for a record, the people who share its labels there, and its payout."""
    people = dict(zip(table.values, table.combinations.people.tolist(), strict=True))
    found = []
    for at in table.lattice:
        labels = table.labels(values, at)
        crowd = sum(count for other, count in people.items() if table.labels(other, at) == labels)
        pay = payout(game, table.loss(values, at), crowd)
        if may_be_released(game, choice, pay, crowd):
            found.append((-round(pay / float(game.publisher_benefit), 12), sum(at), at, crowd, pay))
    if not found:
        return None
    _, _, at, crowd, pay = min(found)
    return at, crowd, pay


def released(assignment: Assignment) -> list[Transformation | None]:
    return [None if number == SUPPRESSED else assignment.transformations[number] for number in assignment.chosen]


def total(table: Table, assignment: Assignment) -> float:
    return float(table.combinations.records @ assignment.payouts)


def pre_image(table: Table, assignment: Assignment, of: int) -> int:
    at = released(assignment)
    own = at[of]
    if own is None:
        return 0
    values = table.values
    labels = table.labels(values[of], own)
    people = table.combinations.people.tolist()
    return sum(people[i] for i, to in enumerate(at) if to == own and table.labels(values[i], own) == labels)


def full_domain(table: Table, game: Game, choice: Choice) -> float:
    """The payout of the best release with one transformation for all."""
    best = 0.0 if choice.break_even is not None else -math.inf
    for at in table.lattice:
        only = replace(table, lattice=Lattice(at, at, table.lattice.axes))
        each = [best_of(only, game, choice, values) for values in table.values]
        paid = [count * found[2] for count, found in zip(table.combinations.records, each, strict=True) if found]
        best = max(best, sum(paid))
    return best


# --- the optimum of each record ---------------------------------------------------------------------------------------


@given(tables(most_attributes=3), GAMES, CHOICES, st.booleans())
def test_each_combination_gets_its_own_optimum(table: Table, game: Game, choice: Choice, everyone: bool) -> None:
    [found] = best_transformations(table.combinations, table.lattice, [Stakes.of(game)], choice, Control(), everyone)
    assert found.transformations == tuple(sorted(table.lattice, key=lambda at: (sum(at), at)))
    for i, values in enumerate(table.values):
        best = best_of(table, game, choice, values) if everyone or table.combinations.records[i] else None
        assert released(found)[i] == (best and best[0])
        assert found.sizes[i] == (best[1] if best else 0)
        assert found.payouts[i] == pytest.approx(best[2] if best else 0, rel=1e-9, abs=1e-9)


@given(tables(), st.lists(GAMES, min_size=2, max_size=4), CHOICES)
def test_several_games_at_once_are_each_on_its_own(table: Table, games: list[Game], choice: Choice) -> None:
    stakes = [Stakes.of(game) for game in games]
    together = best_transformations(table.combinations, table.lattice, stakes, choice, Control())
    for one, found in zip(stakes, together, strict=True):
        [alone] = best_transformations(table.combinations, table.lattice, [one], choice, Control())
        assert np.array_equal(found.chosen, alone.chosen)
        assert np.array_equal(found.payouts, alone.payouts)


@given(tables(), GAMES, CHOICES, st.data())
def test_what_a_record_gets_does_not_depend_on_which_others_are_released(
    table: Table, game: Game, choice: Choice, data: st.DataObject
) -> None:
    """With the same people, other records in the source change nothing for those that stay."""
    there = table.combinations.records > 0
    stays = there & np.array(data.draw(st.lists(st.booleans(), min_size=len(there), max_size=len(there))), np.bool_)
    fewer = replace(table.combinations, records=np.where(stays, 1, 0))
    [all_of_them] = best_transformations(table.combinations, table.lattice, [Stakes.of(game)], choice, Control())
    [some] = best_transformations(fewer, table.lattice, [Stakes.of(game)], choice, Control())
    assert np.array_equal(some.chosen[stays], all_of_them.chosen[stays])
    assert np.array_equal(some.payouts[stays], all_of_them.payouts[stays])
    assert (some.chosen[~stays] == SUPPRESSED).all()


@given(tables(), GAMES, CHOICES)
def test_one_transformation_for_all_never_pays_more(table: Table, game: Game, choice: Choice) -> None:
    [found] = best_transformations(table.combinations, table.lattice, [Stakes.of(game)], choice, Control())
    assert full_domain(table, game, choice) <= total(table, found) + 1e-9


# --- the adversary who knows the method -------------------------------------------------------------------------------


@given(tables(), GAMES, CHOICES)
def test_pre_images_are_those_who_would_get_the_same(table: Table, game: Game, choice: Choice) -> None:
    [found] = best_transformations(table.combinations, table.lattice, [Stakes.of(game)], choice, Control(), True)
    sizes = pre_image_sizes(table.combinations, found)
    assert sizes.tolist() == [pre_image(table, found, i) for i in range(len(sizes))]
    assert (sizes <= found.sizes).all()
    paid = payouts_against(table.combinations, found, Stakes.of(game), sizes)
    for i, at in enumerate(released(found)):
        expected = 0 if at is None else payout(game, table.loss(table.values[i], at), int(sizes[i]))
        assert paid[i] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(tables(), GAMES, CHOICES)
def test_solving_gives_what_pays_against_inversion(table: Table, game: Game, choice: Choice) -> None:
    """And no less than one transformation for all, or than what is published without those that do not pay."""
    stakes = Stakes.of(game)
    solved = solve_against_inversion(table.combinations, table.lattice, stakes, choice, Control())
    assert solved.transformations == in_order(table.lattice)
    for i, at in enumerate(released(solved)):
        size = pre_image(table, solved, i)
        assert solved.sizes[i] == size
        paid = 0.0 if at is None else payout(game, table.loss(table.values[i], at), size)
        assert solved.payouts[i] == pytest.approx(paid, rel=1e-9, abs=1e-9)
        assert at is None or may_be_released(game, choice, paid, size)
    [published] = best_transformations(table.combinations, table.lattice, [stakes], choice, Control(), True)
    sizes = pre_image_sizes(table.combinations, published)
    paid_by = payouts_against(table.combinations, published, stakes, sizes)
    kept = [
        at is not None and may_be_released(game, choice, pay, size)
        for at, pay, size in zip(released(published), paid_by.tolist(), sizes.tolist(), strict=True)
    ]
    reached = total(table, solved)
    assert reached >= float((table.combinations.records * paid_by)[kept].sum()) - 1e-9
    assert reached >= full_domain(table, game, choice) - 1e-9
    assert reached <= total(table, published) + 1e-9


@given(tables(population=True), GAMES, CHOICES)
def test_who_is_in_the_source_does_not_tell_one_person_from_another(table: Table, game: Game, choice: Choice) -> None:
    """The records only pick one of a few assignments: with a single transformation, all records get it."""
    at = table.lattice.top
    single = Lattice(at, at, table.lattice.axes)
    stakes = Stakes.of(game)
    others = replace(table.combinations, records=np.ones_like(table.combinations.records))
    first = solve_against_inversion(table.combinations, single, stakes, choice, Control())
    second = solve_against_inversion(others, single, stakes, choice, Control())
    assert np.array_equal(first.chosen, second.chosen)


@given(tables(), GAMES, CHOICES)
def test_no_people_could_agree_on_labels_that_pay_more_for_each(table: Table, game: Game, choice: Choice) -> None:
    """Joining the people who have the labels, who would then have more company, does not help either."""
    stakes = Stakes.of(game)
    [published] = best_transformations(table.combinations, table.lattice, [stakes], choice, Control(), True)
    chosen = stable_choices(table.combinations, table.lattice, published, stakes, choice, Control())
    stable = replace(published, chosen=chosen)
    paid = payouts_against(table.combinations, stable, stakes, pre_image_sizes(table.combinations, stable))
    paid[chosen == SUPPRESSED] = -math.inf
    people = table.combinations.people
    slack = 1e-9 * float(game.publisher_benefit)
    for at in table.lattice:
        labels = np.array([hash(table.labels(values, at)) for values in table.values], np.int64)
        there = np.array([own == at for own in released(stable)], np.bool_)
        for i, values in enumerate(table.values):
            joining = (labels == labels[i]) & ~there & (paid <= paid[i])
            crowd = int(people[joining].sum() + people[(labels == labels[i]) & there].sum())
            offered = payout(game, table.loss(values, at), crowd)
            if not there[i] and may_be_released(game, choice, offered, crowd):
                assert offered <= paid[i] + slack


def test_those_whose_cover_chose_otherwise_are_attacked_unless_it_is_solved_for() -> None:
    """99 of 100 people with one label are safe at finer ones: the hundredth is alone in the pre-image."""
    rows = (("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"))
    names = [row[0] for row in rows]
    levels = attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, names, names), has_null=False)
    counts = np.array([99, 1, 50, 50], np.int64)
    combinations = Combinations((levels,), (np.arange(4, dtype=np.int32),), counts, counts)
    stakes = Stakes.of(Game(Decimal(100), Decimal(1000), Decimal(100), Decimal(10)))
    [published] = best_transformations(combinations, Lattice((0,), (2,)), [stakes], Choice(), Control(), True)
    assert published.chosen.tolist() == [0, 1, 0, 0]
    assert published.payouts.tolist() == [100, 50, 100, 100]
    sizes = pre_image_sizes(combinations, published)
    assert sizes.tolist() == [99, 1, 50, 50]
    assert payouts_against(combinations, published, stakes, sizes).tolist() == [100, -950, 100, 100]
    solved = solve_against_inversion(combinations, Lattice((0,), (2,)), stakes, Choice(), Control())
    assert solved.chosen.tolist() == [0, SUPPRESSED, 0, 0]
    assert solved.payouts.tolist() == [100, 0, 100, 100]


# --- edges ------------------------------------------------------------------------------------------------------------


def nobody(table: Table) -> Combinations:
    empty = tuple(codes[:0] for codes in table.combinations.codes)
    none = np.zeros(0, np.int64)
    return replace(table.combinations, codes=empty, records=none, people=none)


@given(tables(), GAMES, CHOICES)
def test_no_combinations_at_all(table: Table, game: Game, choice: Choice) -> None:
    stakes = Stakes.of(game)
    [found] = best_transformations(nobody(table), table.lattice, [stakes], choice, Control())
    assert len(found.chosen) == len(pre_image_sizes(nobody(table), found)) == 0
    assert len(solve_against_inversion(nobody(table), table.lattice, stakes, choice, Control()).chosen) == 0


def test_nothing_is_left_if_every_value_is_a_withheld_null() -> None:
    levels = attribute_levels(
        label_values(InlineLevels((("a", "*"),)), ValueKind.TEXT, [], []), True, null_counts=False
    )
    none = np.zeros(0, np.int64)
    combinations = Combinations((levels,), (np.zeros(0, np.int32),), none, none)
    lattice = Lattice((0,), (levels.top,))
    stakes = Stakes.of(Game(Decimal(1), Decimal(1), Decimal(1), Decimal(1)))
    [found] = best_transformations(combinations, lattice, [stakes], Choice(), Control(), everyone=True)
    assert len(found.chosen) == 0
    assert len(solve_against_inversion(combinations, lattice, stakes, Choice(), Control()).chosen) == 0


@given(tables())
def test_who_has_nothing_to_lose_is_released_as_is(table: Table) -> None:
    stakes = Stakes.of(Game(Decimal(7), Decimal(0), Decimal(100), Decimal(1)))
    lattice = Lattice((0,) * len(table.lattice.top), table.lattice.top)
    [found] = best_transformations(table.combinations, lattice, [stakes], Choice(), Control(), everyone=True)
    assert (found.chosen == 0).all()
    assert (found.payouts == 7).all()


@given(tables(), GAMES)
def test_a_cancelled_job_stops(table: Table, game: Game) -> None:
    control = Control()
    control.cancel()
    with pytest.raises(Stopped):
        best_transformations(table.combinations, table.lattice, [Stakes.of(game)], Choice(), control)
    with pytest.raises(Stopped):
        solve_against_inversion(table.combinations, table.lattice, Stakes.of(game), Choice(), control)


@given(tables(), GAMES)
def test_progress_counts_every_transformation(table: Table, game: Game) -> None:
    reports: list[tuple[int, int]] = []
    best_transformations(
        table.combinations,
        table.lattice,
        [Stakes.of(game)],
        Choice(),
        Control(),
        on_progress=lambda counted, transformations: reports.append((counted, transformations)),
    )
    assert reports == [(i + 1, table.lattice.size) for i in range(table.lattice.size)]


def test_lattices_that_are_too_large_can_be_told() -> None:
    assert enumerable(2_000_000, Lattice((0,) * 4, (9,) * 4))
    assert not enumerable(2_000_000, Lattice((0,) * 5, (9,) * 5))
    assert not enumerable(1, Lattice((0,) * 40, (9,) * 40))
    assert enumerable(0, Lattice((0,), (3,)))
