"""Every verb, for people and as JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner

from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.main import cli
from tableveil.document import read_policy
from tableveil.v1 import faults_pb2, hierarchy_service_pb2, job_service_pb2, policy_pb2, release_service_pb2
from tests.service.cli.conftest import Run
from tests.service.client import samples
from tests.service.client.fake_service import FakeService

Documents = Callable[..., list[Any]]

FAILED = samples.failed("jobs/1", samples.failure(faults_pb2.FAILURE_KIND_INFEASIBLE, "INFEASIBLE", "privacy_models"))


def some_job(name: str = "jobs/1") -> job_service_pb2.Job:
    job = samples.searching(name, 1204, 0.2134, 0.1815)
    job.source.CopyFrom(policy_pb2.TableReference(schema="main", table="dis\x1bcharges"))
    job.target.CopyFrom(policy_pb2.ReleaseTarget(schema="main", name="released"))
    job.submit_time.FromSeconds(1_700_000_000)
    job.warnings.append("careful")
    return job


def test_jobs(run: Run, service: FakeService) -> None:
    assert run("jobs").stdout == "No jobs yet.\n"
    service.jobs = {"jobs/2": FAILED, "jobs/1": some_job()}
    header, failed, running = run("jobs").stdout.splitlines()
    assert header.split() == ["job", "state", "source", "target", "submitted", "outcome"]
    assert failed.split() == ["jobs/1", "failed", "INFEASIBLE"]
    assert running.split() == [
        "jobs/1", "searching", r"main.dis\x1bcharges", "main.released", "2023-11-14", "22:13:20Z",
    ]  # fmt: skip


def test_jobs_as_json(documents: Documents, service: FakeService) -> None:
    assert documents("jobs") == [{"jobs": [], "next_page_token": ""}]
    service.jobs = {f"jobs/{number}": some_job(f"jobs/{number}") for number in range(5)}
    [document] = documents("jobs", "--limit", "3")
    assert [job["name"] for job in document["jobs"]] == ["jobs/0", "jobs/1", "jobs/2"]
    job = document["jobs"][0]
    assert job["state"] == "JOB_STATE_RUNNING"
    assert job["submit_time"] == "2023-11-14T22:13:20Z"
    # 64-bit numbers are texts in proto JSON.
    assert job["progress"]["transformations_checked"] == "1204"
    # Unset fields are included, unless they are messages.
    assert job["request_id"] == ""
    assert "failure" not in job


def test_cancel(run: Run, documents: Documents, service: FakeService) -> None:
    service.jobs["jobs/1"] = some_job()
    assert run("cancel", "1").stdout == "jobs/1 has ended: cancelled.\n"
    [document] = documents("cancel", "jobs/1")
    assert document["job"]["state"] == "JOB_STATE_CANCELLED"


def test_cancel_a_job_that_takes_its_time(run: Run, service: FakeService) -> None:
    service.jobs["jobs/1"] = some_job()
    service.cancels = False
    assert run("cancel", "1").stdout == "jobs/1 was asked to stop.\n"


def test_resubmit(run: Run, documents: Documents, service: FakeService) -> None:
    service.jobs = {"jobs/1": some_job(), "jobs/2": some_job("jobs/2")}
    assert run("resubmit", "1").stdout == "jobs/2 submitted. Follow it with `tableveil watch jobs/2`.\n"
    [document] = documents("resubmit", "jobs/1")
    assert document["job"]["name"] == "jobs/2"
    assert run("resubmit", "3").exit_code == ExitCode.NOT_FOUND


def test_resubmit_and_wait(run: Run, service: FakeService) -> None:
    ended = some_job("jobs/2")
    ended.state, ended.result = job_service_pb2.JOB_STATE_SUCCEEDED, "releases/9"
    service.jobs = {"jobs/1": some_job(), "jobs/2": ended}
    assert "tableveil show releases/9" in run("resubmit", "1", "--wait").stdout


def test_delete(run: Run, documents: Documents, service: FakeService) -> None:
    service.jobs = {"jobs/1": some_job(), "jobs/2": some_job("jobs/2")}
    assert run("delete", "1").stdout == "jobs/1 is deleted.\n"
    assert documents("delete", "jobs/2") == [{}]
    assert run("delete", "1").exit_code == ExitCode.NOT_FOUND


def test_withdraw(run: Run, documents: Documents, service: FakeService) -> None:
    service.releases["releases/3"] = samples.release("releases/3")
    assert run("withdraw", "3").exit_code == ExitCode.INVALID
    service.releases["releases/3"].kept_objects.append("re\x1bleased")
    shown = run("withdraw", "3", "--reason", "a mistake").stdout
    assert shown.splitlines() == [
        "releases/3 is withdrawn; its evidence stays.",
        r"Kept re\x1bleased: it is not what was written.",
    ]
    [document] = documents("withdraw", "3", "--reason", "a mistake")
    assert document["release"]["withdraw_reason"] == "a mistake"
    assert "withdrawn" in run("releases").stdout
    assert "a mistake" in run("show", "3").stdout


def waiting(service: FakeService) -> None:
    """A release that is public, and one of the same target that waits for approval."""
    service.releases = {name: samples.release(name) for name in ("releases/3", "releases/2")}
    waits = service.releases["releases/3"]
    waits.current, waits.suppressed_records = False, 50_000
    waits.state = release_service_pb2.RELEASE_STATE_PENDING
    waits.warnings.append("a\x1b warning")


def test_promote(run: Run, documents: Documents, service: FakeService) -> None:
    waiting(service)
    trial = service.releases["releases/3"]
    trial.state = release_service_pb2.RELEASE_STATE_TRIAL
    trial.expire_time.FromSeconds(1_800_000_000)
    assert "trial" in run("releases").stdout
    shown = run("show", "3").stdout
    assert "a trial, which only you see" in shown
    assert "2027-01-15" in shown
    assert run("promote", "3", "--repeat-reason", "for X").stdout == "releases/3 is public as main.released.\n"
    assert service.requests[-1] == release_service_pb2.PromoteReleaseRequest(name="releases/3", repeat_reason="for X")
    [document] = documents("promote", "3")
    assert document["release"]["state"] == "RELEASE_STATE_APPROVED"


def test_review(run: Run, documents: Documents, service: FakeService) -> None:
    waiting(service)
    assert "pending" in run("releases").stdout
    shown = run("review", "3").stdout
    assert shown.startswith("The first page of releases/3, as text")
    changes = shown[shown.index("Compared with releases/2") :]
    assert [line.split() for line in changes.splitlines()[2:]] == [
        ["suppressed", "3.68", "%", "50", "%"],
        ["should", "be", "looked", "at:", r"a\x1b", "warning", "none", "given"],
    ]
    [document] = documents("review", "3")
    assert [release["name"] for release in document["releases"]] == ["releases/3", "releases/2"]
    assert "There is none of this target." in run("review", "2").stdout
    assert run("review", "7").exit_code == ExitCode.NOT_FOUND


def test_decide(run: Run, documents: Documents, service: FakeService) -> None:
    waiting(service)
    assert run("approve", "3", "--note", "agreed").stdout == "releases/3 is public as main.released.\n"
    [document] = documents("approve", "3", "--note", "agreed")
    found = document["release"]
    assert (found["state"], found["decision_note"]) == ("RELEASE_STATE_APPROVED", "agreed")
    assert run("reject", "3").exit_code == ExitCode.INVALID
    waiting(service)
    assert run("reject", "3", "--note", "too fine").stdout == "releases/3 is rejected; its evidence stays.\n"
    assert r"by b\x1bob: too fine" in run("show", "3").stdout


def test_what_would_be_feasible_is_a_table(run: Run, service: FakeService, documents: Documents) -> None:
    why = samples.infeasible(("privacy_models[0].k_anonymity.k", "4"), ("suppression\x1b_limit", "0.1"))
    service.jobs["jobs/1"] = samples.failed("jobs/1", why)
    shown = [" ".join(line.split()) for line in run("show", "jobs/1").stdout.splitlines()]
    row = r"privacy_models[0].k_anonymity.k = 4 and suppression\x1b_limit = 0.1 found so far"
    assert shown[shown.index("feasible would be") + 1] == row
    [document] = documents("show", "jobs/1")
    [relaxation] = document["job"]["failure"]["relaxations"]
    assert [change["value"] for change in relaxation["changes"]] == ["4", "0.1"]


def test_watch(run: Run, service: FakeService) -> None:
    service.submit(
        "jobs/1",
        [samples.searching("jobs/1", 1), samples.succeeded("jobs/1", "releases/3")],
        state=job_service_pb2.JOB_STATE_RUNNING,
    )
    assert run("watch", "1").stdout.splitlines() == [
        "jobs/1 searching: 1 of 5,184 transformations checked",
        "jobs/1 succeeded",
        "See what came out with `tableveil show releases/3`.",
    ]


def test_watch_as_json(documents: Documents, service: FakeService) -> None:
    service.submit(
        "jobs/1",
        [samples.searching("jobs/1", 1), samples.succeeded("jobs/1", "releases/3")],
        state=job_service_pb2.JOB_STATE_RUNNING,
    )
    states = [document["job"]["state"] for document in documents("watch", "1")]
    assert states == ["JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED"]


def test_watch_a_job_that_fails(run: Run, documents: Documents, service: FakeService) -> None:
    service.jobs["jobs/1"] = FAILED
    result = run("watch", "1")
    assert result.exit_code == 3
    assert result.stdout == "jobs/1 failed\n"
    assert result.stderr.splitlines() == [
        "Infeasible: something is wrong (INFEASIBLE)",
        "  privacy_models",
        "    found     this",
        "    expected  that",
        "    hint      Do so.",
    ]
    [document] = documents("watch", "1", code=3)
    assert document["job"]["failure"]["kind"] == "FAILURE_KIND_INFEASIBLE"


def test_releases(run: Run, documents: Documents, service: FakeService) -> None:
    assert run("releases").stdout == "No releases yet.\n"
    service.releases = {name: samples.release(name) for name in ("releases/3", "releases/2")}
    service.releases["releases/2"].current = False
    service.releases["releases/2"].proof.optimal = False
    lines = run("releases").stdout.splitlines()
    assert lines[1].split() == [
        "releases/3", "main.discharges", "main.released", "2023-11-14", "22:13:20Z", "100,000", "3,679", "0.2134",
        "yes", "yes",
    ]  # fmt: skip
    assert lines[2].split()[-3:] == ["not", "proven", "replaced"]
    [document] = documents("releases")
    assert [release["name"] for release in document["releases"]] == ["releases/3", "releases/2"]


def test_releases_together(run: Run, documents: Documents) -> None:
    told, _, sizes = run("releases", "--together", "1", "releases/2").stdout.splitlines()
    assert "releases/1, releases/2 have 57 people." in told
    assert sizes.split() == ["2", "1", "3"]
    assert documents("releases", "--together", "1", "2")[0]["joint_classes"]["left_behind"] == "6"
    assert "--together" in run("releases", "1").stderr


@pytest.mark.parametrize("name", ["3", "releases/3"])
def test_show_a_release(run: Run, documents: Documents, service: FakeService, name: str) -> None:
    service.releases["releases/3"] = samples.release()
    shown = run("show", name).stdout
    assert shown.startswith("releases/3  main.discharges → main.released\n")
    assert 'SELECT * FROM "main"."released" LIMIT 10;' in shown
    assert all(line == line.rstrip() for line in shown.splitlines())
    [document] = documents("show", name)
    assert document["release"]["proof"]["pruned"] == {"suppression": "4000", "quality": "817"}
    assert document["release"]["policy"]["privacy_models"] == [{"k_anonymity": {"k": 5}}]


def test_show_the_policy_that_a_release_used(run: Run, documents: Documents, service: FakeService) -> None:
    release = service.releases["releases/3"] = samples.release()
    shown = run("show", "3", "--policy").stdout
    assert read_policy(shown, "yaml") == (release.policy, [])
    assert documents("show", "3", "--policy")[0]["policy"]["privacy_models"] == [{"k_anonymity": {"k": 5}}]
    assert run("show", "3", "--policy", "--explain").exit_code == 2
    assert "--policy is for releases" in run("show", "frontiers/1", "--policy").stderr


def test_show_why(run: Run, service: FakeService) -> None:
    service.releases["releases/3"] = samples.release()
    assert run("show", "3", "--explain").stdout.startswith("Why this transformation\n")
    assert run("show", "3", "--privacy").exit_code == 0
    assert run("show", "3", "--privacy", "--explain").exit_code == 2
    service.releases["releases/3"].ClearField("proof")
    for part in ("--policy", "--explain", "--privacy", "--advice"):
        denied = run("show", "3", part)
        assert (denied.exit_code, denied.stdout, "the evidence of releases/3" in denied.stderr) == (9, "", True)
    refused = run("show", "jobs/1", "--explain")
    assert (refused.exit_code, "--explain is for releases" in refused.stderr) == (2, True)


def test_show_a_job(run: Run, documents: Documents, service: FakeService) -> None:
    service.jobs["jobs/1"] = some_job()
    lines = run("show", "jobs/1").stdout.splitlines()
    assert lines[0] == "jobs/1"
    assert "state      searching" in lines
    assert r"source     main.dis\x1bcharges" in lines
    assert "warning    should be looked at: careful" in lines
    assert not any(line.startswith(("ended", "release", "request id")) for line in lines)
    [document] = documents("show", "jobs/1")
    assert document["job"]["name"] == "jobs/1"


def test_show_a_job_that_failed(run: Run, service: FakeService) -> None:
    service.jobs["jobs/1"] = FAILED
    assert "Infeasible: something is wrong (INFEASIBLE)" in run("show", "jobs/1").stdout


def test_hierarchies(run: Run, documents: Documents, service: FakeService) -> None:
    assert run("hierarchies").stdout == "No hierarchies stored yet.\n"
    service.hierarchies = [
        hierarchy_service_pb2.StoredHierarchyInfo(name=f"h{number}", version=1, levels=3, values=12_345)
        for number in range(3)
    ]
    assert [line.split() for line in run("hierarchies").stdout.splitlines()] == [
        ["name", "version", "levels", "values", "created", "from"],
        ["h0", "1", "3", "12,345"],
        ["h1", "1", "3", "12,345"],
        ["h2", "1", "3", "12,345"],
    ]
    [document] = documents("hierarchies")
    assert [info["name"] for info in document["hierarchies"]] == ["h0", "h1", "h2"]


@pytest.fixture
def released(service: FakeService) -> None:
    service.releases["releases/3"] = samples.release()
    service.objects = {item.name: pa.table({"n": [1]}) for item in service.releases["releases/3"].objects}


@pytest.mark.usefixtures("released")
def test_export_parquet(run: Run, documents: Documents, tmp_path: Path) -> None:
    path = tmp_path / "out"
    result = run("export", "releases/3", "--output", str(path))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        str(path / f"released{suffix}.parquet") for suffix in ("", "_classes", "_risk", "_risk_histogram")
    ]
    assert documents("export", "3", "--output", str(path), "--overwrite") == [{"files": result.stdout.splitlines()}]


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize(("name", "options"), [("out.duckdb", ()), ("out.db", ()), ("out", ("--format", "duckdb"))])
def test_export_a_database(run: Run, tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    path = tmp_path / name
    assert run("export", "3", "--output", str(path), *options).exit_code == 0
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.table("released").fetchall() == [(1,)]


@pytest.mark.usefixtures("released")
def test_the_format_goes_before_the_suffix(run: Run, tmp_path: Path) -> None:
    assert run("export", "3", "--output", str(tmp_path / "out.db"), "--format", "parquet").exit_code == 0
    assert (tmp_path / "out.db").is_dir()


@pytest.mark.usefixtures("released")
def test_export_refuses_to_overwrite(run: Run, documents: Documents, tmp_path: Path) -> None:
    result = run("export", "3", "--output", str(tmp_path))
    assert result.exit_code == 6
    assert "PATH_EXISTS" in result.stderr
    [document] = documents("export", "3", "--output", str(tmp_path), code=6)
    assert document["failure"]["kind"] == "FAILURE_KIND_CONFLICT"


def test_the_server_option_goes_before_the_environment(run: Run, service: FakeService) -> None:
    assert run("jobs", "--server", "127.0.0.1:1").exit_code == 5
    assert CliRunner().invoke(cli, ["jobs", "--server", service.address]).exit_code == 0


def test_help_lists_every_command_and_exit_code() -> None:
    text = CliRunner().invoke(cli, ["--help"]).stdout
    for command in cli.list_commands(None):  # type: ignore[arg-type]  # the list is always the same
        assert f"  {command} " in text
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 8, 130):
        assert f"\n  {code:5}  " in text


@pytest.mark.parametrize(
    "command",
    ["serve", "submit", "check-policy", "jobs", "watch", "cancel", "releases", "show", "export", "hierarchies", "demo"],
)
def test_every_command_explains_itself(command: str) -> None:
    result = CliRunner().invoke(cli, [command, "--help"])
    assert result.exit_code == 0
    assert "Usage: " in result.stdout


def test_no_such_command() -> None:
    result = CliRunner().invoke(cli, ["jbos"])
    assert result.exit_code == 2
    assert "No such command 'jbos'. Did you mean 'jobs'?" in result.stderr
    assert "No such command 'xyzzy'.\n" in CliRunner().invoke(cli, ["xyzzy"]).stderr


def test_publish(run: Run, documents: Documents, service: FakeService) -> None:
    service.releases["releases/3"] = samples.release("releases/3")
    assert run("publish", "3").exit_code == ExitCode.INVALID
    shown = run("publish", "3", "--to", "shelf", "--repeat-reason", "monthly").stdout
    assert shown.splitlines()[1].split() == ["shelf", "published"]
    assert [request.repeat_reason for request in service.requests if hasattr(request, "repeat_reason")] == ["monthly"]
    assert "shelf   published" in run("show", "3").stdout
    [document] = documents("publish", "3", "--to", "shelf", "--withdraw")
    assert document["release"]["publications"][0]["state"] == "PUBLICATION_STATE_REMOVED"


def test_a_target_that_fails_ends_publish_with_the_reason(run: Run, service: FakeService) -> None:
    release = service.releases["releases/3"] = samples.release("releases/3")
    failed = {"target": "shelf", "wanted": True, "attempts": 1, "code": "DISK_FULL", "problem": "no space"}
    release.publications.add(**failed, state="PUBLICATION_STATE_WAITING")
    busy = run("publish", "3", "--to", "shelf")
    assert (busy.exit_code, "DISK_FULL" in busy.stderr, "tries again" in busy.stderr) == (11, True, True)
    del release.publications[:]
    release.publications.add(**failed, state="PUBLICATION_STATE_FAILED")
    assert run("publish", "3", "--to", "shelf").exit_code == ExitCode.UNPUBLISHED


def test_targets(run: Run, documents: Documents) -> None:
    header, gone, shelf = run("targets").stdout.splitlines()
    assert header.split() == ["target", "published", "waiting", "failed", "state"]
    assert gone.split() == ["gone", "3", "0", "0", "not", "declared", "any", "more"]
    assert shelf.split() == ["shelf", "1,200", "0", "1"]
    [document] = documents("targets")
    assert [one["name"] for one in document["targets"]] == ["gone", "shelf"]
