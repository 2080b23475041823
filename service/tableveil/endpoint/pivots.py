"""PIVOT without a list of values: DuckDB would read them first, so they are written into the statement."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tableveil.endpoint.allowed import refused
from tableveil.endpoint.labels import ReleaseTable
from tableveil.endpoint.looked import LookInFiles
from tableveil.endpoint.written import edited, end_of, quoted

MOST_VALUES = 1_000
"""The most columns that PIVOT makes of the values of one column."""

_EXPECTED = "PIVOT … ON column IN ('value', 'value')"


def with_values(tree: exp.Expr, tables: Mapping[int, ReleaseTable], look: LookInFiles, written: str) -> str:
    """The text in which each column after ON has the list of its values; raises `InvalidError` if they are unknown."""
    edits = []
    for pivot in tree.find_all(exp.Pivot):
        if pivot.args.get("unpivot") or pivot.args.get("fields"):
            continue
        table = tables.get(id(pivot.this))
        for column in pivot.expressions:
            if isinstance(column, exp.In):
                continue
            place = end_of(column)
            if table is None or place is None or not isinstance(column, exp.Column):
                raise refused(
                    "PIVOT without a list of values", _EXPECTED, "Only for a table's column it may be left out."
                )
            values = look.values(table, column.name, MOST_VALUES + 1)
            if len(values) > MOST_VALUES:
                raise refused(f"PIVOT on a column of more than {MOST_VALUES:,} values", _EXPECTED)
            listed = ", ".join(quoted(value, "'") for value in values)
            if not listed:
                raise refused("PIVOT on a column without values", _EXPECTED)
            edits.append((place, place, f" IN ({listed})"))
    return edited(written, edits)
