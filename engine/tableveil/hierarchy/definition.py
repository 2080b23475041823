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
    """Intervals over a declared range; all bounds and widths as the policy wrote them.

    Per level they are of one of `widths`, laid out from `minimum`, or between the bounds of one of `boundaries`.
    """

    minimum: str
    maximum: str
    widths: tuple[str, ...] = ()
    bottom_coding: str = ""
    top_coding: str = ""
    boundaries: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        coding = [f"below {self.bottom_coding}"] * bool(self.bottom_coding) + [f"from {self.top_coding}"] * bool(
            self.top_coding
        )
        together = f", {' and '.join(coding)} together" if coding else ""
        cut = [f"cut at {', '.join(bounds)}" for bounds in self.boundaries] or [f"of {', '.join(self.widths)}"]
        return f"intervals {'; '.join(cut)} in {self.minimum} to {self.maximum}{together}"


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


MASK = "*"
"""What masks a character where the policy does not say."""


class MaskFrom(StrEnum):
    """The end of a text from which characters are masked."""

    RIGHT = "RIGHT"
    LEFT = "LEFT"


class PadAt(StrEnum):
    """The end of a text that is filled up."""

    RIGHT = "RIGHT"
    LEFT = "LEFT"


@dataclass(frozen=True, slots=True)
class Redaction:
    """Text of at most `length` characters, masked `step` characters per level.

    A position takes one of `alphabet_size` characters, or of those of `alphabet`, if they are listed. Shorter texts are
    filled up with `padding`, the mask if it is empty, at the end that `pad_at` says, the masked one if it is None.
    """

    length: int
    alphabet_size: int = 0
    mask_from: MaskFrom = MaskFrom.RIGHT
    step: int = 1
    alphabet: str = ""
    mask: str = MASK
    padding: str = ""
    pad_at: PadAt | None = None

    def __str__(self) -> str:
        return f"{self.length} characters masked from the {self.mask_from.lower()} by {self.step}"


@dataclass(frozen=True, slots=True)
class SuppressionOnly:
    """The value itself, or `*`."""

    def __str__(self) -> str:
        return "the value or *"


@dataclass(frozen=True, slots=True)
class Group:
    """A label and what it stands for: values as text at level 1, labels of the level below above it."""

    label: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupingLevel:
    """The groups of one level; `others`, if not empty, is the label of all that is in none of them."""

    groups: tuple[Group, ...]
    others: str = ""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of values, then groups of these groups, level by level from 1 on."""

    levels: tuple[GroupingLevel, ...]

    def __str__(self) -> str:
        return f"groups, {' then '.join(str(len(level.groups) + bool(level.others)) for level in self.levels)}"


class OrderLabels(StrEnum):
    """How a group of values that follow each other is called: its ends, `[low, high]`, or all of them, `{a, b, c}`."""

    INTERVAL = "INTERVAL"
    SET = "SET"


@dataclass(frozen=True, slots=True)
class OrderBased:
    """Declared values in their order: `fan_outs[0]` of them form a group of level 1, `fan_outs[i]` groups one above."""

    values: tuple[str, ...]
    fan_outs: tuple[int, ...]
    labels: OrderLabels = OrderLabels.INTERVAL

    def __str__(self) -> str:
        return f"{len(self.values)} ordered values, grouped by {', then '.join(map(str, self.fan_outs))}"


@dataclass(frozen=True, slots=True)
class DayPart:
    """A part of the day from `start` until the next part starts; its label is its interval where there is none."""

    start: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class TimeLevel:
    """A level of times of day: intervals of a `width` that divides the day, or `parts` of it."""

    width: str = ""
    parts: tuple[DayPart, ...] = ()

    def __str__(self) -> str:
        return self.width or f"{len(self.parts)} parts of the day"


@dataclass(frozen=True, slots=True)
class TimesOfDay:
    """Times of day, level by level from 1 on; of a timestamp, its time in UTC."""

    levels: tuple[TimeLevel, ...]

    def __str__(self) -> str:
        return f"times of day by {', '.join(map(str, self.levels))}"


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
SimpleRule = Intervals | Dates | Redaction | SuppressionOnly | Grouping | OrderBased | TimesOfDay


@dataclass(frozen=True, slots=True)
class Combination:
    """Some values by rows of their own, all others by a rule.

    A row is a value as text and its labels from level 1 on. Where rows or the rule have fewer levels than the other,
    the last label below the top is repeated.
    """

    rows: tuple[tuple[str, ...], ...]
    rest: SimpleRule

    def __str__(self) -> str:
        return f"{len(self.rows)} values by rows, the others: {self.rest}"


RuleHierarchy = SimpleRule | Combination
HierarchyDefinition = ListedHierarchy | RuleHierarchy

FIELDS: dict[type[HierarchyDefinition], str] = {
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
    Grouping: "grouping",
    OrderBased: "order_based",
    TimesOfDay: "times_of_day",
    Combination: "combination",
}
"""The field of a policy's `hierarchy` that holds each."""


def field_of(definition: HierarchyDefinition) -> str:
    """Name of the field below a policy's `hierarchy` that holds the definition."""
    return FIELDS[type(definition)]
