"""Texts of the owner: statements about a release, which its report prints, and reasons, which must be readable."""

import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

LONGEST_STATEMENT = 4_000
"""In characters: about a printed page."""


class ReleaseContext(StrEnum):
    """How the recipient gets the rows."""

    PUBLIC = "PUBLIC"
    CONTRACT = "CONTRACT"
    SECURE_ROOM = "SECURE_ROOM"


@dataclass(frozen=True, slots=True)
class Documentation:
    """Statements that change nothing of the rows; an empty one is not stated.

    `risk_threshold` is the highest risk of a record that the owner accepts.
    """

    purpose: str = ""
    legal_basis: str = ""
    recipient: str = ""
    contact: str = ""
    context: ReleaseContext | None = None
    necessity: str = ""
    risk_threshold: Decimal | None = None
    threshold_reason: str = ""
    deliberate_attack: str = ""
    inadvertent_recognition: str = ""
    data_breach: str = ""
    residual_risk: str = ""
    accepted_by: str = ""


# Letters by their category that nevertheless show nothing.
_FILLERS = "\u115f\u1160"


def says_something(reason: str) -> bool:
    """Whether a letter or a digit is visible: blanks, zero-width characters and dashes are no reason."""
    return any(shown.isalnum() and shown not in _FILLERS for shown in unicodedata.normalize("NFKC", reason))
