"""The roles: lists, evidence, jobs of others, and jobs whose principal lost a right."""

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from tableveil.access import AccessRole, Scope, WantedGrant
from tableveil.client import Client
from tableveil.errors import ConflictError, DeniedError, NotFoundError
from tableveil.pipelines import anonymize
from tableveil.runtime import workers
from tableveil.runtime.uses import check_permitted
from tableveil.server.call import declared
from tableveil.server.services import DESCRIPTORS
from tableveil.server.stores import READING_ROLES
from tableveil.v1 import (
    access_pb2,
    audit_service_pb2,
    job_service_pb2,
    policy_pb2,
    reader_service_pb2,
    release_service_pb2,
)
from tableveil.v1.reader_service_pb2_grpc import ReaderServiceStub
from tests.once import once
from tests.service.access.house import ADMIN, House, message, opened, policy, submitted, table

METHODS = declared(DESCRIPTORS)

PARTS = ("", "_classes", "_risk", "_risk_histogram", "_columns", "_labels", "_about")
"""Ends of the names of a release's objects."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Each ward has a release, a load and a hierarchy."""
    with opened(tmp_path_factory.mktemp("roles")) as house:
        for who, ward in (("ann", "ward_a"), ("bob", "ward_b")):
            house.clients[who].create_hierarchy(f"{ward}/zips", [("0", "*"), ("1", "*")])
            submitted(house, who, "JobService/SubmitJob", policy=policy(ward))
        house.clients["bob"].load_file(house.files / "rows.csv", policy_pb2.TableReference(**table("ward_b", "loaded")))
        house.access.add(ADMIN, WantedGrant("rel", False, AccessRole.ANALYST, Scope(release=2)))
        yield house


def test_lists_show_what_their_reader_may_see(house: House) -> None:
    ann, bob, tab = (house.clients[name] for name in ("ann", "bob", "tab"))
    assert {(found.table.schema, found.table.table) for found in ann.list_tables()} == {
        ("ward_a", name) for name in ("patients", "zips", "copied", "window", *(f"released{part}" for part in PARTS))
    }
    assert {found.table.schema for found in bob.list_tables()} == {"ward_b"}
    assert [(found.table.schema, found.table.table) for found in tab.list_tables()] == [("ward_a", "patients")]
    assert [found.name for found in ann.list_jobs()] == ["jobs/1"]
    assert [found.name for found in tab.list_jobs()] == []
    assert [found.name for found in ann.list_releases()] == ["releases/1"]
    assert [found.name for found in tab.list_releases()] == ["releases/1"], "made of a table of theirs"
    assert [found.name for found in ann.list_hierarchies()] == ["ward_a/zips"]
    assert [found.name for found in tab.list_hierarchies()] == []
    assert list(ann.list_loads()) == []
    assert [found.table.table for found in bob.list_loads()] == ["loaded"]
    assert [found.name for found in house.clients["admin"].list_releases()] == ["releases/2", "releases/1"]


@pytest.mark.parametrize("who", ["ann", "bob", "tab", "admin", "eve", "rel", "app"])
def test_a_summary_tells_of_a_release_what_the_whole_list_does(house: House, who: str) -> None:
    """Readers of what is public are not told of its source."""
    paths = ("name", "create_time", "source", "target", "suppressed_records", "current", "state", "warehouse")
    client = house.clients[who]
    wanted = []
    for whole in client.list_releases():
        wanted.append(release_service_pb2.Release())
        FieldMask(paths=paths).MergeMessage(whole, wanted[-1])
    assert list(client.list_releases(summary=True)) == wanted != []


@pytest.mark.parametrize(
    ("who", "releases"),
    [("ann", [1]), ("bob", [2]), ("eve", [1]), ("rel", [2]), ("app", [2]), ("aud", []), ("ops", []), ("non", [])],
)
def test_an_endpoint_hears_what_its_caller_may_read(house: House, who: str, releases: list[int]) -> None:
    stub = ReaderServiceStub(house.channels["admin"])
    bearer = house.token_file(who).read_text()
    answer = stub.ListReadableReleases(reader_service_pb2.ListReadableReleasesRequest(bearer=bearer))
    assert (answer.principal, answer.authenticated_by) == (who, "TOKEN")
    wards = {1: "ward_a", 2: "ward_b"}
    found = [(release.name, release.schema, release.table) for release in answer.releases]
    assert found == [(f"releases/{number}", wards[number], "released") for number in releases]


@pytest.mark.parametrize("bearer", [None, "", "tvl_wrong", "eyJ.a.b"])
def test_an_endpoint_hears_of_a_credential_that_proves_nobody(house: House, bearer: str | None) -> None:
    stub = ReaderServiceStub(house.channels["admin"])
    request = reader_service_pb2.ListReadableReleasesRequest(bearer=bearer, certificate_names=["dns:etl"])
    assert stub.ListReadableReleases(request) == reader_service_pb2.ListReadableReleasesResponse()


def test_the_readers_of_objects_are_those_of_endpoints() -> None:
    assert METHODS["/tableveil.v1.ReleaseService/ReadObject"].roles == READING_ROLES


def test_a_page_of_a_list_is_as_long_as_asked_for_whatever_others_have(house: House) -> None:
    jobs = job_service_pb2.ListJobsRequest(page_size=1)
    assert not house.clients["ann"]._jobs.ListJobs(jobs).next_page_token


def test_analysts_see_public_objects_alone(house: House) -> None:
    for who, release in (("eve", "releases/1"), ("rel", "releases/2")):
        analyst = house.clients[who]
        assert [found.name for found in analyst.list_releases()] == [release]
        found = analyst.get_release(release)
        assert {field.name for field, _ in found.ListFields()} == {
            *(
                "name",
                "create_time",
                "target",
                "objects",
                "suppressed_records",
                "classes",
                "risk_after",
                "risk_by_size",
                "current",
                "state",
            )
        } - ({"suppressed_records"} if not found.suppressed_records else set())
        assert analyst.read_table(release, "released").num_rows > 0
    with pytest.raises(NotFoundError):
        house.clients["eve"].read_table("releases/2", "released")


@pytest.mark.parametrize("method", METHODS)
def test_an_analyst_gets_nothing_else(house: House, method: str) -> None:
    service, name = method.removeprefix("/tableveil.v1.").split("/")
    code, _ = house.ask("eve", f"{service}/{name}")
    if AccessRole.ANALYST in METHODS[method].roles:
        # A statement is asked again of the methods that it stands for, each with its own roles.
        assert service in ("ReleaseService", "ReportService") or name in ("GetServerInfo", "ExecuteStatement")
    else:
        assert code == "PERMISSION_DENIED"
    assert house.ask("non", f"{service}/{name}")[0] == "PERMISSION_DENIED"


@pytest.mark.parametrize("who", ["aud", "app"])
def test_reviewers_see_the_evidence_without_values(house: House, who: str) -> None:
    reviewer = house.clients[who]
    assert [found.name for found in reviewer.list_releases()] == ["releases/2"]
    found = reviewer.get_release("releases/2")
    assert found.proof.strategy
    assert [attribute.column for attribute in found.policy.attributes] == ["age", "ward", "illness", "code"]
    assert not any(attribute.HasField("hierarchy") for attribute in found.policy.attributes)
    assert house.clients["bob"].get_release("releases/2").policy.attributes[0].HasField("hierarchy")
    with pytest.raises(NotFoundError):
        reviewer.get_release("releases/1")
    with pytest.raises(DeniedError):
        list(reviewer.list_tables())


def test_a_role_on_a_part_gives_nothing_on_the_whole_server(house: House) -> None:
    made = [
        house.access.add(ADMIN, WantedGrant("pat", False, role, scope))
        for role in AccessRole
        for scope in (Scope("ward_a"), Scope("ward_a", "patients"), Scope(release=1))
        if role not in (AccessRole.OPERATOR, AccessRole.ENDPOINT)
    ]
    methods = [method for method, access in METHODS.items() if access.whole_server]
    assert len(methods) > 9
    answers = {method: house.ask("pat", method.removeprefix("/tableveil.v1."))[0] for method in methods}
    assert answers == dict.fromkeys(methods, "PERMISSION_DENIED")
    for grant in made:
        house.access.remove(ADMIN, grant.number)


def test_only_lists_of_what_the_caller_sees_are_open_to_roles_on_a_part() -> None:
    """A method that names nothing shows or changes the whole server, unless its answer depends on the caller."""
    open_to_parts = {method.rpartition("/")[2] for method, a in METHODS.items() if not (a.whole_server or a.resources)}
    assert open_to_parts == {"GetServerInfo", "ExecuteStatement"} | {
        name for name in open_to_parts if name.startswith("List")
    }
    assert not any("Token" in name or "Audit" in name for name in open_to_parts)


def test_operators_see_the_jobs_of_all_without_their_contents(house: House) -> None:
    seen = list(house.clients["ops"].list_jobs())
    assert [found.name for found in seen] == ["jobs/2", "jobs/1"]
    for found in seen:
        assert found.state == job_service_pb2.JOB_STATE_SUCCEEDED
        assert not found.HasField("progress"), "scores tell of the source"
        assert not re.search("ward|patients|released|releases/", str(found)), found
    with pytest.raises(DeniedError):
        house.clients["ops"].get_release("releases/1")
    assert house.clients["ops"].get_server_status().database


def test_an_operator_cancels_the_jobs_of_others_and_nobody_else_does(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_up(monkeypatch) as gate:
        job = house.clients["ann"].submit(message_of("slow")).name
        with pytest.raises(NotFoundError):
            house.clients["bob"].cancel_job(job)
        house.clients["ops"].cancel_job(job)
        gate.set()
        *_, last = house.clients["ann"].watch_job(job)
        assert last.state == job_service_pb2.JOB_STATE_CANCELLED


def test_two_principals_use_one_request_id(house: House) -> None:
    mine, theirs = ("ann", "ward_a"), ("bob", "ward_b")
    jobs = {
        who: submitted(house, who, "JobService/SubmitJob", policy=policy(ward, "twice"), request_id="nightly").name
        for who, ward in (mine, theirs)
    }
    assert jobs["ann"] != jobs["bob"]
    again = house.clients["ann"].submit(message_of("twice"), request_id="nightly")
    assert again.name == jobs["ann"]
    with pytest.raises(ConflictError) as reused:
        house.clients["ann"].submit(message_of("thrice"), request_id="nightly")
    assert jobs["ann"] in str(reused.value)
    loaded = [
        house.clients[who].load_file(
            house.files / "rows.csv", policy_pb2.TableReference(**table(ward, "nightly")), request_id="nightly"
        )
        for who, ward in (mine, theirs)
    ]
    assert [found.repeated for found in loaded] == [False, False]


@pytest.mark.parametrize("when", once(["WRITING", "READING", "VERIFYING"]))
def test_a_right_that_is_taken_away_ends_the_job(house: House, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Whether it waits, is about to write, or has written and not committed."""
    grant = house.access.add(ADMIN, WantedGrant("pat", False, AccessRole.STEWARD, Scope("ward_a")))
    target, checked = f"lost_{when}".lower(), []

    def check(look: Any, owned: Any, wanted: Any) -> None:
        checked.append(1)
        if len(checked) == number:
            house.access.remove(ADMIN, grant.number)
        check_permitted(look, owned, wanted)

    # Once before the start, then once for each phase.
    number = {"READING": 1, "WRITING": 5, "VERIFYING": 6}[when]
    monkeypatch.setattr(workers, "check_permitted", check)
    number_of_job = house.clients["pat"].submit(message_of(target)).name
    *_, job = house.clients["admin"].watch_job(number_of_job)
    assert (job.state, job.failure.code) == (job_service_pb2.JOB_STATE_FAILED, "PERMISSION_DENIED")
    assert len(checked) == number
    assert not [found for found in house.clients["ann"].list_tables() if found.table.table.startswith(target)]


def test_a_revoked_token_takes_its_roles_from_the_jobs_that_wait(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = house.clients["admin"]
    made = admin.create_token("zoe", "test", [access_pb2.ACCESS_ROLE_STEWARD])
    with held_up(monkeypatch), Client(house.server.address, made.secret) as zoe:
        job = zoe.submit(message_of("stolen")).name
        admin.revoke_token(made.name)
    *_, last = admin.watch_job(job)
    assert (last.state, last.failure.code) == (job_service_pb2.JOB_STATE_FAILED, "PERMISSION_DENIED")


def test_a_steward_of_a_release_alone_finds_no_tables_of_it(house: House) -> None:
    """As if they were gone; it read as if their rows had changed, and as if a retry would help."""
    grant = house.access.add(ADMIN, WantedGrant("pat", False, AccessRole.STEWARD, Scope(release=1)))
    asked = {"release": "releases/1", "classes": ["illness"]}
    code, told = house.ask("pat", "ClassificationService/AssessClassifiers", classification=asked)
    house.access.remove(ADMIN, grant.number)
    assert (code, "whose tables are not all there" in told) == ("NOT_FOUND", True)


def test_admins_of_a_schema_make_its_rule(house: House) -> None:
    grant = house.access.add(ADMIN, WantedGrant("pat", False, AccessRole.ADMIN, Scope("ward_a")))
    pat = house.clients["pat"]
    try:
        assert pat.set_schema_rule("Ward_A", joint_k=True).set_by == "pat"
        house.clients["admin"].set_schema_rule("ward_b", joint_k=True)
        assert [rule.schema for rule in pat.list_schema_rules()] == ["ward_a"]
        assert [rule.schema for rule in house.clients["admin"].list_schema_rules()] == ["ward_a", "ward_b"]
        code, _ = house.ask("pat", "AccessService/SetSchemaRule", rule={"schema": "ward_b"})
        assert code == "PERMISSION_DENIED"
        code, _ = house.ask("ann", "AccessService/SetSchemaRule", rule={"schema": "ward_a"})
        assert code == "PERMISSION_DENIED"
        code, told = house.ask("admin", "AccessService/SetSchemaRule", rule={"schema": "tableveil"})
        assert (code, "rule.schema" in told) == ("INVALID_ARGUMENT", True)
        (entry, *_) = house.clients["admin"].list_audit_entries(principal="pat", method="SetSchemaRule")
        assert "ward_b" in entry.resources
    finally:
        for schema in ("ward_a", "ward_b"):
            assert not house.clients["admin"].set_schema_rule(schema, joint_k=False).joint_k
        house.access.remove(ADMIN, grant.number)


def test_the_audit_has_all_names_that_are_confirmed_at_once(house: House) -> None:
    names = [f"releases/{number}" for number in range(1000, 1045)]
    code, _ = house.ask("admin", "AccessService/ConfirmRestored", names=names[:21])
    assert code == "INVALID_ARGUMENT"
    house.clients["admin"].confirm_restored(names)
    entries = house.clients["admin"].list_audit_entries(method="ConfirmRestored")
    assert set(names) <= {name for entry in entries for name in entry.resources}


def test_the_audit_has_all_tables_that_a_query_names(house: House) -> None:
    query = "WITH c AS (FROM ward_b.patients) SELECT p.* FROM ward_a.patients p SEMI JOIN c USING (age), nowhere.else"
    for ask, event in (
        ("CheckPolicy", audit_service_pb2.AUDIT_EVENT_CALL),
        ("SubmitJob", audit_service_pb2.AUDIT_EVENT_END),
    ):
        house.ask("ann", f"JobService/{ask}", policy=policy("ward_a", source_query=query))
        entries = house.clients["admin"].list_audit_entries(principal="ann", method=ask)
        last = next(entry for entry in entries if entry.event == event)
        assert list(last.resources)[:3] == ["nowhere.else", "ward_a.patients", "ward_b.patients"]


def test_a_repeat_of_a_hidden_release_is_none(house: House) -> None:
    """Or a table that is loaded to ask for a person would be told whether the other ward has that person."""
    copied = {"source": table("ward_a", "copied"), "repeat_reason": ""}
    (own,) = house.clients["ann"].check_policy(message_of("again", repeat_reason=""))
    assert "releases/1" in own.found
    assert not house.clients["ann"].check_policy(message_of("again", **copied))
    (seen,) = house.clients["admin"].check_policy(message_of("again", **copied))
    assert "releases/2" in seen.found


@pytest.mark.parametrize("had", once([True, False]))
def test_a_job_compares_by_the_rights_at_its_admission(
    house: House, monkeypatch: pytest.MonkeyPatch, had: bool
) -> None:
    """Neither a right that is given to its principal meanwhile nor one that is taken away changes what it finds.

    Nor is a principal told of releases by a right that is gone.
    """
    own = house.access.add(ADMIN, WantedGrant("pat", False, AccessRole.STEWARD, Scope("ward_a")))
    other = WantedGrant("pat", False, AccessRole.STEWARD, Scope("ward_b"))
    given = house.access.add(ADMIN, other) if had else None
    asked = message_of(f"compared_{had}", source=table("ward_a", "copied"), repeat_reason="")
    with held_up(monkeypatch):
        job = house.clients["pat"].submit(asked).name
        if given is None:
            given = house.access.add(ADMIN, other)
        else:
            house.access.remove(ADMIN, given.number)
    *_, last = house.clients["pat"].watch_job(job)
    assert (last.state == job_service_pb2.JOB_STATE_FAILED, last.failure.code == "REPEATED_RELEASE") == (had, had)
    assert "releases/2" not in str(last.failure)
    for grant in {own.number, given.number} & {grant.number for grant in house.access.grants}:
        house.access.remove(ADMIN, grant)


def test_whoever_is_in_the_way_is_not_named(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    grant = house.access.add(ADMIN, WantedGrant("pat", False, AccessRole.STEWARD, Scope("ward_a")))
    with held_up(monkeypatch):
        job = house.clients["pat"].submit(message_of("taken")).name
        with pytest.raises(ConflictError, match="a job of another principal"):
            house.clients["ann"].submit(message_of("taken"))
        with pytest.raises(ConflictError, match=job):
            house.clients["pat"].submit(message_of("taken"))
    house.clients["pat"].wait(job)
    house.access.remove(ADMIN, grant.number)


def message_of(name: str, **changes: Any) -> policy_pb2.Policy:
    """The policy for the first ward, with changes."""
    found: Any = message("JobService/SubmitJob", {"policy": policy("ward_a", name, **changes)})
    policy_: policy_pb2.Policy = found.policy
    return policy_


class held_up:  # noqa: N801
    """While the block runs, releases wait for an event."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self._open = threading.Event()

    def __enter__(self) -> threading.Event:
        run = anonymize.anonymize

        def wait(job: Any, policy: Any, **options: Any) -> int:
            while not self._open.wait(0.01):
                job.control.raise_if_stopped()
            return run(job, policy, **options)

        self._patch.setattr(anonymize, "anonymize", wait)
        return self._open

    def __exit__(self, *exception: object) -> None:
        self._open.set()


def test_a_release_with_the_classes_of_another_is_seen_by_stewards_of_both(house: House) -> None:
    def released(who: str, ward: str, **changes: Any) -> str:
        used = policy(ward, f"{who}_again", local_recoding={"classes_of": "releases/2"}, **changes)
        job = submitted(house, who, "JobService/SubmitJob", policy=used)
        assert job.state == job_service_pb2.JOB_STATE_SUCCEEDED, job.failure
        return job.result

    own, mixed = released("bob", "ward_b"), released("admin", "ward_a", source=table("ward_a", "copied"))
    assert "classes of releases/2 have 60 records" in house.clients["bob"].get_release(own).proof.strategy
    for who in ("ann", "bob"):
        with pytest.raises(NotFoundError):
            house.clients[who].get_release(mixed)
    for name in (own, mixed):
        house.clients["admin"].withdraw_release(name, "a test")
