"""Reasons for people to read: they must contain something readable."""

import unicodedata

# Letters by their category that nevertheless show nothing.
_FILLERS = "\u115f\u1160"


def says_something(reason: str) -> bool:
    """Whether a letter or a digit is visible: blanks, zero-width characters and dashes are no reason."""
    return any(shown.isalnum() and shown not in _FILLERS for shown in unicodedata.normalize("NFKC", reason))
