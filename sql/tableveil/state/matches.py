"""Releases of the same people as another one that their submitter could not see: only readers of both are told."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tableveil.backend import Ledger
from tableveil.state.seen import TRIALS, UNHIDDEN, either, evidence, reviewed


@dataclass(frozen=True, slots=True)
class Match:
    """Two releases of the same people; the finding says of the `release` what it shares with the `other` one."""

    release: int
    other: int
    finding: str


def unmatched(ledger: Ledger) -> list[int]:
    """The releases that nobody has compared yet with those that their submitters could not see."""
    query = (
        "SELECT number FROM tableveil.releases ANTI JOIN tableveil.release_compared ON number = release "
        f"WHERE number NOT IN {TRIALS} ORDER BY 1"
    )
    return [number for (number,) in ledger.rows(query)]


def partners(ledger: Ledger, release: int) -> set[int]:
    """The releases with which a release has a match."""
    query = (
        "SELECT other FROM tableveil.release_matches WHERE release = $1 "
        "UNION SELECT release FROM tableveil.release_matches WHERE other = $1"
    )
    return {number for (number,) in ledger.rows(query, [release])}


def store(ledger: Ledger, release: int, found: Sequence[Match]) -> None:
    """Keeps the matches of a release, which has all of them now."""
    with ledger.transaction():
        for match in found:
            given = [match.release, match.other, match.finding]
            ledger.execute("INSERT INTO tableveil.release_matches VALUES (?, ?, ?)", given)
        ledger.execute("INSERT INTO tableveil.release_compared VALUES (?)", [release])


def of(ledger: Ledger, releases: Collection[int]) -> defaultdict[int, list[Match]]:
    """The matches of releases, which the ledger shows, with others whose evidence it shows, and that stand.

    Admins and auditors of the whole server are told of all.
    """
    seen, values = either(evidence(ledger.visibility), reviewed(ledger.visibility))
    if ledger.visibility.every_match:
        seen, values = UNHIDDEN
    stands = "number NOT IN (SELECT release FROM tableveil.decisions WHERE NOT approved)"
    # The work is the same whether there is a match or not: its time must not tell.
    rows = ledger.rows(
        f"WITH told AS MATERIALIZED (SELECT number FROM tableveil.releases WHERE {seen} AND {stands}) "
        "SELECT release, other, finding FROM tableveil.release_matches WHERE release IN (FROM told) "
        "AND other IN (FROM told) ORDER BY release, other",
        values,
    )
    by_release = defaultdict(list)
    for match in (Match(*row) for row in rows):
        for number in {match.release, match.other}.intersection(releases):
            by_release[number].append(match)
    return by_release
