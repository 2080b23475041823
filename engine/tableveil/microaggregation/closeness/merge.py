"""Merging clusters until privacy models hold: the published loop for t-closeness, and rounds for any other model."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tableveil.microaggregation.closeness.merging import Merging
from tableveil.microaggregation.closeness.targets import Target, worst_excess
from tableveil.privacy import ReleaseRule

if TYPE_CHECKING:
    # The search builds on quality models, and those on what is aggregated.
    from tableveil.control import Control


def merge_until_close(merging: Merging, targets: Sequence[Target], control: Control) -> None:
    """Merges the cluster that is farthest beyond its targets with its nearest, while any is beyond them.

    Soria-Comas et al. 2015, algorithm 1. A single cluster has the distribution of all records, so the loop ends. What a
    merge makes may be beyond the targets, but one that was is gone: so the number of those that are never grows.

    The distance is convex, so what a merge makes is no farther away than the mean of the two, by their records. With
    that bound it waits, and distances are computed for all that wait together, once one of them may be the farthest.
    The order is the same as if they were computed at once, but for equally bad clusters.

    Raises:
        Stopped: by the control.
    """
    numbers = merging.numbers
    excess = dict(zip(numbers.tolist(), worst_excess(targets, *merging.values(numbers)).tolist(), strict=True))
    worst_first = [(-beyond, number) for number, beyond in excess.items() if beyond > 0]
    heapq.heapify(worst_first)
    bounded: set[int] = set()
    while worst_first and merging.left > 1:
        control.raise_if_stopped()
        least, number = heapq.heappop(worst_first)
        # Merged with another meanwhile, or not as bad as the bound.
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
    """Merges every cluster that the rule does not release with its nearest, in rounds, while there is any.

    The rule judges cluster by cluster, so that only those made in a round are asked about again. In a round each one
    that fails is gone, and what it is merged into may fail: so the number of those that do never grows.

    Returns:
        Whether the rule releases what is left; if not, that is one cluster.

    Raises:
        Stopped: by the control.
    """
    asked = merging.numbers
    while len(asked):
        failing = asked[~rule.releasable(merging.classes(asked))]
        made = []
        for number in failing.tolist():
            control.raise_if_stopped()
            # Merged with another that failed.
            if not merging.there(number):
                continue
            if merging.left == 1:
                return False
            made.append(merging.merge(number)[1])
        asked = np.array([number for number in made if merging.there(number)], np.intp)
    return True
