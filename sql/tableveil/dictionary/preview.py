"""A preview of a hierarchy before it is used: the labels of a column at its levels, and values without labels."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import WarehouseSession, collected, column, sql, table
from tableveil.dictionary.listed import listed_levels
from tableveil.dictionary.values import EXAMPLES, check_fit, readable
from tableveil.errors import Fault, InvalidError, NearestNames, NotFoundError, shortened
from tableveil.hierarchy import (
    HierarchyDefinition,
    InlineLevels,
    LabelledValues,
    ListedHierarchy,
    PreviewLevel,
    RuleHierarchy,
    StoredLevels,
    field_of,
    label_values,
    preview_levels,
    representatives,
)
from tableveil.policy import AttributePolicy, Role, TableReference, check_hierarchy
from tableveil.source import Column, columns_of, find_table
from tableveil.source.tables import invalid, missing_column, shown_type
from tableveil.state import hierarchies
from tableveil.state.hierarchies import Stored

FIELD = "hierarchy"
"""Path of the definition in the request."""


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """The request of a preview: a hierarchy, beside a column of a table or by itself, and how much to show.

    Up to `most_groups` of each level are shown; single values of the column only `with_values`.
    """

    definition: HierarchyDefinition
    table: TableReference | None = None
    column: str = ""
    most_groups: int = 20
    with_values: bool = False


@dataclass(frozen=True, slots=True)
class Coverage:
    """Values of a column, without NULL, and their rows; how many have no labels in the hierarchy, and some of these."""

    values: int
    rows: int
    null_rows: int
    uncovered_values: int
    uncovered_rows: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """The levels from 0 (from 1 for a rule by itself) to the top; `stored` is the version of a stored hierarchy.

    `domain_size` and `continuous` are as in `LabelledValues`; coverage exists only beside a column.
    """

    stored: Stored | None
    domain_size: float
    continuous: bool
    levels: tuple[PreviewLevel, ...]
    coverage: Coverage | None


@dataclass(frozen=True, slots=True)
class _Values:
    """Distinct values of a column in their order, as rules read them and as text, with their rows; NULL apart."""

    column: Column
    read: list[object]
    texts: list[str]
    rows: NDArray[np.int64]
    null_rows: int


def preview_hierarchy(session: WarehouseSession, request: PreviewRequest) -> Preview:
    """Previews a hierarchy; nothing is stored.

    Raises:
        InvalidError: with all faults of the hierarchy, or of using it on the column.
        NotFoundError: a stored hierarchy, the table or the column does not exist, and there is no other fault.
    """
    faults = list(check_hierarchy(request.definition, FIELD))
    stored, hierarchy, unread = _hierarchy(session, request.definition) if not faults else (None, None, [])
    faults += unread
    if request.table is None:
        if hierarchy is None:
            raise _invalid(request, unread, faults)
        return _alone(request, stored, hierarchy)
    # One transaction, so that NULLs are counted in the rows that the values come from.
    with session.reading():
        values, preview_values = _values(session, request.table, request.column)
    faults += preview_values
    if hierarchy is not None and values is not None:
        attribute = AttributePolicy(request.column, Role.QUASI_IDENTIFIER, request.definition)
        faults += check_fit(attribute, hierarchy, values.column.kind, FIELD)
    if hierarchy is None or values is None or faults:
        raise _invalid(request, unread, faults)
    labelled = label_values(hierarchy, values.column.kind, values.read, values.texts)
    uncovered = np.flatnonzero(~labelled.covered)
    shown = uncovered[:EXAMPLES].tolist() if request.with_values else []
    coverage = Coverage(
        values=len(values.texts),
        rows=int(values.rows.sum()),
        null_rows=values.null_rows,
        uncovered_values=len(uncovered),
        uncovered_rows=int(values.rows[uncovered].sum()),
        examples=tuple(values.texts[value] for value in shown),
    )
    return _told(request, stored, labelled, values.texts, values.rows, coverage)


def _hierarchy(
    session: WarehouseSession, definition: HierarchyDefinition
) -> tuple[Stored | None, InlineLevels | RuleHierarchy | None, list[Fault]]:
    """The stored version, if one is referred to; the hierarchy, with its rows if it is listed; and all faults."""
    if isinstance(definition, InlineLevels) or not isinstance(definition, ListedHierarchy):
        return None, definition, []
    stored = None
    if isinstance(definition, StoredLevels):
        with suppress(NotFoundError):
            stored = hierarchies.find(session.ledger, definition.name, definition.version)
            # Another version may become the newest in a moment.
            definition = replace(definition, version=stored.version)
    levels, _, faults = listed_levels(session, definition, FIELD, "")
    return stored, levels, faults


def _alone(request: PreviewRequest, stored: Stored | None, hierarchy: InlineLevels | RuleHierarchy) -> Preview:
    examples = representatives(hierarchy)
    if examples is None:
        rule = field_of(request.definition)
        hint = "Name a table and a column: the preview then shows what becomes of the values that are there."
        expected = "a hierarchy whose labels can be listed without values"
        raise InvalidError.of("TABLE_NEEDED", f"{FIELD}.{rule}", "no table to look at", expected, hint)
    labelled = label_values(hierarchy, examples.kind, examples.values, examples.texts)
    preview = _told(request, stored, labelled, examples.texts, np.zeros(len(examples.texts), dtype=np.int64), None)
    # The representatives of a rule's labels are not all of its values.
    return preview if isinstance(hierarchy, InlineLevels) else replace(preview, levels=preview.levels[1:])


def _told(
    request: PreviewRequest,
    stored: Stored | None,
    labelled: LabelledValues,
    texts: Sequence[str],
    rows: NDArray[np.int64],
    coverage: Coverage | None,
) -> Preview:
    levels = preview_levels(labelled, texts, rows, request.most_groups, request.with_values)
    return Preview(stored, labelled.domain_size, labelled.continuous, levels, coverage)


def _values(session: WarehouseSession, wanted: TableReference, name: str) -> tuple[_Values | None, list[Fault]]:
    reference, faults = find_table(session, wanted, "table")
    if reference is None:
        return None, faults
    columns = {one.name if isinstance(one, Column) else one[0]: one for one in columns_of(session, reference)}
    source_column = columns.get(name)
    if source_column is None:
        return None, [missing_column("column", name, NearestNames([*columns]))]
    if not isinstance(source_column, Column):
        shown = f"{shortened(name)} of type {shown_type(source_column[1])}"
        return None, [Fault("column", shown, "a column of a type that can be released")]
    source = table(reference.table, reference.schema, reference.catalog)
    counted = "SELECT $value AS value, count(*) AS row_count FROM $source GROUP BY $value"
    query = (
        "SELECT $value, text, row_count FROM (SELECT value, CAST(value AS VARCHAR) AS text, row_count FROM $counted) "
        "AS distinct_values ORDER BY value"
    )
    values = collected(session, "counted", sql(counted, value=column(name), source=source))
    rows = session.embedded.rows(sql(query, value=readable(source_column), counted=values))
    null_rows = sum(count for _, text, count in rows if text is None)
    present = [row for row in rows if row[1] is not None]
    return _Values(
        column=source_column,
        read=[value for value, _, _ in present],
        texts=[text for _, text, _ in present],
        rows=np.fromiter((count for _, _, count in present), np.int64, len(present)),
        null_rows=null_rows,
    ), []


def _invalid(request: PreviewRequest, unread: list[Fault], faults: list[Fault]) -> InvalidError | NotFoundError:
    if unread == faults and isinstance(request.definition, StoredLevels):
        return NotFoundError.about("HIERARCHY_NOT_FOUND", "no such hierarchy", faults)
    return invalid("PREVIEW_INVALID", "the hierarchy cannot be shown", faults)
