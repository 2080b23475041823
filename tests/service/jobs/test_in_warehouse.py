"""Releases in a warehouse: equal to those in the database, whole after a kill at any step, or refused."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from tableveil.backend import Database, Scopes, Visibility, seeing
from tableveil.control import Control, Stopped
from tableveil.dictionary import PreviewRequest
from tableveil.errors import ConflictError, InvalidError
from tableveil.lookups import Hierarchies, Releases, Tables
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.work import JobContext
from tableveil.policy import (
    AttributePolicy,
    ClassificationModel,
    Distance,
    DistinctLDiversity,
    EntropyLDiversity,
    IfExists,
    KAnonymity,
    KMap,
    NTCloseness,
    Policy,
    Population,
    Role,
    SuppressedRecords,
    TableReference,
    TCloseness,
)
from tableveil.runtime import JobSettings, open_jobs
from tableveil.state import jobs as store
from tableveil.state.jobs import JobState
from tableveil.state.releases import ReleaseState
from tableveil.state.trials import open_swaps
from tests.another_duckdb import AnotherDuckDB
from tests.migrated import passing
from tests.once import once
from tests.service.jobs.elsewhere import (
    FEW,
    MADE,
    NUMBERED,
    OF_COMBINATIONS,
    POLICY,
    SUPPRESSING,
    UNCHANGED,
    WARDS,
    check_analyses,
    check_known_again,
    check_of_release,
    decided,
    done,
    here,
    tables,
)
from tests.service.jobs.plain import plain_target


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    for database in passing(tmp_path / "test.duckdb"):
        with database.session() as session:
            session.execute("CREATE SCHEMA clinic")
            for statement in MADE:
                session.execute(statement.replace("{}", "clinic"))
        yield database


@pytest.fixture
def lake(database: Database, tmp_path: Path) -> Iterator[AnotherDuckDB]:
    lake = AnotherDuckDB(tmp_path)
    with lake.database.session() as session:
        session.execute("CREATE SCHEMA clinic")
        for statement in MADE:
            session.execute(statement.replace("{}", "clinic"))
    database.warehouses["lake"] = lake
    yield lake
    lake.close()


@pytest.mark.parametrize(
    "policy",
    [
        POLICY,
        replace(POLICY, privacy_models=(EntropyLDiversity("illness", Decimal(2)),)),
        replace(POLICY, privacy_models=(KAnonymity(2), TCloseness("illness", Decimal("0.3"), Distance.EQUAL))),
        replace(POLICY, privacy_models=(KAnonymity(2), NTCloseness("illness", 60, Decimal("0.2")))),
        replace(POLICY, quality_model=ClassificationModel(("illness",))),
        replace(SUPPRESSING, suppressed_records=SuppressedRecords.KEEP),
        replace(SUPPRESSING, suppressed_records=SuppressedRecords.BLANK, release=NUMBERED),
        UNCHANGED,
        replace(
            POLICY, privacy_models=(KMap(8),), population=Population(table=TableReference("", "clinic", "everybody"))
        ),
    ],
    ids=["k", "entropy", "t", "n-t", "classification", "keep", "blank", "insensitive", "population"],
)
@pytest.mark.long
def test_equals_a_release_in_the_database(database: Database, lake: AnotherDuckDB, policy: Policy) -> None:
    check_equal(database, lake, policy)


def check_equal(database: Database, lake: AnotherDuckDB, policy: Policy) -> None:
    there = done(database, policy)
    own_job = done(database, here(policy))
    assert (there.failure, own_job.failure) == (None, None)
    assert str(there.request.source) == "lake.clinic.patients"
    releases = [Releases(database).get(job.result) for job in (there, own_job) if job.result]
    elsewhere, own = releases
    if policy is UNCHANGED or policy.suppressed_records is SuppressedRecords.KEEP:
        check_of_release(database, elsewhere.number, own.number, policy)
    assert (elsewhere.warehouse, elsewhere.target_schema, own.target_schema) == ("lake", "lake.clinic", "clinic")
    for field in ("score", "records", "suppressed_records", "classes", "risk_after"):
        assert getattr(elsewhere, field) == getattr(own, field)
    # The second one repeats the first.
    assert elsewhere.guarantees == tuple(one for one in own.guarantees if not one.model.startswith("joint_k"))
    assert [replace(a, hierarchy="") for a in elsewhere.attributes] == [
        replace(a, hierarchy="") for a in own.attributes
    ]
    assert set(elsewhere.versions) - set(own.versions) == {"another"}
    assert elsewhere.source_fingerprint != own.source_fingerprint
    with lake.database.session() as session, database.session() as other:
        assert tables(session) == tables(other)


def test_a_sensitive_column_equals_a_release_in_the_database(database: Database, lake: AnotherDuckDB) -> None:
    models = (KAnonymity(3), DistinctLDiversity("illness", 2))
    check_equal(database, lake, replace(POLICY, privacy_models=models))


@pytest.mark.long
@pytest.mark.parametrize("name", once(["local", *sorted({*OF_COMBINATIONS} - {"local"})]))
def test_combinations_with_levels_of_their_own_equal_those_in_the_database(
    database: Database, lake: AnotherDuckDB, name: str
) -> None:
    check_equal(database, lake, OF_COMBINATIONS[name])


@pytest.mark.long
def test_rows_of_two_releases_are_joined_there(database: Database, lake: AnotherDuckDB) -> None:
    """The second repeats the first by a reason; hashes of their rows are collected."""
    target = replace(POLICY.release, name="once_more")
    numbers = [done(database, policy).result for policy in (POLICY, replace(POLICY, release=target))]
    second = Releases(database).get(numbers[-1] or 0)
    joined = [one for one in second.guarantees if one.model == f"joint_k (releases/{numbers[0]}, joined)"]
    assert [one.after is not None and one.after >= 3 for one in joined] == [True]
    assert not any("Nobody joined" in text for text in second.warnings)


@pytest.mark.parametrize("first", once([2, 4]))
def test_analyses_equal_those_in_the_database(database: Database, lake: AnotherDuckDB, first: int) -> None:
    check_analyses(database, POLICY, first)
    with lake.database.session() as session:
        assert set(tables(session)) == {"patients", "everybody"}


def test_columns_that_give_away_what_labels_hide_are_refused(database: Database, lake: AnotherDuckDB) -> None:
    telling = AttributePolicy("smoker", Role.INSENSITIVE)
    policy = replace(POLICY, attributes=(*POLICY.attributes[:-2], telling, POLICY.attributes[-1]))
    failures = [done(database, policy).failure, done(database, here(policy)).failure]
    assert failures[0] == failures[1]
    assert failures[0] is not None
    assert failures[0].code == "COLUMN_DISCLOSES"


@pytest.mark.parametrize(
    ("most", "warehouses"),
    once(
        [(2**15, ("lake", "lake")), (2**15, ("lake", "")), (64, ("lake", "lake")), (2**15, ("", "lake"))],
        2,
        several=True,
    ),
    ids=["all", "then here", "some", "here before"],
)
def test_knows_people_again(
    database: Database, lake: AnotherDuckDB, monkeypatch: pytest.MonkeyPatch, most: int, warehouses: tuple[str, str]
) -> None:
    """A large column by some of its values; one of few values in both engines."""
    monkeypatch.setattr("tableveil.source.sketch.MOST_VALUES", most)
    check_known_again(database, warehouses)


def test_a_source_that_changes_meanwhile_is_noticed(database: Database, lake: AnotherDuckDB) -> None:
    def change(verb: str) -> None:
        if verb == "create":
            with lake.database.session() as session:
                session.execute("UPDATE clinic.patients SET age = 21 WHERE id = 7")

    lake.before = change
    failure = done(database, FEW).failure
    assert failure is not None
    assert failure.code == "SOURCE_CHANGED"
    with lake.database.session() as session:
        assert set(tables(session)) == {"patients", "everybody"}


def test_a_cancelled_job_leaves_nothing(database: Database, lake: AnotherDuckDB) -> None:
    control = Control()
    lake.before = lambda verb: control.cancel() if verb == "create" else None
    with database.session() as session, database.rows_session(session, "lake") as rows:
        session.control = control
        with pytest.raises(Stopped):
            anonymize(JobContext(1, "{}", database, session, control, elsewhere=rows), FEW)
    with lake.database.session() as session:
        assert set(tables(session)) == {"patients", "everybody"}


def test_a_release_with_notes_of_columns_fails(database: Database, lake: AnotherDuckDB) -> None:
    """An engine may copy the comments of the source's columns, which hold anything."""

    def note(verb: str) -> None:
        with lake.database.session() as session:
            for (staged,) in session.rows(
                "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'tableveil_staged_%classes'"
            ):
                session.execute(f"COMMENT ON COLUMN clinic.{staged}.age IS 'a secret'")

    lake.before = note
    failure = done(database, FEW).failure
    assert failure is not None
    assert failure.code == "VERIFICATION_FAILED"
    assert "1 written columns have comments" in failure.message
    assert "secret" not in failure.message
    with lake.database.session() as session:
        assert set(tables(session)) == {"patients", "everybody"}


class _Killed(BaseException):
    """Nothing of the process runs on."""


@pytest.mark.long
def test_a_kill_at_any_step_leaves_all_or_nothing(
    database: Database, lake: AnotherDuckDB, run_killed: Callable[..., bool]
) -> None:
    """Once a release is there, the next ones replace it: they have another k, so that their rows differ."""
    policy = replace(POLICY, attributes=POLICY.attributes[:4], default_role=Role.IDENTIFYING)
    policy = replace(policy, release=plain_target("clinic", "released"))
    seen: list[bool] = []
    with database.ledger() as ledger, lake.database.session() as session:
        before = tables(session)
        assert set(before) == {"patients", "everybody"}
        while run_killed(policy, len(seen)):
            decided = open_swaps(ledger, "lake")
            open_jobs(database, JobSettings(1)).close(10)
            after = tables(session)
            assert open_swaps(ledger, "lake") == []
            (state,) = ledger.row("SELECT state FROM tableveil.job_outcomes ORDER BY job DESC LIMIT 1")
            seen.append(bool(decided))
            assert state == (JobState.SUCCEEDED if decided else JobState.INTERRUPTED)
            assert (after != before) == bool(decided)
            if decided:
                assert len(after) == 2 + 4
                target = plain_target("clinic", "released", if_exists=IfExists.REPLACE)
                policy = replace(policy, release=target, privacy_models=(KAnonymity(25 if len(seen) % 2 else 3),))
            before = after
    # Killed before the intent at each object, and after it at each renaming.
    assert seen.count(False) >= 4
    assert seen.count(True) >= 4


@pytest.fixture
def run_killed(database: Database, lake: AnotherDuckDB) -> Callable[..., bool]:
    """Runs a job, and kills it at a step of the warehouse, or of one kind; returns whether it came so far."""

    def run(policy: Policy, at: int, of: str = "") -> bool:
        steps = itertools.count()

        def kill(verb: str) -> None:
            if of in ("", verb) and next(steps) >= at:
                raise _Killed

        with database.session() as session, database.rows_session(session, "lake") as rows:
            number = store.next_number(session.ledger)
            request = store.Request(number, "", "{}", "", policy.source, "lake.clinic", "released", store.now())
            store.insert_request(session.ledger, request)
            lake.before = kill
            try:
                anonymize(JobContext(number, "{}", database, session, Control(), elsewhere=rows), policy)
            except _Killed:
                return True
            finally:
                lake.before = lambda verb: None
        return False

    return run


@pytest.mark.parametrize(
    "meddle", once(["CREATE OR REPLACE TABLE clinic.{} AS FROM clinic.patients", "DROP TABLE clinic.{}"])
)
def test_rows_that_nobody_verified_are_not_released(
    database: Database, lake: AnotherDuckDB, run_killed: Callable[..., bool], meddle: str
) -> None:
    policy = replace(POLICY, attributes=POLICY.attributes[:4], default_role=Role.IDENTIFYING)
    with database.ledger() as ledger, lake.database.session() as session:
        # The intent stands, and nothing has its name yet.
        assert run_killed(policy, 0, "rename")
        assert open_swaps(ledger, "lake")
        for name in tables(session):
            if name.startswith("tableveil_staged_"):
                session.execute(meddle.format(name))
        open_jobs(database, JobSettings(1)).close(10)
        assert "released" not in tables(session)
        (number,) = open_swaps(ledger, "lake")
        jobs = open_jobs(database, JobSettings(1))
        jobs.releases.withdraw(number, "somebody meddled")
        jobs.close(10)
        assert not open_swaps(ledger, "lake")


def test_refuses_to_collect_too_much(database: Database, lake: AnotherDuckDB) -> None:
    lake.most_collected = 5_000
    failure = done(database, POLICY).failure
    assert failure is not None
    assert failure.code == "COLLECTS_TOO_MUCH"
    assert "combinations" in failure.faults[0].found


@pytest.mark.long
def test_refuses_too_many_values_in_classes_before_it_writes_or_collects_them(
    database: Database, lake: AnotherDuckDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tableveil.pipelines.privacy.LARGEST_UNASKED", 0)
    ages, ids = POLICY.attributes[0], replace(POLICY.attributes[3], role=Role.SENSITIVE, acknowledged=True)
    policy = replace(POLICY, attributes=(ages, ids), default_role=Role.IDENTIFYING)
    lake.most_collected, verbs = 4_500, list[str]()
    lake.before = verbs.append
    failure = done(database, policy).failure
    assert failure is not None
    assert failure.code == "COLLECTS_TOO_MUCH"
    assert "values of 'id'" in failure.faults[0].found
    assert "write" not in verbs
    lake.most_collected = 50_000
    assert done(database, policy).failure is None
    assert "write" in verbs


def test_refuses_what_cannot_be_done_there(database: Database, lake: AnotherDuckDB) -> None:
    with pytest.raises(InvalidError, match="source_query"):
        done(database, replace(POLICY, source_query="SELECT 1"))
    with pytest.raises(InvalidError) as nowhere:
        done(database, replace(POLICY, source=replace(POLICY.source, catalog="pond")))
    assert "pond" in str(nowhere.value.faults[0])


@pytest.mark.long
def test_waits_in_a_schema_of_its_own_until_it_is_approved(database: Database, lake: AnotherDuckDB) -> None:
    numbers = [done(database, policy, ("lake.clinic",)).result for policy in (FEW, FEW)]
    first, number = (found or 0 for found in numbers)
    with lake.database.session() as session:
        assert set(tables(session)) == {"patients", "everybody"}
        (waiting,) = session.rows("SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'tableveil'")
        assert waiting == (2 * len(Releases(database).get(number).objects),)
        # A restart drops nothing that waits.
        decided(database, first, approved=False)
        lake.before = kill_at("rename")
        with pytest.raises(_Killed):
            decided(database, number, approved=True)
        lake.before = lambda verb: None
        assert open_swaps_of(database) == [number]
        open_jobs(database, JobSettings(1)).close(10)
        assert open_swaps_of(database) == []
        released = tables(session)
        assert session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'tableveil'") == []
    assert Releases(database).get(number).state is ReleaseState.APPROVED
    assert done(database, here(FEW)).failure is None
    with database.session() as session:
        expected = tables(session)
    assert {name: sorted(map(repr, rows)) for name, rows in released.items()} == {
        name: sorted(map(repr, rows)) for name, rows in expected.items()
    }


def test_what_waits_is_verified_again_when_it_is_approved(database: Database, lake: AnotherDuckDB) -> None:
    number = done(database, FEW, ("lake.clinic",)).result or 0
    with lake.database.session() as session:
        query = "SELECT arg_min(table_name, len(table_name)) FROM duckdb_tables() WHERE schema_name = 'tableveil'"
        (name,) = session.row(query)
        written = session.value(f'SELECT age FROM tableveil."{name}" WHERE rowid = 0')
        session.execute(f'UPDATE tableveil."{name}" SET age = NULL WHERE rowid = 0')
        with pytest.raises(ConflictError) as raised:
            decided(database, number, approved=True)
        assert raised.value.code == "PENDING_CHANGED"
        assert set(tables(session)) == {"patients", "everybody"}
        session.execute(f'UPDATE tableveil."{name}" SET age = ? WHERE rowid = 0', [written])
        decided(database, number, approved=True)
        assert set(tables(session)) > {"patients", "everybody", "released"}
        assert session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'tableveil'") == []


def kill_at(verb: str) -> Callable[[str], None]:
    def kill(found: str) -> None:
        if found == verb:
            raise _Killed

    return kill


def open_swaps_of(database: Database) -> list[int]:
    with database.ledger() as ledger:
        return open_swaps(ledger, "lake")


def test_is_withdrawn_there_and_not_read_here(database: Database, lake: AnotherDuckDB) -> None:
    number = done(database, FEW).result
    assert number is not None
    with pytest.raises(ConflictError, match="in the warehouse 'lake'"), Releases(database).read(number, "released"):
        pass
    jobs = open_jobs(database, JobSettings(1))
    jobs.releases.withdraw(number, "a mistake")
    jobs.close(10)
    with lake.database.session() as session:
        assert set(tables(session)) == {"patients", "everybody"}


def test_rights_are_on_the_schema_of_the_warehouse(database: Database, lake: AnotherDuckDB) -> None:
    for schemas, allowed in (({"clinic"}, False), ({"lake.clinic"}, True)):
        visibility = Visibility("ada", owned=Scopes(schemas=frozenset(schemas)))
        with seeing(lambda visibility=visibility: visibility):  # type: ignore[misc]
            if allowed:
                assert done(database, FEW).state is JobState.SUCCEEDED
            else:
                with pytest.raises(InvalidError):
                    done(database, FEW)


@pytest.mark.long
def test_a_view_may_be_the_source_there(database: Database, lake: AnotherDuckDB) -> None:
    with lake.database.session() as session:
        session.execute("CREATE VIEW clinic.seen AS SELECT * FROM clinic.patients WHERE id > 9")
    job = done(database, replace(FEW, source=TableReference("lake", "clinic", "seen")))
    assert job.state is JobState.SUCCEEDED


def test_is_described_and_previewed(database: Database, lake: AnotherDuckDB) -> None:
    there, here = (TableReference(catalog, "clinic", "patients") for catalog in ("lake", ""))
    described = [Tables(database).describe(table, 3, Control()).columns for table in (there, here)]
    assert described[0] == described[1]
    hierarchies = Hierarchies(database)
    previews = [hierarchies.preview(PreviewRequest(WARDS, table, "ward é"), Control()) for table in (there, here)]
    assert previews[0] == previews[1]
