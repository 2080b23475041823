"""The findings of an examination: each has a subject, its state, and advice."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The level of a finding: all right, worth knowing, or in need of action."""

    OK = "OK"
    WARNING = "WARNING"
    PROBLEM = "PROBLEM"


@dataclass(frozen=True, slots=True)
class Finding:
    """One examined thing: `subject` names it, `found` describes its state, `advice` says what to do, if anything."""

    level: Level
    subject: str
    found: str
    advice: str = ""
