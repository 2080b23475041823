"""Differentially private releases: what is drawn, charged and told, and what is refused before a row is read."""

import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.differential_privacy import Drops
from tableveil.drawing import read_values
from tableveil.errors import InternalError, InvalidError
from tableveil.hierarchy import InlineLevels, ValueKind
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.pipelines import differential_privacy as pipeline
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.dry_run import dry_run_work
from tableveil.pipelines.foresight import check_rows
from tableveil.policy import AttributePolicy, IfExists, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.policy.methods.differential_privacy import DifferentialPrivacy
from tableveil.source import Column, Source
from tableveil.state import privacy_budgets
from tableveil.state.jobs import now
from tableveil.state.ledger_gaps import suspend
from tableveil.state.releases import RELEASES, Release, ReleaseState
from tests.service.jobs.contexts import context
from tests.service.jobs.managed import Open, ended

Run = Callable[..., Release]

SCHEME = DifferentialPrivacy(Decimal(1), Decimal("0.01"), scheme=(("age", 1), ("ward", 0)))
SEARCHED = DifferentialPrivacy(Decimal(1), Decimal("0.01"), search_epsilon=Decimal("0.1"))


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def fresh(session: Session) -> None:
    forget(session, "privacy_budgets", "privacy_charges", "ledger_gaps")
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT i AS id, (20 + i % 40)::INTEGER AS age, "
        "if(i % 50 = 7, NULL, 'ward ' || i % 3) AS ward FROM range(600) r(i) UNION ALL SELECT 1000, 200, 'ward 1'"
    )
    with session.transaction():
        privacy_budgets.put(session.ledger, "patients", ["main.people"], Decimal(3), Decimal("0.05"), "ada")


def forget(session: Session, *names: str) -> None:
    """Empties tables of the state, and forgets all releases with their objects."""
    for name in (*names, "releases"):
        session.execute(f"DELETE FROM tableveil.{name}")
    for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'shown%'"):
        session.execute(f"DROP TABLE {name}")


def policy(options: DifferentialPrivacy = SCHEME, **changes: Any) -> Policy:
    attributes = (
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("20", "60", ("10", "20"))),
        AttributePolicy("ward", Role.QUASI_IDENTIFIER, SuppressionOnly()),
    )
    asked = Policy(
        source=TableReference("", "main", "people"),
        attributes=attributes,
        person_column="id",
        privacy_models=(KAnonymity(2),),
        release=ReleaseTarget("main", "shown", if_exists=IfExists.REPLACE),
        methods=(options,),
        repeat_reason="a test",
    )
    return replace(asked, **changes)


def spent(session: Session) -> Decimal:
    budget = privacy_budgets.of_table(session.ledger, TableReference("", "MAIN", "People"))
    assert budget is not None
    return budget.spent_epsilon


def test_rows_are_true_labels_of_fewer_records(database: Database, session: Session, run: Run) -> None:
    release = run(database, policy())
    source = Counter(
        session.rows(
            "SELECT CASE WHEN age < 60 THEN '[' || age // 10 * 10 || ', ' || (age // 10 * 10 + 9) || ']' END, ward "
            "FROM people"
        )
    )
    shown = session.rows("SELECT age, ward FROM shown")
    assert shown == sorted(shown, key=lambda row: tuple((cell is None, cell or "") for cell in row))
    counts = Counter(shown)
    # By chance, all records of a few may be drawn.
    assert all(count <= source[row] for row, count in counts.items())
    assert counts.total() < source.total()
    assert len(counts) > 9
    assert (release.records - release.suppressed_records, len(release.attributes)) == (len(shown), 2)
    assert [(result.level, result.top_level) for result in release.attributes] == [(1, 3), (0, 1)]
    about = dict(session.rows("SELECT fact, value FROM shown_about"))
    assert about["differential_privacy"] == f"epsilon 1, delta 0.01, T {pipeline._drops(SCHEME).middle}"
    assert session.rows("SELECT levels FROM shown_columns WHERE column_name = 'age'") == [("1",)]


def test_levels_are_drawn(database: Database, session: Session, run: Run) -> None:
    release = run(database, policy(SEARCHED))
    # Everything else would lose far more of 600 records.
    assert [result.level for result in release.attributes] in ([1, 0], [2, 0], [3, 0])
    assert release.explanation is None
    assert spent(session) == 1


def test_nothing_that_is_kept_knows_of_the_other_records(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table with a person more, from which chance removes a row more, gives equal rows: all else follows."""
    found = []
    for extra, removed in ((0, 8), (1, 9)):
        forget(session)
        session.execute(
            f"CREATE OR REPLACE TABLE people AS SELECT i AS id, 25 AS age, 'a' AS ward FROM range({50 + extra}) r(i)"
        )
        monkeypatch.setattr(Drops, "draw", lambda self, below, removed=removed: removed)
        release = run(database, policy())
        public = [session.rows(f"SELECT * FROM {item.name}") for item in release.objects if "about" not in item.name]
        evidence = replace(
            release,
            number=0,
            job=0,
            created_at=now(),
            seconds=0,
            phase_seconds={},
            objects=(),
            proof=replace(release.proof, seconds=0),
        )
        found.append((public, repr(replace(evidence, created_at=release.created_at.min))))
    assert found[0] == found[1]
    assert "42" in found[0][1]


def test_values_outside_the_hierarchy_are_no_error(database: Database, session: Session, run: Run) -> None:
    session.execute("INSERT INTO people SELECT 2000 + i, -5, NULL FROM range(90) r(i)")
    run(database, policy())
    assert session.value("SELECT count(*) FROM shown WHERE age IS NULL AND ward IS NULL") > 40


def test_the_budget_is_charged_before_rows_are_read_and_stays_spent(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "covers", lambda *_: False)
    with pytest.raises(InternalError) as failed:
        run(database, policy())
    assert failed.value.code == "DRAW_FAILED"
    assert spent(session) == 1
    session.execute("INSERT INTO people VALUES (1000, 25, 'ward 1')")
    monkeypatch.undo()
    with pytest.raises(InvalidError, match="one record per person"):
        run(database, policy())
    assert spent(session) == 2
    session.execute("DELETE FROM people WHERE id = 1000")
    run(database, policy())
    with pytest.raises(InvalidError, match="3 of 3"):
        run(database, policy())
    assert spent(session) == 3


def test_a_job_is_refused_unless_a_budget_holds_it(database: Database, session: Session, run: Run) -> None:
    with pytest.raises(InvalidError, match="at most what is left"):
        run(database, policy(replace(SCHEME, delta=Decimal("0.06"))))
    with session.transaction():
        suspend(session.ledger)
    with pytest.raises(InvalidError, match="went back in time"):
        run(database, policy())
    session.execute("DELETE FROM tableveil.suspended_releases; DELETE FROM tableveil.privacy_budgets")
    with pytest.raises(InvalidError, match="no privacy budget"):
        run(database, policy())
    assert session.value("SELECT count(*) FROM tableveil.privacy_charges") == 0


def test_a_table_brings_its_charges_along(session: Session) -> None:
    table, other = TableReference("", "main", "people"), TableReference("", "main", "copy")
    with session.transaction():
        budget = privacy_budgets.of_table(session.ledger, table)
        assert budget is not None
        privacy_budgets.charge(session.ledger, 1, budget, table, Decimal("0.1"), Decimal("0.01"))
        tables = ["main.people", "main.copy"]
        moved = privacy_budgets.put(session.ledger, "all", tables, Decimal(1), Decimal(1), "a")
        assert moved.spent_epsilon == Decimal("0.1")
        assert not moved.holds(Decimal("0.95"), Decimal(0))
        assert privacy_budgets.of_table(session.ledger, other) is not None


def test_looks_at_the_table_are_refused(database: Database, session: Session) -> None:
    with pytest.raises(InvalidError, match="a dry run"):
        dry_run_work(policy(), "{}")
    warnings = check_rows(context(session, database, 1), policy())
    assert warnings == ()
    assert session.value("SELECT count(*) FROM tableveil.privacy_charges") == 0


def test_a_trial_is_charged_and_its_promotion_releases_the_rows_that_were_drawn(
    database: Database, session: Session, open_manager: Open
) -> None:
    """Whether the table changed meanwhile is not told."""
    jobs = open_manager(policy_of=lambda _: policy())
    # The manager noticed that this file's tests forgot releases.
    session.execute("UPDATE tableveil.privacy_budgets SET suspended = false")
    job = ended(jobs, jobs.submit(release_work(policy(), "{}", is_trial=True)).number)
    assert job.result is not None, job.failure
    assert spent(session) == 1
    drawn = session.rows(f"FROM tableveil.pending_{job.result}")
    session.execute("DELETE FROM people WHERE id % 3 = 0")
    jobs.releases.promote(job.result, policy(), "{}")
    release = RELEASES.find(session.ledger, job.result)
    assert release is not None
    assert release.state is ReleaseState.APPROVED
    assert session.rows("FROM shown") == drawn
    assert spent(session) == 1


def test_faults_that_only_the_hierarchies_know_cost_nothing(database: Database, session: Session, run: Run) -> None:
    with pytest.raises(InvalidError, match="up to 3"):
        run(database, policy(replace(SCHEME, scheme=(("age", 4), ("ward", 0)))))
    with pytest.raises(InvalidError, match="rows would be removed"):
        run(database, policy(replace(SCHEME, epsilon=Decimal("0.0000001"), delta=Decimal("0.000000001"))))
    session.execute("CREATE OR REPLACE TABLE people AS SELECT 1 AS id, 1.5::DOUBLE AS age, 'a' AS ward")
    with pytest.raises(InvalidError, match="FLOAT"):
        run(database, policy())
    assert spent(session) == 0


def test_a_public_list_has_the_same_shares_whatever_occurs(session: Session, database: Database, run: Run) -> None:
    listed = InlineLevels(tuple((f"ward {i}", "low" if i < 2 else "high", "*") for i in range(4)))
    attributes = (*policy().attributes[:2], replace(policy().attributes[2], hierarchy=listed))
    options = replace(SCHEME, scheme=(("age", 1), ("ward", 1)), public_lists=("ward",))
    run(database, policy(options, attributes=attributes))
    assert session.value("SELECT count(*) FROM shown WHERE ward = 'low'") > 90
    found = []
    for rows in (600, 50):
        session.execute(f"CREATE OR REPLACE TABLE people AS SELECT 'ward ' || i % 3 AS ward FROM range({rows}) r(i)")
        source = Source(TableReference("test", "main", "people"), (Column("ward", "VARCHAR", ValueKind.TEXT),))
        levels = read_values(session, source, "ward", listed, rows).levels
        found.append(levels.shares(1)[levels.groups[1]].tolist())
    # Four values and NULL, of which two are under each label.
    assert found == [[0.25, 0.25, 0.25, 0.0]] * 2


def test_draws_use_the_randomness_of_the_operating_system() -> None:
    assert pipeline.draw.__defaults__ == (secrets.randbelow,)
