"""Builds a sensitive column's dictionary: its values in their order, with codes and numbers of records."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, alias, column, drop, sql, table
from tableveil.classes import SensitiveColumn
from tableveil.dictionary.coded import CodedAttribute
from tableveil.dictionary.elements import check_listed, listed_elements
from tableveil.dictionary.ordered import check_distinct, check_kind, check_places, levels_of, place_values, write_codes
from tableveil.dictionary.values import check_fit
from tableveil.errors import Fault, shortened
from tableveil.policy import AttributePolicy, NullPosition
from tableveil.source import Column, Source
from tableveil.source.spelling import has_spellings, spelling


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
