"""What an examination found: one thing each, how it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is: all right, worth knowing, or in need of somebody."""

    OK = "OK"
    WARNING = "WARNING"
    PROBLEM = "PROBLEM"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `subject` names it, `found` says how it is, `advice` what to do, if anything."""

    level: Level
    subject: str
    found: str
    advice: str = ""
