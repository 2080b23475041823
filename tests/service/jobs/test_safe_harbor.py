"""Jobs under Safe Harbor: the policies in examples/, labels checked by hand, and what is refused or caught."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.convert import policy_from_proto
from tableveil.document import read_policy
from tableveil.errors import InfeasibleError, InternalError, InvalidError
from tableveil.hierarchy import SafeHarborDate
from tableveil.pipelines.foresight import check_rows
from tableveil.pipelines.frontier import frontier_work
from tableveil.policy import DistinctLDiversity, IfExists, KAnonymity, Policy, SafeHarbor, SearchOptions
from tableveil.release import write
from tableveil.requests.frontier import FrontierGrid
from tableveil.runtime import JobSettings, open_jobs
from tableveil.state.jobs import JobState
from tableveil.state.releases import Release
from tests.inserted import insert
from tests.once import once
from tests.searched import searched
from tests.service.jobs.contexts import context
from tests.service.jobs.unguarded import UNGUARDED

Run = Callable[..., Release]

EXAMPLES = Path(__file__).parents[3] / "examples"

# 021 has 20,001 people, 022 has 20,000, 036 has few.
ZIP_CODES = {"02138": 15_000, "02139": 5_001, "02215": 20_000, "03601": 7}
PEOPLE = [
    ("02138", 34, "2020-02-29", "f"),
    ("02138", 89, "2024-12-31", "f"),
    ("02139", 90, "2025-01-01", "m"),
    ("02215", 0, "2020-01-01", "m"),
    ("03601", 101, "2026-12-31", "f"),
    ("03601", 34, "2020-02-29", None),
]
BY_HAND = {
    ("021", "34", "2020", "f"): 1,
    ("021", "89", "2024", "f"): 1,
    ("021", "90+", "2025", "m"): 1,
    ("000", "0", "2020", "m"): 1,
    ("000", "90+", "2026", "f"): 1,
    ("000", "34", "2020", None): 1,
}


def example(name: str, *, labelled: bool = False) -> Policy:
    message, faults = read_policy((EXAMPLES / name).read_text(encoding="utf-8"), "yaml")
    assert not faults, faults
    policy, found = policy_from_proto(message)
    assert policy is not None, found
    return replace(
        policy,
        repeat_reason="a test",
        release=replace(policy.release, if_exists=IfExists.REPLACE, guards=UNGUARDED, label_columns=labelled),
    )


PLAIN = example("safe-harbor.yaml")
GAME = example("safe-harbor-game.yaml")


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def discharges(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE zip_codes (zip VARCHAR, population INTEGER)")
    insert(session, "zip_codes", ZIP_CODES.items())
    session.execute(
        "CREATE OR REPLACE TABLE discharges (patient_id INTEGER, name VARCHAR, zip_code VARCHAR, age UTINYINT, "
        "admission_date DATE, sex VARCHAR, diagnosis VARCHAR)"
    )
    insert(session, "discharges", ((number, "Name", *person, "flu") for number, person in enumerate(PEOPLE)))


def crowd(session: Session) -> None:
    """Adds a thousand people to the discharges, many of them alike."""
    session.execute(
        "INSERT INTO discharges SELECT 100 + i, 'Name', ['02138', '02139', '02215', '03601'][1 + i % 4], "
        "i * 37 % 3 * 40, DATE '2020-01-01' + (i * 331 % 700)::INTEGER, CASE WHEN i % 7 > 2 THEN 'f' ELSE 'm' END, "
        "'flu' FROM range(1000) AS r(i)"
    )


def released(session: Session, table: str) -> Counter[tuple[Any, ...]]:
    return Counter(session.rows(f"SELECT zip_code, age, admission_date, sex FROM {table}"))


def levels(release: Release) -> dict[str, int]:
    return {result.column: result.level for result in release.attributes}


LOWEST = {"zip_code": 1, "age": 1, "admission_date": 1, "sex": 0}


# --- what is released -----------------------------------------------------------------------------------------------


def test_the_plain_example_releases_the_lowest_levels_allowed(database: Database, session: Session, run: Run) -> None:
    release = run(database, example("safe-harbor.yaml", labelled=True))
    assert released(session, "discharges_safe_harbor") == BY_HAND
    assert levels(release) == LOWEST
    assert release.suppressed_records == 0
    assert (release.proof.optimal, searched(release).lattice_size) == (True, str(4 * 6 * 3 * 2))
    names = {result.column: result.hierarchy.rpartition("@")[0] for result in release.attributes}
    assert [names[column] for column in ("zip_code", "age", "admission_date")] == [
        "discharges.zip_code",
        "discharges.age",
        "discharges.admission_date",
    ]
    columns = [name for name, *_ in session.rows("DESCRIBE discharges_safe_harbor")]
    assert [name for name in columns if not name.endswith(("_from", "_to", "_rank"))] == [*LOWEST, "diagnosis"]
    ends = session.rows("SELECT DISTINCT age_from, age_to FROM discharges_safe_harbor WHERE age = '90+'")
    assert ends == [(90, None)]


@pytest.mark.long
def test_the_game_of_the_example_is_played_above_safe_harbor(database: Database, session: Session, run: Run) -> None:
    crowd(session)
    game = run(database, GAME)
    found = levels(game)
    assert all(found[column] >= least for column, least in LOWEST.items())
    # The plain labels are one of the transformations among which it chose; by themselves they pay no more.
    plain = run(database, replace(GAME, search=SearchOptions(levels=tuple(LOWEST.items()))))
    assert game.score <= plain.score
    assert game.proof.optimal


def test_dates_of_birth_tell_no_age_over_89(database: Database, session: Session, run: Run) -> None:
    born = SafeHarborDate("1930-01-01", "1939-12-31", "2026-11-21")
    attributes = tuple(
        replace(attribute, hierarchy=born) if attribute.column == "admission_date" else attribute
        for attribute in PLAIN.attributes
    )
    session.execute("UPDATE discharges SET admission_date = DATE '1936-12-31' + patient_id")
    run(database, replace(PLAIN, attributes=attributes))
    years = Counter(session.rows("SELECT admission_date FROM discharges_safe_harbor"))
    assert years == {("1936 or before",): 1, ("1937",): len(PEOPLE) - 1}


def test_other_models_may_ask_for_more(database: Database, session: Session, run: Run) -> None:
    crowd(session)
    policy = replace(PLAIN, privacy_models=(SafeHarbor(), KAnonymity(5)), suppression_limit=Decimal("0.05"))
    release = run(database, policy)
    assert all(levels(release)[column] >= least for column, least in LOWEST.items())
    assert min(released(session, "discharges_safe_harbor").values()) >= 5


def test_a_frontier_keeps_to_the_levels_too(database: Database, session: Session) -> None:
    crowd(session)
    policy = replace(PLAIN, privacy_models=(SafeHarbor(), KAnonymity(2)))
    jobs = open_jobs(database, JobSettings(1))
    try:
        job = jobs.submit(frontier_work(policy, FrontierGrid((2, 5), (Decimal(0), Decimal("0.1"))), "{}"))
        *_, job = jobs.watch(job.number, lambda: False)
    finally:
        jobs.close(20)
    assert job.state is JobState.SUCCEEDED, job.failure
    found = session.rows("SELECT levels FROM tableveil.frontier_points")
    assert len(found) == 4
    assert all(low <= level for (at,) in found for low, level in zip(LOWEST.values(), at, strict=True))


@pytest.mark.long
def test_columns_of_text(database: Database, session: Session, run: Run) -> None:
    session.execute("ALTER TABLE discharges ALTER age TYPE VARCHAR")
    session.execute("ALTER TABLE discharges ALTER admission_date TYPE VARCHAR")
    run(database, PLAIN)
    assert released(session, "discharges_safe_harbor") == BY_HAND


# --- what is refused ------------------------------------------------------------------------------------------------


def faults(run: Run, database: Database, policy: Policy = PLAIN) -> list[tuple[str, str]]:
    """The faults of a job, which a check finds too."""
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    with database.session() as session, pytest.raises(InvalidError) as checked:
        check_rows(context(session), policy)
    assert raised.value.faults == checked.value.faults
    return [(fault.field, fault.found) for fault in raised.value.faults]


@pytest.mark.parametrize(
    ("statement", "field", "found"),
    once(
        [
            (
                "ALTER TABLE discharges ALTER zip_code TYPE INTEGER",
                "attributes[0].hierarchy.safe_harbor_zip",
                "safe_harbor_zip on a column of kind INTEGER",
            ),
            (
                "ALTER TABLE discharges ALTER admission_date TYPE TIMESTAMP",
                "attributes[2].hierarchy.safe_harbor_date",
                "safe_harbor_date on a column of kind TIMESTAMP",
            ),
            ("UPDATE zip_codes SET population = NULL WHERE zip = '03601'", None, "1 of 4 rows"),
            ("DROP TABLE zip_codes", "attributes[0].hierarchy.safe_harbor_zip.population.table", "'zip_codes'"),
            (
                "DELETE FROM zip_codes WHERE zip = '03601'",
                "attributes[0].hierarchy",
                "1 value of 'zip_code' that the hierarchy does not cover",
            ),
            (
                "UPDATE discharges SET age = 131 WHERE age = 0",
                "attributes[1].hierarchy",
                "1 value of 'age' that the hierarchy does not cover",
            ),
            (
                "UPDATE discharges SET admission_date = DATE '2019-12-31' WHERE age = 0",
                "attributes[2].hierarchy",
                "1 value of 'admission_date' that the hierarchy does not cover",
            ),
        ],
        5,
        several=True,
    ),
)
def test_tables_that_do_not_fit(
    database: Database, session: Session, run: Run, statement: str, field: str | None, found: str
) -> None:
    session.execute(statement)
    ((where, what),) = faults(run, database)
    assert where == (field or "attributes[0].hierarchy.safe_harbor_zip.population_column")
    assert what.startswith(found)


@pytest.mark.long
def test_linked_columns_share_the_least_level(database: Database, session: Session, run: Run) -> None:
    release = run(database, replace(PLAIN, search=SearchOptions(linked=(("age", "sex"),))))
    assert levels(release) == LOWEST | {"sex": 1}


def test_safe_harbor_is_never_what_cannot_be_met(database: Database, run: Run) -> None:
    with pytest.raises(InfeasibleError) as raised:
        run(database, replace(PLAIN, privacy_models=(SafeHarbor(), DistinctLDiversity("diagnosis", 2))))
    (fault,) = raised.value.faults
    assert fault.field == "privacy_models[1]"
    assert fault.found.startswith("distinct 2-diversity of diagnosis, which refuses 6 of 6 records")
    assert "HIPAA" not in str(fault)


# --- verification ---------------------------------------------------------------------------------------------------


def tampered(monkeypatch: pytest.MonkeyPatch, run: Run, database: Database, statement: str) -> str:
    """The verification's finding when a statement follows the writing of the rows."""
    original: Callable[..., Any] = write.write_rows

    def write_badly(session: Session, *arguments: Any) -> Any:
        result = original(session, *arguments)
        session.execute(statement.format(target=arguments[-1].sql(dialect="duckdb")))
        return result

    monkeypatch.setattr(write, "write_rows", write_badly)
    with pytest.raises(InternalError) as raised:
        run(database, PLAIN)
    return raised.value.message


def test_labels_that_tell_more_are_caught(monkeypatch: pytest.MonkeyPatch, database: Database, run: Run) -> None:
    found = tampered(monkeypatch, run, database, "UPDATE {target} SET age = '90' WHERE age = '90+'")
    assert "1 labels of ages are neither below 90 nor 90+" in found


def test_people_are_counted_anew(
    monkeypatch: pytest.MonkeyPatch, database: Database, session: Session, run: Run
) -> None:
    """The table of people changed after its hierarchy was made."""
    statement = "UPDATE zip_codes SET population = 5000 WHERE zip = '02139'"
    assert "no more than 20,000 people" in tampered(monkeypatch, run, database, statement)
    assert session.value("SELECT population FROM zip_codes WHERE zip = '02139'") == 5_001


@pytest.mark.parametrize("level", once([2, 3, 4]))
def test_every_level_passes_the_verification(database: Database, session: Session, run: Run, level: int) -> None:
    given = LOWEST | {"zip_code": level, "age": level, "admission_date": min(level, 3)}
    release = run(database, replace(PLAIN, search=SearchOptions(levels=tuple(given.items()))))
    assert levels(release) == given
