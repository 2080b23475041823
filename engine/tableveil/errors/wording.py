"""Wording shared by all error messages: names cut to a readable length, the nearest valid name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import partial
from heapq import nlargest
from itertools import islice, pairwise

LONGEST_SHOWN = 120

MOST_HINTS = 20
"""Names in one answer that get a hint: the first few tell what went wrong."""

MOST_CHOICES = 2000
"""Valid names that are looked at for a hint."""

MOST_COMPARED = 10
"""Valid names that a name is compared with letter by letter."""


def shortened(text: str) -> str:
    """`text` quoted, and cut where it is longer than anyone would read (names may have 10,000 characters)."""
    if len(text) <= LONGEST_SHOWN:
        return f"'{text}'"
    return f"'{text[:LONGEST_SHOWN]}…' ({len(text):,} characters)"


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint that names the valid name closest to `name`, or an empty text if none is close."""
    return Nearest(valid)(name)


class Nearest:
    """The same hints for many names at once; only the first few that are asked about get one.

    Comparing names takes time, and a request may name thousands that are not there among thousands that are.
    """

    def __init__(self, valid: Iterable[str]) -> None:
        self._choices = {choice.casefold()[:LONGEST_SHOWN]: choice for choice in islice(valid, MOST_CHOICES)}
        self._left = MOST_HINTS

    def __call__(self, name: str) -> str:
        """A hint that names the valid name closest to `name`, or an empty text."""
        if not self._left:
            return ""
        self._left -= 1
        wanted = name.casefold()[:LONGEST_SHOWN]
        # difflib is quadratic in the length of what it compares: it decides between the few that share most with it.
        close = nlargest(MOST_COMPARED, self._choices, key=partial(_shared, _parts(wanted)))
        matches = difflib.get_close_matches(wanted, close, n=1, cutoff=0.6)
        return f"Did you mean {shortened(self._choices[matches[0]])}?" if matches else ""


def _parts(text: str) -> frozenset[str]:
    """The characters of a text, and its pairs of neighbours."""
    return frozenset(text).union(map("".join, pairwise(text)))


def _shared(parts: frozenset[str], other: str) -> float:
    """How much of two texts is in both, from 0 to 1."""
    others = _parts(other)
    return 2 * len(parts & others) / max(len(parts) + len(others), 1)
