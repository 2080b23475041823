"""Texts that depend on several releases are told only to those who may see all of these, in whatever they read."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.state.joint_texts import LEFT_OUT
from tableveil.v1 import job_service_pb2
from tests.once import once
from tests.service.access.house import ADMIN, Fields, House, prepare, served, submitted
from tests.service.access.twins import Asked, of_people, outcome, settle

BOTH = "non"
"""Steward of both wards, until a test takes one away."""

ONE_SIDE = ("ann", "pat")
"""The steward and an approver of ward_a, who read all that was made of its people."""

OTHERS = "releases/1"
"""The release of ward_b."""

RESULTS = ("releases/2", "releases/3", "dryRuns/1", "dryRuns/2")

_PEOPLE = (
    "SELECT 100 + 7 * i AS id, 20 + (i + {0} * (i // 9)) % 5 AS age, i % 3 AS ward, 'illness ' || i % 7 AS illness "
    "FROM range(60) r(i)"
)


def of_ward_a(name: str, **changes: Any) -> Fields:
    """A policy by which ages are released; who is in a joint class depends on the release of the other ward."""
    document = of_people("ward_a", "people", name, **changes)
    document["attributes"][1]["hierarchy"] = {"suppression_only": {}}
    return document


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of ward_b, and jobs of somebody who sees it: by a reason, judged together, dry, and refused."""
    place = tmp_path_factory.mktemp("joint")
    prepare(place)
    with duckdb.connect(place / "clinic.duckdb") as connection:
        for schema, other in (("ward_b", 0), ("ward_a", 1)):
            connection.execute(f"CREATE TABLE {schema}.people AS {_PEOPLE.format(other)}")
    judged: Fields = {"release": {"left_behind": "LEFT_BEHIND_REPORT"}}
    with served(place) as house:
        grant(house)
        submitted(house, "bob", "JobService/SubmitJob", policy=of_people("ward_b", "people"))
        assert [
            submitted(house, BOTH, kind, policy=asked).result
            for kind, asked in (
                ("JobService/SubmitJob", of_ward_a("refused")),
                ("JobService/SubmitJob", of_ward_a("reasoned", repeat_reason="a test")),
                ("JobService/SubmitJob", of_ward_a("judged", **judged)),
                ("DryRunService/SubmitDryRun", of_ward_a("dry")),
                ("DryRunService/SubmitDryRun", of_ward_a("dry", **judged)),
            )
        ] == ["", *RESULTS]
        settle(house)
    return place


@pytest.fixture(scope="module")
def house(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """For tests that only read."""
    yield from copied(made, tmp_path_factory.mktemp("read"))


@pytest.fixture(scope="module")
def changing_house(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """For tests that delete a job, set rules, and submit jobs of their own."""
    yield from copied(made, tmp_path_factory.mktemp("changing"))


def copied(made: Path, place: Path) -> Iterator[House]:
    shutil.copytree(made, place / "house")
    with served(place / "house") as house:
        yield house


def grant(house: House) -> None:
    for who, role, schema in (
        *((BOTH, AccessRole.STEWARD, ward) for ward in ("ward_a", "ward_b")),
        ("pat", AccessRole.APPROVER, "ward_a"),
    ):
        house.access.add(ADMIN, WantedGrant(who, False, role, Scope(schema)))


def read(house: House, who: str, name: str) -> Iterator[str]:
    """All that tells a reader of a result."""
    service = "ReleaseService/GetRelease" if name.startswith("releases") else "DryRunService/GetDryRun"
    for method in (service, "ReportService/GetReport"):
        code, told = house.ask(who, method, name=name)
        assert code == "OK", told
        yield told
    for method in ("ReleaseService/ListReleases", "DryRunService/ListDryRuns"):
        code, told = house.ask(who, method)
        assert code == "OK", told
        yield told
    if name.startswith("releases"):
        code, told = house.ask(who, "StatementService/ExecuteStatement", statement="SHOW RELEASES")
        assert code == "OK", told
        yield told


@pytest.mark.parametrize("name", once(RESULTS, 2))
def test_readers_of_all_are_told(house: House, name: str) -> None:
    for who in (BOTH, "admin"):
        own, report, *_ = read(house, who, name)
        assert OTHERS in own, who
        assert OTHERS in report, who
        assert LEFT_OUT not in own


@pytest.mark.parametrize("who", ONE_SIDE)
@pytest.mark.parametrize("name", once(RESULTS[:3]))
def test_readers_of_one_side_are_told_nothing(house: House, who: str, name: str) -> None:
    for told in read(house, who, name):
        assert OTHERS not in told
    if name == "releases/2":
        assert not any("joint" in told for told in list(read(house, who, name))[:2])


def test_evidence_of_a_joint_choice_is_left_out(house: House) -> None:
    """Every figure of it depends on the other releases: it says that they are left out."""
    own = next(read(house, "ann", "releases/3"))
    assert LEFT_OUT in own
    whole = next(read(house, BOTH, "releases/3"))
    assert "k_anonymity" in whole
    assert "k_anonymity" not in own


@pytest.mark.parametrize("who", ONE_SIDE)
def test_a_dry_run_of_a_joint_choice_is_as_if_it_were_missing(house: House, who: str) -> None:
    """Its levels and suppressed records are those of a release that nobody made: they tell of the other one alone."""
    for method in ("DryRunService/GetDryRun", "ReportService/GetReport"):
        there, missing = (house.ask(who, method, name=name) for name in ("dryRuns/2", "dryRuns/9"))
        assert there[0] == "NOT_FOUND"
        assert there[1].replace("dryRuns/2", "dryRuns/9") == missing[1]
    assert "dryRuns/2" not in house.ask(who, "DryRunService/ListDryRuns")[1]
    assert "dryRuns/2" in house.ask(BOTH, "DryRunService/ListDryRuns")[1]


def jobs_of(house: House, who: str) -> list[job_service_pb2.Job]:
    listed = list(house.clients[who].list_jobs())
    for job in listed:
        *_, watched = house.clients[who].watch_job(job.name)
        assert watched == house.clients[who].get_job(job.name) == job
    return listed


def test_jobs_tell_their_owner_what_the_owner_may_see(house: House) -> None:
    before = jobs_of(house, BOTH)
    assert all(OTHERS in str(job) for job in before)
    right = next(one for one in house.access.visible(ADMIN) if (one.grantee, one.scope.schema) == (BOTH, "ward_b"))
    house.access.remove(ADMIN, right.number)
    *succeeded, refused = jobs_of(house, BOTH)
    assert (refused.failure.code, before[-1].failure.code) == ("REPEATED_RELEASE", "REPEATED_RELEASE")
    assert "releases of which you may not see all" in refused.failure.message
    assert not refused.failure.faults
    for job in (refused, *succeeded):
        assert OTHERS not in str(job)
        assert "joint" not in str(job).replace(LEFT_OUT, "")
    house.access.add(ADMIN, WantedGrant(BOTH, False, AccessRole.STEWARD, Scope("ward_b")))
    assert jobs_of(house, BOTH) == before


def test_a_deleted_job_leaves_no_texts(changing_house: House) -> None:
    house = changing_house
    database = house.server._database
    with database.ledger() as ledger:
        ((job,),) = ledger.rows("SELECT job FROM tableveil.dry_runs WHERE number = 1")
        assert ledger.rows("SELECT 1 FROM tableveil.joint_texts WHERE job = ?", [job])
    house.clients[BOTH].delete_job(f"jobs/{job}")
    with database.ledger() as ledger:
        assert not ledger.rows("SELECT 1 FROM tableveil.joint_texts WHERE job = ?", [job])


def test_admins_and_auditors_of_the_server_are_told_of_matches(tmp_path: Path) -> None:
    """Not the steward of one side, who could release crafted people and wait."""
    prepare(tmp_path)
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        for schema in ("ward_a", "ward_b"):
            connection.execute(f"CREATE TABLE {schema}.people AS {_PEOPLE.format(0)}")
    with served(tmp_path) as house:
        for who, schema in (("bob", "ward_b"), ("ann", "ward_a")):
            submitted(house, who, "JobService/SubmitJob", policy=of_people(schema, "people"))
        settle(house)
        for role in (AccessRole.AUDITOR, AccessRole.ADMIN):
            assert not any(release.matches for release in house.clients["ann"].list_releases())
            given = house.access.add(ADMIN, WantedGrant("ann", False, role, Scope()))
            own = house.clients["ann"].get_release("releases/2")
            assert [match.other for match in own.matches] == [OTHERS]
            listed = {found.name: len(found.matches) for found in house.clients["ann"].list_releases()}
            assert listed["releases/2"] == 1
            assert OTHERS in house.ask("ann", "ReportService/GetReport", name="releases/2")[1]
            house.access.remove(ADMIN, given.number)


@pytest.mark.long
def test_a_trial_that_is_promoted_with_fewer_rights_is_compared_with_what_its_maker_lost(tmp_path: Path) -> None:
    """The trial was compared with nothing, and its promotion with what was seen then: the rest is looked for after."""
    prepare(tmp_path)
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        for schema in ("ward_a", "ward_b"):
            connection.execute(f"CREATE TABLE {schema}.people AS {_PEOPLE.format(0)}")
    with served(tmp_path) as house:
        submitted(house, "bob", "JobService/SubmitJob", policy=of_people("ward_b", "people"))
        given = house.access.add(ADMIN, WantedGrant("ann", False, AccessRole.STEWARD, Scope("ward_b")))
        tried = submitted(house, "ann", "JobService/SubmitJob", policy=of_people("ward_a", "people"), trial=True)
        house.access.remove(ADMIN, given.number)
        house.clients["ann"].promote_release(tried.result)
        settle(house)
        assert [match.other for match in house.clients["admin"].get_release(tried.result).matches] == [OTHERS]
        assert not house.clients["ann"].get_release(tried.result).matches


@pytest.mark.parametrize("name", once(["waiting", ""]))
def test_the_rule_of_a_schema_is_told_to_who_may_write_there(changing_house: House, name: str) -> None:
    """A dry run into the schema of another ward answers alike with a rule and without one."""
    house, admin = changing_house, changing_house.clients["admin"]
    admin.set_schema_rule("ward_a", joint_k=True)
    own, other = (of_ward_a(name, repeat_reason="a test") for _ in range(2))
    for asked, schema in ((own, "ward_a"), (other, "ward_b")):
        # Without persons, nobody counted joint classes.
        del asked["person_column"]
        asked["rows_are_people"] = True
        asked["release"]["schema"] = schema
    told = []
    for joint_k in (False, True):
        admin.set_schema_rule("ward_b", joint_k=joint_k)
        job = submitted(house, "ann", "DryRunService/SubmitDryRun", policy=other)
        assert job.result, job.failure
        told.append(list(job.warnings))
    assert told[0] == told[1]
    job = submitted(house, "ann", "DryRunService/SubmitDryRun", policy=own)
    assert any("wait for approval" in text for text in job.warnings) == bool(name)


def asked_of_one_side() -> Iterator[Asked]:
    for who in ONE_SIDE:
        for name in ("releases/2", "dryRuns/1", "dryRuns/2"):
            service = "ReleaseService/GetRelease" if name.startswith("releases") else "DryRunService/GetDryRun"
            yield Asked(who, service, {"name": name})
            yield Asked(who, "ReportService/GetReport", {"name": name})
        for method in ("ReleaseService/ListReleases", "DryRunService/ListDryRuns"):
            yield Asked(who, method, {})
        yield Asked(who, "StatementService/ExecuteStatement", {"statement": "SHOW RELEASES"})
        yield Asked(who, "ReleaseService/GetJointClasses", {"releases": ["releases/1", "releases/2"]})


@pytest.mark.long
def test_readers_of_one_side_are_answered_alike_whatever_the_other_side_holds(tmp_path: Path) -> None:
    """There are people with equal values, with other values, and with other numbers."""
    answers: list[list[tuple[str, str]]] = []
    first = tmp_path / "first"
    first.mkdir()
    prepare(first)
    changes = (
        "",
        "UPDATE ward_b.people SET age = 20 + (id + id // 63) % 5",
        "UPDATE ward_b.people SET id = id + 90000",
    )
    for change in changes:
        # Copies have the same key, and so the same fingerprints.
        place = tmp_path / f"server_{len(answers)}"
        shutil.copytree(first, place)
        with duckdb.connect(place / "clinic.duckdb") as connection:
            for schema in ("ward_b", "ward_a"):
                connection.execute(f"CREATE TABLE {schema}.people AS {_PEOPLE.format('0')}")
            if change:
                connection.execute(change)
        with served(place) as house:
            grant(house)
            submitted(house, "bob", "JobService/SubmitJob", policy=of_people("ward_b", "people"))
            for kind, name, reason in (
                ("DryRunService/SubmitDryRun", "dry", ""),
                ("DryRunService/SubmitDryRun", "dry", "a test"),
                ("JobService/SubmitJob", "reasoned", "a test"),
            ):
                job = submitted(house, BOTH, kind, policy=of_ward_a(name, repeat_reason=reason))
                assert job.result, job.failure
            settle(house)
            # People with other numbers, of whom few columns tell anything, are not known again.
            assert (OTHERS in str(house.clients[BOTH].get_release("releases/2").warnings)) == (len(answers) == 1)
            answers.append([outcome(house, one) for one in asked_of_one_side()])
    for one, *told in zip(asked_of_one_side(), *answers, strict=True):
        assert told[0] == told[1] == told[2], one
