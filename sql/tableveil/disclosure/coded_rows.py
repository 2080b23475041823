"""The rows that the exposure is measured on: their classes, own values and values of columns as small numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    left_join,
    render,
    row_hash,
    sql,
    table,
)
from tableveil.counting.base import code_type
from tableveil.policy import AttributePolicy
from tableveil.release.plan import ReleasePlan

ROWS = "exposure_rows"
"""A row per record: `class`, own values `q<j>`, and numbers `v<i>` of the values of columns.

Records of a warehouse that are alike are one row, and `n` is their number. Where people have several records, `w` is
the number of the record's person.

The class is a number in random order, 0 for suppressed records.
"""

MOST_CODED = 4096
"""Up to so many values of a column are numbered: hashes are grouped in several times the time."""


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The `names` of the columns of `ROWS`, for a FROM clause `source`: a table, or a query where all are few.

    If they are in a table, `rows` is their number. Each measured column has a table of `codes`, which number its
    values, or None if its values are hashes. `staged` are all tables.
    """

    names: tuple[str, ...]
    source: str
    rows: int
    codes: tuple[str | None, ...]
    staged: tuple[str, ...]

    @property
    def records(self) -> str:
        """The aggregate that counts records."""
        return "sum(n)::BIGINT" if "n" in self.names else "count(*)"


def stage_rows(
    rows: WarehouseSession, plan: ReleasePlan, measured: Sequence[AttributePolicy], *, many: bool
) -> CountedRows:
    """The `ROWS` with the own values of the plan's quasi-identifiers.

    Where there are `many`, they are a table, and the few values of a column are numbered: all are counted there.
    """
    session, coded = rows.embedded, plan.recoding.coded(rows, plan)
    codes = tuple[str | None, ...](None for _ in measured)
    if many and coded.values is None and not rows.traits.collects:
        codes = _numbered(session, plan, measured)
    # The table of rows spills: wide codes would be most of it.
    own = [cast(coded.own[each.name].copy(), code_type(each.distinct)) for each in plan.quasi_identifiers()]
    query = coded.query.select(alias(coded.class_, "class"), *(alias(code, f"q{j}") for j, code in enumerate(own)))
    for i, (numbers, attribute) in enumerate(zip(codes, measured, strict=True)):
        name = attribute.column
        value: exp.Expr = row_hash(column(name, "source") if coded.values is None else coded.values[name])
        if numbers is not None:
            query = left_join(query, table(numbers), exp.EQ(this=value, expression=column("hashed", numbers)))
            value = column("code", numbers)
        query = query.select(alias(value, f"v{i}"), copy=False)
    if coded.person is not None:
        query = query.select(alias(coded.person, "w"))
    names = [named.alias for named in query.expressions]
    from_rows: exp.Expr = query.subquery("rows")
    class_, class_type = "class", "UBIGINT" if coded.hashed else "INTEGER"
    if rows.traits.collects:
        counting = "SELECT $names, count(*) AS n FROM $rows GROUP BY $names"
        counted = sql(counting, names=[column(name) for name in names], rows=from_rows)
        names, from_rows = [*names, "n"], collected(rows, "exposure_collected", counted)
        # Hashes of another engine may be below 0.
        class_ = "CASE WHEN NOT class IS NULL THEN $hash END" if coded.hashed else class_
    # Suppressed records are one more class. Only here: no type of Spark's has all hashes of DuckDB's.
    query_ = f"SELECT CAST(coalesce({class_}, 0) AS {class_type}) AS class, $others FROM $rows"
    others = [column(name) for name in names if name != "class"]
    all_rows = sql(query_, hash=row_hash(column("class")), others=others, rows=from_rows)
    staged = (*coded.staged, *(made for made in codes if made is not None))
    if not many:
        return CountedRows(tuple(names), f"({render(all_rows)})", 0, codes, staged)
    return CountedRows(tuple(names), ROWS, session.stage(ROWS, all_rows), codes, (*staged, ROWS))


def _numbered(session: Session, plan: ReleasePlan, measured: Sequence[AttributePolicy]) -> tuple[str | None, ...]:
    """Numbers the values of measured columns with few; returns the table of each."""
    rows = plan.source.table("source")
    hashes = [row_hash(column(attribute.column, "source")) for attribute in measured]
    numbers = session.row(exp.select(*(exp.ApproxDistinct(this=value.copy()) for value in hashes)).from_(rows))
    made = list[str | None]()
    for i, (value, values) in enumerate(zip(hashes, numbers, strict=True)):
        made.append(f"exposure_codes_{i}" if values <= MOST_CODED else None)
        if made[-1] is not None:
            distinct = render(exp.select(alias(value, "hashed")).distinct().from_(rows.copy()))
            code = f"(row_number() OVER (ORDER BY hashed) - 1)::{code_type(2 * MOST_CODED)} AS code"
            session.stage(made[-1], f"SELECT hashed, {code} FROM ({distinct})")
    return tuple(made)
