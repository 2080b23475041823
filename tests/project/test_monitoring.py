"""The dashboard and the alert rules in deploy/ ask for figures that the server has, with labels that they have."""

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tableveil.runtime import FailureKind
from tableveil.server import ServeSettings, TableveilServer
from tableveil.server.metered import STEPS
from tableveil.state.jobs import JobKind, JobPhase, JobState
from tests.service.endpoint.published import KnownReaders, serving
from tests.service.tls.authorities import Authority

ROOT = Path(__file__).resolve().parents[2]
ALERTS, DASHBOARD = ROOT / "deploy" / "monitoring" / "alerts.yaml", ROOT / "deploy" / "monitoring" / "dashboard.json"


def expressions() -> Iterator[str]:
    for group in yaml.safe_load(ALERTS.read_text())["groups"]:
        yield from (rule["expr"] for rule in group["rules"])
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        yield from (target["expr"] for target in panel["targets"])


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The labels of all figures of a server with a certificate, and of an endpoint, by name."""
    directory = tmp_path_factory.mktemp("monitoring")
    files = Authority(directory / "authority").server()
    settings = ServeSettings(
        directory / "x.duckdb", ("127.0.0.1:0",), threads=1, tls_certificate=files.certificate, tls_key=files.key
    )
    with closing(TableveilServer(settings)) as server:
        # Each kind of figure needs one that was counted.
        server.metrics.call_began()
        server.metrics.call_ended("x", "OK", 0.0)
        server.metrics.call_denied("authentication")
        server.metrics.job_ended(JobKind.RELEASE, JobState.FAILED, {JobPhase.READING: 0.0}, 0)
        server.metrics.publication_ended("shelf", "published")
        _, text = server.metrics.text()
    (directory / "published").mkdir()
    with serving(directory, KnownReaders(), metrics_address="127.0.0.1:0") as endpoint:
        assert endpoint.metrics_address is not None
        with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.metrics_address.port}/metrics", timeout=30) as answer:
            text += answer.read()
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text.decode().replace("# EOF\n", "")):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


def test_all_figures_exist(known: dict[str, set[str]]) -> None:
    asked = {name for text in expressions() for name in re.findall(r"\b(?:tableveil|process)_\w+", text)}
    assert "tableveil_calls_total" in asked
    assert asked <= known.keys()
    # Each one has its row on the page of metrics, and each there exists.
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    listed = set(re.findall(r"^\| `(tableveil_\w+)` \|", page, re.MULTILINE))
    own = {re.sub("_(bucket|sum|count)$", "", name) for name in known if name.startswith("tableveil_")}
    assert listed == own


def test_all_labels_exist(known: dict[str, set[str]]) -> None:
    labels = set().union(*known.values()) | {"job", "instance"}
    values = {"state": {state.value.lower() for state in JobState}, "door": set(STEPS.values()), "code": {"INTERNAL"}}
    for text in expressions():
        for group in re.findall(r"\bby \(([^)]*)\)", text):
            assert set(group.split(", ")) <= labels
        for label, value in re.findall(r'(\w+)=~?"([^"$]+)"', text):
            assert label in labels
            assert value in values.get(label, {"tableveil", "tableveil(-endpoint)?"})
    assert set(STEPS) <= set(FailureKind)


def test_the_dashboard_has_places_for_all_panels() -> None:
    dashboard: dict[str, Any] = json.loads(DASHBOARD.read_text())
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]}
    assert len(places) == len(dashboard["panels"]) == len({panel["id"] for panel in dashboard["panels"]})
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", DASHBOARD.read_text())) <= variables


def test_promtool_accepts_the_rules_and_expressions(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("there is no promtool on this machine")
    panels = tmp_path / "panels.yaml"
    rules = [{"record": f"panel_{number}", "expr": text} for number, text in enumerate(expressions())]
    panels.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    for path in (ALERTS, panels):
        result = subprocess.run(["promtool", "check", "rules", str(path)], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
