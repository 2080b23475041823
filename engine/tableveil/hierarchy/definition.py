"""What a policy may say about a hierarchy: levels written out, a reference to stored ones, or a rule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class InlineLevels:
    """Levels written out: per value a row of the value as text and its labels from level 1 to the top."""

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class StoredLevels:
    """A hierarchy kept on the server; version 0 is the newest."""

    name: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class TableLevels:
    """A hierarchy in a table of the database; no columns means all of them, in table order."""

    catalog: str
    schema: str
    table: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals of growing width laid out from `minimum` over a declared range; all bounds as the policy wrote them."""

    minimum: str
    maximum: str
    widths: tuple[str, ...]
    bottom_coding: str = ""
    top_coding: str = ""

    def __str__(self) -> str:
        coding = [f"below {self.bottom_coding}"] * bool(self.bottom_coding) + [f"from {self.top_coding}"] * bool(
            self.top_coding
        )
        together = f", {' and '.join(coding)} together" if coding else ""
        return f"intervals of {', '.join(self.widths)} in {self.minimum} to {self.maximum}{together}"


class DateUnit(StrEnum):
    """Calendar periods, finest first."""

    DAY = "DAY"
    WEEK = "WEEK"
    MONTH = "MONTH"
    QUARTER = "QUARTER"
    YEAR = "YEAR"
    DECADE = "DECADE"


@dataclass(frozen=True, slots=True)
class Dates:
    """Calendar periods over a declared range of days (ISO dates, inclusive)."""

    minimum: str
    maximum: str
    units: tuple[DateUnit, ...]

    def __str__(self) -> str:
        return f"{', '.join(unit.lower() for unit in self.units)} in {self.minimum} to {self.maximum}"


class MaskFrom(StrEnum):
    """The end of a text from which characters are masked."""

    RIGHT = "RIGHT"
    LEFT = "LEFT"


@dataclass(frozen=True, slots=True)
class Redaction:
    """Text of at most `length` characters, masked `step` characters per level."""

    length: int
    alphabet_size: int
    mask_from: MaskFrom = MaskFrom.RIGHT
    step: int = 1

    def __str__(self) -> str:
        return f"{self.length} characters masked from the {self.mask_from.lower()} by {self.step}"


@dataclass(frozen=True, slots=True)
class SuppressionOnly:
    """The value itself, or `*`."""

    def __str__(self) -> str:
        return "the value or *"


@dataclass(frozen=True, slots=True)
class SafeHarborZip:
    """Five-digit ZIP codes by HIPAA's Safe Harbor, with the number of people in each from a table of the database.

    Level 1 is the first three digits, or 000 if no more than 20,000 people live in all ZIP codes that begin so; above
    are two digits, one, and `*`.
    """

    catalog: str
    schema: str
    table: str
    zip_column: str = "zip"
    population_column: str = "population"


@dataclass(frozen=True, slots=True)
class SafeHarborAge:
    """Ages in years by HIPAA's Safe Harbor: level 1 has those from 90 on together; above are wider ranges, and `*`."""


@dataclass(frozen=True, slots=True)
class SafeHarborDate:
    """Dates by HIPAA's Safe Harbor, in a declared range of days (ISO dates, inclusive): level 1 is the year.

    With `birth_as_of`, a day, they are dates of birth: who is 90 in that day's year or older is among all who were born
    in the same year or before.
    """

    minimum: str
    maximum: str
    birth_as_of: str = ""


SafeHarborHierarchy = SafeHarborZip | SafeHarborAge | SafeHarborDate
"""Level `SAFE_HARBOR_LEVEL` of each is what Safe Harbor allows (45 CFR 164.514(b)(2))."""

SAFE_HARBOR_LEVEL = 1

ListedHierarchy = InlineLevels | StoredLevels | TableLevels | SafeHarborHierarchy
RuleHierarchy = Intervals | Dates | Redaction | SuppressionOnly
HierarchyDefinition = ListedHierarchy | RuleHierarchy

_FIELDS: dict[type[HierarchyDefinition], str] = {
    InlineLevels: "inline",
    StoredLevels: "stored",
    TableLevels: "table",
    Intervals: "intervals",
    Dates: "dates",
    Redaction: "redaction",
    SuppressionOnly: "suppression_only",
    SafeHarborZip: "safe_harbor_zip",
    SafeHarborAge: "safe_harbor_age",
    SafeHarborDate: "safe_harbor_date",
}


def field_of(definition: HierarchyDefinition) -> str:
    """Name of the field below a policy's `hierarchy` that holds the definition."""
    return _FIELDS[type(definition)]
