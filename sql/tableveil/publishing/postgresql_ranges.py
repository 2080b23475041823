"""Native ranges beside the labels of published rows: generated columns, so that rows arrive as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tableveil.publishing.edition import Item
from tableveil.publishing.postgresql_types import MOST_BYTES
from tableveil.state.release_objects import ObjectKind

RANGES = """
SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname::text = $1 AND relname::text = $2 AND attgenerated = 's' AND NOT attisdropped ORDER BY attnum"""
"""Names and types of the generated columns of a table, by schema and name."""

_KINDS = {"BIGINT": ("int8range", ""), "DOUBLE": ("numrange", "::numeric"), "DATE": ("daterange", ""),
          "TIMESTAMP": ("tsrange", "")}  # fmt: skip
"""The range of a type of bounds, and the cast of these."""


@dataclass(frozen=True, slots=True)
class RangeColumn:
    """A generated column: the range of a label, NULL where that is NULL, unbounded where the label says nothing."""

    name: str
    label: str
    type: str
    expression: str

    @property
    def definition(self) -> str:
        """The definition for CREATE and ALTER TABLE."""
        return f"{quoted(self.name)} {self.type} GENERATED ALWAYS AS ({self.expression}) STORED"

    @property
    def comment(self) -> str:
        """The comment on it."""
        return f"The values that the label in {self.label} stands for, as a range: compare by @>, <@ and &&."


def range_columns(item: Item) -> list[RangeColumn]:
    """The ranges beside the labels of rows that have bounds, unless the name is taken or too long."""
    if item.kind is not ObjectKind.ROWS:
        return []
    types = dict(item.columns)
    ranges = []
    for label, type_ in item.columns:
        name, low, high = f"{label}_range", f"{label}_from", f"{label}_to"
        bounds = types.get(low)
        beside = type_ == "VARCHAR" and types.get(f"{label}_rank") == "INTEGER" and bounds == types.get(high)
        if beside and bounds in _KINDS and name not in types and len(name.encode()) <= MOST_BYTES:
            ranges.append(RangeColumn(name, label, _KINDS[bounds][0], _expression(label, low, high, bounds)))
    return ranges


def stale(there: Mapping[str, str], wanted: Sequence[RangeColumn]) -> list[str]:
    """The generated columns among these names and types that go away: bounds of another type have another range."""
    types = {column.name: column.type for column in wanted}
    return [name for name, type_ in there.items() if types.get(name) != type_]


def quoted(name: str) -> str:
    """A name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def _expression(label: str, low: str, high: str, type_: str) -> str:
    """Whole numbers and days include both ends; others as the functions of analysts have them."""
    made, cast = _KINDS[type_]
    ends = f"{quoted(low)}{cast}, {quoted(high)}{cast}"
    closed = "'[]'"
    if type_ not in ("BIGINT", "DATE"):
        included = (
            f"{quoted(low)} = {quoted(high)} OR right({quoted(label)}, 1) = ']' OR left({quoted(label)}, 3) = '>= '"
        )
        closed = f"CASE WHEN {included} THEN '[]' ELSE '[)' END"
    return f"CASE WHEN {quoted(label)} IS NOT NULL THEN {made}({ends}, {closed}) END"
