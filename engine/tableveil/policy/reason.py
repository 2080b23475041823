"""Reasons that a person is to read: they must say something."""

from __future__ import annotations

import unicodedata

# Letters by their category, which nevertheless show nothing.
_FILLERS = "\u115f\u1160"


def says_something(reason: str) -> bool:
    """Whether a letter or a digit can be seen: blanks, zero-width characters and dashes are no reason."""
    return any(shown.isalnum() and shown not in _FILLERS for shown in unicodedata.normalize("NFKC", reason))
