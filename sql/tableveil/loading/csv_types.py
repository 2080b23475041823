"""Types of a CSV file's columns, found by looking at all values.

A column is of the first type below that at least half of its values are of; those that are not are then rejected, line
by line, instead of making text of numbers in silence. A column that has whole numbers with leading zeros, or of more
than 18 digits, is text: such numbers are names of something, and would not come back as they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from tableveil.backend import Session, alias, call, column, number, text, try_cast
from tableveil.errors import Fault, InvalidError, shortened

# What a value may be: a pattern for the whole of it, and the type that it must fit as well.
_KINDS: tuple[tuple[str, str, str], ...] = (
    ("integer", r"[+-]?(0|[1-9][0-9]{0,17})", ""),
    ("code", r"[+-]?[0-9]+", ""),
    ("float", r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][+-]?[0-9]+)?", "DOUBLE"),
    ("date", r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "DATE"),
    ("timestamp", r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?", "TIMESTAMP"),
    ("instant", r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]{5,15}(Z|[+-][0-9:]{2,5})", "TIMESTAMP WITH TIME ZONE"),
    ("time", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?", "TIME"),
    ("boolean", r"(?i:true|false)", ""),
)

# Types by what their values may be.
_TYPES = (
    ("BIGINT", ("integer",)),
    ("DOUBLE", ("integer", "float")),
    ("DATE", ("date",)),
    ("TIMESTAMP", ("date", "timestamp")),
    ("TIMESTAMP WITH TIME ZONE", ("instant",)),
    ("TIME", ("time",)),
    ("BOOLEAN", ("boolean",)),
)


def found_types(session: Session, rows: exp.Expr, names: Sequence[str]) -> Mapping[str, str]:
    """The types of the columns `names` of a FROM clause that has them all as text.

    Raises:
        InvalidError: some have NUL bytes.
    """
    # One below another, so that one expression does for thousands of columns.
    positions = call("unnest", call("range", number(len(names))))
    values = call("unnest", exp.Array(expressions=[column(name) for name in names]))
    listed = exp.select(alias(positions, "position"), alias(values, "value")).from_(rows).subquery("listed")
    counted = (
        exp.select(column("position"), alias(_kind(column("value")), "kind"), exp.Count(this=exp.Star()))
        .from_(listed)
        .where(column("value").is_(exp.null()).not_())
        .group_by(number(1), number(2))
    )
    counts: list[dict[str, int]] = [{} for _ in names]
    for position, kind, times in session.rows(counted):
        counts[position][kind] = times
    _check_text(names, counts)
    return {name: _type(found) for name, found in zip(names, counts, strict=True)}


def _check_text(names: Sequence[str], counts: Sequence[Mapping[str, int]]) -> None:
    faults = [
        Fault(shortened(name), f"{found['nul']:,} values with a NUL byte", "text without", "Is --encoding right?")
        for name, found in zip(names, counts, strict=True)
        if "nul" in found
    ]
    if faults:
        raise InvalidError.about("CSV_NUL", "some values cannot be text", faults)


def _kind(value: exp.Expr) -> exp.Expr:
    """What a value is, as one of the names above, or else `text`, or `nul` if it has such a byte."""
    case = exp.Case()
    for name, pattern, type_ in _KINDS:
        matches: exp.Expr = call("regexp_full_match", value.copy(), text(pattern))
        if type_:
            matches = exp.and_(matches, try_cast(value.copy(), type_).is_(exp.null()).not_())
        case = case.when(matches, text(name), copy=False)
    nul = call("contains", value, call("chr", number(0)))
    return case.when(nul, text("nul"), copy=False).else_(text("text"), copy=False)


def _type(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    if not total or counts.get("code"):
        return "VARCHAR"
    shares = {type_: sum(counts.get(kind, 0) for kind in kinds) / total for type_, kinds in _TYPES}
    best = max(shares, key=lambda type_: shares[type_])
    return best if shares[best] >= 0.5 else "VARCHAR"
