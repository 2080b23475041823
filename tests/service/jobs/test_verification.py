"""A faulty release is caught before the commit and leaves nothing behind, in whichever step the fault is."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.errors import InternalError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals
from tableveil.lifecycle import Evidence, PublicationTerms, publish
from tableveil.pipelines import anonymize as run_module
from tableveil.pipelines.anonymize import anonymize
from tableveil.policy import (
    AttributePolicy,
    DistinctLDiversity,
    KAnonymity,
    Policy,
    ReleaseKind,
    Role,
    SuppressedRecords,
    TableReference,
    TCloseness,
)
from tableveil.release import ReleasePlan, write
from tableveil.release.by_value import SUPPRESSED
from tableveil.state import jobs
from tableveil.state.releases import Release
from tests.inserted import insert
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target
from tests.service.jobs.test_source_changes import everything

Run = Callable[..., Release]

AGES = Intervals("0", "99", ("10", "50"))
WARDS = InlineLevels((("n", "*"), ("s", "*"), ("e", "*"), ("w", "*")))

POLICY = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("id", Role.IDENTIFYING),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, AGES, minimum_level=1, maximum_level=1),
        AttributePolicy("ward", Role.QUASI_IDENTIFIER, WARDS, maximum_level=0),
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


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def patients(session: Session) -> None:
    create(session)


def create(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE patients (id INTEGER, ward VARCHAR, illness VARCHAR, age INTEGER)")
    insert(session, "patients", ((i, ward, f"illness {i % 3}", age) for i, (age, ward) in enumerate(PEOPLE)))


Written = Callable[..., Any]


def broken(monkeypatch: pytest.MonkeyPatch, writer: str, *statements: str) -> None:
    """Lets the writer of that name do its work, and then these statements."""
    original: Written = getattr(write, writer)

    def write_badly(session: Session, *arguments: Any) -> Any:
        result = original(session, *arguments)
        for statement in statements:
            session.execute(statement.format(target=arguments[-1].sql(dialect="duckdb")))
        return result

    monkeypatch.setattr(write, writer, write_badly)


Publish = Callable[[], int]


@pytest.fixture(scope="module")
def publish_again(shared_database: Database) -> Iterator[Publish]:
    """Publishes what one job chose, without choosing it anew; a failure leaves nothing, so it may be asked often."""
    asked: list[tuple[ReleasePlan, Evidence]] = []

    class Asked(Exception):
        pass

    def remember(
        _: Database, own: Session, plan: ReleasePlan, evidence: Evidence, *_others: object, **_options: object
    ) -> int:
        asked.append((plan, evidence))
        raise Asked

    with shared_database.session() as session:
        create(session)
    with shared_database.session() as own:
        own.control = Control()
        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(run_module, "publish", remember)
            with pytest.raises(Asked):
                anonymize(context(own, shared_database, jobs.next_number(own.ledger)), POLICY)

        def again() -> int:
            own.execute(f"DROP TABLE IF EXISTS {SUPPRESSED}")
            return publish(shared_database, own, *asked[0], lambda: None, PublicationTerms())

        yield again


@pytest.mark.parametrize(
    ("writer", "statement", "problem"),
    [
        pytest.param(
            "write_rows",
            "UPDATE {target} SET ward = 's' WHERE rowid = (SELECT min(rowid) FROM {target} WHERE ward = 'e')",
            "a released class has 2 records|a released class has 1 records",
            id="class below k",
        ),
        pytest.param(
            "write_rows",
            "DELETE FROM {target} WHERE ward = 'e'",
            "7 records were released where the search kept 10",
            id="lost class",
        ),
        pytest.param(
            "write_rows",
            "DELETE FROM {target} WHERE rowid = (SELECT min(rowid) FROM {target} WHERE ward = 'n')",
            "9 records were released where the search kept 10",
            id="lost row",
        ),
        pytest.param(
            "write_rows",
            "INSERT INTO {target} SELECT * FROM {target} WHERE ward = 'n'",
            "14 records were released where the search kept 10",
            id="doubled class",
        ),
        pytest.param(
            "write_rows",
            "DELETE FROM {target} WHERE rowid = (SELECT min(rowid) FROM {target} WHERE suppressed)",
            "11 rows were written for 10 released and 2 suppressed records",
            id="lost suppressed row",
        ),
        pytest.param(
            "write_rows",
            "UPDATE {target} SET illness = 'flu' WHERE suppressed",
            "2 suppressed rows are not blank",
            id="value in a suppressed row",
        ),
        pytest.param(
            "write_rows",
            "UPDATE {target} SET suppressed = NULL WHERE suppressed",
            "2 suppressed rows are not blank",
            id="suppressed row without its mark",
        ),
        pytest.param(
            "write_rows",
            "UPDATE {target} SET age = '[0, 4]' WHERE ward = 'n'",
            "1 labels of a quasi-identifier are not in its hierarchy",
            id="label of another level",
        ),
        pytest.param(
            "write_rows",
            "UPDATE {target} SET ward = 'Smith' WHERE ward = 'n'",
            "1 labels of a quasi-identifier are not in its hierarchy",
            id="value that is not in the source",
        ),
        pytest.param(
            "write_rows",
            "ALTER TABLE {target} ADD COLUMN id INTEGER",
            "columns that are not the 4 expected ones.*an identifying column",
            id="identifying column",
        ),
        pytest.param(
            "write_rows",
            "ALTER TABLE {target} ALTER illness TYPE ENUM('illness 0', 'illness 1', 'illness 2', 'not released')",
            "columns that are not the 4 expected ones",
            id="type with absent values",
        ),
        pytest.param(
            "write_classes",
            "UPDATE {target} SET class_size = class_size + 1 WHERE ward = 'n'",
            "the table of classes does not say what the rows say",
            id="wrong class size",
        ),
        pytest.param(
            "write_classes",
            "UPDATE {target} SET risk = risk / 2",
            "the table of classes does not say what the rows say",
            id="wrong class risk",
        ),
        pytest.param(
            "write_classes",
            "UPDATE {target} SET entropy_l_illness = entropy_l_illness + 0.01 WHERE ward = 'n'",
            "the table of classes does not say what the rows say",
            id="wrong entropy",
        ),
        pytest.param(
            "write_classes",
            "UPDATE {target} SET distinct_l_illness = 2 WHERE ward = 'n'",
            "the table of classes does not say what the rows say",
            id="wrong number of values",
        ),
        pytest.param(
            "write_classes",
            "INSERT INTO {target} VALUES ('w', '[90, 99]', 1, 1.0, 1, 1.0)",
            "the table of classes does not say what the rows say",
            id="suppressed class shown",
        ),
        pytest.param(
            "write_risk_histogram",
            "UPDATE {target} SET classes = classes + 1 WHERE class_size = 3",
            "the risk histogram does not say what the rows say",
            id="wrong histogram",
        ),
        pytest.param(
            "write_risk_histogram",
            "UPDATE {target} SET risk = 0",
            "the risk histogram does not say what the rows say",
            id="wrong risk in the histogram",
        ),
        *(
            pytest.param(
                "write_risk",
                f"UPDATE {{target}} SET value = value + 1 WHERE measure = '{measure}'",
                "the risk measures do not say what the rows say",
                id=f"wrong {measure}",
                marks=[] if measure in ("records", "highest_risk") else [pytest.mark.long],
            )
            for measure in (
                "records",
                "classes",
                "highest_risk",
                "average_risk",
                "lowest_risk",
                "unique_records",
                "records_above_threshold",
                "suppressed_records",
            )
        ),
        pytest.param(
            "write_risk",
            "DELETE FROM {target} WHERE threshold = '0.2'",
            "the risk measures do not say what the rows say",
            id="missing threshold",
        ),
    ],
)
def test_a_broken_writer_is_caught(
    session: Session, publish_again: Publish, monkeypatch: pytest.MonkeyPatch, writer: str, statement: str, problem: str
) -> None:
    before = everything(session)
    broken(monkeypatch, writer, statement)
    with pytest.raises(InternalError, match=problem) as raised:
        publish_again()
    assert raised.value.code == "VERIFICATION_FAILED"
    assert everything(session) == before


def test_a_broken_writer_of_a_view_is_caught(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check reads the objects that analysts see."""
    before = everything(session)
    broken(monkeypatch, "write_rows", "UPDATE {target} SET ward = 'Smith' WHERE ward = 'n'")
    with pytest.raises(InternalError, match="1 labels of a quasi-identifier"):
        run(database, replace(POLICY, release=replace(POLICY.release, kind=ReleaseKind.VIEW)))
    assert everything(session) == before


def test_more_suppressed_than_allowed_is_caught(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, "write_rows", "DELETE FROM {target} WHERE ward = 'e' AND NOT suppressed")
    with pytest.raises(InternalError, match="5 of 12 records are suppressed, outside the limit"):
        run(database, replace(POLICY, suppression_limit=Decimal("0.2")))


DIVERSE = replace(
    POLICY, privacy_models=(KAnonymity(3), DistinctLDiversity("illness", 3), TCloseness("illness", Decimal("0.2")))
)


def test_models_of_values_are_verified_against_the_stored_distribution(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patches:
        broken(patches, "write_rows", "UPDATE {target} SET illness = 'illness 0' WHERE ward = 's'")
        with pytest.raises(InternalError, match="sensitive values were written that the source does not have"):
            run(database, DIVERSE)
        # As often as in the source, but others: they change places with those of another class.
        swapped = "UPDATE {target} SET illness = CASE ward WHEN 's' THEN 'illness 0' ELSE 'illness 1' END "
    with monkeypatch.context() as patches:
        broken(patches, "write_rows", swapped + "WHERE ward = 's' OR (ward = 'n' AND illness = 'illness 0')")
        with pytest.raises(InternalError, match="classes are not of distinct 3-diversity of illness"):
            run(database, DIVERSE)
    assert session.value("SELECT count(*) FROM tableveil.sensitive_distributions") == 0
    release = run(database, DIVERSE)
    assert session.rows(
        "SELECT release, column_name, position, value, records FROM tableveil.sensitive_distributions ORDER BY position"
    ) == [(release.number, "illness", i, f"illness {i}", 4) for i in range(3)]
    reached = {(one.model, one.column): one for one in release.guarantees}
    assert reached["distinct_l_diversity", "illness"].after == 3


def test_suppressed_records_that_are_shown_are_verified_as_a_class(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = replace(POLICY, suppressed_records=SuppressedRecords.KEEP, privacy_models=(KAnonymity(2),))
    attributes = [replace(a, maximum_level=0) if a.column == "age" else a for a in POLICY.attributes]
    attributes = [replace(a, minimum_level=0) for a in attributes]
    policy = replace(policy, attributes=tuple(attributes), release=replace(policy.release, name="kept"))
    with monkeypatch.context() as patches:
        broken(patches, "write_rows", "UPDATE {target} SET ward = 'w' WHERE suppressed")
        with pytest.raises(InternalError, match="2 suppressed rows are not blank"):
            run(database, replace(policy, repeat_reason="a test"))
    with monkeypatch.context() as patches:
        broken(patches, "write_rows", "DELETE FROM {target} WHERE suppressed AND illness = 'illness 1'")
        with pytest.raises(InternalError, match="a released class has 1 records, fewer than k = 2"):
            run(database, replace(policy, repeat_reason="a test"))
    run(database, replace(policy, repeat_reason="a test"))
    shown = session.rows("SELECT ward, illness, age FROM kept WHERE suppressed ORDER BY illness")
    assert shown == [(None, "illness 1", None), (None, "illness 2", None)]
