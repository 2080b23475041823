"""Proves from some of the classes that too many records are in small ones, without counting the others.

Records with a group of one quasi-identifier are in classes of their own: a part of the groups has whole classes. The
records in small classes of such parts add up to a lower bound for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_SHARE = 0.02
MARGIN = 1.5
"""A part has so many times the records that are expected to do: those still needed, if they are as often in small
classes as in the parts before."""

MOST_SHARE = 0.6
"""Beyond this share of the records, counting all of them is about as cheap."""


@dataclass(frozen=True, slots=True)
class PartCount:
    """`rows` of a histogram are in so many `classes`, and `small` of their records are in small classes."""

    rows: int
    classes: int
    small: int

    def __add__(self, other: PartCount) -> PartCount:
        return PartCount(self.rows + other.rows, self.classes + other.classes, self.small + other.small)


def count_parts(
    records: NDArray[np.int64], most: int, count: Callable[[NDArray[np.bool_]], PartCount]
) -> PartCount | None:
    """Counts parts until more than `most` records are in small classes; None as soon as that is not to be expected.

    `records[g]` have group g of a quasi-identifier; `count` is given a mask of groups. Rare groups come first: their
    records are more often in small classes.
    """
    order = np.argsort(records, kind="stable")
    upto = np.cumsum(records[order])
    total = int(upto[-1]) if len(upto) else 0
    read_total, taken, often = PartCount(0, 0, 0), 0, 1.0
    while read_total.small <= most:
        counted = int(upto[taken - 1]) if taken else 0
        wanted = counted + max(LEAST_SHARE * total, MARGIN * (most + 1 - read_total.small) / often)
        next_ = int(np.searchsorted(upto, wanted)) + 1
        if next_ > len(order) or upto[next_ - 1] > MOST_SHARE * total:
            return None
        part = np.zeros(len(records), np.bool_)
        part[order[taken:next_]] = True
        read_total, taken = read_total + count(part), next_
        if not read_total.small:
            return None
        often = read_total.small / int(upto[taken - 1])
    return read_total
