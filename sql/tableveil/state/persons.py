"""Keyed digests of the people of releases' sources, each with the person's class.

An erasure finds by them which releases hold a person, and a release that is judged together with earlier ones finds the
classes that its people had.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from typing import Any

from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Ledger, alias, cast, column, number, parameter, table, text
from tableveil.classes import WITHOUT_ROW
from tableveil.state.migrate import fingerprint_key

SHOWN = 0
"""The class of a suppressed record that is shown without labels; labelled classes are numbered from 1."""

_TABLE = table("release_persons", "tableveil")
_DIGITS = 14
"""Hexadecimal digits: of ten million people, two have one digest with a probability of less than one in a thousand."""

_NO_DIGEST = 2 ** (4 * _DIGITS)
"""Erased people are numbered from here on: no digest is as large."""


def remember(ledger: Ledger, release: int, rows: exp.Expr) -> None:
    """Stores the digest of each `person` of a FROM clause, with its `class`, in the transaction of the release.

    The class of a person with several rows is not kept, nor those of two people with one digest.
    """
    one = exp.EQ(this=exp.Count(this=exp.Star()), expression=number(1))
    kept = exp.Case(ifs=[exp.If(this=one, true=exp.Max(this=column("class")))])
    digests = exp.select(alias(_digest(column("person")), "digest"), column("class")).from_(rows)
    grouped = exp.select(number(release), column("digest"), kept).from_(digests.subquery("digests"))
    insert = exp.Insert(this=_TABLE.copy(), expression=grouped.group_by(column("digest")))
    ledger.execute(insert, [_secret(ledger)])


def remember_together(ledger: Ledger, release: int, others: Sequence[int]) -> None:
    """Stores which earlier releases a release was judged together with, in its transaction."""
    for other in others:
        ledger.execute("INSERT INTO tableveil.release_together VALUES (?, ?)", [release, other])


def judged_together(ledger: Ledger, releases: Collection[int]) -> dict[int, set[int]]:
    """Per release, the earlier ones that it was judged together with."""
    query = "SELECT release, other FROM tableveil.release_together WHERE list_contains(?::BIGINT[], release)"
    found: dict[int, set[int]] = {release: set() for release in releases}
    for release, other in ledger.rows(query, [list(releases)]):
        found[release].add(other)
    return found


def forget(ledger: Ledger, release: int) -> None:
    """Deletes the digests of a release that nobody may see any more; call it in a transaction."""
    for name in ("release_persons", "release_erased_persons", "release_together"):
        ledger.execute(f"DELETE FROM tableveil.{name} WHERE release = ?", [release])


def known_of(ledger: Ledger, releases: Collection[int]) -> set[int]:
    """The releases among these that have digests."""
    query = "SELECT DISTINCT release FROM tableveil.release_persons WHERE list_contains(?::BIGINT[], release)"
    return {release for (release,) in ledger.rows(query, [list(releases)])}


def with_classes(ledger: Ledger, releases: Collection[int]) -> set[int]:
    """The releases among these that keep the class of each of their people."""
    query = (
        "SELECT release FROM tableveil.release_persons WHERE list_contains(?::BIGINT[], release) "
        "GROUP BY release HAVING count(*) = count(class)"
    )
    return {release for (release,) in ledger.rows(query, [list(releases)])}


class Erasure:
    """Erases people from releases, one after the other, under numbers that nobody can compute again."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._forgotten = secrets.token_hex(32)

    def erase(self, releases: Collection[int], rows: exp.Expr, person: str) -> set[int]:
        """Deletes the digests of the people in a FROM clause from these releases, and returns those that had one.

        Their classes stay, so that the sizes of classes do.
        """
        ledger, digest = self._ledger, alias(_digest(column(person)), "digest")
        ledger.stage("erased_digests", exp.select(digest).from_(rows), [_secret(ledger)])
        among = "list_contains(?::BIGINT[], release) AND digest IN (SELECT digest FROM temp.erased_digests)"
        holding = ledger.rows(f"SELECT DISTINCT release FROM tableveil.release_persons WHERE {among}", [list(releases)])
        member = f"{_NO_DIGEST} + ('0x' || left(sha256(? || digest), {_DIGITS}))::UBIGINT"
        ledger.execute(
            f"INSERT INTO tableveil.release_erased_persons SELECT release, {member}, class "
            f"FROM tableveil.release_persons WHERE class IS NOT NULL AND {among}",
            [self._forgotten, list(releases)],
        )
        ledger.execute(f"DELETE FROM tableveil.release_persons WHERE {among}", [list(releases)])
        ledger.execute("DROP TABLE temp.erased_digests")
        return {release for (release,) in holding}


def combinations(ledger: Ledger, releases: Sequence[int]) -> dict[str, NDArray[Any]]:
    """The combinations of classes that people have in the releases: `r0`, `r1`, …, and the number of their `people`.

    `WITHOUT_ROW` stands for no row; people without a row in any of the releases are not counted.
    """
    names = _names(releases)
    query = f"WITH members AS ({_members(releases)}) SELECT {names}, count(*) AS people FROM members GROUP BY {names}"
    return ledger.arrays(f"{query} ORDER BY {names}")


def recognize(ledger: Ledger, releases: Sequence[int], staged: str, rows: exp.Expr, person: str) -> int:
    """Puts the people in a FROM clause who have a row in the releases into a temporary table; returns their number.

    Its columns are `person` and `code`, the position of the person's combination among `combinations`.
    """
    names = _names(releases)
    wanted = (alias(column(person), "person"), alias(_digest(column(person)), "digest"))
    ledger.stage("recognized", exp.select(*wanted).from_(rows), [_secret(ledger)])
    recognized = ledger.stage(
        staged,
        f"WITH members AS ({_members(releases)}), "
        f"numbered AS (SELECT {names}, row_number() OVER (ORDER BY {names}) - 1 AS code "
        f"FROM (SELECT DISTINCT {names} FROM members)) "
        f"SELECT person, code FROM temp.recognized JOIN members USING (digest) JOIN numbered USING ({names})",
    )
    ledger.execute("DROP TABLE temp.recognized")
    return recognized


def _members(releases: Sequence[int]) -> str:
    """A query for the people with a row in the releases, erased ones included, and their class in each."""
    # DuckDB skips blocks of other releases for numbers that it sees in the text.
    among = f"class >= 0 AND release IN ({', '.join(str(int(release)) for release in releases)})"
    linked = (
        f"SELECT release, digest, class FROM tableveil.release_persons WHERE {among} "
        f"UNION ALL SELECT release, member, class FROM tableveil.release_erased_persons WHERE {among}"
    )
    if len(releases) == 1:
        return f"SELECT digest, class AS r0 FROM ({linked})"
    classes = ", ".join(
        f"coalesce(max(class) FILTER (release = {int(release)}), {WITHOUT_ROW}) AS r{r}"
        for r, release in enumerate(releases)
    )
    return f"SELECT digest, {classes} FROM ({linked}) GROUP BY digest"


def _names(releases: Sequence[int]) -> str:
    return ", ".join(f"r{r}" for r in range(len(releases)))


def _digest(person: exp.Expr) -> exp.Expr:
    keyed = exp.SHA2(this=exp.DPipe(this=parameter(1), expression=cast(person, "VARCHAR")))
    return cast(exp.DPipe(this=text("0x"), expression=exp.Left(this=keyed, expression=number(_DIGITS))), "UBIGINT")


def _secret(ledger: Ledger) -> str:
    return hmac.new(fingerprint_key(ledger), b"persons", hashlib.sha256).hexdigest()
