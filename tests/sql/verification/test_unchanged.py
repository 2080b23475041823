"""Columns released unchanged are counted again: from the source's first rows first, and without comparing all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.policy import AttributePolicy, KAnonymity, Policy, Role
from tableveil.verification import unchanged
from tableveil.verification.judged import Judged
from tableveil.verification.owners import count_owners
from tests.sql.verification.cases import Case, drop, written_case

SEEDS = range(4)


def asked(case: Case) -> Policy:
    """The policy of a case, whose sensitive column now is an insensitive one."""
    attributes = (*case.policy.attributes[:2], AttributePolicy("s", Role.INSENSITIVE))
    return replace(case.policy, attributes=attributes, privacy_models=(KAnonymity(4),))


@contextmanager
def judged(session: Session, case: Case) -> Iterator[None]:
    """The classes that the verification would judge, with their people."""
    gone = "gone" if case.plan.marker else "FALSE"
    pool = f"UNION ALL SELECT -1, TRUE, count(*), NULL, NULL FROM released WHERE {gone}" if case.pool else ""
    session.stage(
        "judged_classes",
        "SELECT row_number() OVER () AS class, FALSE AS pool, * FROM ("
        f"SELECT count(*) AS size, a AS q0, b AS q1 FROM released WHERE NOT {gone} GROUP BY ALL) {pool}",
    )
    count_owners(session, case.policy, case.written, own_levels=False)
    yield
    session.execute("DROP TABLE IF EXISTS temp.main.owned")
    drop(session, case)


@pytest.fixture
def cases(shared_database: Database) -> Iterator[Iterator[tuple[Session, Case]]]:
    def made(session: Session) -> Iterator[tuple[Session, Case]]:
        for seed in SEEDS:
            case = written_case(session, seed)
            with judged(session, case):
                yield session, case

    with shared_database.session() as session:
        yield made(session)


def test_records_are_all_looked_at_unless_the_first_ones_are_too_many(
    cases: Iterator[tuple[Session, Case]], monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = 0
    for session, case in cases:

        def checked(session: Session = session, case: Case = case) -> list[str]:
            whole = Judged(session, asked(case), ["a", "b"], case.plan.marker, case.plan.records, case.written)
            return unchanged.check_unchanged(whole)

        found = checked()
        with monkeypatch.context() as patched:
            patched.setattr(unchanged, "MOST_CODED", 1)
            assert checked() == found
            patched.setattr(unchanged, "FIRST", 1)
            assert checked() == found
            patched.setattr(unchanged, "MOST_COMPARED", 0)
            patched.setattr(unchanged, "FIRST", 10**6)
            assert checked() == []
        faults += bool(found)
    assert 0 < faults < len(SEEDS)


def test_rows_find_their_classes_by_hashes(cases: Iterator[tuple[Session, Case]]) -> None:
    for session, case in cases:
        ((_, plan),) = session.rows(f"EXPLAIN {unchanged._held(session, ['s'], case.plan.marker, case.written)}")
        assert "Hash Join" in plan
        assert "Nested Loop" not in plan
        assert "Blockwise" not in plan
        break
