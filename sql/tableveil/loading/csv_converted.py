"""Columns whose values the load converts itself: with blanks around them, or with digits in groups of three."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, replaced, text, time_of_format, try_cast
from tableveil.errors import Fault, InvalidError, NearestNames, shortened
from tableveil.loading.model import CsvFormat

BLANKS = " \t\u00a0\u2007\u202f\u3000"
"""The signs that may stand around a value, no-break spaces too."""


def is_converted(how: CsvFormat, name: str) -> bool:
    """Whether the database reads the column as text, whatever its type."""
    return name in how.trimmed or name in how.thousands


def check_options(how: CsvFormat, names: Sequence[str]) -> None:
    """Raises `InvalidError` for options about columns that are not there, or marks that no number has."""
    hint = NearestNames(names)
    faults = [
        Fault(field, shortened(name), "a column of the file", hint(name))
        for field, stated in (("trimmed", how.trimmed), ("thousands", how.thousands))
        for name in stated
        if name not in names
    ]
    faults += [
        Fault("thousands", f"{shortened(mark)} for column {shortened(name)}", "a single sign, such as . or a blank")
        for name, mark in how.thousands.items()
        if len(mark) != 1 or mark.isalnum() or mark in "+-"
    ]
    if faults:
        raise InvalidError.about("CSV_FORMAT", "the CSV format is invalid", faults)


def plain(how: CsvFormat, name: str) -> exp.Expr:
    """The text of a column without blanks around it and marks between groups of digits; NULL if it stands for none."""
    value: exp.Expr = column(name)
    if name in how.trimmed:
        value = exp.Trim(this=value, expression=text(BLANKS))
        value = exp.Case(default=value).when(value.isin(*map(text, how.null_texts)), exp.null())
    if mark := how.thousands.get(name):
        decimal = "," if how.decimal_comma else "."
        behind = "" if mark == decimal else f"({re.escape(decimal)}[0-9]+)?"
        grouped = text(f"[+-]?[0-9]{{1,3}}({re.escape(mark)}[0-9]{{3}})+{behind}")
        matches = exp.RegexpFullMatch(this=value.copy(), expression=grouped)
        value = exp.Case(default=value).when(matches, replaced(value.copy(), mark, ""))
    return value


def as_stored(how: CsvFormat, name: str, type_: str) -> exp.Expr:
    """The value of the column in this type; NULL where it does not fit."""
    value, kind = plain(how, name), type_.upper()
    wanted = {"DATE": how.date_format, "TIMESTAMP": how.timestamp_format}.get(kind, "")
    if kind == "VARCHAR":
        return value
    if wanted:
        return cast(time_of_format(value, text(wanted)), type_)
    if how.decimal_comma and not kind.startswith(("DATE", "TIME", "BOOL")):
        value = replaced(value, ",", ".")
    return try_cast(value, type_)


def check_fit(session: Session, rows: exp.Expr, how: CsvFormat, types: Mapping[str, str]) -> None:
    """Raises `InvalidError` for values, in rows that have all columns as text, that do not fit their types."""
    names = [name for name, type_ in types.items() if is_converted(how, name) and type_.upper() != "VARCHAR"]
    if not names:
        return
    counts = [
        alias(exp.Count(this=plain(how, name)) - exp.Count(this=as_stored(how, name, types[name])), f"c{i}")
        for i, name in enumerate(names)
    ]
    faults = [
        Fault(
            f"column {shortened(name)}",
            f"{count:,} values that are no {types[name]}",
            "values of its type",
            "Correct them, say what stands for nothing (--null), or load the column as text (--type COLUMN=VARCHAR).",
        )
        for name, count in zip(names, session.row(exp.select(*counts).from_(rows)), strict=True)
        if count
    ]
    if faults:
        raise InvalidError.about("CSV_LINES_REJECTED", "some values cannot be loaded, and nothing was", faults)
