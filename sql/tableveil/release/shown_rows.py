"""A look at released rows before anybody releases them: a few of them, spread over the whole table."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tableveil.backend import Session, alias, column, expression, number, sql
from tableveil.state.dry_runs import ShownRow

MOST_ROWS = 20
_CHARACTERS = 200


def shown_rows(session: Session, rows: exp.Table, names: Sequence[str], count: int) -> tuple[ShownRow, ...]:
    """These columns of at most `MOST_ROWS` of the table's `count` rows, at equal distances: it reads the table once.

    Rows are sorted, so that neighbours are alike.
    """
    distance = max(1, -(-count // MOST_ROWS))
    cell = f"left(CAST($name AS VARCHAR), {_CHARACTERS + 1})"
    cells = [alias(expression(cell, name=column(name)), name) for name in names]
    query = "SELECT $cells FROM $rows QUALIFY (row_number() OVER () - 1) % $distance = 0"
    query_ = sql(query, cells=cells, rows=rows, distance=number(distance))
    taken = session.batches(query_, MOST_ROWS).read_all().to_pylist()
    return tuple(ShownRow({name: _cut(value) for name, value in row.items()}) for row in taken)


def _cut(value: str | None) -> str | None:
    return f"{value[:_CHARACTERS]}…" if value is not None and len(value) > _CHARACTERS else value
