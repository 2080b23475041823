"""Full-domain generalization: one transformation for all records; records that do not pay are suppressed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.game.assignment import Choice
from tableveil.game.counting import CountedClasses
from tableveil.game.payout import Stakes
from tableveil.lattice import Transformation
from tableveil.numeric.rounding import SLACK, rounded


@dataclass(frozen=True, slots=True)
class FullDomainPayout:
    """A transformation, the payout of releasing at it, and how many records are released and attacked.

    `key` orders transformations: first by the part of all records' benefit that is not paid, then by the sum of levels,
    then by the levels.
    """

    transformation: Transformation
    payout: float
    released: int
    attacked: int
    key: tuple[float, int, Transformation]


class BestFullDomain:
    """The best transformation considered so far, for several stakes at once.

    Whether a record pays depends on its class only, so records are suppressed class by class.
    """

    def __init__(self, stakes: Sequence[Stakes], choice: Choice) -> None:
        self._stakes = tuple(stakes)
        self._choice = choice
        self._best: list[FullDomainPayout | None] = [None] * len(self._stakes)

    def consider(self, counted: CountedClasses, loss: NDArray[np.float64]) -> None:
        """Considers one more transformation: its classes, and the information loss of each one's records."""
        lost = float(counted.records @ loss)
        for i, stakes in enumerate(self._stakes):
            best = self._best[i]
            # The payout without any attack is an upper bound of the payout.
            if best is not None and stakes.benefit * lost * (1.0 - SLACK) > best.key[0]:
                continue
            payout = self._at(stakes, counted, loss)
            if best is None or payout.key < best.key:
                self._best[i] = payout

    def best(self) -> list[FullDomainPayout]:
        """The best transformation per stakes; at least one was considered."""
        return [best for best in self._best if best is not None]

    def _at(self, stakes: Stakes, counted: CountedClasses, loss: NDArray[np.float64]) -> FullDomainPayout:
        attacked = stakes.attacked(counted.people)
        kept = self._choice.releasable(stakes, loss, counted.people)
        records = counted.records[kept]
        payout = float(records @ stakes.payouts(loss, counted.people)[kept])
        unpaid = rounded(stakes.benefit * int(counted.records.sum()) - payout)
        key = (unpaid, sum(counted.at), counted.at)
        return FullDomainPayout(counted.at, payout, int(records.sum()), int(records[attacked[kept]].sum()), key)
