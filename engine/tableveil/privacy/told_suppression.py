"""How many records of each label were suppressed: the numbers that may be told beside the number of all.

A number between 0 and k is told as "fewer than k". All of them together must not be known, or one of them follows from
the others (secondary suppression: Hundepool et al., Statistical Disclosure Control, 2012, chapter 4). The reader knows
this rule as well, so that it must hold for everything else that would have been told alike: which numbers are hidden
depends on no hidden number, but for the label that hides the others, which is chosen by its released records.
"""

from collections.abc import Sequence
from enum import Enum

LEAST_K = 3
"""Fewer than 2 would be 1."""


class Told(Enum):
    """Words in place of a number."""

    FEWER = "fewer than k"
    NOTHING = "not told"


def told_suppression(
    suppressed: Sequence[int], released: Sequence[int], room: Sequence[int], k: int
) -> tuple[int | Told, ...]:
    """Per label the number of suppressed records or the words for it, from those of suppressed and released records.

    `room` bounds how many records of each label may have been suppressed for all that readers know of the release.
    Every reader who knows all that is told, the sum of the numbers and this rule, finds each number from 1 to k - 1
    possible for FEWER, and something else than these for NOTHING.
    """
    total = sum(suppressed)
    if k < LEAST_K:
        raise ValueError("k: expected 3 or more")
    small = [at for at, count in enumerate(suppressed) if 0 < count < k]
    # If they are few, that every label has one may say how many each has.
    if 0 < total < 2 * k:
        return (Told.NOTHING,) * len(suppressed)
    if not small:
        return tuple(suppressed)
    hidden = sum(suppressed[at] for at in small)
    if _hide_each_other(hidden, len(small), k):
        return tuple(Told.FEWER if at in small else count for at, count in enumerate(suppressed))
    others = [at for at, count in enumerate(released) if count and at not in small]
    if others:
        second = max(others, key=lambda at: (released[at], -at))
        if _hidden_by_another(hidden + suppressed[second], len(small), room[second], k):
            told: list[int | Told] = list(suppressed)
            told[second] = Told.NOTHING
            for at in small:
                told[at] = Told.FEWER
            return tuple(told)
    return (Told.NOTHING,) * len(suppressed)


def _hide_each_other(hidden: int, small: int, k: int) -> bool:
    """Whether, of so many numbers from 1 to k - 1 with that sum, each may be any."""
    return small + k - 2 <= hidden <= (small - 1) * (k - 1) + 1


def _hidden_by_another(hidden: int, small: int, room: int, k: int) -> bool:
    """Whether each may be any if the sum has one number more, which is 0 or at least k, and not above `room`.

    It is there because the small ones do not hide each other, which must be so for each possible sum of theirs, too.
    """

    def possible(of_small: int) -> bool:
        other = hidden - of_small
        return (other == 0 or k <= other <= room) and not _hide_each_other(of_small, small, k)

    return all(any(possible(one + rest) for rest in range(small - 1, (small - 1) * (k - 1) + 1)) for one in range(1, k))
