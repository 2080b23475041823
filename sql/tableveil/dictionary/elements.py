"""The elements of a sensitive column whose cells are lists: the writer's way; the verification splits by itself."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, cast, column, expression, json_members, sql, table, text
from tableveil.classes import ListedElements
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import AROUND_ELEMENTS, Elements
from tableveil.source import Column
from tableveil.source.spelling import spelling
from tableveil.source.tables import shown_type


def check_listed(elements: Elements | None, source_column: Column, field: str) -> list[Fault]:
    """The fault of elements in a column that is no text."""
    if elements is None or source_column.kind is ValueKind.TEXT:
        return []
    actual = f"elements of {shortened(source_column.name)}, a column of type {shown_type(source_column.type)}"
    return [Fault(field, actual, "a column of text", "Remove it: each cell has one value.")]


def in_each_cell(
    rows: exp.Table, names: Sequence[str], source_column: Column, elements: Elements, cell: str = "cell"
) -> exp.Subquery:
    """For a FROM clause: the columns of these names, and each `element` that the list in the `cell` has.

    An element counts once, whatever its spelling. Between delimiters, quotes and brackets around it are none of it.
    Nothing between two delimiters, and null in an array, is no element.
    """
    value = cast(column(cell), "VARCHAR")
    split = expression("string_split($value, $delimiter)", value=value, delimiter=text(elements.delimiter))
    part = "trim(part, $around)" if elements.delimiter else "part"
    return sql(
        "SELECT * FROM (SELECT DISTINCT $columns, $element AS element FROM "
        "(SELECT $columns, unnest($parts) AS part FROM $rows) AS cells_) AS spelled WHERE element <> ''",
        columns=[column(name) for name in names],
        element=spelling(expression(part, around=text(AROUND_ELEMENTS)), source_column),
        parts=split if elements.delimiter else json_members(value),
        rows=rows,
    ).subquery("each")


def listed_elements(
    session: Session, table_name: str, source_column: Column, elements: Elements, records: NDArray[np.int64]
) -> ListedElements:
    """The elements of the values of a dictionary, whose codes have so many `records`."""
    each = in_each_cell(table(table_name), ["code"], source_column, elements, "value")
    arrays = session.arrays(sql("SELECT code, dense_rank() OVER (ORDER BY element) AS number FROM $each", each=each))
    return ListedElements.of(records, arrays["code"].astype(np.int64), arrays["number"].astype(np.int64) - 1)
