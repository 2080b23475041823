"""The equations of the game: how much of a record's worth is left, whether it is attacked, and its payout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.hierarchy import AttributeLevels, log_leaves, require_discrete
from tableveil.numeric.rounding import HARDLY
from tableveil.policy import BreakEven, Game, Success


class InformationLoss:
    """The entropy-based information loss of a record: log(product of leaves) / log(product of |H|), from 0 to 1.

    It is exactly 0 at level 0, and exactly 1 where all labels stand for their whole domains. Source: Wan et al. 2015,
    section "Publisher's strategy"; ARX computes 1 + log(product of leaves / |H|) / log(product of |H|), which is equal.
    If there is only one combination of values, nothing can be lost: 0.
    """

    def __init__(self, levels: Sequence[AttributeLevels]) -> None:
        """Raises `UncountableError` if a domain is measured instead of counted."""
        require_discrete(levels)
        self._bits = [[log_leaves(attribute, level) for level in range(attribute.top + 1)] for attribute in levels]
        # Summed in the order of a record's sum, so that the greatest loss is exactly 1.
        self._whole = sum(math.log2(max(attribute.domain_size, 1.0)) for attribute in levels)

    def share(self, attribute: int, level: int) -> NDArray[np.float64]:
        """An attribute's contribution per group of the level: a record's loss is the sum over the attributes."""
        bits = self._bits[attribute][level]
        return bits / self._whole if self._whole else np.zeros_like(bits)

    @property
    def bits(self) -> float:
        """The greatest loss of a record in bits: log2(product of |H|)."""
        return self._whole

    def of(self, classes: EquivalenceClasses) -> NDArray[np.float64]:
        """Per class, the loss of each of its records."""
        return self.at(classes.at, [classes.groups(j) for j in range(len(self._bits))])

    def at(self, levels: Sequence[int], groups: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.float64]:
        """The loss of records in these groups, given per attribute, at these levels."""
        bits = np.zeros(len(groups[0]) if groups else 0)
        for by_level, level, group in zip(self._bits, levels, groups, strict=True):
            bits += by_level[level][group]
        return bits / self._whole if self._whole else np.zeros_like(bits)


@dataclass(frozen=True, slots=True)
class Stakes:
    """The game's parameters in the form used for computing; decisions compare whole numbers.

    `safe_size` is the least class size at which an attack with the probability 1 / size does not pay. An attack pays if
    probability * gain > cost, strictly, so `safe_size` is gain / cost, rounded up (75 for 300 / 4). `break_even_size`
    is the publisher's loss /
    benefit: an attacked record that loses no information pays exactly nothing in a class of this size.
    """

    benefit: float
    loss: float
    gain: Decimal
    cost: Decimal
    safe_size: int
    break_even_size: Fraction

    @classmethod
    def of(cls, game: Game) -> Stakes:
        """The stakes of a game with a cost above 0."""
        numerator, denominator = game.adversary_gain.as_integer_ratio()
        over, under = game.adversary_cost.as_integer_ratio()
        safe = -(-numerator * under // (denominator * over))
        benefit, loss = game.publisher_benefit, game.publisher_loss
        ratio = Fraction(loss) / Fraction(benefit)
        return cls(float(benefit), float(loss), game.adversary_gain, game.adversary_cost, safe, ratio)

    def attacked(self, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether attacks with the probabilities 1 / size pay; a size of 0 (nobody is known) counts as 1."""
        attacked: NDArray[np.bool_] = np.maximum(sizes, 1) < self.safe_size
        return attacked

    def attacks(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The publisher's expected cost of an attack on each record: loss / size, or 0 if there will be none."""
        return np.where(self.attacked(sizes), self.loss / np.maximum(sizes, 1), 0.0)

    def payouts(self, loss: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The payout of each record: benefit * (1 - information loss), less loss / size if it is attacked.

        Source: Wan et al. 2015, equation of the publisher's payoff; Prasser et al. 2017.
        """
        payouts: NDArray[np.float64] = self.benefit * (1.0 - loss) - self.attacks(sizes)
        return payouts

    def sample_attacked(self, records: NDArray[np.int64], sizes: NDArray[np.int64]) -> bool:
        """Whether a marketer attacks these records; `hits` gives the expected number of records found.

        Whole numbers decide where the sizes are those of the source's classes.
        """
        return Fraction(hits(records, sizes)) * Fraction(self.gain) > Fraction(self.cost) * int(records.sum())

    def attack_on_sample(self, records: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
        """The publisher's expected cost per record of a marketer's attack on these records; 0 for no records."""
        if not self.sample_attacked(records, sizes):
            return 0.0
        return self.loss * hits(records, sizes) / int(records.sum())

    def least_profitable(self, break_even: BreakEven) -> int:
        """The least class size at which a record without loss pays: in smaller classes no record pays."""
        least = math.ceil(self.break_even_size)
        if break_even is BreakEven.SUPPRESS:
            least = math.floor(self.break_even_size) + 1
        return min(max(least, 1), self.safe_size)

    def profitable(
        self, loss: NDArray[np.float64], sizes: NDArray[np.int64], break_even: BreakEven
    ) -> NDArray[np.bool_]:
        """Whether releasing each record pays; whole numbers decide where no information is lost."""
        payouts = self.payouts(loss, sizes)
        pays = payouts >= 0 if break_even is BreakEven.KEEP else payouts > 0
        profitable: NDArray[np.bool_] = (np.maximum(sizes, 1) >= self.least_profitable(break_even)) & (
            pays | (loss == 0)
        )
        return profitable


def hits(records: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    """The expected number of successes if all records are attacked: the sum of records / size.

    The result is exact if it equals the number of classes, and otherwise not rounded up.
    """
    total = float((records / sizes).sum())
    return total if total.is_integer() else total * (1.0 - 1.0 / HARDLY)


def sizes_of(classes: EquivalenceClasses, success: Success, counter: ClassCounter) -> NDArray[np.int64]:
    """Per class, the number of records (at least 1) among which an adversary looks for one: success has 1 / size.

    `counter` counted the classes. Prosecutors look among the source; other adversaries among the population, if its
    rows were counted.
    """
    if success is Success.PROSECUTOR or counter.population is None:
        return classes.counts
    return np.maximum(classes.population(), 1)
