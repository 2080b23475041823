"""The files in deploy/ fit the commands and each other; `make lint` has tools look at the rest of them."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tableveil.cli.backup import backup
from tableveil.cli.endpoint import endpoint
from tableveil.cli.serve import serve
from tableveil.endpoint.query_process import UNCOUNTED
from tests.project.rendered import Manifest, rendered

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
SYSTEMD, COMPOSE, KUBERNETES = DEPLOY / "systemd", DEPLOY / "compose", DEPLOY / "kubernetes"
UNITS = sorted(SYSTEMD.glob("*.service")) + sorted(SYSTEMD.glob("*.timer"))
CONFIG = "/etc/tableveil/config.toml"

Options = dict[str, Any]


def understood(arguments: list[str], configs: dict[str, Path]) -> Options:
    """The options that a command reads from its arguments; `configs` has files by the paths that they will have."""
    commands = {"serve": serve, "endpoint": endpoint, "backup": backup}
    name, *options = (str(configs.get(argument, argument)) for argument in arguments)
    return commands[name].make_context(name, options).params


def published(options: Options) -> list[str]:
    """The directories that a service publishes into."""
    return [declaration.partition("=directory:")[2] for declaration in options["publish"]]


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


# Under systemd


def started_by(unit: str) -> list[str]:
    (command,) = re.findall(r"^ExecStart=\S+/tableveil (.*)$", (SYSTEMD / unit).read_text(), re.MULTILINE)
    return shlex.split(command)


def directories_that(unit: str) -> set[str]:
    """The directories that a unit makes or may write."""
    text = (SYSTEMD / unit).read_text()
    made = " ".join(re.findall(r"^StateDirectory=(.*)$", text, re.MULTILINE)).split()
    return {f"/var/lib/{name}" for name in made} | set(
        " ".join(re.findall(r"^ReadWritePaths=(.*)$", text, re.MULTILINE)).split()
    )


@pytest.fixture(scope="module")
def units() -> dict[str, Options]:
    """The options of the commands that the units start."""
    configs = {CONFIG: SYSTEMD / "config.toml", "/etc/tableveil-endpoint/endpoint.toml": SYSTEMD / "endpoint.toml"}
    return {unit.name: understood(started_by(unit.name), configs) for unit in UNITS if unit.suffix == ".service"}


def test_the_units_fit_each_other(units: dict[str, Options]) -> None:
    service, flight = units["tableveil.service"], units["tableveil-endpoint.service"]
    writable = directories_that("tableveil.service")
    own = [service["database"].parent, service["backup_directory"], *service["load_directory"], *published(service)]
    assert {str(directory) for directory in own} <= writable
    assert not service["allow_remote"]
    assert flight["service"] in service["address"]
    assert str(flight["published"]) in published(service)
    assert str(flight["audit_file"].parent) in directories_that("tableveil-endpoint.service")
    assert flight["queries"] * flight["query_memory"] * UNCOUNTED <= 4096
    made = units["tableveil-backup.service"]
    assert made["keep"] >= 1
    # The command line's own options are taken by its wrapper.
    arguments = started_by("tableveil-backup.service")
    assert arguments[arguments.index("--server") + 1] in service["address"]
    assert Path(arguments[arguments.index("--token-file") + 1]).parent == service["database"].parent
    assert (SYSTEMD / "tableveil-backup.timer").exists()


@pytest.mark.parametrize("source", UNITS, ids=lambda unit: unit.name)
def test_the_unit(tmp_path: Path, source: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this machine")
    # Neither the program nor its user is there.
    for each in UNITS:
        text = each.read_text().replace("/opt/tableveil/bin/tableveil", "/bin/true")
        (tmp_path / each.name).write_text(re.sub(r"^(User|Group)=tableveil.*$", r"\1=root", text, flags=re.MULTILINE))
    command = ["systemd-analyze", "verify", str(tmp_path / source.name)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


# In containers


def image_configuration() -> str:
    """The file that the image has as its configuration."""
    copied: str
    (copied,) = re.findall(rf"^COPY deploy/(\S+) {CONFIG}$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert f"!deploy/{copied}\n" in (DEPLOY / "Dockerfile.dockerignore").read_text()
    return copied


def test_the_image() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    last_stage = text[text.rindex("\nFROM ") :]
    assert re.search(r"^USER 65532:65532$", last_stage, re.MULTILINE)
    # A shell in between would keep SIGTERM to itself.
    assert re.search(r'^ENTRYPOINT \["tableveil"\]$', last_stage, re.MULTILINE)
    (command,) = re.findall(r"^CMD (.*)$", last_stage, re.MULTILINE)
    settings = understood(json.loads(command), {CONFIG: DEPLOY / image_configuration()})
    (volumes,) = re.findall(r"^VOLUME (.*)$", last_stage, re.MULTILINE)
    (made,) = re.findall(r"install --directory .*65532 (/.*)$", last_stage, re.MULTILINE)
    places = [settings["database"].parent, settings["backup_directory"], *published(settings)]
    assert set(map(str, places)) == set(json.loads(volumes))
    assert {*map(str, places), *settings["load_directory"]} == set(made.split())
    (asked,) = re.findall(r"^HEALTHCHECK .* CMD (.*)$", last_stage, re.MULTILINE)
    assert json.loads(asked)[-1] in settings["address"]


def test_the_containers_fit_each_other() -> None:
    text = (COMPOSE / "compose.yaml").read_text()
    project = yaml.safe_load(text)
    containers = project["services"]
    assert image_configuration() == "compose/config.toml"
    configs = {CONFIG: COMPOSE / "config.toml", "/etc/tableveil-endpoint/endpoint.toml": COMPOSE / "endpoint.toml"}
    service = understood(containers["tableveil"]["command"], configs)
    flight = understood(containers["endpoint"]["command"], configs)
    host, _, port = flight["service"].partition(":")
    assert host in containers
    assert f"0.0.0.0:{port}" in service["address"]
    (shell,) = containers["backup"]["command"]
    assert f"--server {flight['service']} " in shell
    for name, container in containers.items():
        mounts = [mount.split(":") for mount in container["volumes"]] if "volumes" in container else []
        for source, *_ in mounts:
            assert source in project["volumes"] or (COMPOSE / source).exists(), f"{source} of {name}"
        for secret in container.get("secrets", []):
            # One of the commands at the top writes it.
            file = project["secrets"][secret]["file"].removeprefix("./")
            assert f"| sudo install -m 0400 -o 65532 /dev/stdin deploy/compose/{file}\n" in text
            ignored = ["git", "check-ignore", "--no-index", "--quiet", f"deploy/compose/{file}"]
            assert subprocess.run(ignored, cwd=DEPLOY.parent, check=False).returncode == 0
        assert set(container.get("depends_on", {})) <= containers.keys()
        assert all(mapping.startswith("127.0.0.1:") for mapping in container.get("ports", []))
    places = {
        name: {mount.split(":")[1]: mount.split(":")[0] for mount in containers[name]["volumes"]} for name in containers
        if "volumes" in containers[name]
    }  # fmt: skip
    (shelf,) = published(service)
    assert places["tableveil"][shelf] == places["endpoint"][str(flight["published"])]
    assert places["tableveil"][str(service["backup_directory"])] != places["tableveil"]["/data"]
    assert str(flight["audit_file"].parent) in places["endpoint"]
    assert Path(flight["token_file"]).name in containers["endpoint"]["secrets"]
    scraped = yaml.safe_load((DEPLOY / "monitoring" / "compose.yaml").read_text())
    for job, options in zip(scraped["scrape_configs"], (service, flight), strict=True):
        (figures,) = job["static_configs"][0]["targets"]
        assert figures.partition(":")[0] in containers
        assert port_of(options["metrics_address"]) == port_of(figures)
    assert all((DEPLOY / "monitoring" / name).exists() for name in scraped["rule_files"])


def test_the_service_beside_spark() -> None:
    """Both have one token, and the service finds Spark on the loopback of its container."""
    services = yaml.safe_load((COMPOSE / "spark.yaml").read_text())["services"]
    spark, service = services["spark"], services["tableveil"]
    settings = understood(service["command"], {CONFIG: COMPOSE / "config.toml"})
    assert settings["warehouse"] == ("lake=sc://localhost:15002",)
    assert service["network_mode"] == "service:spark"
    assert "--conf=spark.connect.grpc.binding.address=127.0.0.1" in spark["command"]
    assert all("${SPARK_TOKEN" in each["environment"]["SPARK_CONNECT_AUTHENTICATE_TOKEN"] for each in services.values())
    assert "--conf=spark.sql.adaptive.enabled=false" in spark["command"]
    assert spark["ports"] == ["127.0.0.1:50651:50651"]


# On Kubernetes


@pytest.fixture(scope="module")
def manifests() -> dict[tuple[str, str], Manifest]:
    """All that one `kubectl apply --kustomize` makes, by kind and name."""
    return {(one["kind"], one["metadata"]["name"]): one for one in rendered(KUBERNETES)}


@pytest.fixture(scope="module")
def secrets() -> dict[str, set[str]]:
    """The secrets that the commands in the kustomization make, with their files."""
    made: dict[str, set[str]] = {}
    for kind, name, rest in re.findall(
        r"kubectl create secret (\w+) (\S+) (.*)", (KUBERNETES / "kustomization.yaml").read_text()
    ):
        made[name] = {"tls.crt", "tls.key"} if kind == "tls" else set(re.findall(r"--from-file=(\S+)", rest))
    return made


def pods(manifests: dict[tuple[str, str], Manifest]) -> dict[str, Manifest]:
    """The templates of all pods, by the name of what makes them."""
    made = {}
    for (kind, name), manifest in manifests.items():
        if kind == "StatefulSet":
            made[name] = manifest["spec"]["template"]
        elif kind == "CronJob":
            made[name] = manifest["spec"]["jobTemplate"]["spec"]["template"]
    return made


def options_of(name: str, manifests: dict[tuple[str, str], Manifest]) -> Options:
    """The options of the command that a pod runs."""
    (container,) = pods(manifests)[name]["spec"]["containers"]
    files = {
        "tableveil": {CONFIG: KUBERNETES / "config.toml"},
        "tableveil-endpoint": {"/etc/tableveil-endpoint/endpoint.toml": KUBERNETES / "endpoint.toml"},
    }
    return understood(container["args"], files.get(name, {}))


def test_kubectl_makes_the_same(manifests: dict[tuple[str, str], Manifest]) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl on this machine")
    command = ["kubectl", "kustomize", str(KUBERNETES)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    made = [(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(text)]
    assert {(kind, re.sub("-[a-z0-9]{10}$", "", name) if kind == "ConfigMap" else name) for kind, name in made} == set(
        manifests
    )


def test_what_the_service_calls_is_opened() -> None:
    outgoing = DEPLOY / "kubernetes-outgoing"
    options = understood(["serve", "--config", CONFIG], {CONFIG: outgoing / "config.toml"})
    targets = [declaration.partition("=")[2] for declaration in options["publish"]]
    called = [urlsplit(url) for url in (*targets, options["oidc_issuer"]) if "://" in url]
    assert len(called) == 2
    policy = yaml.safe_load((outgoing / "network.yaml").read_text())["spec"]
    own = yaml.safe_load_all((KUBERNETES / "service.yaml").read_text())
    (closed,) = (one["spec"] for one in own if one["kind"] == "NetworkPolicy")
    assert policy["podSelector"] == closed["podSelector"]
    names, ports = policy["egress"]
    assert names["ports"] == [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
    of_schemes = {"postgresql": 5432, "https": 443}
    assert {each["port"] for each in ports["ports"]} == {url.port or of_schemes[url.scheme] for url in called}
    # Where nothing is called, nothing is open; all else of the configuration is the same.
    assert closed["egress"] == []
    below = understood(["serve", "--config", CONFIG], {CONFIG: KUBERNETES / "config.toml"})
    changed = {name for name in options if options[name] != below[name]}
    assert changed == {"publish", "oidc_issuer", "oidc_audience"}
    assert all("://" not in declaration for declaration in below["publish"])
    assert below["oidc_issuer"] is None


def test_kubectl_makes_the_outgoing_service() -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl on this machine")
    command = ["kubectl", "kustomize", str(DEPLOY / "kubernetes-outgoing")]
    made = list(yaml.safe_load_all(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert {one["metadata"]["name"] for one in made if one["kind"] == "NetworkPolicy"} >= {
        "tableveil",
        "tableveil-outgoing",
    }
    (service,) = (one for one in made if one["kind"] == "StatefulSet" and one["metadata"]["name"] == "tableveil")
    (variable,) = service["spec"]["template"]["spec"]["containers"][0]["env"]
    secret = variable["valueFrom"]["secretKeyRef"]
    stated = (DEPLOY / "kubernetes-outgoing" / "kustomization.yaml").read_text()
    assert f"secret generic {secret['name']} --from-file={secret['key']}\n" in stated


def test_every_volume_is_provided(manifests: dict[tuple[str, str], Manifest], secrets: dict[str, set[str]]) -> None:
    used = set()
    for (kind, name), manifest in manifests.items():
        if kind not in ("StatefulSet", "CronJob"):
            continue
        pod = pods(manifests)[name]["spec"]
        own = {template["metadata"]["name"] for template in manifest["spec"].get("volumeClaimTemplates", [])}
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounted = {
            mount["name"]
            for container in (*pod["containers"], *pod.get("initContainers", []))
            for mount in container["volumeMounts"]
        }
        assert mounted == own | volumes.keys()
        for volume in volumes.values():
            if claim := volume.get("persistentVolumeClaim"):
                assert ("PersistentVolumeClaim", claim["claimName"]) in manifests
            elif config := volume.get("configMap"):
                assert ("ConfigMap", config["name"]) in manifests
            elif secret := volume.get("secret"):
                assert secret["secretName"] in secrets
                used.add(secret["secretName"])
                # The server refuses a key that everybody may read.
                assert secret["defaultMode"] == 0o440
            else:
                assert "emptyDir" in volume
    assert used == secrets.keys()


FILES = ("tls_certificate", "tls_key", "token_file", "ca_certificate")
PLACES = ("database", "audit_file", "backup_directory")


@pytest.mark.parametrize("name", ["tableveil", "tableveil-endpoint", "tableveil-backup"])
def test_every_path_is_provided(
    name: str, manifests: dict[tuple[str, str], Manifest], secrets: dict[str, set[str]]
) -> None:
    """A file is one of a secret that is mounted there; what is written lies on a volume."""
    pod = pods(manifests)[name]["spec"]
    (container,) = pod["containers"]
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    options = options_of(name, manifests)
    arguments = dict(argument[2:].split("=") for argument in container["args"] if argument.count("=") == 1)
    for option in FILES:
        if (path := options.get(option) or arguments.get(option.replace("_", "-"))) is not None:
            volume = volumes[mounts[str(Path(path).parent)]["name"]]
            assert Path(path).name in secrets[volume["secret"]["secretName"]]
    for option in PLACES:
        if options.get(option):
            place = Path(options[option])
            assert {str(place), str(place.parent)} & mounts.keys()
    for shelf in published(options) if "publish" in options else []:
        assert not mounts[shelf].get("readOnly")
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]


def test_the_pods_reach_each_other(manifests: dict[tuple[str, str], Manifest]) -> None:
    service, flight = options_of("tableveil", manifests), options_of("tableveil-endpoint", manifests)
    templates = pods(manifests)
    (container,) = templates["tableveil"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    address, socket_file = service["address"]
    assert ports == {"grpc": port_of(address), "metrics": port_of(service["metrics_address"])}
    assert str(Path(socket_file.removeprefix("unix:")).parent) in {
        one["mountPath"] for one in container["volumeMounts"]
    }
    # Probes of Kubernetes speak no TLS.
    for probe, path in (("startupProbe", "/readyz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
    backup_arguments = templates["tableveil-backup"]["spec"]["containers"][0]["args"]
    called = {flight["service"], *(one[9:] for one in backup_arguments if one.startswith("--server="))}
    assert len(called) == 1
    (name, _, port) = called.pop().partition(":")
    provided = manifests["Service", name]["spec"]
    (target,) = (one["targetPort"] for one in provided["ports"] if one["port"] == int(port))
    assert ports[target] == int(port)
    labels = {pod: template["metadata"]["labels"] for pod, template in templates.items()}
    assert provided["selector"].items() <= labels["tableveil"].items()
    # The service lets them in, and they may go there.
    policy = manifests["NetworkPolicy", "tableveil"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= labels["tableveil"].items()
    assert all(rule["from"] for rule in policy["ingress"])
    allowed = policy["ingress"][0]["from"][0]["podSelector"]["matchLabels"].items()
    for pod in ("tableveil-endpoint", "tableveil-backup"):
        assert allowed <= labels[pod].items()
        egress = manifests["NetworkPolicy", pod]["spec"]["egress"][0]
        assert egress["to"][0]["podSelector"]["matchLabels"].items() <= labels["tableveil"].items()
        assert egress["ports"] == [{"port": int(port)}]


def test_what_the_pods_share(manifests: dict[tuple[str, str], Manifest]) -> None:
    service, flight = options_of("tableveil", manifests), options_of("tableveil-endpoint", manifests)

    def claim(pod: str, path: str) -> tuple[str, bool]:
        spec = pods(manifests)[pod]["spec"]
        (mount,) = (one for one in spec["containers"][0]["volumeMounts"] if one["mountPath"] == path)
        (volume,) = (one for one in spec["volumes"] if one["name"] == mount["name"])
        return volume["persistentVolumeClaim"]["claimName"], mount.get("readOnly", False)

    (shelf,) = published(service)
    written, read = claim("tableveil", shelf), claim("tableveil-endpoint", str(flight["published"]))
    assert (written[0], written[1], read[1]) == (read[0], False, True)
    assert claim("tableveil", str(service["backup_directory"]))[0] != written[0]
    # Two processes cannot have one file open.
    assert manifests["StatefulSet", "tableveil"]["spec"]["replicas"] == 1
    (container,) = pods(manifests)["tableveil-endpoint"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"flight": port_of(flight["address"]), "metrics": port_of(flight["metrics_address"])}
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
    assert flight["queries"] * flight["query_memory"] * UNCOUNTED <= 4096
    images = {container["image"] for pod in pods(manifests).values() for container in pod["spec"]["containers"]}
    assert images == {yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]["tableveil"]["image"]}


def test_monitoring_finds_the_pods(manifests: dict[tuple[str, str], Manifest]) -> None:
    scraped = yaml.safe_load(manifests["ConfigMap", "tableveil-prometheus"]["data"]["kubernetes.yaml"])
    app, named, *_ = scraped["scrape_configs"][0]["relabel_configs"]
    assert re.fullmatch(app["regex"], pods(manifests)["tableveil"]["metadata"]["labels"]["app.kubernetes.io/name"])
    for name in ("tableveil", "tableveil-endpoint"):
        (container,) = pods(manifests)[name]["spec"]["containers"]
        assert named["regex"] in {port["name"] for port in container["ports"]}


def test_alerts_link_to_the_runbook() -> None:
    page = (DEPLOY.parent / "docs" / "guides" / "operator.md").read_text()
    for group in yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["annotations"]["runbook_url"].endswith(f"/docs/guides/operator.md#{rule['alert'].lower()}")
            assert f"\n#### {rule['alert']}\n" in page
