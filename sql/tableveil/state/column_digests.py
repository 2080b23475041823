"""The digests of the columns that releases were made of, by which the same values are known again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tableveil.backend import Session
from tableveil.state.rows import insert_rows


def insert(session: Session, release: int, digests: Iterable[str]) -> None:
    """Keeps those of a release, each once; call it in the transaction that writes the release."""
    insert_rows(session, "release_column_digests", [(release, digest) for digest in sorted(set(digests))])


def releases_with(session: Session, digests: Iterable[str]) -> dict[int, set[str]]:
    """The releases that have any of these digests, each with those that it has."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    for release, digest in session.rows(
        "SELECT release, digest FROM tableveil.release_column_digests WHERE list_contains(?::VARCHAR[], digest) "
        "ORDER BY release",
        [sorted(set(digests))],
    ):
        found[release].add(digest)
    return dict(found)
