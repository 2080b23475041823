"""The clients in other languages, run where these are installed: rows, the faults of a policy, a wrong token."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from google.api import field_behavior_pb2
from google.protobuf import json_format

from tableveil.client import Client
from tests import authenticated
from tests.e2e import samples
from tests.e2e.process import Serve

ROOT = Path(__file__).parents[2]
EXAMPLES, PROTOS = ROOT / "examples", ROOT / "proto"
ANNOTATIONS = Path(field_behavior_pb2.__file__).parents[2]
NODE_MODULES = EXAMPLES / "node" / "node_modules" / "apache-arrow"
GO = Path("/usr/share/gocode")
JARS = Path("/usr/share/java")
NETTY = [
    f"netty-{part}"
    for part in ["buffer", "codec", "codec-http", "codec-http2", "common", "handler", "resolver", "transport"]
]
GRPC = [f"grpc-{part}" for part in ["api", "context", "core", "netty", "protobuf", "protobuf-lite", "stub"]]
OTHERS = [
    "geronimo-annotation-1.3-spec",
    "gson",
    "guava",
    "opencensus-api",
    "perfmark-api",
    "proto-google-common-protos",
]
CLASS_PATH = [JARS / f"{name}.jar" for name in (*NETTY, *GRPC, *OTHERS, "protobuf", "protobuf-util")]
SECONDS = 600

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Command = Sequence[str | Path]


def done(*command: str | Path, folder: Path, environment: Mapping[str, str] | None = None) -> None:
    known = {**os.environ, **(environment or {})}
    run = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stderr


def node(_: Path) -> Command:
    if shutil.which("node") is None or not NODE_MODULES.is_dir():
        pytest.skip("needs Node.js, and `npm ci` in examples/node")
    return ["node", EXAMPLES / "node" / "client.mjs"]


def go(folder: Path) -> Command:
    """The client and all stubs, built with the packages that Debian has for Go."""
    programs = ("go", "protoc-gen-go", "protoc-gen-go-grpc")
    if not (all(map(shutil.which, programs)) and (GO / "src/google.golang.org/protobuf").is_dir()):
        pytest.skip("needs Go, its two plugins of protoc, golang-google-grpc-dev and golang-google-protobuf-dev")
    source, client = folder / "src", folder / "src" / "client"
    client.mkdir(parents=True)
    protoc: Command = [sys.executable, "-m", "grpc_tools.protoc", "-I", ".", "-I", ANNOTATIONS]
    files = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.glob("tableveil/v1/*.proto"))
    done(*protoc, f"--go_out={source}", f"--go-grpc_out={source}", *files, folder=PROTOS)
    text = (EXAMPLES / "go" / "client.go").read_text(encoding="utf-8")
    # Debian's gRPC is older than these names.
    text = text.replace("grpc.NewClient(", "grpc.Dial(")
    text = text.replace("credentials/insecure", "credentials/local").replace("insecure.New", "local.New")
    (client / "client.go").write_text(text, encoding="utf-8")
    environment = {"GOPATH": f"{folder}:{GO}", "GO111MODULE": "off", "GOFLAGS": ""}
    done("go", "build", "-o", folder / "run", "client", folder=folder, environment=environment)
    return [folder / "run"]


def java(folder: Path) -> Command:
    """The client and the stubs that it needs, compiled with the libraries that Debian has for Java."""
    programs = ("javac", "protoc", "grpc_java_plugin")
    if not all(map(shutil.which, programs)) or not all(path.exists() for path in CLASS_PATH):
        pytest.skip("needs a JDK, protobuf-compiler-grpc-java-plugin, libgrpc-java and what these need to run")
    protos, source = folder / "protos", folder / "source"
    for place in (protos / "tableveil" / "v1", source):
        place.mkdir(parents=True)
    for path in PROTOS.glob("tableveil/v1/*.proto"):
        # Debian's protoc is older than this option.
        text = path.read_text(encoding="utf-8").replace("debug_redact = true, ", "")
        (protos / path.relative_to(PROTOS)).write_text(text, encoding="utf-8")
    needed = [f"tableveil/v1/{name}.proto" for name in ["access", "faults", "job_service", "policy", "release_service"]]
    plugin = f"--plugin=protoc-gen-grpc-java={shutil.which('grpc_java_plugin')}"
    protoc: Command = ["protoc", "-I", ".", "-I", ANNOTATIONS, plugin]
    done(*protoc, f"--java_out={source}", f"--grpc-java_out={source}", *needed, folder=protos)
    class_path = ":".join(map(str, (folder, *CLASS_PATH)))
    client = EXAMPLES / "java" / "Client.java"
    done("javac", "-proc:none", "-cp", class_path, "-d", folder, client, *source.rglob("*.java"), folder=folder)
    return ["java", "-cp", class_path, "Client"]


LANGUAGES = [node, *(pytest.param(each, marks=pytest.mark.long) for each in (go, java))]


@pytest.fixture(scope="module", params=LANGUAGES, ids=lambda each: each.__name__)
def run(request: pytest.FixtureRequest, serve_all_along: Serve, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a client with a policy, and with another token than the server's if there is one."""
    folder: Path = tmp_path_factory.mktemp(request.param.__name__)
    command: Command = request.param(folder)
    samples.create(folder / "clinic.duckdb", people=samples.PEOPLE)
    server = serve_all_along(folder / "clinic.duckdb")

    def run(
        policy: samples.Document, name: str, token: str = authenticated.TOKEN
    ) -> subprocess.CompletedProcess[bytes]:
        file = folder / "policy.json"
        file.write_text(
            json_format.MessageToJson(samples.message(policy), preserving_proto_field_name=True), encoding="utf-8"
        )
        environment = {**os.environ, "TABLEVEIL_SERVER": server.address, "TABLEVEIL_TOKEN": token}
        return subprocess.run(
            [*command, file, name], env=environment, capture_output=True, timeout=SECONDS, check=False
        )

    run.__dict__["address"] = server.address
    return run


def test_it_reads_the_rows_that_a_policy_releases(run: Run) -> None:
    first = run(samples.policy(), "nightly")
    assert first.returncode == 0, first.stderr
    again = run(samples.policy(), "nightly")
    assert (again.returncode, again.stdout) == (0, first.stdout), "the same name is the same job"
    with Client(vars(run)["address"]) as client:
        rows = client.read("1", into="arrow")
        assert len(list(client.list_jobs())) == 1
    assert rows.num_rows == samples.ROWS
    if first.stdout.startswith(b"{"):
        assert first.stdout.decode().count('"diagnosis": "A01"') == rows["diagnosis"].to_pylist().count("A01")
        assert len(first.stdout.splitlines()) == rows.num_rows
    else:
        assert pa.ipc.open_stream(first.stdout).read_all().equals(rows)


@pytest.mark.long
def test_it_tells_the_faults_of_a_policy_by_their_fields(run: Run) -> None:
    policy = samples.policy(suppression_limit="2")
    policy["attributes"][2]["hierarchy"]["intervals"]["widths"] = ["10", "5"]
    refused = run(policy, "faulty")
    assert refused.returncode == 1
    assert b"POLICY_INVALID" in refused.stderr
    assert b"  attributes[2].hierarchy.intervals.widths[1] (column age): found '5'; expected " in refused.stderr
    assert b"  suppression_limit: found 2; expected " in refused.stderr


@pytest.mark.long
def test_it_tells_why_a_job_failed(run: Run) -> None:
    models = [{"k_anonymity": {"k": samples.ROWS + 1}}]
    policy = samples.policy(target="none", privacy_models=models, repeat_reason="for fewer readers")
    failed = run(policy, "infeasible")
    assert failed.returncode == 1
    assert b"TOO_FEW_RECORDS" in failed.stderr


@pytest.mark.long
def test_it_tells_that_it_is_not_known(run: Run) -> None:
    refused = run(samples.policy(), "unknown", token="tvl_wrong")
    assert refused.returncode == 1
    assert b"UNAUTHENTICATED" in refused.stderr
