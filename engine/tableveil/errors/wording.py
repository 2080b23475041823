"""Wording shared by all error messages: names cut to a readable length, the nearest valid name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST_SHOWN = 120


def shortened(text: str) -> str:
    """`text` quoted, and cut where it is longer than anyone would read (names may have 10,000 characters)."""
    if len(text) <= LONGEST_SHOWN:
        return f"'{text}'"
    return f"'{text[:LONGEST_SHOWN]}…' ({len(text):,} characters)"


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint that names the valid name closest to `name`, or an empty text if none is close."""
    choices = {choice.casefold(): choice for choice in valid}
    # difflib is quadratic in the length of what it compares.
    matches = difflib.get_close_matches(name.casefold()[:LONGEST_SHOWN], choices, n=1, cutoff=0.6)
    return f"Did you mean {shortened(choices[matches[0]])}?" if matches else ""
