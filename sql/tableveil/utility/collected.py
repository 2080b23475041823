"""The two sides of a utility report whose rows are in a warehouse: a sample of them in the embedded database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column
from tableveil.policy import TableReference
from tableveil.utility.associations import MOST_ROWS
from tableveil.utility.compared import Sides

BYTES_PER_VALUE = 32
"""A number or a short text."""


def collected_sides(
    session: WarehouseSession, sides: Sides, names: Sequence[str], person: str | None
) -> tuple[Sides, int]:
    """Both sides with these columns, in temporary tables of the embedded session, and the most records of a side.

    About so many are drawn by chance if there are more. The source has the column of people as well.

    Raises:
        InvalidError: their values take too much to collect.
    """
    most = MOST_ROWS
    if session.most_collected is not None:
        most = max(1, min(most, session.most_collected // (2 * BYTES_PER_VALUE * max(1, len(names)))))
    for of, rows in (("before", sides.before()), ("after", sides.after())):
        records: int = session.value(exp.select(exp.Count(this=exp.Star())).from_(rows))
        wanted = [*names, person] if person and person not in names and of == "before" else names
        sample = exp.select(*(alias(column(name, "rows"), name) for name in wanted)).from_(rows.copy())
        if records > most:
            share = exp.Literal.number(f"{most / records:.12f}")
            sample = sample.where(exp.LT(this=exp.Rand(), expression=share))
        session.collect(f"utility_{of}", sample)
    before, after = (TableReference("temp", "main", f"utility_{of}") for of in ("before", "after"))
    return Sides(replace(sides.source, reference=before, subset="", query=None), after), most
