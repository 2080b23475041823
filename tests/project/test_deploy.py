"""The files in deploy/ fit the server and each other; `make lint` has tools look at the rest of them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tableveil.cli.endpoint import endpoint
from tableveil.cli.serve import serve
from tableveil.endpoint.query_process import UNCOUNTED

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
UNIT = DEPLOY / "tableveil.service"
ENDPOINT_UNIT = DEPLOY / "tableveil-endpoint.service"
CONFIG = "/etc/tableveil/config.toml"


def understood(arguments: list[str], config: Path) -> dict[str, Any]:
    """The options that `serve` reads from the arguments, with the configuration's installed path replaced."""
    command, *options = (str(config) if argument == CONFIG else argument for argument in arguments)
    assert command == "serve"
    return serve.make_context("serve", options).params


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    return {found["kind"]: found for found in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}


def test_the_example_configuration_under_systemd() -> None:
    (command,) = re.findall(r"^ExecStart=\S+/tableveil (.*)$", UNIT.read_text(), re.MULTILINE)
    settings = understood(shlex.split(command), DEPLOY / "config.toml")
    # Directories that the unit makes.
    assert settings["address"] == ("unix:/run/tableveil/socket",)
    assert settings["database"].parent == Path("/var/lib/tableveil")
    assert settings["backup_directory"] == Path("/var/lib/tableveil/backups")
    assert list(settings["load_directory"]) == ["/var/lib/tableveil/incoming"]
    assert not settings["allow_remote"]


def test_the_service_beside_spark() -> None:
    """Both have one token, and the service finds Spark on the loopback of its container."""
    services = yaml.safe_load((DEPLOY / "compose-spark.yaml").read_text())["services"]
    spark, service = services["spark"], services["tableveil"]
    settings = understood(service["command"], DEPLOY / "config.toml")
    assert settings["warehouse"] == ("lake=sc://localhost:15002",)
    assert service["network_mode"] == "service:spark"
    assert "--conf=spark.connect.grpc.binding.address=127.0.0.1" in spark["command"]
    assert all("${SPARK_TOKEN" in each["environment"]["SPARK_CONNECT_AUTHENTICATE_TOKEN"] for each in services.values())
    assert "--conf=spark.sql.adaptive.enabled=false" in spark["command"]
    assert spark["ports"] == ["127.0.0.1:50651:50651"]


def test_the_container() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    last_stage = text[text.rindex("\nFROM ") :]
    assert re.search(r"^USER 65532:65532$", last_stage, re.MULTILINE)
    # A shell in between would keep SIGTERM to itself.
    assert re.search(r'^ENTRYPOINT \["tableveil"\]$', last_stage, re.MULTILINE)
    (command,) = re.findall(r"^CMD (.*)$", last_stage, re.MULTILINE)
    settings = understood(json.loads(command), DEPLOY / "config.toml")
    assert settings["database"] == Path("/data/tables.duckdb")
    assert settings["address"] == ("0.0.0.0:50651",)
    assert settings["allow_remote"]
    assert settings["plaintext"]


def test_the_pod(manifests: dict[str, Any], tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(manifests["ConfigMap"]["data"]["config.toml"])
    template = manifests["StatefulSet"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    settings = understood(container["args"], config)
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert str(settings["database"].parent) in mounts
    address, socket_file = settings["address"]
    assert str(Path(socket_file.removeprefix("unix:")).parent) in mounts
    port = int(address.rpartition(":")[2])
    ports = {found["name"]: found["containerPort"] for found in container["ports"]}
    # Probes of Kubernetes speak no TLS.
    assert ports == {"grpc": port, "metrics": int(settings["metrics_address"].rpartition(":")[2])}
    for probe, path in (("startupProbe", "/readyz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
    assert not settings["plaintext"]
    assert {str(settings[option].parent) for option in ("tls_certificate", "tls_key")} <= mounts
    # The server refuses a key that everybody may read.
    volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
    assert volumes["tls"]["secret"]["defaultMode"] == 0o440
    assert template["spec"]["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    # Two processes cannot have one file open.
    assert manifests["StatefulSet"]["spec"]["replicas"] == 1
    # Only pods that are named reach the server.
    policy = manifests["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    assert all(rule["from"] for rule in policy["ingress"])


def test_the_endpoint_under_systemd() -> None:
    (command,) = re.findall(r"^ExecStart=\S+/tableveil (.*)$", ENDPOINT_UNIT.read_text(), re.MULTILINE)
    name, *options = shlex.split(command)
    assert options == ["--config", "/etc/tableveil-endpoint/endpoint.toml"]
    settings = endpoint.make_context(name, ["--config", str(DEPLOY / "endpoint.toml")]).params
    # A directory that the unit makes; its memory is enough for all queries.
    assert settings["audit_file"].parent == Path("/var/lib/tableveil-endpoint")
    assert settings["queries"] * settings["query_memory"] * UNCOUNTED <= 4096


def test_the_pod_of_an_endpoint(tmp_path: Path) -> None:
    found = {kind["kind"]: kind for kind in yaml.safe_load_all((DEPLOY / "kubernetes-endpoint.yaml").read_text())}
    config = tmp_path / "endpoint.toml"
    config.write_text(found["ConfigMap"]["data"]["endpoint.toml"])
    pod = found["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    settings = endpoint.make_context("endpoint", ["--config", str(config)]).params
    mounts = {mount["mountPath"]: mount.get("readOnly", False) for mount in container["volumeMounts"]}
    assert mounts["/published"], "an endpoint writes nothing there"
    files = ("token_file", "ca_certificate", "tls_certificate", "tls_key", "audit_file")
    assert {str(settings[option].parent) for option in files} <= mounts.keys()
    (port,) = container["ports"]
    assert settings["address"] == f"0.0.0.0:{port['containerPort']}"
    assert settings["queries"] * settings["query_memory"] * UNCOUNTED <= 4096
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]


@pytest.mark.parametrize("source", [UNIT, ENDPOINT_UNIT])
def test_the_unit(tmp_path: Path, source: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this machine")
    # Neither the program nor its user is there.
    unit = tmp_path / source.name
    text = source.read_text().replace("/opt/tableveil/bin/tableveil", "/bin/true")
    unit.write_text(re.sub(r"^(User|Group)=tableveil.*$", r"\1=root", text, flags=re.MULTILINE))
    result = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
