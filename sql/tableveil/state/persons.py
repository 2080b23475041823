"""Keyed digests of the people of releases' sources, or of their records, each with its class.

An erasure finds by them which releases hold a person, and a release that is judged together with earlier ones finds the
classes that its records had. Where people have several records, a digest is that of a record, beside its person's.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Ledger, alias, column, expression, number, sql, table
from tableveil.classes import WITHOUT_ROW
from tableveil.state.migrate import fingerprint_key

SHOWN = 0
"""The class of a suppressed record that is shown without labels; labelled classes are numbered from 1."""

_TABLE = table("release_persons", "tableveil")
_DIGITS = 14
"""Hexadecimal digits: of ten million people, two have one digest with a probability of less than one in a thousand."""

_NO_DIGEST = 2 ** (4 * _DIGITS)
"""Erased people are numbered from here on: no digest is as large."""


def remember(ledger: Ledger, release: int, rows: exp.Expr, *, of_records: bool = False) -> None:
    """Stores the digest of each `person` of a FROM clause, with its `class`, in the transaction of the release.

    With `of_records`, the digests are those of each `record`. The class of a person with several rows is not kept, nor
    those of two people, or records, with one digest.
    """
    person = _digest(column("person"))
    grouped = sql(
        "SELECT $release, digest, CASE WHEN count(*) = 1 THEN max(class) END, max(person) FROM "
        "(SELECT $digest AS digest, class, $person AS person FROM $rows) AS digests GROUP BY digest",
        release=number(release),
        digest=_digest(column("record"), "$2") if of_records else person,
        person=person if of_records else exp.null(),
        rows=rows,
    )
    secrets_ = [_secret(ledger), _secret(ledger, of_records=True)]
    ledger.execute(exp.Insert(this=_TABLE.copy(), expression=grouped), secrets_ if of_records else secrets_[:1])


def remember_together(ledger: Ledger, release: int, others: Sequence[int]) -> None:
    """Stores which earlier releases a release was judged together with, in its transaction."""
    for other in others:
        ledger.execute("INSERT INTO tableveil.release_together VALUES (?, ?)", [release, other])


def judged_together(ledger: Ledger, releases: Collection[int]) -> dict[int, set[int]]:
    """Per release, the earlier ones that it was judged together with."""
    query = "SELECT release, other FROM tableveil.release_together WHERE list_contains(?::BIGINT[], release)"
    judged: dict[int, set[int]] = {release: set() for release in releases}
    for release, other in ledger.rows(query, [list(releases)]):
        judged[release].add(other)
    return judged


def forget(ledger: Ledger, release: int) -> None:
    """Deletes the digests of a release that nobody may see any more; call it in a transaction."""
    for name in ("release_persons", "release_erased_persons", "release_together"):
        ledger.execute(f"DELETE FROM tableveil.{name} WHERE release = ?", [release])


def known_of(ledger: Ledger, releases: Collection[int]) -> set[int]:
    """The releases among these that have digests."""
    query = "SELECT DISTINCT release FROM tableveil.release_persons WHERE list_contains(?::BIGINT[], release)"
    return {release for (release,) in ledger.rows(query, [list(releases)])}


def with_classes(ledger: Ledger, releases: Collection[int]) -> set[int]:
    """The releases among these that keep the class of each of their people, erased ones included."""
    among = "list_contains(?::BIGINT[], release)"
    query = (
        f"SELECT release FROM (SELECT release, class FROM tableveil.release_persons WHERE {among} "
        f"UNION ALL SELECT release, class FROM tableveil.release_erased_persons WHERE {among}) "
        "GROUP BY release HAVING count(*) = count(class)"
    )
    return {release for (release,) in ledger.rows(query, [list(releases), list(releases)])}


def of_records(ledger: Ledger, releases: Collection[int]) -> set[int]:
    """The releases among these whose digests are those of records."""
    among = "WHERE person IS NOT NULL AND list_contains(?::BIGINT[], release)"
    query = (
        f"SELECT release FROM tableveil.release_persons {among} "
        f"UNION SELECT release FROM tableveil.release_erased_persons {among}"
    )
    return {release for (release,) in ledger.rows(query, [list(releases), list(releases)])}


class PersonEraser:
    """Erases people from releases, one after the other, under numbers that nobody can compute again."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._forgotten = secrets.token_hex(32)

    def erase(self, releases: Collection[int], rows: exp.Expr, person: str) -> set[int]:
        """Deletes the digests of the people in a FROM clause from these releases, and returns those that had one.

        Their classes stay, so that the sizes of classes do, and that they have none, so that nobody forgets it.
        """
        ledger, digest = self._ledger, alias(_digest(column(person)), "digest")
        ledger.stage("erased_digests", exp.select(digest).from_(rows), [_secret(ledger)])
        among = (
            "list_contains(?::BIGINT[], release) "
            "AND coalesce(person, digest) IN (SELECT digest FROM temp.erased_digests)"
        )
        holding = ledger.rows(f"SELECT DISTINCT release FROM tableveil.release_persons WHERE {among}", [list(releases)])
        member, person = (
            f"{_NO_DIGEST} + ('0x' || left(sha256(? || {of}), {_DIGITS}))::UBIGINT" for of in ("digest", "person")
        )
        ledger.execute(
            f"INSERT INTO tableveil.release_erased_persons SELECT release, {member}, class, {person} "
            f"FROM tableveil.release_persons WHERE {among}",
            [self._forgotten, self._forgotten, list(releases)],
        )
        ledger.execute(f"DELETE FROM tableveil.release_persons WHERE {among}", [list(releases)])
        ledger.execute("DROP TABLE temp.erased_digests")
        return {release for (release,) in holding}


def combinations(ledger: Ledger, releases: Sequence[int]) -> dict[str, NDArray[Any]]:
    """The combinations of classes that records have in the releases: `r0`, `r1`, …, with their numbers.

    `WITHOUT_ROW` stands for no row; records without a row in any of the releases are not counted. `records` have a
    combination, and `people` are different owners of these.
    """
    names = _names(releases)
    # Without digests of records every record is another person's.
    people = "count(DISTINCT person)" if of_records(ledger, releases) else "count(*)"
    counted = f"count(*) AS records, {people} AS people"
    query = f"WITH members AS ({_members(releases)}) SELECT {names}, {counted} FROM members GROUP BY {names}"
    return ledger.arrays(f"{query} ORDER BY {names}")


def people_of(ledger: Ledger, releases: Sequence[int]) -> tuple[int, int]:
    """How many people have a row in the releases, and how many of them a record with none in the last one."""
    left = f"count(DISTINCT coalesce(person, digest)) FILTER (r{len(releases) - 1} = {WITHOUT_ROW})"
    query = f"SELECT count(DISTINCT coalesce(person, digest)), {left} FROM ({_members(releases)})"
    everybody, left_behind = ledger.rows(query)[0]
    return everybody, left_behind


def count_people(ledger: Ledger, release: int) -> int | None:
    """How many people a release's source has, erased ones and those without a row among them; None without digests.

    `people_of` cannot tell: no class is kept of a person with several rows.
    """
    query = (
        "SELECT count(DISTINCT coalesce(person, digest)), count(*) FILTER (known) FROM ("
        "SELECT digest, person, true AS known FROM tableveil.release_persons WHERE release = ? "
        "UNION ALL SELECT member, person, false FROM tableveil.release_erased_persons WHERE release = ?)"
    )
    ((people, known),) = ledger.rows(query, [release, release])
    return people if known else None


def presence(ledger: Ledger, releases: Sequence[int]) -> dict[str, NDArray[Any]]:
    """The people with a row in the source of each release: the `month`, a position among these, and a `person`."""
    query = (
        "SELECT list_position(?::BIGINT[], release) - 1 AS month, dense_rank() OVER (ORDER BY digest) - 1 AS person "
        "FROM tableveil.release_persons WHERE list_contains(?::BIGINT[], release)"
    )
    return ledger.arrays(query, [list(releases), list(releases)])


def sharing(ledger: Ledger, releases: Collection[int], other: int) -> set[int]:
    """The releases among these that have somebody, or some record, of the other one."""
    query = (
        "SELECT DISTINCT release FROM tableveil.release_persons WHERE list_contains(?::BIGINT[], release) "
        "AND digest IN (SELECT digest FROM tableveil.release_persons WHERE release = ?)"
    )
    return {release for (release,) in ledger.rows(query, [list(releases), other])}


def with_others(ledger: Ledger, release: int) -> set[int]:
    """The other releases that have somebody, or some record, of this one."""
    query = (
        "SELECT DISTINCT release FROM tableveil.release_persons WHERE release <> ? "
        "AND digest IN (SELECT digest FROM tableveil.release_persons WHERE release = ?)"
    )
    return {other for (other,) in ledger.rows(query, [release, release])}


def below(ledger: Ledger, releases: Sequence[int], k: int) -> tuple[int, int, int]:
    """The fewest people of a joint class, the people in those of fewer than k, and those left behind by fewer than k.

    A joint class is a combination of classes with a row in the last release; in the others people are left behind.
    """
    names, joint = _names(releases), f"r{len(releases) - 1} <> {WITHOUT_ROW}"
    whose = "coalesce(person, digest)"
    counted = f"count(DISTINCT {whose})" if of_records(ledger, releases) else "count(*)"
    few = [f"count(DISTINCT {whose}) FILTER (people < {int(k)} AND {which})" for which in (joint, f"NOT ({joint})")]
    query = (
        f"WITH members AS MATERIALIZED ({_members(releases)}), "
        f"sizes AS MATERIALIZED (SELECT {names}, {counted} AS people FROM members GROUP BY {names}) "
        f"SELECT (SELECT coalesce(min(people), 0) FROM sizes WHERE {joint}), {', '.join(few)} "
        f"FROM members JOIN sizes USING ({names}) WHERE people < {int(k)}"
    )
    smallest, in_joint, left_behind = ledger.rows(query)[0]
    return smallest, in_joint, left_behind


def recognize(
    ledger: Ledger, releases: Sequence[int], staged: str, rows: exp.Expr, identifier: str, *, of_records: bool = False
) -> int:
    """Puts the rows of a FROM clause that have a row in the releases into a temporary table; returns their number.

    Its columns are `identifier`, the person's or the record's, and `code`, the position of the combination of classes
    among `combinations`.
    """
    names = _names(releases)
    wanted = (alias(column(identifier), "identifier"), alias(_digest(column(identifier)), "digest"))
    ledger.stage("recognized", exp.select(*wanted).from_(rows), [_secret(ledger, of_records=of_records)])
    recognized = ledger.stage(
        staged,
        f"WITH members AS ({_members(releases)}), {_numbered(names)} "
        f"SELECT identifier, code FROM temp.recognized JOIN members USING (digest) JOIN numbered USING ({names})",
    )
    ledger.execute("DROP TABLE temp.recognized")
    return recognized


def owners(ledger: Ledger, releases: Sequence[int], people: str) -> dict[str, NDArray[np.int64]]:
    """The people with `records` of each combination of `combinations`, by its `code`; digests are those of records.

    `person` is the code of the table `people`, which has each `value` and `code` of a source's people; others have
    larger numbers.
    """
    names = _names(releases)
    digests = exp.select(alias(_digest(column("value")), "person"), column("code")).from_(table(people))
    ledger.stage("known_people", digests, [_secret(ledger)])
    arrays = ledger.arrays(
        f"WITH members AS ({_members(releases)}), {_numbered(names)} SELECT numbered.code AS code, members.person AS "
        "digest, any_value(coalesce(k.code, -1)) AS person, count(*) AS records FROM members "
        f"JOIN numbered USING ({names}) LEFT JOIN temp.known_people AS k ON k.person = members.person GROUP BY ALL"
    )
    most = ledger.value("SELECT coalesce(max(code), -1) FROM temp.known_people")
    ledger.execute("DROP TABLE temp.known_people")
    person, strangers = arrays["person"].astype(np.int64), arrays["person"] < 0
    person[strangers] = most + 1 + np.unique(arrays["digest"][strangers], return_inverse=True)[1].reshape(-1)
    return {"code": arrays["code"].astype(np.int64), "person": person, "records": arrays["records"].astype(np.int64)}


def of_several(ledger: Ledger, releases: Sequence[int]) -> int:
    """How many records are in the releases as those of different people."""
    among = f"release IN ({', '.join(str(int(release)) for release in releases)})"
    disputed: int = ledger.value(
        f"SELECT count(*) FROM (SELECT digest FROM tableveil.release_persons WHERE {among} "
        "GROUP BY digest HAVING min(person) <> max(person))"
    )
    return disputed


def of_others(ledger: Ledger, releases: Sequence[int], rows: exp.Expr, record: str, person: str) -> int:
    """How many rows of a FROM clause are in the releases as records of another person."""
    wanted = (alias(_digest(column(record), "$2"), "digest"), alias(_digest(column(person)), "person"))
    secrets_ = [_secret(ledger), _secret(ledger, of_records=True)]
    ledger.stage("owned_records", exp.select(*wanted).from_(rows), secrets_)
    among = f"release IN ({', '.join(str(int(release)) for release in releases)})"
    moved: int = ledger.value(
        "SELECT count(DISTINCT digest) FROM temp.owned_records AS o JOIN tableveil.release_persons AS k "
        f"USING (digest) WHERE {among} AND k.person <> o.person"
    )
    ledger.execute("DROP TABLE temp.owned_records")
    return moved


def _numbered(names: str) -> str:
    """The named query of combinations with their codes, beside `members`."""
    return (
        f"numbered AS (SELECT {names}, row_number() OVER (ORDER BY {names}) - 1 AS code "
        f"FROM (SELECT DISTINCT {names} FROM members))"
    )


def _members(releases: Sequence[int]) -> str:
    """A query for the records with a row in the releases, those of erased people included, and their class in each."""
    # DuckDB skips blocks of other releases for numbers that it sees in the text.
    among = f"class >= 0 AND release IN ({', '.join(str(int(release)) for release in releases)})"
    linked = (
        f"SELECT release, digest, class, person FROM tableveil.release_persons WHERE {among} "
        f"UNION ALL SELECT release, member, class, person FROM tableveil.release_erased_persons WHERE {among}"
    )
    if len(releases) == 1:
        return f"SELECT digest, person, class AS r0 FROM ({linked})"
    classes = ", ".join(
        f"coalesce(max(class) FILTER (release = {int(release)}), {WITHOUT_ROW}) AS r{r}"
        for r, release in enumerate(releases)
    )
    return f"SELECT digest, max(person) AS person, {classes} FROM ({linked}) GROUP BY digest"


def _names(releases: Sequence[int]) -> str:
    return ", ".join(f"r{r}" for r in range(len(releases)))


def _digest(identifier: exp.Expr, secret: str = "$1") -> exp.Expr:
    digest = f"CAST('0x' || left(sha256({secret} || CAST($identifier AS VARCHAR)), {_DIGITS}) AS UBIGINT)"
    return expression(digest, identifier=identifier)


def _secret(ledger: Ledger, *, of_records: bool = False) -> str:
    # The number of a record is no person's, although both may be 7.
    return hmac.new(fingerprint_key(ledger), b"records" if of_records else b"persons", hashlib.sha256).hexdigest()
