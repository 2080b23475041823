"""Keyed digests of the people of releases' sources: an erasure finds by them which releases hold a person."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection

from sqlglot import exp

from tableveil.backend import Ledger, alias, cast, column, number, parameter, table, text
from tableveil.state.migrate import fingerprint_key

_TABLE = table("release_persons", "tableveil")
_DIGITS = 14
"""Hexadecimal digits: of ten million people, two have one digest with a probability of less than one in a thousand."""


def remember(ledger: Ledger, release: int, rows: exp.Expr, person: str) -> None:
    """Stores the digests of the people in a FROM clause; call it in the transaction that writes the release."""
    digests = exp.select(number(release), _digest(column(person))).distinct().from_(rows)
    ledger.execute(exp.Insert(this=_TABLE.copy(), expression=digests), [_secret(ledger)])


def forget(ledger: Ledger, release: int) -> None:
    """Deletes the digests of a release that nobody may see any more; call it in a transaction."""
    ledger.execute("DELETE FROM tableveil.release_persons WHERE release = ?", [release])


def known_of(ledger: Ledger, releases: Collection[int]) -> set[int]:
    """The releases among these that have digests."""
    query = "SELECT DISTINCT release FROM tableveil.release_persons WHERE list_contains(?::BIGINT[], release)"
    return {release for (release,) in ledger.rows(query, [list(releases)])}


def erase(ledger: Ledger, releases: Collection[int], rows: exp.Expr, person: str) -> set[int]:
    """Deletes the digests of the people in a FROM clause from these releases, and returns those that had one."""
    ledger.stage("erased_digests", exp.select(alias(_digest(column(person)), "digest")).from_(rows), [_secret(ledger)])
    among = "list_contains(?::BIGINT[], release) AND digest IN (SELECT digest FROM temp.erased_digests)"
    found = ledger.rows(f"SELECT DISTINCT release FROM tableveil.release_persons WHERE {among}", [list(releases)])
    ledger.execute(f"DELETE FROM tableveil.release_persons WHERE {among}", [list(releases)])
    ledger.execute("DROP TABLE temp.erased_digests")
    return {release for (release,) in found}


def _digest(person: exp.Expr) -> exp.Expr:
    keyed = exp.SHA2(this=exp.DPipe(this=parameter(1), expression=cast(person, "VARCHAR")))
    return cast(exp.DPipe(this=text("0x"), expression=exp.Left(this=keyed, expression=number(_DIGITS))), "UBIGINT")


def _secret(ledger: Ledger) -> str:
    return hmac.new(fingerprint_key(ledger), b"persons", hashlib.sha256).hexdigest()
