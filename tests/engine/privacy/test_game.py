"""Profitability and no attack: their releases, their declarations to the search, and the parameters they offer."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import AverageRisk, BreakEven, Game, KAnonymity, KMap, NoAttack, Profitability, Success
from tableveil.privacy import Facts, ReleaseRule, privacy_of
from tableveil.privacy.k_anonymity import KAnonymityRule
from tableveil.privacy.k_map import KMapRule
from tableveil.privacy.no_attack import no_attack_rule
from tableveil.privacy.profitability import profitability_rule
from tableveil.privacy.risks import AverageRiskRule
from tests.engine.privacy.monotonicity import SmallTable, check_declared, small_tables
from tests.engine.privacy.populations import counter_of

PUBLISHED = Game(Decimal(1200), Decimal(300), Decimal(300), Decimal(4))

WHOLE = st.integers(1, 30).map(Decimal)
GAMES = st.builds(
    lambda benefit, loss, cost, times: Game(benefit, loss, cost * times, cost),
    WHOLE,
    st.just(Decimal(0)) | WHOLE,
    WHOLE | st.just(Decimal("0.1")),
    st.sampled_from([Decimal("1.5"), Decimal(2), Decimal(3), Decimal("3.1"), Decimal(8)]),
)
MODELS = st.builds(NoAttack, st.sampled_from(Success)) | st.builds(
    Profitability, st.sampled_from(Success), st.sampled_from(BreakEven)
)
TABLES = small_tables() | small_tables(population=True)


def rule_of(model: NoAttack | Profitability, game: Game) -> Callable[[Facts], ReleaseRule]:
    make = no_attack_rule if isinstance(model, NoAttack) else profitability_rule
    return lambda facts: make(model, replace(facts, game=game))  # type: ignore[arg-type]


def kept_of(
    model: NoAttack | Profitability,
    game: Game,
    counts: Sequence[int],
    population: Sequence[int] | None = None,
    at: int = 0,
) -> list[int]:
    """The sizes of the classes that are released."""
    counter = counter_of(counts, population)
    classes = counter.classes((at,))
    return list(classes.counts[rule_of(model, game)(Facts(counter)).releasable(classes)].tolist())


def nearest_of(
    model: NoAttack | Profitability,
    game: Game,
    counts: Sequence[int],
    suppressible: int,
    population: Sequence[int] | None = None,
) -> str | None:
    counter = counter_of(counts, population)
    return rule_of(model, game)(Facts(counter)).nearest(counter.classes((0,)), suppressible)


# --- what is released -----------------------------------------------------------------------------------------------


def test_nobody_is_attacked_from_the_size_on_at_which_it_does_not_pay() -> None:
    # 300 / 75 is 4, which is not more than the cost.
    assert kept_of(NoAttack(), PUBLISHED, [74, 75, 76]) == [75, 76]
    assert kept_of(NoAttack(), replace(PUBLISHED, adversary_gain=Decimal("300.01")), [75, 76]) == [76]


def test_journalists_look_in_the_population_if_there_is_one() -> None:
    journalist = NoAttack(Success.JOURNALIST)
    assert kept_of(journalist, PUBLISHED, [3, 80], [75, 74 + 80]) == [3, 80]
    assert kept_of(journalist, PUBLISHED, [3, 80], [74, 80]) == [80]
    assert kept_of(journalist, PUBLISHED, [3, 80]) == [80]
    assert kept_of(NoAttack(), PUBLISHED, [3, 80], [75, 80]) == [80]


def test_what_is_lost_by_an_attack_decides_without_information_loss() -> None:
    # 300 / 1 is less than 1,200. A loss of 2,400 by a half is as much as it.
    assert kept_of(Profitability(), PUBLISHED, [1, 2, 80]) == [1, 2, 80]
    dear = replace(PUBLISHED, publisher_loss=Decimal(2400))
    assert kept_of(Profitability(), dear, [1, 2, 3, 80]) == [2, 3, 80]
    assert kept_of(Profitability(break_even=BreakEven.SUPPRESS), dear, [1, 2, 3, 80]) == [3, 80]


def test_what_breaks_even_is_decided_exactly() -> None:
    # In binary, 0.7 / 7 is less than 0.1.
    game = Game(Decimal("0.1"), Decimal("0.7"), Decimal(100), Decimal(1))
    assert kept_of(Profitability(), game, [6, 7, 8]) == [7, 8]
    assert kept_of(Profitability(break_even=BreakEven.SUPPRESS), game, [6, 7, 8]) == [8]


def test_at_the_top_all_that_records_are_worth_is_lost() -> None:
    assert kept_of(Profitability(), PUBLISHED, [40, 40], at=1) == [80]
    assert kept_of(Profitability(break_even=BreakEven.SUPPRESS), PUBLISHED, [40, 40], at=1) == []
    assert kept_of(Profitability(), PUBLISHED, [40, 34], at=1) == []
    assert kept_of(Profitability(), replace(PUBLISHED, publisher_loss=Decimal(0)), [40, 34], at=1) == [74]


@given(GAMES, TABLES, st.sampled_from([Success.PROSECUTOR, Success.JOURNALIST]), st.sampled_from(BreakEven), st.data())
def test_decisions_do_not_depend_on_others(
    game: Game, table: SmallTable, success: Success, break_even: BreakEven, data: st.DataObject
) -> None:
    x = tuple(data.draw(st.integers(0, top)) for top in table.facts.top)
    classes, _ = table.at(x)
    rule = rule_of(Profitability(success, break_even), game)(table.facts)
    some = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(classes.counts), max_size=len(classes.counts))), bool
    )
    assert (rule.releasable(classes.selected(some)) == rule.releasable(classes)[some]).all()


def test_of_a_marketer_decisions_depend_on_others() -> None:
    # By itself half of a class of 2 is found, and 4.5 is lost by each; with 7 others 2 of 9, and there is no attack.
    game = Game(Decimal(4), Decimal(9), Decimal(10), Decimal(4))
    assert kept_of(Profitability(Success.MARKETER), game, [2]) == []
    assert kept_of(Profitability(Success.MARKETER), game, [2, 7]) == [2, 7]
    assert kept_of(Profitability(), game, [2, 7]) == [7]


# --- no attack is what its k says -----------------------------------------------------------------------------------


def thresholds(game: Game) -> int:
    return math.ceil(Fraction(game.adversary_gain) / Fraction(game.adversary_cost))


@given(GAMES, TABLES, st.data())
def test_no_attack_is_k_anonymity_k_map_and_average_risk(game: Game, table: SmallTable, data: st.DataObject) -> None:
    x = tuple(data.draw(st.integers(0, top)) for top in table.facts.top)
    classes, _ = table.at(x)
    k, population = thresholds(game), table.facts.counter.population is not None

    def released(success: Success) -> list[bool]:
        return list(rule_of(NoAttack(success), game)(table.facts).releasable(classes).tolist())

    assert released(Success.PROSECUTOR) == list(KAnonymityRule(KAnonymity(k)).releasable(classes).tolist())
    by_people = KMapRule(KMap(k)) if population else KAnonymityRule(KAnonymity(k))
    assert released(Success.JOURNALIST) == list(by_people.releasable(classes).tolist())
    ratio = game.adversary_cost / game.adversary_gain
    if not population and Fraction(ratio) * Fraction(game.adversary_gain) == Fraction(game.adversary_cost):
        average = AverageRiskRule(AverageRisk(ratio), table.facts)
        assert released(Success.MARKETER) == list(average.releasable(classes).tolist())


def test_no_attack_is_not_its_k_for_marketers() -> None:
    # 2 of 7 records are found, which is less than 1 / 3, though one is unique.
    game = replace(PUBLISHED, adversary_gain=Decimal(12))
    assert kept_of(NoAttack(), game, [1, 6]) == [6]
    assert kept_of(NoAttack(Success.MARKETER), game, [1, 6]) == [1, 6]


def test_marketers_find_in_the_population_what_is_in_it() -> None:
    # 1/2 + 6/6 of 7 records are found, or 1/1 + 6/6.
    game = replace(PUBLISHED, adversary_gain=Decimal(16))
    marketer = NoAttack(Success.MARKETER)
    assert kept_of(marketer, game, [1, 6], [2, 6]) == [1, 6]
    assert kept_of(marketer, game, [1, 6], [1, 6]) == [6]
    # A third of the records, exactly.
    assert kept_of(marketer, replace(game, adversary_gain=Decimal(12)), [1, 1, 1], [3, 3, 3]) == [1, 1, 1]


@given(GAMES, st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=5))
def test_no_choice_of_classes_keeps_more_from_marketers(game: Game, sizes: list[tuple[int, int]]) -> None:
    """No choice that suppresses whole sizes keeps more: within one size, classes are suppressed by their loss."""
    counts, people = [n for n, _ in sizes], [n + more for n, more in sizes]
    kept = kept_of(NoAttack(Success.MARKETER), game, counts, people)
    found = sum(n / p for n, p in zip(counts, people, strict=True))
    if found * float(game.adversary_gain) <= float(game.adversary_cost) * sum(counts):
        assert sum(kept) == sum(counts)
    for number in range(len(sizes), 0, -1):
        for chosen in combinations(range(len(sizes)), number):
            smallest = min(people[i] for i in chosen)
            larger = [i for i in range(len(sizes)) if people[i] >= smallest]
            hit = sum(counts[i] / people[i] for i in chosen)
            records = sum(counts[i] for i in chosen)
            if set(larger) == set(chosen) and hit * float(game.adversary_gain) < float(game.adversary_cost) * records:
                assert sum(kept) >= records


# --- marketers and profit -------------------------------------------------------------------------------------------


@given(GAMES, TABLES, st.sampled_from(BreakEven), st.data())
def test_every_record_that_a_marketer_can_attack_pays(
    game: Game, table: SmallTable, break_even: BreakEven, data: st.DataObject
) -> None:
    x = tuple(data.draw(st.integers(0, top)) for top in table.facts.top)
    classes, _ = table.at(x)
    rule = profitability_rule(Profitability(Success.MARKETER, break_even), replace(table.facts, game=game))
    kept = rule.releasable(classes)
    released = classes.selected(kept)
    people = released.population() if table.facts.counter.population is not None else released.counts
    records = int(released.counts.sum())
    found = float((released.counts / people).sum()) / max(records, 1)
    attacked = found * float(game.adversary_gain) > float(game.adversary_cost) * (1 + 1e-9)
    loss = np.ones(len(released.counts))
    domain = [max(levels.domain_size, 1) for levels in table.facts.counter.levels]
    if np.prod(domain) > 1:
        leaves = [
            np.log(levels.leaves[level][released.groups(j)])
            for j, (levels, level) in enumerate(zip(table.facts.counter.levels, x, strict=True))
        ]
        loss = np.sum(leaves, axis=0) / np.log(np.prod(domain))
    else:
        loss[:] = 0
    payouts = float(game.publisher_benefit) * (1 - loss) - attacked * found * float(game.publisher_loss)
    assert (payouts >= -1e-9).all()
    if break_even is BreakEven.SUPPRESS:
        assert (payouts > -1e-9).all()
        assert (loss < 1 - 1e-12).all()
    # Nothing more is suppressed of what is left, so that the answer is one.
    assert rule.releasable(released).sum() <= kept.sum()


@pytest.mark.parametrize(("loss", "kept"), [(60, [1, 1, 1, 1, 20]), (80, [20]), (100, [20])])
def test_the_set_that_pays_more_is_released(loss: int, kept: list[int]) -> None:
    """Without the unique records there is no attack, and 2,000 is paid; with them 2,400, less loss by 5 of 24 found."""
    game = Game(Decimal(100), Decimal(loss), Decimal(20), Decimal(1))
    assert kept_of(Profitability(Success.MARKETER), game, [1, 1, 1, 1, 20]) == kept


# --- what is declared to the search ---------------------------------------------------------------------------------


@given(MODELS, GAMES, TABLES)
def test_what_is_declared_is_true(model: NoAttack | Profitability, game: Game, table: SmallTable) -> None:
    check_declared(table, rule_of(model, game))


@given(GAMES, TABLES, st.data())
def test_what_marketers_take_is_lost_below(game: Game, table: SmallTable, data: st.DataObject) -> None:
    rule = rule_of(NoAttack(Success.MARKETER), game)(table.facts)
    y = tuple(data.draw(st.integers(0, top)) for top in table.facts.top)
    x = tuple(data.draw(st.integers(0, level)) for level in y)
    coarse, fine = table.at(y)[0], table.at(x)[0]
    suppressed = int(fine.counts[~rule.releasable(fine)].sum())
    assert rule.lost_together(coarse) <= suppressed


def test_profit_is_not_monotone_even_if_nothing_is_suppressed() -> None:
    # Two unique records pay 1,200 - 300 each; joined, all that they are worth is lost.
    rule = rule_of(Profitability(), PUBLISHED)
    counter = counter_of([1, 1])
    assert rule(Facts(counter)).releasable(counter.classes((0,))).all()
    assert not rule(Facts(counter)).releasable(counter.classes((1,))).any()


def test_sizes_that_no_table_has_are_no_trouble() -> None:
    game = Game(Decimal("0.000000001"), Decimal(10**12), Decimal(10**12), Decimal("0.000000001"))
    for success in Success:
        assert kept_of(NoAttack(success), game, [3, 4], [5, 6]) == []
        assert kept_of(Profitability(success), game, [3, 4], [5, 6]) == []
    counter = counter_of([3, 4])
    rule = privacy_of([NoAttack(), Profitability()], counter, game=game)
    assert rule.minimum_class_size == 8


# --- offered parameters ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("success", "people", "suppressible", "nearest"),
    [
        (Success.PROSECUTOR, None, 0, "game.adversary_gain = 8"),
        (Success.PROSECUTOR, None, 2, "game.adversary_gain = 20"),
        (Success.PROSECUTOR, None, 7, None),
        (Success.JOURNALIST, [30, 40], 0, "game.adversary_gain = 120"),
        (Success.MARKETER, None, 0, "game.adversary_gain = 14"),
        (Success.MARKETER, [1, 40], 2, "game.adversary_gain = 160"),
    ],
)
def test_the_gain_that_would_do(
    success: Success, people: list[int] | None, suppressible: int, nearest: str | None
) -> None:
    assert nearest_of(NoAttack(success), PUBLISHED, [2, 5], suppressible, people) == nearest
    if nearest is not None:
        gain = Decimal(nearest.removeprefix("game.adversary_gain = "))
        kept = kept_of(NoAttack(success), replace(PUBLISHED, adversary_gain=gain), [2, 5], people)
        assert sum(kept) >= 7 - suppressible


@pytest.mark.parametrize(("break_even", "nearest"), [(BreakEven.KEEP, "2400"), (BreakEven.SUPPRESS, "2399.9999")])
def test_the_loss_that_would_do(break_even: BreakEven, nearest: str) -> None:
    model = Profitability(break_even=break_even)
    dear = replace(PUBLISHED, publisher_loss=Decimal(10_000))
    assert nearest_of(model, dear, [2, 5], 0) == f"game.publisher_loss = {nearest}"
    assert kept_of(model, replace(dear, publisher_loss=Decimal(nearest)), [2, 5]) == [2, 5]
    assert nearest_of(model, dear, [2, 5], 7) is None
