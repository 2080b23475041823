"""The models that rows as they are meet: of a table by its values, of a release by its evidence."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, column, conjunction, drop, render, table, text
from tableveil.classes import ClassValues, SensitiveColumn
from tableveil.counting import count_frequencies
from tableveil.dictionary.sensitive import spellings_of
from tableveil.errors import Fault, InvalidError, NearestNames, shortened
from tableveil.hierarchy import ValueKind
from tableveil.privacy.guarantees import reached_by_values
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.source import Analyzed
from tableveil.source.query import take_snapshot
from tableveil.source.tables import missing_column
from tableveil.state.releases import Release
from tableveil.state.risk_analyses import Measure

_RECURSIVE = (2, 3, 4)
"""The l of recursive (c,l)-diversity that are measured."""


def saying_something(session: WarehouseSession, request: RiskRequest, analyzed: Analyzed) -> tuple[RiskRequest, int]:
    """The request for the rows that are not `*` throughout, which are as if suppressed; and the number of the others.

    Only texts can be `*`.
    """
    columns = analyzed.quasi_identifiers
    local = session.traits.keeps_ledger and request.release is None and request.population is None
    if not local or not columns or any(one.kind is not ValueKind.TEXT for one in columns):
        return request, 0
    if analyzed.source.query is not None:
        take_snapshot(session.embedded, analyzed.source)
    hidden = conjunction(exp.EQ(this=column(one.name), expression=text("*")) for one in columns)
    counts = exp.select(exp.CountIf(this=hidden), exp.Count(this=exp.Star())).from_(analyzed.source.table())
    starred, rows = session.row(counts)
    if not 0 < starred < rows:
        return request, 0
    of = request.table
    said = render(exp.Not(this=exp.Coalesce(this=hidden.copy(), expressions=[exp.false()])))
    named = f"(\n{request.source_query}\n) AS source" if of is None else render(table(of.table, of.schema, of.catalog))
    return replace(request, table=None, source_query=f"SELECT * FROM {named} WHERE {said}"), starred


def reached(session: WarehouseSession, analyzed: Analyzed, names: tuple[str, ...]) -> Iterator[Measure]:
    """The parameters that the rows meet, by each of the sensitive columns.

    Raises:
        InvalidError: there is no such column.
    """
    if not names:
        return
    by_name = {one.name.casefold(): one for one in analyzed.source.columns}
    nearest = NearestNames([one.name for one in analyzed.source.columns])
    missing = [
        missing_column(f"sensitive[{i}]", name, nearest)
        for i, name in enumerate(names)
        if name.casefold() not in by_name
    ]
    if missing:
        raise InvalidError.about("RISK_INVALID", "the risks cannot be analyzed as asked", missing)
    for name in names:
        sensitive = by_name[name.casefold()]
        both = replace(analyzed, quasi_identifiers=(*analyzed.quasi_identifiers, sensitive), weight=None)
        counted = count_frequencies(session, both)
        *codes, values = counted.frequencies.codes
        records, held = counted.frequencies.records, counted.values[-1]
        _, classes = np.unique(np.column_stack([*codes]), axis=0, return_inverse=True)
        order = np.lexsort((values, classes.reshape(-1)))
        classes = classes.reshape(-1)[order].astype(np.intp)
        spread = ClassValues(classes, values[order].astype(np.intp), records[order])
        of_values = np.bincount(values, weights=records, minlength=held.codes).astype(np.int64)
        known = SensitiveColumn(
            sensitive.name,
            of_values,
            null_code=held.null_code,
            spellings=spellings_of(session.embedded, held.table_name, sensitive),
        )
        for made in counted.values:
            session.embedded.execute(drop("TABLE", table(made.table_name)))
        sizes = np.bincount(classes, weights=spread.counts).astype(np.int64)
        for model, of, parameter, value in reached_by_values(spread, known, sizes, _RECURSIVE):
            yield _measure(model, of, parameter, value)


def reached_by_release(release: Release, names: tuple[str, ...]) -> Iterator[Measure]:
    """The parameters that a release meets against its source, as its evidence has them.

    Raises:
        InvalidError: the evidence has nothing of a column.
    """
    known = {one.column.casefold() for one in release.guarantees if one.column}
    faults = [
        Fault(f"sensitive[{i}]", shortened(name), "a sensitive column of the release that was measured")
        for i, name in enumerate(names)
        if name.casefold() not in known
    ]
    if faults:
        raise InvalidError.about("RISK_INVALID", "the risks cannot be analyzed as asked", faults)
    wanted = {name.casefold() for name in names}
    for one in release.guarantees:
        if one.column.casefold() in wanted:
            yield _measure(one.model, one.column, one.parameter, one.after)


def _measure(model: str, of: str, parameter: str, value: float | None) -> Measure:
    finite = value if value is not None and np.isfinite(value) else None
    return Measure(f"{PRIVACY} {of}", f"{model}: {parameter}", None, finite)


AGAINST_SOURCE = (": t", ": beta", ": delta")
"""The parameters of models that compare classes with the source, as their measures end."""

PRIVACY = "privacy of"
"""The beginning of the models of these measures, before the column's name."""
