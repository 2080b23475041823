"""The command `frontier`: what it asks for, and how it shows what came out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format

from tableveil.v1 import faults_pb2, frontier_service_pb2, job_service_pb2, policy_pb2, utility_service_pb2
from tests.service.cli.conftest import Run
from tests.service.client import samples
from tests.service.client.fake_service import FakeService

Documents = Callable[..., list[Any]]
FRONTIER = "frontiers/3"


@pytest.fixture
def policy(tmp_path: Path) -> str:
    file = tmp_path / "policy.json"
    file.write_text(json_format.MessageToJson(samples.policy(), preserving_proto_field_name=True))
    return str(file)


def point(
    k: int, limit: str, score: float | None, lower_bound: float | None = None, optimal: bool = True
) -> frontier_service_pb2.FrontierPoint:
    made = frontier_service_pb2.FrontierPoint(
        k=k, suppression_limit=limit, optimal=optimal, lower_bound=score if lower_bound is None else lower_bound
    )
    if score is not None:
        made.optimum.score = score
    return made


@pytest.fixture
def frontier(service: FakeService) -> frontier_service_pb2.Frontier:
    """A job that has computed it."""
    service.jobs["jobs/1"] = job_service_pb2.Job(
        name="jobs/1", state=job_service_pb2.JOB_STATE_SUCCEEDED, result=FRONTIER
    )
    service.frontiers[FRONTIER] = frontier_service_pb2.Frontier(
        name=FRONTIER,
        source=policy_pb2.TableReference(schema="main", table="dis\x1bcharges"),
        records=100_000,
        points=[
            point(2, "0.0", 0.5), point(2, "0.05", 0.25), point(5, "0.0", 0.75), point(5, "0.05", 0.000412),
        ],
        lattice_size="5760",
        transformations_checked=1204,
        policy=samples.policy(),
    )  # fmt: skip
    return service.frontiers[FRONTIER]


def test_results_are_listed_by_their_kind(
    run: Run, service: FakeService, frontier: frontier_service_pb2.Frontier
) -> None:
    header, listed = run("results", "frontiers").stdout.splitlines()
    assert header.split() == ["result", "job", "about", "created"]
    assert listed.split()[:2] == [FRONTIER, r"main.dis\x1bcharges"]
    assert run("results", "utilityReports").stdout == "No utilityReports yet.\n"
    report = utility_service_pb2.UtilityReport(name="utilityReports/4", job="jobs/9", release="releases/2")
    service.utility_reports[report.name] = report
    assert run("results", "utilityReports").stdout.splitlines()[1].split()[:3] == [
        *("utilityReports/4", "jobs/9", "releases/2")
    ]
    assert json.loads(run("results", "frontiers", "--json").stdout)["results"][0]["name"] == frontier.name


@pytest.mark.usefixtures("frontier")
def test_one_row_per_k_and_one_column_per_limit(run: Run, service: FakeService, policy: str) -> None:
    result = run("frontier", policy, "--k", "2..4, 7,9..9", "--limit", "0, 0.05")
    assert result.exit_code == 0, result.output
    [request] = [r for r in service.requests if isinstance(r, frontier_service_pb2.SubmitFrontierRequest)]
    assert request == frontier_service_pb2.SubmitFrontierRequest(
        policy=samples.policy(), k=[2, 3, 4, 7, 9], suppression_limits=["0", "0.05"]
    )
    assert result.stdout.splitlines() == [
        "frontiers/3",
        r"source  main.dis\x1bcharges, 100,000 records",
        "search  1,204 of 5,760 transformations checked",
        "",
        "k  limit 0.0  limit 0.05",
        "2     0.5000      0.2500",
        "5     0.7500   *0.000412",
        "* the policy's own k and limit",
    ]
    assert result.stderr.splitlines() == ["jobs/1 succeeded"]
    assert run("show", FRONTIER).stdout == result.stdout


@pytest.mark.usefixtures("frontier")
def test_asks_for_the_policys_own_by_default(run: Run, service: FakeService, policy: str) -> None:
    assert run("frontier", policy).exit_code == 0
    [request] = [r for r in service.requests if isinstance(r, frontier_service_pb2.SubmitFrontierRequest)]
    assert (list(request.k), list(request.suppression_limits)) == ([], [])


def test_says_what_is_not_proven_and_what_is_not_feasible(run: Run, frontier: frontier_service_pb2.Frontier) -> None:
    del frontier.points[:]
    frontier.points.extend(
        [
            point(5, "0", None),
            point(5, "0.1", None, 0.5, optimal=False),
            point(5, "0.2", 0.25, 0.125, optimal=False),
            point(5, "0.3", 0.125),
        ]
    )
    *_, row, infeasible, ranges = run("show", FRONTIER).stdout.splitlines()
    assert row.split() == ["5", "-", ">=", "0.5000", "0.1250", "to", "0.2500", "0.1250"]
    assert infeasible == "- no transformation meets the policy"
    assert "time was over" in ranges


def test_says_what_local_recoding_found(run: Run, frontier: frontier_service_pb2.Frontier) -> None:
    frontier.policy.local_recoding.SetInParent()
    del frontier.points[:]
    found = [point(5, "0", 0.25, 0.125, optimal=False), point(5, "0.1", 0.25, optimal=False), point(5, "0.2", None)]
    found[1].ClearField("lower_bound")
    found[2].optimal = False
    frontier.points.extend(found)
    *_, row, ranges = run("show", FRONTIER).stdout.splitlines()
    assert row.split() == ["5", "0.1250", "to", "0.2500", "<=", "0.2500", "none", "found"]
    assert "time" not in ranges


@pytest.mark.usefixtures("frontier")
def test_as_json(documents: Documents, policy: str) -> None:
    job, found = documents("frontier", policy)
    assert job["job"]["result"] == FRONTIER
    assert [p["k"] for p in found["frontier"]["points"]] == [2, 2, 5, 5]
    assert found["frontier"]["points"][0]["lower_bound"] == 0.5
    assert documents("show", FRONTIER) == [found]


@pytest.mark.usefixtures("frontier")
def test_jobs_name_their_frontiers(run: Run) -> None:
    assert run("jobs").stdout.splitlines()[1].split()[-1] == FRONTIER
    assert f"result  {FRONTIER}" in run("show", "jobs/1").stdout
    assert run("watch", "1").stdout.splitlines()[-1] == f"See what came out with `tableveil show {FRONTIER}`."


@pytest.mark.parametrize("ks", ["", "x", "2..", "5..2", "2,,3", "-2", "2..1000000", "1.5", "٣"])
def test_ranges_that_are_none(run: Run, service: FakeService, policy: str, ks: str) -> None:
    result = run("frontier", policy, "--k", ks)
    assert result.exit_code == 2
    assert "Invalid value for '--k'" in result.stderr
    assert service.requests == []


@pytest.mark.parametrize(
    ("kind", "code"),
    [(faults_pb2.FAILURE_KIND_INVALID, 2), (faults_pb2.FAILURE_KIND_CONFLICT, 6), (faults_pb2.FAILURE_KIND_BUSY, 7)],
)
def test_refused(
    run: Run, service: FakeService, policy: str, kind: faults_pb2.FailureKind.ValueType, code: int
) -> None:
    service.failures["SubmitFrontier"] = samples.failure(kind, "SOMETHING", "k[0]")
    result = run("frontier", policy, "--k", "1")
    assert result.exit_code == code
    assert "k[0]" in result.stderr


def test_a_job_that_fails(run: Run, service: FakeService, policy: str) -> None:
    why = samples.failure(faults_pb2.FAILURE_KIND_INFEASIBLE, "TOO_FEW_RECORDS", "privacy_models")
    service.jobs["jobs/1"] = samples.failed("jobs/1", why)
    result = run("frontier", policy)
    assert result.exit_code == 3
    assert result.stdout == ""


def test_a_document_that_cannot_be_read(run: Run, service: FakeService, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("sauce: {table: t}\n")
    result = run("frontier", str(file))
    assert result.exit_code == 2
    assert "sauce" in result.stderr
    assert service.requests == []


def test_no_such_frontier(run: Run) -> None:
    assert run("show", "frontiers/8").exit_code == 8
    assert run("show", "frontiers/x").exit_code == 2


def test_explains_itself(run: Run) -> None:
    said = run("frontier", "--help").stdout
    assert "Usage: " in said
    assert "Default: the policy's own." in " ".join(said.split())
