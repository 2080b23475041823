"""The rows that the exposure is measured on: their classes, own values and values of columns as small numbers."""

from collections.abc import Iterator, Mapping, Sequence
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

HASHED = "UBIGINT"
"""The type of classes that are numbered by a hash."""


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The number of `rows` of `ROWS`, the aggregate that counts its records, and whether it has `people`.

    Each measured column has a table of `codes`, which number its values, or None if its values are hashes.
    """

    codes: tuple[str | None, ...]
    rows: int
    records: str
    people: bool


def stage_rows(
    rows: WarehouseSession, plan: ReleasePlan, measured: Sequence[AttributePolicy], *, number_values: bool
) -> CountedRows:
    """Makes the table `ROWS` with the own values of the plan's quasi-identifiers.

    With `number_values`, the few values of a column are numbered.
    """
    session, codes = rows.embedded, tuple[str | None, ...](None for _ in measured)
    coded = plan.recoding.coded(rows, plan)
    if number_values and coded.values is None and not rows.traits.collects:
        codes = _numbered(session, plan, measured)
    query = coded.query.select(alias(coded.class_, "class"), *_own(plan, coded.own))
    for i, (numbers, attribute) in enumerate(zip(codes, measured, strict=True)):
        name = attribute.column
        value: exp.Expr = row_hash(column(name, "source") if coded.values is None else coded.values[name])
        if numbers is not None:
            query = left_join(query, table(numbers), exp.EQ(this=value, expression=column("hashed", numbers)))
            value = column("code", numbers)
        query = query.select(alias(value, f"v{i}"), copy=False)
    if coded.person is not None:
        query = query.select(alias(coded.person, "w"))
    staged, records = _stage(rows, query, HASHED if coded.hashed else "INTEGER")
    for name in coded.staged:
        session.execute(f"DROP TABLE IF EXISTS temp.main.{name}")
    return CountedRows(codes, staged, records, coded.person is not None)


def drop_rows(session: Session, counted: CountedRows) -> None:
    """Drops all tables of `stage_rows`."""
    for made in (ROWS, *(codes for codes in counted.codes if codes is not None)):
        session.execute(f"DROP TABLE temp.main.{made}")


def _stage(rows: WarehouseSession, query: exp.Select, class_type: str) -> tuple[int, str]:
    """Stages the rows of the query; returns their number, and the aggregate that counts their records."""
    session, names, records = rows.embedded, [named.alias for named in query.expressions], "count(*)"
    from_rows: exp.Expr = query.subquery("rows")
    if rows.traits.collects:
        counting = "SELECT $names, count(*) AS n FROM $rows GROUP BY $names"
        counted = sql(counting, names=[column(name) for name in names], rows=from_rows)
        names, from_rows, records = [*names, "n"], collected(rows, "exposure_collected", counted), "sum(n)::BIGINT"
    # Hashes of another engine may be below 0.
    hashed_again = rows.traits.collects and class_type == HASHED
    class_ = "CASE WHEN NOT class IS NULL THEN $hash END" if hashed_again else "class"
    # Suppressed records are one more class. Only here: no type of Spark's has all hashes of DuckDB's.
    query_ = f"SELECT CAST(coalesce({class_}, 0) AS {class_type}) AS class, $others FROM $rows"
    others = [column(name) for name in names if name != "class"]
    return session.stage(ROWS, sql(query_, hash=row_hash(column("class")), others=others, rows=from_rows)), records


def _numbered(session: Session, plan: ReleasePlan, measured: Sequence[AttributePolicy]) -> tuple[str | None, ...]:
    """Numbers the values of measured columns with few; returns the table of each."""
    rows = plan.source.table("source")
    hashes = [row_hash(column(attribute.column, "source")) for attribute in measured]
    numbers = session.row(exp.select(*(exp.ApproxDistinct(this=value.copy()) for value in hashes)).from_(rows))
    made = list[str | None]()
    for i, (value, values) in enumerate(zip(hashes, numbers, strict=True)):
        codes = f"exposure_codes_{i}" if values <= MOST_CODED else None
        if codes is not None:
            distinct = render(exp.select(alias(value, "hashed")).distinct().from_(rows.copy()))
            different = session.stage("exposure_hashes", distinct)
            session.stage(
                codes,
                f"SELECT hashed, (row_number() OVER (ORDER BY hashed) - 1)::{code_type(different)} AS code "
                "FROM exposure_hashes",
            )
            session.execute("DROP TABLE temp.main.exposure_hashes")
        made.append(codes)
    return tuple(made)


def _own(plan: ReleasePlan, own: Mapping[str, exp.Expr]) -> Iterator[exp.Expr]:
    """The own values."""
    for j, released in enumerate(plan.quasi_identifiers()):
        # The table of rows spills: wide codes would be most of it.
        yield alias(cast(own[released.name].copy(), code_type(released.distinct)), f"q{j}")
