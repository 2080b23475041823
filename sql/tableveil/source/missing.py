"""Faults about missing tables and columns: one code and one text for all calls."""

from collections.abc import Sequence
from dataclasses import dataclass

from tableveil.errors import Fault, InvalidError, NearestNames, NotFoundError, shortened


@dataclass(frozen=True, slots=True)
class MissingTable(Fault):
    """A reference to a table that does not exist, or that cannot be read."""


@dataclass(frozen=True, slots=True)
class MissingColumn(Fault):
    """A name that no column of the table has."""


def missing_column(field: str, name: str, hint: NearestNames) -> MissingColumn:
    """The fault of a name that no column of the table has; `hint` knows all columns."""
    return MissingColumn(field, shortened(name), "a column of the table", hint(name))


def invalid(code: str, summary: str, faults: Sequence[Fault]) -> InvalidError | NotFoundError:
    """The error of a call with faults; if all of them are missing tables or columns, it has their code."""
    if all(isinstance(fault, MissingTable) for fault in faults):
        return NotFoundError.about("TABLE_NOT_FOUND", "there are no such tables", faults)
    if all(isinstance(fault, MissingColumn) for fault in faults):
        return NotFoundError.about("COLUMN_NOT_FOUND", "there are no such columns", faults)
    return InvalidError.about(code, summary, faults)
