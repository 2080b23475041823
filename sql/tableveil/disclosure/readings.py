"""Readings of values for formulas: numbers of numbers, dates and times, years of dates, and texts."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, alias, collected, column, render, row_hash
from tableveil.disclosure.arrays import LoadedRows
from tableveil.hierarchy import ValueKind
from tableveil.policy import AttributePolicy
from tableveil.privacy.exposure.cells import Codes
from tableveil.privacy.exposure.determined import ValueReadings
from tableveil.privacy.exposure.judged import Readings
from tableveil.privacy.exposure.texts import plain_text
from tableveil.release.plan import ReleasePlan
from tableveil.source import Column

_TIMES = (ValueKind.DATE, ValueKind.TIMESTAMP)
_NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT)

_FORMATS = ("%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y", "%d-%m-%y", "%m-%d-%y", "%d-%b-%y")
"""Dates as texts that no cast reads, whatever stands between the numbers: the first of these that reads nearly all."""

_THERE = "text IS NOT NULL AS present"

_WRITTEN = (
    r"if(regexp_full_match(text, '\d\d?[-./ ](\d\d?|[A-Za-z]{3})[-./ ]\d{2,4}'), "
    "regexp_replace(text, '[./ ]', '-', 'g'), NULL)"
)


def of_texts(texts: str, keys: str) -> str:
    """A query of the readings of the column `text` of a subquery, each `nr` a column of its own, with its `keys`.

    One statement reads all columns, each form in a subquery of its own: to plan the forms of one column, repeated where
    they are used, would take ten milliseconds.
    """
    dates = ", ".join(f"try_strptime(written, '{form}')" for form in _FORMATS)
    usual = ", ".join(
        f"if(count(dates[{i}]) OVER same >= 0.9 * count(written) OVER same, dates[{i}], NULL)"
        for i in range(1, len(_FORMATS) + 1)
    )
    return (
        "SELECT coalesce(TRY_CAST(text AS DOUBLE), epoch(time) / 86400.0, 'nan'::DOUBLE) AS number, "
        f"coalesce(year(time), 'nan'::DOUBLE) AS year, coalesce(text, '') AS text, {keys} FROM ("
        f"SELECT *, coalesce(TRY_CAST(text AS TIMESTAMP), {usual}) AS time FROM ("
        f"SELECT *, [{dates}] AS dates FROM (SELECT *, {_WRITTEN} AS written FROM ({texts}))"
        ") WINDOW same AS (PARTITION BY nr))"
    )


def _of_values(of: Column, values: str, keys: str) -> str:
    """A query of the readings of the column `value` of a relation, which are no texts, with its `keys`."""
    return (
        f"SELECT coalesce({_number(of)}, 'nan'::DOUBLE) AS number, coalesce({_year(of)}, 'nan'::DOUBLE) AS year, "
        f"coalesce(value::VARCHAR, '') AS text, {keys} FROM {values}"
    )


def _number(of: Column) -> str:
    """The number of a `value`, times in days; NULL where it has none."""
    if of.kind in _NUMBERS:
        return "value::DOUBLE"
    if of.type.upper() in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        # DuckDB 2.0.1 would take them for nanoseconds, of which a year 9999 has too many.
        return "epoch(value::TIMESTAMP) / 86400.0"
    if of.kind in _TIMES or of.type.upper() in ("TIME", "INTERVAL"):
        return "epoch(value) / 86400.0"
    return "NULL"


def _year(of: Column) -> str:
    return "if(isfinite(value), year(value), NULL)" if of.kind in _TIMES else "NULL"


def _read(codes: Codes, arrays: dict[str, NDArray[Any]]) -> Readings:
    """The readings of rows by their codes, from those of the codes; each plain text is made when it is asked for."""

    @cache
    def plain(code: int) -> str | None:
        return plain_text(arrays["text"][code]) or None

    numbers = [arrays[name][codes] for name in ("number", "year") if np.isfinite(arrays[name]).any()]
    return Readings(numbers, lambda row: plain(int(codes[row])))


def read_own(session: Session, plan: ReleasePlan, loaded: LoadedRows) -> list[Readings]:
    """The readings of all quasi-identifiers."""
    read, texts = [], []
    for j, released in enumerate(plan.quasi_identifiers()):
        dictionary = released.dictionary.table_name
        if released.column.kind is ValueKind.TEXT:
            texts.append(f"SELECT value::VARCHAR AS text, {j} AS nr, code FROM {dictionary}")
        else:
            read.append(_of_values(released.column, dictionary, f"{j} AS nr, code"))
    if texts:
        read.append(of_texts(" UNION ALL ".join(texts), "nr, code"))
    together = session.arrays(f"SELECT * FROM ({' UNION ALL '.join(read)}) ORDER BY nr, code") if read else {}
    readings = []
    for j, (own, places) in enumerate(zip(loaded.own, loaded.places, strict=True)):
        here = slice(*np.searchsorted(together["nr"], [j, j + 1]))
        arrays, codes = {name: reading[here] for name, reading in together.items()}, own.codes
        if own.positions is not None:
            # One of the values that share a position stands for all.
            codes = np.unique(places, return_index=True)[1][codes]
        readings.append(_read(codes, arrays))
    return readings


def read_column(
    rows: WarehouseSession, plan: ReleasePlan, loaded: LoadedRows, i: int, attribute: AttributePolicy
) -> Readings:
    """The readings of a measured column."""
    session, of = rows.embedded, plan.source.column(attribute.column)
    different, codes = loaded.coded(i)
    value = column(attribute.column, "source")
    query = exp.select(alias(row_hash(value), "hashed"), alias(value.copy(), "value")).distinct()
    query = query.from_(plan.source.table("source"))
    coded, stands = loaded.counted.codes[i], pa.table({"stands": different})
    rows_ = "exposure_values"
    with session.relation("wanted_values", stands):
        if coded is None and not rows.traits.collects and not loaded.all_rows:
            query = query.where(exp.In(this=row_hash(value.copy()), query=exp.select("stands").from_("wanted_values")))
        rendered = render(collected(rows, rows_, query))
        same = "hashed = stands" if coded is None else "code = stands"
        wanted = f"wanted_values LEFT JOIN {f'{rendered} JOIN {coded} USING (hashed)' if coded else rendered} ON {same}"
        is_text = of.kind is ValueKind.TEXT
        if is_text:
            read = of_texts(f"SELECT value::VARCHAR AS text, 0 AS nr, stands FROM {wanted}", f"stands, {_THERE}")
        else:
            read = _of_values(of, wanted, f"stands, {_THERE.replace('text', 'value')}")
        arrays = session.arrays(f"{read} QUALIFY row_number() OVER (PARTITION BY stands) = 1 ORDER BY stands")
    if rows.traits.collects:
        session.execute(f"DROP TABLE temp.main.{rows_}")
    assert len(arrays["stands"]) == len(different)
    texts = arrays["text"] if is_text else None
    return replace(_read(codes, arrays), values=ValueReadings(arrays["present"], arrays["number"], texts))
