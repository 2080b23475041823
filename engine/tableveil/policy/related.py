"""Related tables in a policy: the event tables of the people whose table is its source, released as one."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tableveil.policy.model import AttributePolicy, TableReference


class Orphans(StrEnum):
    """The treatment of rows of an event table whose person is not in the people's table."""

    REFUSE = "REFUSE"
    DROP = "DROP"


class Anchor(StrEnum):
    """The day from which days of events are counted: the person's first event, the one before, or a person's date."""

    FIRST_EVENT = "FIRST_EVENT"
    PREVIOUS_EVENT = "PREVIOUS_EVENT"
    COLUMN = "COLUMN"


@dataclass(frozen=True, slots=True)
class RelativeTime:
    """Dates of events become days since the anchor; `column` is one of the people's table, for `COLUMN`."""

    anchor: Anchor
    column: str = ""

    @property
    def means(self) -> str:
        """The meaning of the days."""
        return f"days since {self._said[0]}"

    @property
    def null_means(self) -> str:
        """The meaning of NULL in place of days."""
        return f"{self._said[1]}, or no date"

    @property
    def _said(self) -> tuple[str, str]:
        """The anchor in words, and what is missing without one."""
        return {
            Anchor.FIRST_EVENT: ("the person's first event", "no dated event of the person"),
            Anchor.PREVIOUS_EVENT: ("the person's event before (of an earlier day)", "no earlier event of the person"),
            Anchor.COLUMN: (f"the person's {self.column}", f"no {self.column} of the person"),
        }[self.anchor]


@dataclass(frozen=True, slots=True)
class EventTable:
    """A table of events, such as visits; `person` is its column that has the people's key.

    `attributes` are its columns, from the policy's entry number `first` on.
    """

    name: str
    table: TableReference
    person: str
    orphans: Orphans = Orphans.REFUSE
    attributes: tuple[AttributePolicy, ...] = ()
    first: int = 0

    @property
    def quasi_identifiers(self) -> tuple[AttributePolicy, ...]:
        """The attributes that make the labels of its rows, in policy order."""
        return tuple(attribute for attribute in self.attributes if attribute.role == "QUASI_IDENTIFIER")

    @property
    def sensitive(self) -> tuple[AttributePolicy, ...]:
        """The attributes that are released as they are."""
        return tuple(attribute for attribute in self.attributes if attribute.role == "SENSITIVE")

    def qualified(self, column: str) -> str:
        """The name of one of its columns where those of all tables stand together, as in `search.levels`."""
        return f"{self.name}.{column}"

    def field(self, position: int) -> str:
        """The path of the attribute at a position."""
        return f"attributes[{self.first + position}]"

    def role_field(self, position: int) -> str:
        """The path of the field that gives the attribute at a position its role."""
        return f"{self.field(position)}.role" if self.attributes[position].listed else "default_role"


@dataclass(frozen=True, slots=True)
class RelatedTables:
    """One to three event tables, and the limits of what may be removed of their rows.

    `rows_limit` is the largest share of all rows of events that may be removed, those of suppressed people included.
    A person keeps at most `most_rows_of_a_person`, over all tables.
    """

    events: tuple[EventTable, ...]
    rows_limit: Decimal = Decimal(0)
    most_rows_of_a_person: int | None = None
    relative_time: RelativeTime | None = None

    def removable(self, rows: int) -> int:
        """The largest number of rows that may be removed: floor(limit * rows), exact."""
        numerator, denominator = self.rows_limit.as_integer_ratio()
        return numerator * rows // denominator

    def event(self, name: str) -> EventTable | None:
        """The event table of that name."""
        return next((event for event in self.events if event.name == name), None)
