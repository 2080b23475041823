"""A look at released rows before anybody releases them: a few of them, spread over the whole table."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, number
from tableveil.state.dry_runs import ShownRow

MOST_ROWS = 20
_CHARACTERS = 200


def shown_rows(session: Session, rows: exp.Table, names: Sequence[str], count: int) -> tuple[ShownRow, ...]:
    """These columns of at most `MOST_ROWS` of the table's `count` rows, at equal distances: it reads the table once.

    Rows are sorted, so that neighbours are alike.
    """
    distance = max(1, -(-count // MOST_ROWS))
    before = exp.paren(exp.Sub(this=exp.Window(this=exp.RowNumber()), expression=number(1)))
    cells = [
        alias(exp.Left(this=cast(column(name), "VARCHAR"), expression=number(_CHARACTERS + 1)), name) for name in names
    ]
    query = exp.select(*cells).from_(rows)
    query.set(
        "qualify",
        exp.Qualify(this=exp.EQ(this=exp.Mod(this=before, expression=number(distance)), expression=number(0))),
    )
    taken = session.batches(query, MOST_ROWS).read_all().to_pylist()
    return tuple(ShownRow({name: _cut(value) for name, value in row.items()}) for row in taken)


def _cut(value: str | None) -> str | None:
    return f"{value[:_CHARACTERS]}…" if value is not None and len(value) > _CHARACTERS else value
