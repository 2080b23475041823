"""The sensitive values of people and of their events as numbers: spellings of a value are one."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, column, expression, left_join, sql, table, text, try_cast
from tableveil.errors import Fault, Warned, must_decide, shortened
from tableveil.hierarchy import ValueKind
from tableveil.related.staging import StagedEvents, of_people
from tableveil.source import Column, Source
from tableveil.source.spelling import spelling

Ints = NDArray[np.int32]

_VALUES = "sensitive_values"

_WIDE = {ValueKind.INTEGER: "DECIMAL(38,10)", ValueKind.DECIMAL: "DECIMAL(38,10)", ValueKind.DATE: "TIMESTAMP"}
"""The types that keep what these kinds round away."""


def check_named(
    session: Session, source: Source, name: str, named: Sequence[str], field: str
) -> tuple[list[Fault], list[Warned]]:
    """Faults of named values that are not of the column's type, and warnings: no row has a value, others stay."""
    own, value = source.column(name), column("value")
    if not named:
        return [], []
    given = exp.values([(i, one) for i, one in enumerate(named)], alias="given", columns=["i", "value"])
    rows = session.rows(
        sql(
            "SELECT i, coalesce($exact, FALSE), coalesce($read IN (SELECT $own FROM $rows WHERE $own IS NOT NULL), "
            "FALSE) FROM $given ORDER BY i",
            exact=_is_exact(value, own),
            read=_read(value, own),
            own=spelling(column(name, "source"), own),
            rows=source.table("source"),
            given=given,
        )
    )
    expected = f"a value of {shortened(name)}, whose type is {shortened(own.type)}"
    hint = "Write it as DuckDB shows it."
    faults = [Fault(f"{field}.values[{i}]", shortened(named[i]), expected, hint) for i, fits, _ in rows if not fits]
    absent = [i for i, fits, found in rows if fits and not found]
    unbounded = [] if faults else list(_unbounded(session, source, own, named, field))
    if not absent:
        return faults, unbounded
    others = f", nor any of {len(absent) - 1:,} others" if len(absent) > 1 else ""
    warning = (
        f"No row has values[{absent[0]}] of the {len(named):,} values of {shortened(name)} that sensitive_share "
        f"names{others}. Only named values are bounded, as the rows have them. Correct or remove it."
    )
    return faults, [must_decide(warning, len(absent), f"{field}.values[{absent[0]}]"), *unbounded]


def _unbounded(session: Session, source: Source, own: Column, named: Sequence[str], field: str) -> Iterator[Warned]:
    """A warning about the values that are not named, where rows have some."""
    spelled = alias(spelling(column(own.name, "source"), own), "value")
    rows, some, values, bounded = session.row(
        sql(
            "SELECT count(*), count(*) FILTER (named), count(DISTINCT value), count(DISTINCT value) FILTER (named) "
            "FROM (SELECT value, value IN ($named) AS named FROM $rows WHERE value IS NOT NULL)",
            named=[_read(text(one), own) for one in named],
            rows=exp.select(spelled).from_(source.table("source")).subquery("spelled"),
        )
    )
    if some < rows:
        yield Warned(
            f"sensitive_share bounds {bounded:,} of the {values:,} values of {shortened(own.name)}, which {some:,} of "
            f"{rows:,} rows with a value have. Others are not bounded: name no values to bound all.",
            count_of=rows - some,
            field=f"{field}.values",
        )


def _read(value: exp.Expr, own: Column) -> exp.Expr:
    """A named value, a text, as one of the column; NULL if it is of another type."""
    return spelling(value, own) if own.kind is ValueKind.TEXT else try_cast(value, own.type)


def _is_exact(value: exp.Expr, own: Column) -> exp.Expr:
    """Whether a text is a value of the column's type, and not rounded to one as 1.5 is to an integer."""
    wide = _WIDE.get(own.kind)
    same = f" AND coalesce(TRY_CAST($read AS {wide}) = TRY_CAST($value AS {wide}), TRUE)" if wide else ""
    return expression(f"$read IS NOT NULL{same}", read=_read(value, own), value=value)


def values_of_people(session: Session, source: Source, key: str, name: str, named: Sequence[str]) -> tuple[Ints, Ints]:
    """The numbers of the people, and those of their values, in any order; -1 is no value, or none of those named."""
    return _values(session, source, of_people(source, key), name, named, column("p", "people"))


def values_of_events(session: Session, staged: StagedEvents, name: str, named: Sequence[str]) -> tuple[Ints, Ints]:
    """The places of staged rows, and the numbers of their values, likewise."""
    rows = exp.select().from_(staged.source.table("source"))
    return _values(session, staged.source, rows, name, named, column(staged.place, "source"))


def _values(
    session: Session, source: Source, rows: exp.Select, name: str, named: Sequence[str], of: exp.Expr
) -> tuple[Ints, Ints]:
    own = source.column(name)
    value = spelling(column(name, "source"), own)
    distinct = rows.select(alias(value, "value")).distinct().where(column(name, "source").is_(exp.null()).not_())
    if named:
        read = [_read(text(one), own) for one in named]
        distinct = sql("SELECT value FROM $each WHERE value IN ($read)", each=distinct.subquery("each"), read=read)
    numbered = "SELECT value, CAST(row_number() OVER () - 1 AS INTEGER) AS code FROM $found"
    session.collect(_VALUES, sql(numbered, found=distinct.subquery("found")))
    same = exp.EQ(this=value.copy(), expression=column("value", "known"))
    joined = left_join(rows.copy(), table(_VALUES, alias="known"), same)
    arrays = session.arrays(joined.select(alias(of, "n"), expression("coalesce(known.code, -1) AS code")))
    return arrays["n"], arrays["code"]
