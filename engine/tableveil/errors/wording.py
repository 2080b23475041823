"""Wording shared by all error messages: names cut to a readable length, the nearest valid name."""

import difflib
import re
from collections.abc import Iterable, Sequence
from functools import partial
from heapq import nlargest
from itertools import islice, pairwise

LONGEST_SHOWN = 120

MOST_HINTS = 20
"""The most names in one answer that get a hint: the first few show what went wrong."""

MOST_CHOICES = 2000
"""The most valid names that are looked at for a hint."""

MOST_COMPARED = 10
"""The most valid names that a name is compared with letter by letter."""


_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u2d7f\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufffc"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
"""Characters that do not show, though Python calls them printable: fillers, joiners, selectors of variants, blanks."""


def is_shown(text: str) -> bool:
    """Whether all characters show: two texts that look alike are no two names then; spaces are allowed."""
    return text.isprintable() and not _BLANK.search(text)


def shortened(text: str) -> str:
    """`text` in quotes, cut where nobody would read on (names may have 10,000 characters)."""
    if len(text) <= LONGEST_SHOWN:
        return f"'{text}'"
    return f"'{text[:LONGEST_SHOWN]}…' ({len(text):,} characters)"


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Names in a sentence, none left out; with `most`, the columns after so many are a number of more."""
    if most is not None and len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most:,} more columns"]
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint that names the valid name closest to `name`, or an empty text if none is close."""
    return NearestNames(valid)(name)


class NearestNames:
    """Hints for many names at once; only the first few names that are asked about get one.

    Comparing names takes time, and a request may name thousands of missing names among thousands of valid ones.
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
        # difflib takes quadratic time in the length of the texts: it only decides between the few that share most with
        # the name.
        close = nlargest(MOST_COMPARED, self._choices, key=partial(_shared, _parts(wanted)))
        matches = difflib.get_close_matches(wanted, close, n=1, cutoff=0.6)
        return f"Did you mean {shortened(self._choices[matches[0]])}?" if matches else ""


def _parts(text: str) -> frozenset[str]:
    """The characters of a text, and its pairs of neighbours."""
    return frozenset(text).union(map("".join, pairwise(text)))


def _shared(parts: frozenset[str], other: str) -> float:
    """How much two texts share, from 0 to 1."""
    others = _parts(other)
    return 2 * len(parts & others) / max(len(parts) + len(others), 1)
