"""Builds a sensitive column's dictionary: its values in their order, with codes and numbers of records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    column,
    drop,
    expression,
    json_members,
    sql,
    table,
    text,
)
from tableveil.classes import ListedElements, SensitiveColumn
from tableveil.dictionary.ordered import check_distinct, check_kind, check_places, levels_of, place_values, write_codes
from tableveil.dictionary.values import CodedAttribute, check_fit
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import ValueKind
from tableveil.policy import AROUND_ELEMENTS, AttributePolicy, Elements, NullPosition
from tableveil.source import Column, Source
from tableveil.source.spelling import has_spellings, spelling
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


@dataclass(frozen=True, slots=True)
class SensitiveDictionary:
    """The dictionary of one sensitive column.

    `table_name` is a temporary table: `value` (the column's type), `code` from 0 in the order of the values, NULL last,
    and `n`, the records of the whole source that have it. `hierarchy` names the used hierarchy for the evidence, if
    there is one.
    """

    attribute: AttributePolicy
    column: Column
    table_name: str
    values: SensitiveColumn
    hierarchy: str = ""


def build_sensitive(
    session: WarehouseSession, source: Source, of: CodedAttribute, ordered: bool = False
) -> tuple[SensitiveDictionary | None, list[Fault]]:
    """The dictionary, or the faults that prevent it, such as values without a place in the order.

    `ordered` says that a privacy model measures distances by the order, so that NULL needs a place in it.
    """
    attribute, hierarchy, field = of.attribute, of.hierarchy, of.field
    source_column = source.column(attribute.column)
    listed = attribute.listed_elements
    faults = [
        *check_kind(attribute.order, source_column, f"{field}.order"),
        *check_listed(listed, source_column, f"{field}.elements"),
    ]
    if hierarchy is not None:
        faults += check_fit(attribute, hierarchy, source_column.kind, f"{field}.hierarchy")
    if faults:
        return None, faults
    placed = f"sensitive_values_{of.number}"
    place_values(session, source, source_column, attribute.order, placed)
    embedded = session.embedded
    faults = [
        *(_check_nulls(embedded, placed, attribute, f"{field}.order") if ordered else ()),
        *check_places(embedded, placed, attribute, f"{field}.order"),
        *check_distinct(embedded, placed, attribute, f"{field}.order"),
    ]
    table_name = f"sensitive_{of.number}"
    levels = None
    if not faults:
        write_codes(embedded, table_name, placed)
        if hierarchy is not None:
            levels, faults = levels_of(embedded, table_name, source_column, hierarchy, f"{field}.hierarchy")
    embedded.execute(drop("TABLE", table(placed)))
    if faults:
        return None, faults
    session.lend(table_name)
    read = exp.select("n", alias(column("value").is_(exp.null()), "is_null")).from_(table(table_name)).order_by("code")
    arrays = embedded.arrays(read)
    counts = arrays["n"].astype(np.int64)
    values = SensitiveColumn(
        column=attribute.column,
        counts=counts,
        null_code=len(arrays["n"]) - 1 if arrays["is_null"].any() else None,
        null_first=attribute.order.nulls is NullPosition.FIRST,
        levels=levels,
        spellings=spellings_of(embedded, table_name, source_column) if listed is None else None,
        elements=listed_elements(embedded, table_name, source_column, listed, counts) if listed is not None else None,
    )
    return SensitiveDictionary(attribute, source_column, table_name, values, of.reference), []


def spellings_of(session: Session, table_name: str, source_column: Column) -> NDArray[np.int64] | None:
    """Per code, the first code whose value has the same spelling, if any two have."""
    if not has_spellings(session, exp.select("value").from_(table(table_name)), source_column):
        return None
    read = sql(
        "SELECT CAST(min(code) OVER (PARTITION BY $spelling) AS BIGINT) AS shared FROM $values ORDER BY code",
        spelling=spelling(column("value"), source_column),
        values=table(table_name),
    )
    return session.arrays(read)["shared"].astype(np.int64)


def _check_nulls(session: Session, placed: str, attribute: AttributePolicy, field: str) -> list[Fault]:
    """The fault of a missing place for NULL, which distances by the order need."""
    if attribute.order.nulls is not None:
        return []
    nulls = session.rows(sql("SELECT n FROM $placed WHERE value IS NULL", placed=table(placed)))
    if not nulls:
        return []
    actual = f"{nulls[0][0]} NULLs in {shortened(attribute.column)}"
    hint = "Say FIRST or LAST, so that distances to NULL can be measured."
    return [Fault(f"{field}.nulls", actual, "their place in the order", hint)]
