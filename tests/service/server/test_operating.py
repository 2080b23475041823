"""Jobs and releases are operated over the wire, on a server that does real work."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import get_type_hints

import pytest
from google.protobuf.message import Message

from tableveil.client import Client
from tableveil.errors import ConflictError, InvalidError, NotFoundError
from tableveil.server import ServeSettings
from tableveil.server.kinds import SUBMISSIONS
from tableveil.server.server import TableveilServer
from tableveil.state.jobs import KINDS, JobKind
from tableveil.v1 import job_service_pb2, policy_pb2
from tableveil.v1.classification_service_pb2 import (
    CLASSIFIER_DECISION_TREE,
    AssessClassifiersRequest,
    ClassificationRequest,
)
from tableveil.v1.dry_run_service_pb2 import SubmitDryRunRequest
from tableveil.v1.frontier_service_pb2 import SubmitFrontierRequest
from tableveil.v1.job_service_pb2 import SubmitJobRequest
from tableveil.v1.payout_service_pb2 import SubmitPayoutSweepRequest
from tableveil.v1.proposal_service_pb2 import ProposalRequest, SubmitProposalRequest
from tableveil.v1.risk_service_pb2 import RiskRequest, SubmitRiskAnalysisRequest
from tableveil.v1.utility_service_pb2 import SubmitUtilityReportRequest, UtilityRequest
from tests.e2e import samples
from tests.once import once


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    database = tmp_path_factory.mktemp("operating") / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE)
    settings = ServeSettings(database, ("127.0.0.1:0",), threads=2, keep_days=1)
    with closing(TableveilServer(settings)) as server, Client(server.address) as client:
        yield client


def policy(target: str, **fields: object) -> policy_pb2.Policy:
    document = samples.policy(target=target, repeat_reason="a test")
    return samples.message({**document, **fields})


@pytest.fixture(scope="module")
def release(client: Client) -> job_service_pb2.Job:
    """The job of a release that tests look at."""
    return client.wait(client.submit(policy("looked_at")).name)


GAME = {"publisher_benefit": "1200", "adversary_cost": "4", "adversary_gain": "300", "publisher_loss": "300"}
INFEASIBLE = [{"k_anonymity": {"k": samples.ROWS + 1}}]

REQUESTS: dict[JobKind, Callable[[str], Message]] = {
    JobKind.RELEASE: lambda _: SubmitJobRequest(
        policy=policy("again", privacy_models=INFEASIBLE, suppression_limit="0"), request_id="r-1"
    ),
    JobKind.FRONTIER: lambda _: SubmitFrontierRequest(
        policy=policy("ignored"), k=[2, 3], suppression_limits=["0", "0.05"], request_id="r-1"
    ),
    JobKind.PAYOUT_SWEEP: lambda _: SubmitPayoutSweepRequest(
        policy=policy("ignored", privacy_models=[], game=GAME), gains=["0", "300"], request_id="r-1"
    ),
    JobKind.RISK_ANALYSIS: lambda release: SubmitRiskAnalysisRequest(
        risk=RiskRequest(release=release, thresholds=["0.1"]), request_id="r-1"
    ),
    JobKind.CLASSIFICATION: lambda release: AssessClassifiersRequest(
        classification=ClassificationRequest(
            release=release, classes=["diagnosis"], classifiers=[CLASSIFIER_DECISION_TREE], folds=2
        ),
        request_id="r-1",
    ),
    JobKind.DRY_RUN: lambda _: SubmitDryRunRequest(policy=policy("never"), request_id="r-1"),
    JobKind.PROPOSAL: lambda _: SubmitProposalRequest(
        proposal=ProposalRequest(table=policy("ignored").source, time_limit_seconds="4"), request_id="r-1"
    ),
    JobKind.UTILITY_REPORT: lambda release: SubmitUtilityReportRequest(utility=UtilityRequest(release=release)),
}


@pytest.mark.parametrize("kind", once(JobKind))
def test_every_kind_of_job_is_done_again_as_it_was_asked_for(
    client: Client, release: job_service_pb2.Job, kind: JobKind
) -> None:
    first = client.submit_analysis(REQUESTS[kind](release.result))
    assert first.kind == KINDS[kind].collection
    ended = list(client.watch_job(first.name))[-1]
    again = list(client.watch_job(client.resubmit_job(first.name).name))[-1]
    assert again.name != first.name
    assert (again.state, again.kind, again.request_id) == (ended.state, ended.kind, first.request_id)
    assert (again.source, again.target) == (ended.source, ended.target)
    assert (again.result != ended.result) is (ended.state == job_service_pb2.JOB_STATE_SUCCEEDED)
    made = get_type_hints(SUBMISSIONS[kind].to_proto)["return"]
    if again.result:
        newest = next(client.list_results(made))
        assert newest.name == again.result
        # Lists of assessments leave out their curves.
        assert newest == client.get_result(made, again.result) or kind is JobKind.CLASSIFICATION
    for job in (first, again):
        client.delete_job(job.name)
        with pytest.raises(NotFoundError):
            client.get_job(job.name)


def test_a_job_of_a_release_stays(client: Client, release: job_service_pb2.Job) -> None:
    with pytest.raises(ConflictError) as raised:
        client.delete_job(release.name)
    assert raised.value.code == "JOB_OF_RELEASE"


def test_a_release_is_withdrawn(client: Client) -> None:
    name = client.wait(client.submit(policy("taken_back")).name).result
    with pytest.raises(InvalidError) as raised:
        client.withdraw_release(name, "")
    assert raised.value.faults[0].field == "reason"
    withdrawn = client.withdraw_release(name, "consent was withdrawn")
    assert not withdrawn.current
    assert withdrawn.withdraw_reason == "consent was withdrawn"
    assert withdrawn.withdraw_time.seconds > withdrawn.create_time.seconds - 1
    assert withdrawn == client.get_release(name) == client.withdraw_release(name, "another reason")
    with pytest.raises(ConflictError) as refused:
        client.read_table(name, "taken_back")
    assert refused.value.code == "RELEASE_WITHDRAWN"
    assert client.get_job(withdrawn.job).result == name


def test_keep_days_is_a_positive_number(tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as raised:
        TableveilServer(ServeSettings(tmp_path / "none.duckdb", keep_days=0))
    assert raised.value.faults[0].field == "keep_days"
