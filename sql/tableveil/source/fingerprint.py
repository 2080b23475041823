"""The keyed fingerprint of a table's rows: tells whether they changed, and nothing else to who lacks the key."""

from __future__ import annotations

import hashlib
import hmac

from sqlglot import exp

from tableveil.backend import Session, call, column
from tableveil.source.resolve import Source


def fingerprint(session: Session, source: Source, key: bytes) -> str:
    """HMAC-SHA-256 in hexadecimal over columns, types, number of rows and the rows' hashes, whatever their order.

    The hashes are DuckDB's 64-bit ones, seeded with a digest of the key; their sum and exclusive or change with any
    row. That finds accidents and concurrent writers; it is no defence against one who forges rows and has the key.
    """
    seed = hashlib.sha256(b"rows" + key).hexdigest()
    # Bound, not written out: the texts of failing statements are logged.
    hashes = exp.select(exp.alias_(call("hash", exp.Placeholder(), *(column(c.name) for c in source.columns)), "h"))
    totals = exp.select(exp.Count(this=exp.Star()), call("sum", column("h")), call("bit_xor", column("h"))).from_(
        hashes.from_(source.table()).subquery("hashed")
    )
    shape = [(column.name, column.type) for column in source.columns]
    return hmac.new(key, repr((shape, session.row(totals, [seed]))).encode(), hashlib.sha256).hexdigest()
