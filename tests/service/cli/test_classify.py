"""The command `classify`: what it asks for, and how it shows what came out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from google.protobuf import json_format

from tableveil.convert.classifications import classification_to_proto
from tableveil.v1 import classification_service_pb2 as v1
from tableveil.v1 import job_service_pb2
from tests.service.classification_samples import classification
from tests.service.cli.conftest import Run
from tests.service.client.fake_service import FakeService

NAME = "classifications/2"


@pytest.fixture(autouse=True)
def report(service: FakeService) -> v1.ClassificationReport:
    """A job that has made it."""
    service.jobs["jobs/1"] = job_service_pb2.Job(
        name="jobs/1", state=job_service_pb2.JOB_STATE_SUCCEEDED, result=NAME, warnings=["w"]
    )
    found = classification_to_proto(classification())
    found.published = "x_classification"
    service.classifications[NAME] = found
    return found


def asked(service: FakeService) -> dict[str, Any]:
    [request] = [r for r in service.requests if isinstance(r, v1.AssessClassifiersRequest)]
    return json_format.MessageToDict(request.classification, preserving_proto_field_name=True)


def test_what_people_read(run: Run, service: FakeService) -> None:
    result = run("classify", "3", "--class", "ill")
    assert result.exit_code == 0, result.output
    assert asked(service) == {"release": "releases/3", "classes": ["ill"]}
    assert result.stdout.splitlines() == [
        "classifications/2",
        'of         releases/3, from clinic.main.it"s; a table',
        "records    50,000 of 1,099,511,627,776, 12 suppressed",
        'features   age, z"ip',
        "folds      5",
        "published  x_classification",
        "",
        r'i"ll (no, ye\x1bs)',
        "classifier     baseline  original  anonymized   relative  AUC original  AUC anonymized",
        "naive bayes        50 %      75 %      62.5 %       50 %         0.625           0.625",
        "random forest      50 %      50 %        25 %  undefined         0.625           0.625",
        "",
        r"other (no, ye\x1bs)",
        "",
        "",
        "warning: é",
        "warning: w",
    ]
    assert run("show", NAME).stdout == result.stdout
    assert run("show", NAME, "--explain").exit_code == 2


def test_everything_that_can_be_asked(run: Run, service: FakeService) -> None:
    options = [
        *("--class", "ill", "--class", "a,b", "--feature", "age", "--classifier", "random-forest"),
        *("--classifier", "naive-bayes", "--folds", "5", "--seed", "7", "--max-records", "100"),
    ]
    result = run("classify", "releases/3", *options, "--choose-inside-folds", "--publish")
    assert result.exit_code == 0, result.output
    assert asked(service) == {
        "release": "releases/3",
        "classes": ["ill", "a,b"],
        "features": ["age"],
        "classifiers": ["CLASSIFIER_RANDOM_FOREST", "CLASSIFIER_NAIVE_BAYES"],
        "folds": 5,
        "seed": "7",
        "max_records": "100",
        "choose_inside_folds": True,
        "publish": True,
    }


def test_as_json(documents: Callable[..., list[Any]]) -> None:
    found = documents("classify", "3", "--class", "ill")[-1]["classification"]
    comparison = found["assessments"][0]["comparisons"][1]
    assert comparison["classifier"] == "CLASSIFIER_RANDOM_FOREST"
    assert "relative_accuracy" not in comparison


def test_the_page(run: Run, service: FakeService, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run("classify", "3", "--class", "ill", "--html", str(path)).exit_code == 0
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    svg = "{http://www.w3.org/2000/svg}"
    charts = list(root.iter(f"{svg}svg"))
    # Bars for each class column, curves for the one with classifiers.
    titles = [chart.findtext(f"{svg}title", "").partition(":")[0] for chart in charts]
    assert titles == ['Accuracy in telling i"ll', 'i"ll', "Accuracy in telling other"]
    cells = {found.text for kind in ("th", "td") for found in root.iter(kind)}
    assert {"naive bayes", "0.7500", "undefined", "1,099,511,627,776"} <= cells
    service.requests.clear()
    assert run("classify", "3", "--class", "ill", "--html", str(path)).exit_code != 0
    assert service.requests == []


@pytest.mark.parametrize(
    "arguments", [("3",), ("frontiers/3", "--class", "ill"), ("3", "--class", "ill", "--classifier", "oracle")]
)
def test_what_is_refused(run: Run, service: FakeService, arguments: tuple[str, ...]) -> None:
    assert run("classify", *arguments).exit_code == 2
    assert service.requests == []
