"""The bytes that a job would collect from a warehouse: too many are refused before any of them come."""

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, column, expression, number, sql
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Source

BYTES_PER_VALUE = 64
"""A value in Arrow, in the embedded database, and while it is labelled, besides the characters of a text."""

BYTES_PER_COMBINATION = 24
"""Two words of codes, and a number of records."""


def check_collectible(
    session: WarehouseSession,
    source: Source,
    identifiers: Sequence[str],
    sensitive: Collection[str] = (),
    known: Mapping[str, int] | None = None,
) -> None:
    """Raises `InvalidError` if the values and combinations that a job needs take more than may be collected.

    These are the different values of the quasi-identifiers and of the counted `sensitive` columns, and the different
    combinations of quasi-identifiers, by themselves and with each sensitive column. The engine estimates them in one
    scan, but for numbers of values that are `known`: each estimate takes about as long as reading the columns.
    """
    most = session.most_collected
    if most is None:
        return
    columns = [*identifiers, *sensitive]
    together = [column(name) for name in identifiers]
    wanted: list[exp.Expr] = []
    for name in columns:
        wide = source.column(name).kind in (ValueKind.TEXT, ValueKind.OTHER)
        length = expression("avg(length($value::VARCHAR))", value=column(name)) if wide else number(0)
        about = expression("approx_count_distinct($value)", value=column(name))
        wanted += [number(known[name]) if known and name in known else about, length]
    combined = "approx_count_distinct(hash($values))"
    wanted += [expression(combined, values=[*together, *map(column, more)]) for more in ([], *([n] for n in sensitive))]
    row = session.row(exp.select(*(alias(e, f"e{i}") for i, e in enumerate(wanted))).from_(source.table()))
    distinct, lengths = row[: 2 * len(columns) : 2], row[1 : 2 * len(columns) : 2]
    sizes = {
        f"the {int(values):,} values of {shortened(name)}": int(values) * (BYTES_PER_VALUE + int(length or 0))
        for name, values, length in zip(columns, distinct, lengths, strict=True)
    }
    combinations = [int(values) for values in row[2 * len(columns) :]]
    if source.population is not None:
        values = [column(one.name) for one in source.population.columns]
        everybody = sql(f"SELECT {combined} FROM $rows", values=values, rows=source.population.table())
        combinations.append(int(session.value(everybody)))
    shown = f"the {sum(combinations):,} combinations of quasi-identifiers and sensitive values"
    sizes[shown] = sum(combinations) * BYTES_PER_COMBINATION
    total = sum(sizes.values())
    if total > most:
        largest = max(sizes, key=lambda part: sizes[part])
        fault = Fault(
            "source",
            f"about {total:,} bytes to collect from the warehouse, most of them for {largest}",
            f"at most {most:,} bytes",
            "Round or shorten values in the table, leave out quasi-identifiers with many values, or give the server "
            "more memory.",
        )
        raise InvalidError.about("COLLECTS_TOO_MUCH", "the job would need too much of the warehouse's rows", [fault])
