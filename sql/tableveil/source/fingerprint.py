"""The keyed fingerprint of a table's rows: tells whether they changed, and nothing else to who lacks the key."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from sqlglot import exp

from tableveil.backend import Session, call, column
from tableveil.source.model import Column, Source
from tableveil.source.query import take_snapshot


def fingerprint(session: Session, source: Source, key: bytes) -> str:
    """HMAC-SHA-256 in hexadecimal over columns, types, number of rows and the rows' hashes, whatever their order.

    The hashes are DuckDB's 64-bit ones, seeded with a digest of the key; their sum and exclusive or change with any
    row. That finds accidents and concurrent writers; it is no defence against one who forges rows and has the key.
    A query is run for it, and its rows are kept, for whatever the session reads of the source afterwards.
    """
    if source.query is not None:
        take_snapshot(session, source)
    return _mark(session, source.with_all().table(), source.columns, key)


def population_fingerprint(session: Session, source: Source, key: bytes) -> str:
    """The same of the population's rows, on which a release depends too; an empty text without a population."""
    population = source.population
    return "" if population is None else _mark(session, population.table(), population.columns, key)


def _mark(session: Session, rows: exp.Expr, columns: Sequence[Column], key: bytes) -> str:
    seed = hashlib.sha256(b"rows" + key).hexdigest()
    # Bound, not written out: the texts of failing statements are logged.
    hashes = exp.select(exp.alias_(call("hash", exp.Placeholder(), *(column(c.name) for c in columns)), "h"))
    totals = exp.select(exp.Count(this=exp.Star()), call("sum", column("h")), call("bit_xor", column("h"))).from_(
        hashes.from_(rows).subquery("hashed")
    )
    parts = ([(c.name, c.type) for c in columns], session.row(totals, [seed]))
    return hmac.new(key, repr(parts).encode(), hashlib.sha256).hexdigest()
