"""The equations of the game by hand: information loss, attacks, payouts, and the score made of them."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from tableveil.classes import NumpyCounter
from tableveil.game import InformationLoss, Stakes, hits, sizes_of
from tableveil.hierarchy import (
    AttributeLevels,
    InlineLevels,
    UncountableError,
    ValueKind,
    attribute_levels,
    label_values,
)
from tableveil.hierarchy.rules import Intervals
from tableveil.policy import BreakEven, Game, PublisherPayoutModel, Success
from tableveil.privacy import Facts
from tableveil.privacy.guarantees import guarantees
from tableveil.quality import quality_of

PUBLISHED = Game(Decimal(1200), Decimal(300), Decimal(300), Decimal(4))

# |H| = 4 and 2: a record has three bits to lose.
PLACE = InlineLevels((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")))
SEX = InlineLevels((("f", "*"), ("m", "*")))


def levels_of(rule: InlineLevels) -> AttributeLevels:
    values = [row[0] for row in rule.rows]
    return attribute_levels(label_values(rule, ValueKind.TEXT, values, values), has_null=False)


def counter(withheld: int = 0, population: bool = False) -> NumpyCounter:
    """Records af, af, am, bf, cm; of the population there are ten times as many each."""
    counts = np.array([2, 1, 1, 1], np.int64)
    return NumpyCounter(
        [levels_of(PLACE), levels_of(SEX)],
        [np.array([0, 0, 1, 2], np.int32), np.array([0, 1, 0, 1], np.int32)],
        counts,
        withheld,
        population=counts * 10 if population else None,
    )


# --- information loss -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "lost"), [((0, 0), 0.0), ((1, 0), 1 / 3), ((0, 1), 1 / 3), ((1, 1), 2 / 3), ((2, 0), 2 / 3), ((2, 1), 1.0)]
)
def test_information_loss_is_the_share_of_the_bits(at: tuple[int, int], lost: float) -> None:
    classes = counter().classes(at)
    loss = InformationLoss(counter().levels).of(classes)
    assert loss == pytest.approx(np.full(len(classes.counts), lost), rel=1e-15)
    # Values that decide at the ends are exact.
    assert lost not in (0.0, 1.0) or (loss == lost).all()


def test_all_is_lost_exactly_whatever_the_domains_are() -> None:
    rules = [InlineLevels(tuple((f"v{i}", "*") for i in range(size))) for size in (3, 7, 11, 100, 41)]
    levels = [levels_of(rule) for rule in rules]
    groups = [np.zeros(1, np.int64)] * len(levels)
    assert InformationLoss(levels).at([1] * len(levels), groups).tolist() == [1.0]
    assert InformationLoss(levels).at([0] * len(levels), groups).tolist() == [0.0]


def test_where_there_is_one_combination_nothing_is_lost() -> None:
    levels = [levels_of(InlineLevels((("only", "*"),)))]
    assert InformationLoss(levels).at([1], [np.zeros(1, np.int64)]).tolist() == [0.0]


def test_what_is_measured_has_no_information_loss() -> None:
    measured = attribute_levels(
        label_values(Intervals("0", "10", ("5",)), ValueKind.DECIMAL, [0.5], ["0.5"]), has_null=False
    )
    with pytest.raises(UncountableError) as raised:
        InformationLoss([levels_of(SEX), measured])
    assert raised.value.attribute == 1


# --- attacks and payouts --------------------------------------------------------------------------------------------


def test_attacks_pay_strictly() -> None:
    stakes = Stakes.of(PUBLISHED)
    assert stakes.safe_size == 75
    assert stakes.attacked(np.array([1, 74, 75, 76])).tolist() == [True, True, False, False]
    assert Stakes.of(replace(PUBLISHED, adversary_gain=Decimal("300.000001"))).safe_size == 76
    assert Stakes.of(replace(PUBLISHED, adversary_cost=Decimal("0.1"), adversary_gain=Decimal("0.3"))).safe_size == 3


def test_what_records_pay() -> None:
    stakes = Stakes.of(PUBLISHED)
    loss, sizes = np.array([0.0, 0.25, 0.5, 0.5, 1.0, 1.0]), np.array([1, 2, 74, 75, 75, 10])
    expected = [1200 - 300, 900 - 150, 600 - 300 / 74, 600, 0, -30]
    assert stakes.payouts(loss, sizes).tolist() == pytest.approx(expected, rel=1e-15)
    assert stakes.attacks(sizes).tolist() == pytest.approx([300, 150, 300 / 74, 0, 0, 30], rel=1e-15)
    assert stakes.profitable(loss, sizes, BreakEven.KEEP).tolist() == [True] * 5 + [False]
    assert stakes.profitable(loss, sizes, BreakEven.SUPPRESS).tolist() == [True] * 4 + [False] * 2


@pytest.mark.parametrize(
    ("loss", "keep", "suppress"), [("0", 1, 1), ("300", 1, 1), ("1200", 1, 2), ("2500", 3, 3), ("900000", 75, 75)]
)
def test_the_least_size_that_can_pay(loss: str, keep: int, suppress: int) -> None:
    stakes = Stakes.of(replace(PUBLISHED, publisher_loss=Decimal(loss)))
    assert (stakes.least_profitable(BreakEven.KEEP), stakes.least_profitable(BreakEven.SUPPRESS)) == (keep, suppress)
    sizes = np.arange(1, 100)
    for break_even, least in ((BreakEven.KEEP, keep), (BreakEven.SUPPRESS, suppress)):
        assert (stakes.profitable(np.zeros(99), sizes, break_even) == (sizes >= least)).all()


def test_marketers_find_the_average_of_all() -> None:
    stakes = Stakes.of(replace(PUBLISHED, adversary_gain=Decimal(20)))
    records = np.array([1, 9])
    assert hits(records, records) == 2
    # 2 of 10 found gain 40 for 40: it does not pay. With 9 records it does.
    assert not stakes.sample_attacked(records, records)
    assert stakes.attack_on_sample(records, records) == 0
    fewer = np.array([1, 8])
    assert stakes.sample_attacked(fewer, fewer)
    assert stakes.attack_on_sample(fewer, fewer) == pytest.approx(300 * 2 / 9, rel=1e-15)
    # In the population 1/4 + 8/8 are found, of 9.
    assert not stakes.sample_attacked(fewer, np.array([4, 8]))
    nobody = np.zeros(0, np.int64)
    assert stakes.attack_on_sample(nobody, nobody) == 0


def test_success_is_one_over_the_size_in_source_or_population() -> None:
    alone, in_public = counter(), counter(population=True)
    for success in Success:
        assert sizes_of(alone.classes((0, 0)), success, alone).tolist() == [2, 1, 1, 1]
        people = [2, 1, 1, 1] if success is Success.PROSECUTOR else [20, 10, 10, 10]
        assert sizes_of(in_public.classes((0, 0)), success, in_public).tolist() == people


# --- the score ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("success", "population", "score"),
    [
        # At (1, 0) there are xf with 3 records, xm and ym with one; 400 are lost of each, and one is withheld.
        (Success.PROSECUTOR, False, 5 * 400 + 3 * 100 + 2 * 300 + 1200),
        (Success.JOURNALIST, False, 5 * 400 + 3 * 100 + 2 * 300 + 1200),
        (Success.JOURNALIST, True, 5 * 400 + 3 * 10 + 2 * 30 + 1200),
        (Success.MARKETER, False, 5 * 400 + 5 * 300 * 3 / 5 + 1200),
        (Success.MARKETER, True, 5 * 400 + 5 * 300 * 0.3 / 5 + 1200),
    ],
)
def test_the_score_is_what_is_not_paid(success: Success, population: bool, score: float) -> None:
    table = counter(withheld=1, population=population)
    quality = quality_of(PublisherPayoutModel(success), table, [1.0, 1.0], table.records, PUBLISHED)
    classes = table.classes((1, 0))
    assessment = quality.assess((1, 0), classes, np.ones(3, np.bool_))
    assert quality.reported(assessment.score) == pytest.approx(score, rel=1e-11)


def test_suppressed_records_pay_nothing_and_are_not_attacked() -> None:
    table = counter()
    quality = quality_of(PublisherPayoutModel(), table, [1.0, 1.0], table.records, PUBLISHED)
    classes = table.classes((1, 0))
    kept = classes.counts == 3
    assert quality.assess((1, 0), classes, kept).score[0] == pytest.approx(3 * 500 + 2 * 1200, rel=1e-11)


# --- figures for owners ---------------------------------------------------------------------------------------------


def test_owners_are_told_what_is_paid_and_who_is_attacked() -> None:
    table = counter(population=True)
    facts = Facts(table, game=replace(PUBLISHED, adversary_gain=Decimal(60)))
    released = table.classes((1, 0)).selected(np.array([True, False, True]))
    told = {
        (reached.model, reached.parameter): (reached.before, reached.after)
        for reached in guarantees(facts, (), table.classes((0, 0)), released)
        if reached.model.startswith(("publisher", "no_attack"))
    }
    # An attack pays in classes of fewer than 15; 800 of 1,200 are left at (1, 0).
    assert told == {
        ("publisher_payout (prosecutor)", "payout"): pytest.approx((2 * 1050 + 3 * 900, 3 * 700 + 500)),
        ("no_attack (prosecutor)", "attacked_records"): (5, 4),
        ("publisher_payout (journalist)", "payout"): pytest.approx((2 * 1200 + 3 * 1170, 3 * 800 + 770)),
        ("no_attack (journalist)", "attacked_records"): (3, 1),
    }
    assert not any(reached.model.startswith("publisher") for reached in guarantees(Facts(table), (), None, released))


def test_the_loss_is_the_reference_tools() -> None:
    """1 + log(product of shares) / log(product of |H|) is the same."""
    classes = counter().classes((1, 1))
    shares = (2 / 4) * (2 / 2)
    loss = InformationLoss(counter().levels).of(classes)
    assert loss[0] == pytest.approx(1 + math.log10(shares) / math.log10(4 * 2), rel=1e-15)
