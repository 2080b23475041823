"""Merging clusters until privacy models hold: the published loop for t-closeness, rounds for any other model."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tableveil.microaggregation.closeness.merging import Merging
from tableveil.microaggregation.closeness.targets import ClosenessTarget, worst_excess
from tableveil.privacy import ReleaseRule

if TYPE_CHECKING:
    # The search builds on quality models, which build on aggregation.
    from tableveil.control import Control


def merge_until_close(merging: Merging, targets: Sequence[ClosenessTarget], control: Control) -> None:
    """Merges the cluster that is farthest beyond its targets with its nearest one, until no cluster is beyond them.

    Soria-Comas et al. 2015, algorithm 1. A single cluster has the distribution of all records, so the loop ends. A
    merged cluster may be beyond the targets, but one such cluster is gone: so their number never grows.

    The distance is convex, so a merged cluster is no farther away than the mean of its two parts, weighted by their
    records. The merged cluster waits with that bound. The distances of all that wait are computed together once one of
    them may be the farthest. The order is as if distances were computed at once, except among equally bad clusters.

    Raises:
        Stopped: `control` says so.
    """
    numbers = merging.numbers
    excess = dict(zip(numbers.tolist(), worst_excess(targets, *merging.values(numbers)).tolist(), strict=True))
    worst_first = [(-beyond, number) for number, beyond in excess.items() if beyond > 0]
    heapq.heapify(worst_first)
    bounded: set[int] = set()
    while worst_first and merging.left > 1:
        control.raise_if_stopped()
        least, number = heapq.heappop(worst_first)
        # Merged with another one meanwhile, or not as bad as its bound.
        if not merging.there(number) or -least != excess[number]:
            continue
        if number in bounded:
            waiting = np.array([one for one in sorted(bounded) if merging.there(one)])
            bounded.clear()
            for one, beyond in zip(
                waiting.tolist(), worst_excess(targets, *merging.values(waiting)).tolist(), strict=True
            ):
                excess[one] = beyond
                if beyond > 0:
                    heapq.heappush(worst_first, (-beyond, one))
            continue
        other, made = merging.merge(number)
        part = merging.size(number) / merging.size(made)
        excess[made] = part * excess[number] + (1 - part) * excess[other]
        if excess[made] > 0:
            bounded.add(made)
            heapq.heappush(worst_first, (-excess[made], made))


def merge_until_released(merging: Merging, rule: ReleaseRule, control: Control) -> bool:
    """Merges every cluster that the rule does not release with its nearest one, in rounds, until there is none.

    The rule judges cluster by cluster, so that after a round only the merged ones are judged again. In a round every
    failing cluster is gone, and only the cluster it was merged into may fail: so their number never grows.

    Returns:
        Whether the rule releases the remaining clusters; if not, a single cluster remains.

    Raises:
        Stopped: `control` says so.
    """
    asked = merging.numbers
    while len(asked):
        failing = asked[~rule.releasable(merging.classes(asked))]
        made = []
        for number in failing.tolist():
            control.raise_if_stopped()
            # Merged with another cluster that failed.
            if not merging.there(number):
                continue
            if merging.left == 1:
                return False
            made.append(merging.merge(number)[1])
        asked = np.array([number for number in made if merging.there(number)], np.intp)
    return True
