"""`submit` and `check-policy`: from a file on disk to the account of its release."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToJson

from tableveil.document import to_yaml
from tableveil.v1 import faults_pb2, job_service_pb2, policy_pb2
from tests.service.cli.conftest import Run
from tests.service.client import samples
from tests.service.client.fake_service import FakeService

Documents = Callable[..., list[Any]]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "policy.yaml"
    path.write_text(to_yaml(samples.policy()))
    return str(path)


@pytest.fixture
def job(service: FakeService) -> str:
    """The answers to submitting."""
    service.submit(
        "jobs/7",
        [samples.searching("jobs/7", 12, 0.3, 0.1), samples.succeeded("jobs/7", "releases/3")],
        state=job_service_pb2.JOB_STATE_QUEUED,
    )
    service.releases["releases/3"] = samples.release()
    return "jobs/7"


def submitted(service: FakeService) -> list[policy_pb2.Policy]:
    return [request.policy for request in service.requests if isinstance(request, job_service_pb2.SubmitJobRequest)]


@pytest.mark.usefixtures("job")
def test_submit(run: Run, service: FakeService, file: str) -> None:
    assert run("submit", file).stdout == "jobs/7 submitted. Follow it with `tableveil watch jobs/7`.\n"
    assert submitted(service) == [samples.policy()]


@pytest.mark.usefixtures("job")
def test_submit_as_json(documents: Documents, file: str) -> None:
    [document] = documents("submit", file)
    assert document["job"]["name"] == "jobs/7"
    assert document["job"]["state"] == "JOB_STATE_QUEUED"


@pytest.mark.usefixtures("job")
def test_submit_with_a_request_id(run: Run, service: FakeService, file: str) -> None:
    assert run("submit", file, "--request-id", "nightly-7").exit_code == 0
    (asked,) = (request for request in service.requests if isinstance(request, job_service_pb2.SubmitJobRequest))
    assert asked.request_id == "nightly-7"


@pytest.mark.usefixtures("job")
def test_fields_over_the_document(run: Run, service: FakeService, file: str) -> None:
    fields = ("--release-name", "it's 7: [x]", "--source", "research.visits", "--repeat-reason", "null")
    assert run("submit", file, *fields, "--set", "suppression_limit=0.125").exit_code == 0
    expected = samples.policy()
    expected.release.name, expected.repeat_reason, expected.suppression_limit = "it's 7: [x]", "null", "0.125"
    expected.source.CopyFrom(policy_pb2.TableReference(schema="research", table="visits"))
    assert submitted(service) == [expected]
    assert "not FIELD=VALUE" in run("submit", file, "--set", "suppression_limit").stderr
    refused = run("submit", file, "--set", "suppression_limt=0.125")
    assert (refused.exit_code, "suppression_limit" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    "text", [to_yaml(samples.policy()), " " + MessageToJson(samples.policy(), preserving_proto_field_name=True)]
)
@pytest.mark.usefixtures("job")
def test_a_policy_from_standard_input(run: Run, service: FakeService, text: str) -> None:
    assert run("submit", "-", stdin=text).exit_code == 0
    assert submitted(service) == [samples.policy()]
    assert run("submit", "-", stdin="").exit_code == 2


@pytest.mark.usefixtures("job")
def test_submit_with_the_levels_of_a_release(run: Run, service: FakeService, file: str) -> None:
    del service.releases["releases/3"].attributes[:]
    service.releases["releases/3"].attributes.add(column="sex", level=1, top_level=1)
    assert run("submit", file, "--levels-of", "3").exit_code == 0
    [policy] = submitted(service)
    assert dict(policy.search.levels) == {"sex": 1}


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("whole", [False, True])
def test_levels_of_a_release_with_aggregated_columns(
    run: Run, service: FakeService, tmp_path: Path, whole: bool
) -> None:
    """Only generalized columns have levels; by microaggregation none has."""
    policy = samples.policy()
    policy.attributes.add(column="age", role=policy_pb2.ROLE_QUASI_IDENTIFIER).aggregation.SetInParent()
    if whole:
        policy.microaggregation.SetInParent()
    path = tmp_path / "aggregated.yaml"
    path.write_text(to_yaml(policy))
    del service.releases["releases/3"].attributes[:]
    service.releases["releases/3"].attributes.add(column="sex", level=1, top_level=1)
    service.releases["releases/3"].attributes.add(column="age", aggregation="mean")
    result = run("submit", str(path), "--levels-of", "3")
    assert [dict(asked.search.levels) for asked in submitted(service)] == ([] if whole else [{"sex": 1}])
    assert ("LEVELS_OF_NOTHING" in result.stderr) == whole


@pytest.mark.usefixtures("job")
def test_levels_of_a_release_of_other_columns(run: Run, service: FakeService, file: str) -> None:
    result = run("submit", file, "--levels-of", "releases/3")
    assert result.exit_code == 2
    assert "LEVELS_OF_OTHER_COLUMNS" in result.stderr
    assert "'age', 'zip_code' only in releases/3" in " ".join(result.stderr.split())
    assert submitted(service) == []


@pytest.mark.usefixtures("job")
def test_levels_of_a_release_whose_records_have_their_own(run: Run, service: FakeService, file: str) -> None:
    service.releases["releases/3"].attributes[0].levels.add(level=0, records=5)
    result = run("submit", file, "--levels-of", "releases/3")
    assert result.exit_code == 2
    assert "LEVELS_OF_RECORDS" in result.stderr
    assert submitted(service) == []


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize(("given", "error"), [("", ""), ("releases/3", ""), ("releases/2", "LEVELS_GIVEN")])
def test_classes_of_a_release(run: Run, service: FakeService, tmp_path: Path, given: str, error: str) -> None:
    policy = samples.policy()
    policy.local_recoding.classes_of = given
    path = tmp_path / "local.yaml"
    path.write_text(to_yaml(policy))
    result = run("submit", str(path), "--levels-of", "releases/3")
    assert error in result.stderr
    assert [asked.local_recoding.classes_of for asked in submitted(service)] == ([] if error else ["releases/3"])


@pytest.mark.usefixtures("job")
def test_levels_of_a_release_beside_levels_of_the_policy(run: Run, service: FakeService, tmp_path: Path) -> None:
    policy = samples.policy()
    policy.search.levels["sex"] = 1
    path = tmp_path / "levels.yaml"
    path.write_text(to_yaml(policy))
    result = run("submit", str(path), "--levels-of", "releases/3")
    assert result.exit_code == 2
    assert "LEVELS_GIVEN" in result.stderr
    assert submitted(service) == []


@pytest.mark.usefixtures("job")
def test_submit_and_wait(run: Run, file: str) -> None:
    result = run("submit", file, "--wait")
    assert result.exit_code == 0
    # The account can be kept without the progress.
    assert result.stdout.startswith("releases/3  main.discharges")
    assert result.stderr.splitlines()[-1] == "jobs/7 succeeded"


@pytest.mark.usefixtures("job")
def test_submit_and_wait_as_json(documents: Documents, file: str) -> None:
    running, ended, result = documents("submit", file, "--wait")
    assert running["job"]["progress"]["best_score"] == 0.3
    assert ended["job"]["state"] == "JOB_STATE_SUCCEEDED"
    assert result["release"]["name"] == "releases/3"


def test_submit_and_wait_for_a_failure(run: Run, service: FakeService, file: str) -> None:
    failure = samples.failure(faults_pb2.FAILURE_KIND_INFEASIBLE, "INFEASIBLE", "suppression_limit")
    service.submit("jobs/7", [samples.failed("jobs/7", failure)], state=job_service_pb2.JOB_STATE_QUEUED)
    result = run("submit", file, "--wait")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "suppression_limit" in result.stderr


@pytest.mark.usefixtures("job")
def test_files_are_found_beside_the_policy(run: Run, service: FakeService, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "sex.csv").write_text("F;*\nM;*\n")
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({"attributes": []}))
    path = tmp_path / "policy.yaml"
    path.write_text(to_yaml(samples.csv_policy("sub/sex.csv")))
    assert run("submit", str(path)).exit_code == 0
    assert service.hierarchy_rows == [[["F", "*"], ["M", "*"]]]
    [policy] = submitted(service)
    assert policy.attributes[0].hierarchy.stored == policy_pb2.StoredHierarchy(name="sex", version=1)


def wrong(tmp_path: Path, service: FakeService) -> str:
    """A policy with something wrong in the document, in itself, and for the database."""
    path = tmp_path / "policy.yaml"
    text = to_yaml(samples.policy()).replace("k: 5", "k: 1").replace("role: SENSITIVE", "role: SENSITIV")
    path.write_text(f"{text}sufix: 3\n")
    service.faults = [
        faults_pb2.Fault(field="source.table", found="'discharges'", expected="a table", hint="Did you mean 'x'?"),
        # This field could not be read from the document, either.
        faults_pb2.Fault(field="attributes[1].role", found="nothing", expected="a role"),
    ]
    return str(path)


@pytest.mark.parametrize("command", ["submit", "check-policy"])
def test_all_faults_at_once(run: Run, service: FakeService, tmp_path: Path, command: str) -> None:
    result = run(command, wrong(tmp_path, service))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[0] == "Invalid: the policy is invalid (4 faults) (POLICY_INVALID)"
    fields = [line.strip() for line in result.stderr.splitlines() if line.startswith("  ") and line[2] != " "]
    assert fields == [
        "attributes[1].role  column diagnosis",
        "sufix",
        "privacy_models[0].k_anonymity.k",
        "source.table",
    ]
    assert submitted(service) == []


def test_check_policy_as_json(documents: Documents, service: FakeService, tmp_path: Path, file: str) -> None:
    assert documents("check-policy", file) == [
        {"faults": [], "warnings": [], "warning_ranks": [], "ranked_warnings": []}
    ]
    [document] = documents("check-policy", wrong(tmp_path, service), code=2)
    assert len(document["faults"]) == 4
    assert document["faults"][-1] == {
        "field": "source.table",
        "found": "'discharges'",
        "expected": "a table",
        "hint": "Did you mean 'x'?",
    }


def test_submit_tells_faults_as_json(documents: Documents, service: FakeService, tmp_path: Path) -> None:
    [document] = documents("submit", wrong(tmp_path, service), "--wait", code=2)
    assert document["failure"]["code"] == "POLICY_INVALID"
    assert len(document["failure"]["faults"]) == 4


UNSTATED = "Nobody has stated in documentation: purpose, recipient, legal basis, highest risk that is accepted."


def test_a_policy_with_no_faults(run: Run, file: str) -> None:
    assert run("check-policy", file).stdout == f"Nothing is wrong with the policy.\n{UNSTATED}\n"


def test_warnings_do_not_make_a_policy_invalid(run: Run, documents: Documents, service: FakeService, file: str) -> None:
    service.warnings = [*(f"Number {number}." for number in range(6)), "The last one."]
    result = run("check-policy", file)
    assert result.exit_code == 0
    first = [f"should be looked at: Number {number}." for number in range(5)]
    assert result.stdout.splitlines()[1:] == [*first, "2 more, none more severe: --all shows them", UNSTATED]
    whole = run("check-policy", file, "--all").stdout.splitlines()[1:]
    assert whole == [*first, "should be looked at: Number 5.", "should be looked at: The last one.", UNSTATED]
    (document,) = documents("check-policy", file)
    assert document["warnings"] == service.warnings
    assert document["warning_ranks"] == ["WARNING_RANK_SHOULD_BE_LOOKED_AT"] * 7


def test_warnings_that_show_without_a_server(run: Run, tmp_path: Path) -> None:
    policy = samples.policy()
    policy.privacy_models.add().distinct_l_diversity.CopyFrom(
        policy_pb2.DistinctLDiversity(column=policy.attributes[1].column, l=2)
    )
    path = tmp_path / "policy.yaml"
    path.write_text(to_yaml(policy))
    result = run("check-policy", str(path), "--offline", "--server", "127.0.0.1:1")
    assert result.exit_code == 0
    assert "should be looked at: Sensitive values" in result.stdout


def test_offline_needs_no_server(run: Run, service: FakeService, tmp_path: Path, file: str) -> None:
    result = run("check-policy", file, "--offline", "--server", "127.0.0.1:1")
    sound, warning = result.stdout.split("\n", 1)
    assert sound == "Nothing is wrong with the policy, judged offline."
    assert warning.startswith("should be looked at: No privacy model names these sensitive columns: 'diagnosis'.")
    result = run("check-policy", wrong(tmp_path, service), "--offline", "--server", "127.0.0.1:1")
    assert result.exit_code == 2
    assert "source.table" not in result.stderr
    assert "privacy_models[0].k_anonymity.k" in result.stderr
    assert service.requests == []


@pytest.mark.parametrize(("name", "text"), [("missing.yaml", None), ("a.yaml", "a: ["), ("a.txt", "x"), ("a.json", "")])
def test_what_is_no_policy(run: Run, service: FakeService, tmp_path: Path, name: str, text: str | None) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    result = run("submit", str(tmp_path / name), "--request-id", "x")
    assert result.exit_code == 2
    # One fault, not one for every field that was not read.
    assert result.stderr.splitlines()[:2] == ["Invalid (POLICY_INVALID)", "  document"]
    assert service.requests == []


def test_faults_name_the_column_beside_its_position(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("attributes:\n  -\n  - {column: zip, role: XX}\n  - {column: age, role: QUASI_IDENTIFIER}\n")
    lines = run("check-policy", str(file), "--offline").stderr.splitlines()
    assert {"  attributes[1].role  column zip", "  attributes[2].hierarchy  column age"} <= set(lines)
    assert "  attributes[0]" in lines, "which has none"
