"""Every verb of the client against a service that answers."""

from pathlib import Path

import pytest

from tableveil.client import Client, UnreachableError
from tableveil.document import to_yaml
from tableveil.errors import Fault, InvalidError, NotFoundError
from tableveil.v1 import (
    draft_service_pb2,
    faults_pb2,
    hierarchy_service_pb2,
    job_service_pb2,
    policy_pb2,
    release_service_pb2,
)
from tableveil.v1.proposal_service_pb2 import ProposalRequest, TriedPolicy
from tests.service.client import samples
from tests.service.client.fake_service import FakeService


def test_submit_returns_the_job(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_QUEUED)
    assert client.submit(samples.policy()).name == "jobs/1"
    assert service.requests == [job_service_pb2.SubmitJobRequest(policy=samples.policy())]


def test_submit_sends_nothing_that_is_wrong_by_itself(client: Client, service: FakeService) -> None:
    policy = samples.policy()
    policy.privacy_models[0].k_anonymity.k = 1
    service.faults = [faults_pb2.Fault(field="source.table", found="'discharges'", expected="a table")]
    with pytest.raises(InvalidError) as caught:
        client.submit(policy)
    # Faults that only the server finds are included.
    fields = [fault.field for fault in caught.value.faults]
    assert fields == ["privacy_models[0].k_anonymity.k", "source.table"]
    assert not any(isinstance(request, job_service_pb2.SubmitJobRequest) for request in service.requests)


def test_submit_asks_for_faults_that_did_not_fit(client: Client, service: FakeService) -> None:
    failure = samples.failure(faults_pb2.FAILURE_KIND_INVALID, "POLICY_INVALID", "attributes[0]")
    failure.omitted_faults = 1
    service.failures["SubmitJob"] = failure
    service.faults = [
        faults_pb2.Fault(field=f"attributes[{i}]", found="this", expected="that", hint="Do so.") for i in range(2)
    ]
    with pytest.raises(InvalidError) as caught:
        client.submit(samples.policy())
    assert caught.value.code == "POLICY_INVALID"
    assert caught.value.faults == tuple(Fault(f"attributes[{i}]", "this", "that", "Do so.") for i in range(2))


def test_check_policy(client: Client, service: FakeService) -> None:
    assert client.check_policy(samples.policy()) == []
    service.faults = [faults_pb2.Fault(field="source.table", found="'x'", expected="a table", hint="Did you mean 'y'?")]
    assert client.check_policy(samples.policy()) == [Fault("source.table", "'x'", "a table", "Did you mean 'y'?")]


def test_check_policy_lists_a_fault_both_know_once(client: Client, service: FakeService) -> None:
    policy = samples.policy()
    policy.privacy_models[0].k_anonymity.k = 1
    [own] = client.check_policy(policy)
    service.faults = [
        faults_pb2.Fault(field=own.field, found=own.found, expected=own.expected, hint=own.hint),
        faults_pb2.Fault(field="attributes[1]", found="a", expected="b"),
    ]
    assert client.check_policy(policy) == [own, Fault("attributes[1]", "a", "b")]


def test_check_policy_tells_own_faults_without_a_server() -> None:
    policy = samples.policy()
    policy.privacy_models[0].k_anonymity.k = 1
    with Client("127.0.0.1:1") as client:
        assert [fault.field for fault in client.check_policy(policy)] == ["privacy_models[0].k_anonymity.k"]
        with pytest.raises(UnreachableError):
            client.check_policy(samples.policy())


def test_check_policy_tells_own_faults_to_whom_the_server_cannot_answer(client: Client, service: FakeService) -> None:
    policy = samples.policy()
    policy.privacy_models[0].k_anonymity.k = 1
    service.failures["CheckPolicy"] = samples.failure(faults_pb2.FAILURE_KIND_BUSY, "CHECKS")
    assert [fault.field for fault in client.check_policy(policy)] == ["privacy_models[0].k_anonymity.k"]


def test_get_and_cancel_job(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_RUNNING)
    assert client.get_job("1").state == job_service_pb2.JOB_STATE_RUNNING
    assert client.cancel_job("jobs/1").state == job_service_pb2.JOB_STATE_CANCELLED
    with pytest.raises(NotFoundError):
        client.get_job("2")


def test_resubmit_and_delete_job(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_FAILED)
    service.submit("jobs/2", state=job_service_pb2.JOB_STATE_QUEUED)
    assert client.resubmit_job("1").name == "jobs/2"
    client.delete_job("1")
    with pytest.raises(NotFoundError):
        client.resubmit_job("jobs/1")
    with pytest.raises(NotFoundError):
        client.delete_job("jobs/1")


def test_withdraw_release(client: Client, service: FakeService) -> None:
    service.releases["releases/3"] = samples.release("releases/3")
    withdrawn = client.withdraw_release("3", "a mistake")
    assert (withdrawn.current, withdrawn.withdraw_reason) == (False, "a mistake")
    with pytest.raises(InvalidError):
        client.withdraw_release("jobs/3", "a mistake")


def test_list_jobs_fetches_pages_as_they_are_read(client: Client, service: FakeService) -> None:
    for number in range(5):
        service.submit(f"jobs/{number}", state=job_service_pb2.JOB_STATE_QUEUED)
    listed = client.list_jobs()
    assert [next(listed).name, next(listed).name] == ["jobs/0", "jobs/1"]
    assert len(service.requests) == 1
    assert [job.name for job in listed] == ["jobs/2", "jobs/3", "jobs/4"]
    assert len(service.requests) == 3


def test_get_and_list_releases(client: Client, service: FakeService) -> None:
    service.releases = {name: samples.release(name) for name in ("releases/3", "releases/2", "releases/1")}
    assert client.get_release("2") == samples.release("releases/2")
    assert [release.name for release in client.list_releases()] == ["releases/3", "releases/2", "releases/1"]


def test_large_answers_are_accepted(client: Client, service: FakeService) -> None:
    service.releases["releases/1"] = release_service_pb2.Release(name="releases/1", warnings=["x" * 10_000_000])
    assert len(client.get_release("1").warnings[0]) == 10_000_000


def test_create_and_list_hierarchies(client: Client, service: FakeService) -> None:
    for name in ("a", "b", "c"):
        stored = client.create_hierarchy(name, [["1", "*"], ["2", "*"]])
        assert (stored.name, stored.levels, stored.values) == (name, 2, 2)
    assert service.hierarchy_rows == [[["1", "*"], ["2", "*"]]] * 3
    assert [info.name for info in client.list_hierarchies()] == ["a", "b", "c"]


def test_hierarchies_come_in_pieces(client: Client, service: FakeService) -> None:
    rows = [[str(number), "x" * 1000, "*"] for number in range(10_000)]
    # More than a message may hold.
    assert client.create_hierarchy("large", iter(rows)).values == 10_000
    assert service.hierarchy_rows == [rows]
    [first] = service.requests
    assert isinstance(first, hierarchy_service_pb2.CreateHierarchyRequest)
    assert first.ByteSize() < 300_000


def test_wait_until_ready(client: Client, service: FakeService) -> None:
    client.wait_until_ready(5)
    with Client("127.0.0.1:1") as nobody, pytest.raises(UnreachableError, match=r"within 0\.2 seconds"):
        nobody.wait_until_ready(0.2)


def test_a_list_is_read_page_by_page_or_one_page_alone(client: Client, service: FakeService) -> None:
    service.releases = {f"releases/{n}": release_service_pb2.Release(name=f"releases/{n}") for n in range(9, 0, -1)}
    listing = client.list_releases()
    assert not service.requests, "nothing is asked before it is read"
    first, token = listing.page()
    second, end = client.list_releases().page(token)
    assert token
    assert len(service.requests) == 2
    every = [one.name for one in listing]
    assert every[: len(first) + len(second)] == [one.name for one in (*first, *second)]
    assert every == list(service.releases)
    assert bool(end) == (len(every) > len(first) + len(second))


def test_names_may_be_numbers(client: Client, service: FakeService) -> None:
    service.releases = {"releases/2": samples.release("releases/2")}
    assert client.get_release(2) == samples.release("releases/2")
    with pytest.raises(InvalidError, match="-2"):
        client.get_release(-2)


def test_messages_are_names_and_a_result_is_told(client: Client, service: FakeService) -> None:
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_QUEUED)
    assert client.get_job(client.get_job(1)) == client.get_job("jobs/1")
    for name in (client.get_job(1), ""):
        with pytest.raises(InvalidError, match="`result` of a job"):
            client.get_release(name)


def test_what_is_no_message_of_a_job_is_said(client: Client) -> None:
    with pytest.raises(TypeError, match="found a message ProposalRequest; expected a request of a job"):
        client.submit_analysis(ProposalRequest())
    with pytest.raises(TypeError, match="found a message TriedPolicy; expected the result of a job"):
        client.get_result(TriedPolicy, 1)
    with pytest.raises(TypeError, match="from_pylist"):
        client.load([{"a": 1}], "visits")  # type: ignore[arg-type]


def test_a_policy_is_submitted_from_its_file(client: Client, service: FakeService, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(to_yaml(samples.policy()), encoding="utf-8")
    service.submit("jobs/1", state=job_service_pb2.JOB_STATE_QUEUED)
    client.submit(str(file))
    assert service.requests[-1] == job_service_pb2.SubmitJobRequest(policy=samples.policy())
    file.write_text("sourc: patients", encoding="utf-8")
    with pytest.raises(InvalidError, match="sourc"):
        client.submit(file)


def test_a_policy_is_checked_from_its_file(client: Client, service: FakeService, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(to_yaml(samples.policy()))
    assert client.check_policy(str(file)) == []
    file.write_text("privacy_modles: []\n")
    [fault] = client.check_policy(file)
    assert "privacy_models" in f"{fault}"
    with pytest.raises(InvalidError, match="privacy_models"):
        client.submit(file)


@pytest.mark.parametrize("text", ["SELECT * FROM visits", "FROM(visits)", "FROM\nvisits"])
def test_a_draft_is_of_a_table_or_of_a_query(client: Client, service: FakeService, text: str) -> None:
    client.draft_policy(text)
    client.draft_policy("clinic.visits")
    asked = draft_service_pb2.DraftPolicyRequest
    table = policy_pb2.TableReference(schema="clinic", table="visits")
    assert service.requests == [asked(source_query=text), asked(table=table)]


def test_the_environment_names_the_server(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEVEIL_SERVER", service.address)
    with Client() as client:
        assert client.check_policy(samples.policy()) == []


def test_a_closed_client_says_so(service: FakeService) -> None:
    with Client(service.address) as client:
        client.wait_until_ready(60)
    for ask in (lambda: client.get_release(2), lambda: list(client.watch_job(1)), lambda: client.read(1, "x")):
        with pytest.raises(InvalidError, match="the client is closed"):
            ask()
