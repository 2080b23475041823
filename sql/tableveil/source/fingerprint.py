"""The keyed fingerprint of a table's rows: it shows whether they changed, and nothing else without the key."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from tableveil.backend import WarehouseSession, column, parameter, row_hash
from tableveil.source.model import Column, Source
from tableveil.source.query import take_snapshot
from tableveil.source.sketch import Sketch, estimates, sketch, with_people
from tableveil.source.sketch_elsewhere import sketch_elsewhere


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The data kept of a source's records to recognize them again.

    `rows` covers all of them with their columns' names and types, and changes with any change; the `sketch` still
    recognizes most of them if some changed. A source that is only compared with its release has no sketch. `values`
    has the estimated number of different values of each column, if it was needed for the sketch.
    """

    rows: str
    sketch: Sketch | None = None
    values: Mapping[str, int] = field(default_factory=dict)


def fingerprint(session: WarehouseSession, source: Source, key: bytes) -> str:
    """HMAC-SHA-256 in hexadecimal over columns, types, number of rows and the rows' hashes, in any order.

    The hashes are the engine's 64-bit ones, seeded with a digest of the key; their sum and exclusive or change with
    any row. Rows in different engines have different fingerprints. This finds accidents and concurrent writers; it is
    no defence against a forger of rows who has the key. A query is run for it, and its rows are kept for all later
    reads of the source in the session.
    """
    if source.query is not None:
        take_snapshot(session.embedded, source)
    return rows_digest(session, source.with_all().table(), _described(source.columns), key)[1]


def rows_digest(
    session: WarehouseSession, rows: exp.Expr, columns: Sequence[tuple[str, str]], key: bytes
) -> tuple[int, str]:
    """The number of these rows, and their fingerprint; `columns` are (name, type). Rows of a stream are read once."""
    totals = _totals(session, rows, [name for name, _ in columns], key)
    return totals[0], _of_rows(session, columns, totals, key)


def full_fingerprint(
    session: WarehouseSession, source: Source, key: bytes, person_column: str | None = None
) -> Fingerprint:
    """The fingerprint and the sketch, which knows the people of a column. A query is run as in `fingerprint`."""
    if source.query is not None:
        take_snapshot(session.embedded, source)
    source = source.with_all()
    names = [each.name for each in source.columns]
    records, total, xored, *estimated = _totals(session, source.table(), names, key, estimates(source.columns))
    rows = _of_rows(session, _described(source.columns), (records, total, xored), key)
    if session.traits.collects:
        row_sketch = sketch_elsewhere(session, source, records, estimated, key)
    else:
        row_sketch = sketch(session.embedded, source, records, estimated, key, person_column)
    values = {each.name: int(source_column) for each, source_column in zip(source.columns, estimated[::2], strict=True)}
    return Fingerprint(rows, with_people(row_sketch, person_column), values)


def population_fingerprint(session: WarehouseSession, source: Source, key: bytes) -> str:
    """The fingerprint of other rows, on which a release depends, too: of the population, or of related tables.

    It is empty without these.
    """
    if source.related:
        return ",".join(fingerprint(session, each, key) for each in source.related)
    population = source.population
    if population is None:
        return ""
    return rows_digest(session, population.table(), _described(population.columns), key)[1]


def _described(columns: Sequence[Column]) -> list[tuple[str, str]]:
    return [(each.name, each.type) for each in columns]


def _totals(
    session: WarehouseSession, rows: exp.Expr, names: Sequence[str], key: bytes, more: Sequence[exp.Expr] = ()
) -> tuple[Any, ...]:
    """The number of rows, the sum and the exclusive or of their hashes, and further results of that scan."""
    seed = hashlib.sha256(b"rows" + key).hexdigest()
    # Bound as a parameter: the texts of failing statements are logged. The database computes the hash once.
    hashed = row_hash(parameter(1), *map(column, names))
    totals = [exp.Count(this=exp.Star()), exp.Sum(this=hashed), exp.BitwiseXorAgg(this=hashed.copy())]
    return session.row(exp.select(*totals, *more, copy=False).from_(rows, copy=False), [seed])


def _of_rows(session: WarehouseSession, columns: Sequence[tuple[str, str]], totals: tuple[Any, ...], key: bytes) -> str:
    parts = (session.hashes, list(columns), totals)
    return hmac.new(key, repr(parts).encode(), hashlib.sha256).hexdigest()
