"""The suppressed records of releases by the released labels of single columns."""

from dataclasses import dataclass

from tableveil.state.mapper import Table


@dataclass(frozen=True, slots=True)
class SuppressedLabel:
    """So many of the source's `records` with this label in the column are suppressed; the label None is NULL."""

    column: str
    label: str | None
    records: int
    suppressed: int


SUPPRESSIONS = Table("release_suppressions", SuppressedLabel, "release", position=True, names={"column": "column_name"})
