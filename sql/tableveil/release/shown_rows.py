"""A look at released rows before anybody releases them: a few of them, spread over the whole table."""

from __future__ import annotations

from sqlglot import exp

from tableveil.backend import Session, cast, number
from tableveil.state.dry_runs import ShownRow

MOST_ROWS = 20
_CHARACTERS = 200


def shown_rows(session: Session, rows: exp.Table, count: int) -> tuple[ShownRow, ...]:
    """At most `MOST_ROWS` of the table's `count` rows, at equal distances: it reads the table once.

    Rows are sorted, so that neighbours are alike.
    """
    distance = max(1, -(-count // MOST_ROWS))
    texts = cast(exp.Columns(this=exp.Star()), "VARCHAR")
    before = exp.paren(exp.Sub(this=exp.Window(this=exp.RowNumber()), expression=number(1)))
    query = exp.select(exp.Left(this=texts, expression=number(_CHARACTERS + 1))).from_(rows)
    query.set(
        "qualify",
        exp.Qualify(this=exp.EQ(this=exp.Mod(this=before, expression=number(distance)), expression=number(0))),
    )
    taken = session.batches(query, MOST_ROWS).read_all().to_pylist()
    return tuple(ShownRow({name: _cut(value) for name, value in row.items()}) for row in taken)


def _cut(value: str | None) -> str | None:
    return f"{value[:_CHARACTERS]}…" if value is not None and len(value) > _CHARACTERS else value
