"""Any change between counting and committing, or a stop of the job: nothing is released, and nothing stays behind."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Stopped
from tableveil.errors import CancelledError, ConflictError, InternalError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals
from tableveil.pipelines.work import JobReport
from tableveil.policy import AttributePolicy, KAnonymity, Policy, Role, SuppressedRecords, TableReference
from tableveil.state.jobs import JobPhase
from tableveil.state.releases import Release
from tests.inserted import insert
from tests.once import once
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]

POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10", "50"))),
        AttributePolicy("ward", Role.QUASI_IDENTIFIER, InlineLevels((("n", "*"), ("s", "*"), ("e", "*"), ("w", "*")))),
        AttributePolicy("illness", Role.SENSITIVE),
    ),
    person_column="id",
    privacy_models=(KAnonymity(3),),
    release=plain_target("main", "released"),
    suppression_limit=Decimal("0.9"),
    suppressed_records=SuppressedRecords.BLANK,
    marker_column="suppressed",
)

# The first three wards are classes of 4, 3 and 3 at ages by ten; the last two records are suppressed.
PEOPLE = [(20, "n")] * 4 + [(31, "s")] * 3 + [(44, "e")] * 3 + [(90, "w"), (5, "w")]


@pytest.fixture(autouse=True)
def patients(session: Session) -> None:
    session.execute("CREATE TABLE patients (id INTEGER, ward VARCHAR, illness VARCHAR, age INTEGER)")
    insert(session, "patients", ((i, ward, f"illness {i % 3}", age) for i, (age, ward) in enumerate(PEOPLE)))


def everything(session: Session) -> list[tuple[str, int]]:
    """All tables and views, and how many rows they have; what a job appends about itself, and its rights, aside."""
    names = session.rows(
        "SELECT schema_name, table_name FROM duckdb_tables() "
        "WHERE table_name NOT IN ('jobs', 'job_events', 'job_rights') AND table_name NOT LIKE 'hierarch%' UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal ORDER BY ALL"
    )
    return [(name, session.value(f'SELECT count(*) FROM "{schema}"."{name}"')) for schema, name in names]


# --- a source that changes between counting and writing --------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    once(
        [
            "UPDATE patients SET illness = 'flu' WHERE id = 3",
            "DELETE FROM patients",
            "ALTER TABLE patients ALTER age TYPE BIGINT",
            "ALTER TABLE patients DROP COLUMN illness",
            "DROP TABLE patients",
            # These are found by the same fingerprint, or by the same columns.
            "UPDATE patients SET age = age + 1 WHERE id = 11",
            "INSERT INTO patients VALUES (12, 'n', 'flu', 20)",
            "DELETE FROM patients WHERE id = 0",
            "ALTER TABLE patients RENAME illness TO disease",
            "ALTER TABLE patients ADD COLUMN note VARCHAR",
            "ALTER TABLE patients RENAME TO people",
        ],
        3,
    ),
)
def test_a_source_that_changes_is_not_released(database: Database, session: Session, run: Run, statement: str) -> None:
    def change(begun: JobPhase) -> None:
        # Nothing of the source is read between the two.
        if begun is JobPhase.SEARCHING if statement.startswith("ALTER") else begun is JobPhase.WRITING:
            session.execute(statement)
            after.extend(everything(session))

    after: list[tuple[str, int]] = []
    with pytest.raises(ConflictError) as raised:
        run(database, POLICY, JobReport(on_phase=change))
    assert raised.value.code == "SOURCE_CHANGED"
    assert "Submit the job again" in str(raised.value)
    assert everything(session) == after


def test_a_source_that_changes_while_it_is_written_was_read_before(
    database: Database, session: Session, run: Run
) -> None:
    """The transaction sees the rows that were counted, whatever others do meanwhile."""

    def change(begun: JobPhase) -> None:
        if begun is JobPhase.VERIFYING:
            session.execute("UPDATE patients SET illness = 'flu', age = 99")

    release = run(database, POLICY, JobReport(on_phase=change))
    assert release.suppressed_records < 12
    assert session.rows("SELECT 1 FROM released WHERE illness = 'flu'") == []


def test_rows_in_another_order_are_no_change(database: Database, session: Session, run: Run) -> None:
    def change(begun: JobPhase) -> None:
        if begun is JobPhase.WRITING:
            session.execute("CREATE OR REPLACE TABLE patients AS SELECT * FROM patients ORDER BY id DESC")

    run(database, POLICY, JobReport(on_phase=change))


def test_a_target_that_appears_meanwhile_is_kept(database: Database, session: Session, run: Run) -> None:
    def change(begun: JobPhase) -> None:
        if begun is JobPhase.WRITING:
            session.execute("CREATE TABLE released_risk AS SELECT 'precious' AS a")

    with pytest.raises(ConflictError) as raised:
        run(database, POLICY, JobReport(on_phase=change))
    assert raised.value.code == "TARGET_EXISTS"
    assert session.rows("SELECT * FROM released_risk") == [("precious",)]
    assert session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'released'") == []


# --- the commit -----------------------------------------------------------------------------------------------------


def test_a_commit_that_wrote_nothing_is_noticed(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB reports success for the COMMIT of an aborted transaction."""
    before = everything(session)
    original = Session._unguarded

    def lose(self: Session, statement: str) -> None:
        writing = statement == "COMMIT" and self.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'released'")
        original(self, "ROLLBACK" if writing else statement)

    monkeypatch.setattr(Session, "_unguarded", lose)
    with pytest.raises(InternalError) as raised:
        run(database, POLICY)
    assert raised.value.code == "COMMIT_LOST"
    assert everything(session) == before


@pytest.mark.parametrize("phase", once([*reversed(JobPhase)], 2))
def test_a_cancel_in_any_phase_leaves_nothing(
    database: Database, session: Session, run: Run, phase: JobPhase, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(session)
    controls: list[Any] = []
    original = database.session

    def remember() -> Session:
        opened = original()
        controls.append(opened)
        return opened

    monkeypatch.setattr(database, "session", remember)

    def cancel(begun: JobPhase) -> None:
        if begun is phase:
            controls[0].control.cancel()

    with pytest.raises((Stopped, CancelledError)):
        run(database, POLICY, JobReport(on_phase=cancel))
    assert everything(session) == before
