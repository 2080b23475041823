"""Releases of people whom their submitter could not see elsewhere are found afterwards, also after a kill."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from tableveil.backend import ALL, Database, Scopes, Session, Visibility, seeing
from tableveil.control import Stopped
from tableveil.policy import TableReference
from tableveil.runtime import Matches
from tableveil.state import matches
from tableveil.state.audit_entries import AuditEntry
from tableveil.state.releases import RELEASES, Release
from tests.service.jobs.managed import OF_KNOWN_PEOPLE, SECONDS
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]
OWN = Scopes(schemas=frozenset({"lab"}))
LAB = Visibility("lab", owned=OWN, published=OWN)


@pytest.fixture(autouse=True)
def people(database: Database, session: Session, run: Run) -> None:
    """The hospital's release, and one of the lab, which sees nothing of it."""
    rows = "SELECT i AS id, 20 + i % 10 AS age, i % 2 AS ward, 'ill ' || i % 5 AS illness FROM range(60) r(i)"
    for schema in ("hospital", "lab"):
        session.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.people AS {rows}")
    session.execute("DELETE FROM lab.people WHERE id > 50")
    released(database, run, "hospital")
    with seeing(lambda: LAB):
        released(database, run, "lab")


def released(database: Database, run: Run, schema: str, reason: str = "") -> None:
    policy = replace(OF_KNOWN_PEOPLE, source=TableReference("", schema, "people"), repeat_reason=reason)
    run(database, replace(policy, release=plain_target(schema, f"released{reason}")))


def follow(database: Database, record: Callable[[AuditEntry], None]) -> None:
    """Does all that a server does from its start until nothing is left to do."""
    found = Matches(database, record)
    found.start()
    try:
        deadline = time.monotonic() + SECONDS
        with database.ledger() as ledger:
            while matches.unmatched(ledger) and found._thread.is_alive() and time.monotonic() < deadline:
                time.sleep(0.01)
    finally:
        found.close(SECONDS)


def test_readers_of_both_are_told(database: Database) -> None:
    told: list[AuditEntry] = []
    follow(database, told.append)
    assert [entry.resources for entry in told] == [("releases/2", "releases/1")]
    with database.ledger() as ledger:
        for number in (1, 2):
            release = RELEASES.find(ledger, number)
            assert release is not None
            (match,) = release.matches
            assert (match.release, match.other) == (2, 1)
            assert match.finding == "all 51 different rows here are in releases/1"
    for visibility in (
        Visibility("lab", owned=Scopes(releases=frozenset({2}))),
        Visibility("hospital", reviewed=Scopes(releases=frozenset({1}))),
        Visibility("analyst", owned=Scopes(releases=frozenset({2})), published=ALL),
    ):
        with seeing(partial(replace, visibility)), database.ledger() as ledger:
            assert not any(release.matches for release in RELEASES.page(ledger, None, 9)), visibility


def test_a_kill_puts_it_off(database: Database) -> None:
    """Whether the audit was told or not: nothing is kept of a release before all of it is."""

    def kill(entry: AuditEntry) -> None:
        raise Stopped

    follow(database, kill)
    with database.ledger() as ledger:
        assert matches.unmatched(ledger) == [2]
    told: list[AuditEntry] = []
    follow(database, told.append)
    follow(database, told.append)
    assert len(told) == 1


@pytest.mark.long
def test_what_the_submitter_could_see_is_no_match(database: Database, run: Run) -> None:
    """It was compared, and needed a reason or was judged together."""
    follow(database, lambda entry: None)
    with seeing(lambda: replace(LAB, admitted=ALL)):
        released(database, run, "lab", "again")
    told: list[AuditEntry] = []
    follow(database, told.append)
    assert not told
