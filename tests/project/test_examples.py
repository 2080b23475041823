"""The clients in other languages call what the protos have, so that they do not rot where nothing compiles them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor

from tableveil.v1 import faults_pb2, job_service_pb2, policy_pb2, release_service_pb2

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CLIENTS = [EXAMPLES / name for name in ("node/client.mjs", "go/client.go", "java/Client.java", "csharp/Client.cs")]
MOST_LINES, MOST_STATEMENTS = 95, 46

METHODS = {
    **job_service_pb2.DESCRIPTOR.services_by_name["JobService"].methods_by_name,
    **release_service_pb2.DESCRIPTOR.services_by_name["ReleaseService"].methods_by_name,
}
CALLED = ["SubmitJob", "WatchJob", "ReadObject"]
# The message of each variable.
VARIABLES: dict[str, Descriptor] = {
    "job": job_service_pb2.Job.DESCRIPTOR,
    "change": job_service_pb2.WatchJobResponse.DESCRIPTOR,
    "piece": release_service_pb2.ReadObjectResponse.DESCRIPTOR,
    "policy": policy_pb2.Policy.DESCRIPTOR,
    "failure": faults_pb2.Failure.DESCRIPTOR,
    "fault": faults_pb2.Fault.DESCRIPTOR,
}


def code(path: Path) -> str:
    """The text without comments."""
    return re.sub(r"^\s*(//|/\*).*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def statements(path: Path) -> list[str]:
    """The lines with something of their own: no imports, comments, blank lines and brackets that close."""
    text = re.sub(r"^import \(.*?^\)$", "", code(path), flags=re.DOTALL | re.MULTILINE)
    idle = re.compile(r"(import |package |using [A-Z][\w.]+;).*|[)}\]{;\s]*")
    return [line for line in text.splitlines() if not idle.fullmatch(line.strip())]


def field(name: str) -> str:
    """The proto's name for a field, a getter, or a setter: `arrow_ipc` for `getArrowIpc` and `ArrowIpc`."""
    plain = re.sub(r"^(get|set|has)(?=[A-Z])|(List|Count)$", "", name)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain).lower()


def test_every_client_is_here() -> None:
    found = [path for path in EXAMPLES.rglob("*lient.*") if "node_modules" not in path.parts]
    assert sorted(found) == sorted(CLIENTS)


@pytest.mark.parametrize("path", CLIENTS, ids=lambda path: path.parent.name)
def test_a_client_is_short_and_calls_methods_that_are_there(path: Path) -> None:
    text = code(path)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    assert len(statements(path)) <= MOST_STATEMENTS
    for method in CALLED:
        assert method in METHODS
        assert re.search(rf"\.{method}\(", text, re.IGNORECASE)


@pytest.mark.parametrize("path", CLIENTS[1:], ids=lambda path: path.parent.name)
def test_a_client_uses_fields_that_are_there(path: Path) -> None:
    text = code(path)
    for method in CALLED:
        # Its request as a literal or by a builder.
        request = METHODS[method].input_type
        [literal] = re.findall(rf"{request.name}(?:\s*\{{(.*?)\}}|\.newBuilder\(\)(.*?)\.build)", text, re.DOTALL)
        keys = re.findall(r"(\w+)(?: =|:)", literal[0]) + re.findall(r"\.(set\w+)\(", literal[1])
        assert keys
        assert {*map(field, keys)} <= {*request.fields_by_name}
    for variable, message in VARIABLES.items():
        used = {field(name) for name in re.findall(rf"\b{variable}\.(\w+)", text)}
        assert used <= {*message.fields_by_name}, variable
    faults = {field(name) for name in re.findall(r"\bfault\.(\w+)", text)}
    assert faults == {*faults_pb2.Fault.DESCRIPTOR.fields_by_name}
    assert re.search(r"JOB_STATE_SUCCEEDED|JobState\.Succeeded", text)


def service_config(text: str) -> Any:
    """The service config in JSON that a text has."""
    start = text.index('{"methodConfig"')
    config, _ = json.JSONDecoder().raw_decode(text[start:])
    return config


def test_clients_retry_as_the_docs_say() -> None:
    documented = service_config((ROOT / "docs" / "reference" / "grpc.md").read_text(encoding="utf-8"))
    *with_json, csharp = CLIENTS
    for path in with_json:
        assert service_config(path.read_text(encoding="utf-8")) == documented
    policy = documented["methodConfig"][0]["retryPolicy"]
    text = code(csharp)
    assert f"MaxAttempts = {policy['maxAttempts']}" in text
    assert f"BackoffMultiplier = {policy['backoffMultiplier']}" in text
    for name in ("initialBackoff", "maxBackoff"):
        seconds = policy[name].removesuffix("s")
        assert f"{name[0].upper()}{name[1:]} = TimeSpan.FromSeconds({seconds})" in text
    statuses = re.search(r"RetryableStatusCodes = \{(.*?)\}", text)
    assert statuses
    named = {field(name).upper() for name in re.findall(r"StatusCode\.(\w+)", statuses[1])}
    assert named == {*policy["retryableStatusCodes"]}
