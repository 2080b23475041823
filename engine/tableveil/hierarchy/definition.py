"""The kinds of hierarchy that a policy may define: levels written out, a reference to stored levels, or a rule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class InlineLevels:
    """Levels written out: per value a row of the value as text and its labels from level 1 to the top."""

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class StoredLevels:
    """A hierarchy kept on the server; version 0 means the newest."""

    name: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class TableLevels:
    """A hierarchy in a table of the database; no columns means all columns, in table order."""

    catalog: str
    schema: str
    table: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LossRange:
    """The part of a declared range whose values loss counts, with bounds as the policy wrote them."""

    minimum: str
    maximum: str


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals over a declared range; all bounds and widths are kept as the policy wrote them.

    The intervals of a level have one of `widths`, counted from `minimum`, or lie between the bounds of one of
    `boundaries`.
    """

    minimum: str
    maximum: str
    widths: tuple[str, ...] = ()
    bottom_coding: str = ""
    top_coding: str = ""
    boundaries: tuple[tuple[str, ...], ...] = ()
    loss_range: LossRange | None = None

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
    """Calendar periods over a declared range of days (ISO dates, inclusive).

    Loss counts the days of `loss_range`, or as many as `loss_days` wherever they are, if it is not 0; else all.
    """

    minimum: str
    maximum: str
    units: tuple[DateUnit, ...]
    loss_range: LossRange | None = None
    loss_days: int = 0

    def __str__(self) -> str:
        return f"{', '.join(unit.lower() for unit in self.units)} in {self.minimum} to {self.maximum}"


MASK = "*"
"""The character that masks others, unless the policy names one."""


class MaskFrom(StrEnum):
    """The end of a text at which masking starts."""

    RIGHT = "RIGHT"
    LEFT = "LEFT"


class PadAt(StrEnum):
    """The end of a text at which padding is added."""

    RIGHT = "RIGHT"
    LEFT = "LEFT"


@dataclass(frozen=True, slots=True)
class Redaction:
    """Text of at most `length` characters, masked `step` characters per level.

    A position takes one of `alphabet_size` characters, or one of `alphabet`, if these are listed. Shorter texts are
    filled up with `padding`, or with the mask if it is empty. They are filled at the end that `pad_at` names, or at the
    masked end if it is None.
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
    """A label and its members: values as text at level 1, labels of the level below at higher levels."""

    label: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupingLevel:
    """The groups of one level; `others`, if not empty, is the label of all values in none of them."""

    groups: tuple[Group, ...]
    others: str = ""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups of values, then groups of these groups, from level 1 upwards."""

    levels: tuple[GroupingLevel, ...]

    def __str__(self) -> str:
        return f"groups, {' then '.join(str(len(level.groups) + bool(level.others)) for level in self.levels)}"


class OrderLabels(StrEnum):
    """How a group of neighbouring values is named: by its ends, `[low, high]`, or by all of them, `{a, b, c}`."""

    INTERVAL = "INTERVAL"
    SET = "SET"


@dataclass(frozen=True, slots=True)
class OrderBased:
    """Declared values in order: `fan_outs[0]` of them form a group of level 1; `fan_outs[i]` groups form one above."""

    values: tuple[str, ...]
    fan_outs: tuple[int, ...]
    labels: OrderLabels = OrderLabels.INTERVAL

    def __str__(self) -> str:
        return f"{len(self.values)} ordered values, grouped by {', then '.join(map(str, self.fan_outs))}"


@dataclass(frozen=True, slots=True)
class DayPart:
    """A part of the day from `start` until the next part starts; without a label it is named by its interval."""

    start: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class TimeLevel:
    """A level of times of day: intervals of a `width` that divides the day, or `parts` of the day."""

    width: str = ""
    parts: tuple[DayPart, ...] = ()

    def __str__(self) -> str:
        return self.width or f"{len(self.parts)} parts of the day"


@dataclass(frozen=True, slots=True)
class TimesOfDay:
    """Times of day, from level 1 upwards; for a timestamp, its time in UTC."""

    levels: tuple[TimeLevel, ...]

    def __str__(self) -> str:
        return f"times of day by {', '.join(map(str, self.levels))}"


@dataclass(frozen=True, slots=True)
class SafeHarborZip:
    """Five-digit ZIP codes by HIPAA's Safe Harbor, with the number of people in each from a table of the database.

    Level 1 is the first three digits, or 000 if no more than 20,000 people live in all ZIP codes that begin with them;
    above are two digits, one, and `*`.
    """

    catalog: str
    schema: str
    table: str
    zip_column: str = "zip"
    population_column: str = "population"


@dataclass(frozen=True, slots=True)
class SafeHarborAge:
    """Ages in years by HIPAA's Safe Harbor: level 1 merges all from 90 on; above are wider ranges, and `*`."""


@dataclass(frozen=True, slots=True)
class SafeHarborDate:
    """Dates by HIPAA's Safe Harbor, in a declared range of days (ISO dates, inclusive): level 1 is the year.

    With `birth_as_of`, a day, they are dates of birth: people who reach 90 in that day's year, or are older, form one
    group with all who were born in the same year or before.
    """

    minimum: str
    maximum: str
    birth_as_of: str = ""


SafeHarborHierarchy = SafeHarborZip | SafeHarborAge | SafeHarborDate
"""Level `SAFE_HARBOR_LEVEL` of each is the level that Safe Harbor allows (45 CFR 164.514(b)(2))."""

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
"""The field of a policy's `hierarchy` for each kind of definition."""


def field_of(definition: HierarchyDefinition) -> str:
    """Name of the field below a policy's `hierarchy` that holds the definition."""
    return FIELDS[type(definition)]
