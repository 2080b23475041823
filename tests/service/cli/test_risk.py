"""The command `risk`: what it asks for, and how it shows what came out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.protobuf import json_format

from tableveil.v1 import job_service_pb2, risk_service_pb2
from tests.file_modes import open_to_others
from tests.service.cli.conftest import Run
from tests.service.client.fake_service import FakeService

NAME = "riskAnalyses/3"


def measure(model: str, name: str, value: float | None, threshold: str = "") -> risk_service_pb2.RiskMeasure:
    return risk_service_pb2.RiskMeasure(model=model, measure=name, threshold=threshold, value=value)


def subset(columns: list[str], distinction: float, alone: int = 0) -> risk_service_pb2.AttributeRisk:
    return risk_service_pb2.AttributeRisk(
        columns=columns, distinction=distinction, separation=0.75, unique_records=alone, minimal_unique_records=alone
    )


@pytest.fixture(autouse=True)
def analysis(service: FakeService) -> risk_service_pb2.RiskAnalysis:
    """A job that has computed it."""
    service.jobs["jobs/1"] = job_service_pb2.Job(
        name="jobs/1", state=job_service_pb2.JOB_STATE_SUCCEEDED, result=NAME, warnings=["Take care."]
    )
    found = risk_service_pb2.RiskAnalysis(
        name=NAME,
        records=20_000,
        classes=11_000,
        population_size=1_000_000,
        quasi_identifiers=["age", "z\x1bip"],
        measures=[
            measure("prosecutor", "highest_risk", 1.0),
            measure("prosecutor", "average_risk", 0.55),
            measure("prosecutor", "records_above_threshold", 15_000, "0.2"),
            measure("journalist", "highest_risk", 0.25),
            measure("journalist", "average_risk", 0.01),
            measure("journalist", "records_above_threshold", 3, "0.2"),
            measure("marketer", "success_rate", 0.01),
            measure("sample", "unique_records", 4000),
            measure("sample", "uniqueness", 0.2),
            measure("population (pitman)", "uniqueness", None),
            measure("population (snb)", "uniqueness", 0.001),
            measure("population (snb)", "classes", 900_000),
            measure("population (dankar: snb)", "uniqueness", 0.001),
            measure("special uniques", "records", 12),
            measure("special uniques", "highest_score", 42),
            measure("special uniques", "minimal_uniques_of_1", 2),
            measure("special uniques", "minimal_uniques_of_2", 10),
            measure("special uniques", "correct_match_probability", 0.125),
        ],
        attribute_risks=[subset(["age"], 0.005), subset(["z\x1bip"], 0.05, 2), subset(["age", "z\x1bip"], 0.55, 4000)],
        proposals=[risk_service_pb2.ProposedQuasiIdentifiers(columns=["age", "z\x1bip"], distinction=0.55)],
        warnings=["Take care."],
    )
    found.source.schema, found.source.table = "main", "people"
    service.risk_analyses[NAME] = found
    return found


def asked(service: FakeService) -> dict[str, Any]:
    [request] = [r for r in service.requests if isinstance(r, risk_service_pb2.SubmitRiskAnalysisRequest)]
    return json_format.MessageToDict(request.risk, preserving_proto_field_name=True)


def test_what_people_read(run: Run, service: FakeService) -> None:
    result = run("risk", "people", "--quasi-identifiers", "age,zip")
    assert result.exit_code == 0, result.output
    assert asked(service) == {"table": {"table": "people"}, "quasi_identifiers": ["age", "zip"]}
    assert result.stdout.splitlines() == [
        "riskAnalyses/3",
        "of          main.people, 20,000 records",
        r"columns     age, z\x1bip",
        "distinct    11,000 combinations of values",
        "population  1,000,000 people",
        "",
        "Risk of being recognized",
        "adversary   highest  found on average  records > 0.2",
        "prosecutor   1.0000              55 %         15,000",
        "journalist   0.2500               1 %              3",
        "marketer                          1 %",
        "",
        "Alone with their values",
        "records                   4,000, 20 %",
        "population (pitman)       no estimate",
        "population (snb)          0.1 %",
        "population (dankar: snb)  0.1 %",
        "",
        "Columns that tell people apart",
        "columns       distinct  pairs apart  alone  not with fewer  identifies",
        r"z\x1bip            5 %         75 %      2               2",
        "age              0.5 %         75 %      0               0",
        r"age, z\x1bip      55 %         75 %  4,000           4,000  a guess",
        "",
        "Special uniques: alone with few of their values",
        "records                  12",
        "minimal uniques          2 of 1, 10 of 2 columns",
        "highest score            42",
        "a unique match is right  12.5 %",
        "",
        "warning: Take care.",
    ]
    assert run("show", NAME).stdout == result.stdout
    assert run("show", NAME, "--explain").exit_code == 2


def test_everything_that_can_be_asked(run: Run, service: FakeService) -> None:
    options = {
        "--quasi-identifiers": 'age, "birth, place"',
        "--schema": "a.b",
        "--population": "clinic.every.body",
        "--sampling-fraction": "0.01",
        "--person": "p",
        "--weight": "w",
        "--threshold": "0.1,0.5",
        "--largest-subset": "4",
    }
    result = run("risk", "releases/1", *(part for option in options.items() for part in option))
    assert result.exit_code == 0, result.output
    assert asked(service) == {
        "table": {"catalog": "a", "schema": "b", "table": "releases/1"},
        "quasi_identifiers": ["age", "birth, place"],
        "population": {"table": {"catalog": "clinic", "schema": "every", "table": "body"}, "sampling_fraction": "0.01"},
        "thresholds": ["0.1", "0.5"],
        "weight_column": "w",
        "person_column": "p",
        "largest_subset": 4,
    }


def test_a_release_as_json(run: Run, service: FakeService, documents: Callable[..., list[Any]]) -> None:
    found = documents("risk", "releases/1", "--subset-column", "mine", "--population-size", "7")
    assert asked(service) == {"release": "releases/1", "population": {"subset_column": "mine", "size": "7"}}
    assert found[-1]["risk_analysis"]["measures"][9]["model"] == "population (pitman)"
    assert "value" not in found[-1]["risk_analysis"]["measures"][9]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_records(run: Run, service: FakeService, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"risks{suffix}"
    service.objects[NAME] = pa.table({"age": [41, None], "prosecutor_risk": [0.5, 1.0]})
    result = run("risk", "releases/1", "--records", str(path))
    assert result.exit_code == 0, result.output
    assert asked(service) == {"release": "releases/1", "records": True}
    assert open_to_others(path) == {}
    if suffix == ".csv":
        assert path.read_text() == '"age","prosecutor_risk"\n41,0.5\n,1\n'
    else:
        assert pq.read_table(path) == service.objects[NAME]
    assert list(tmp_path.iterdir()) == [path]
    service.requests.clear()
    assert run("risk", "releases/1", "--records", str(path)).exit_code != 0
    assert service.requests == []
    assert run("risk", "releases/1", "--records", str(path), "--overwrite").exit_code == 0


def test_a_list_is_a_text_in_csv(run: Run, service: FakeService, tmp_path: Path) -> None:
    path = tmp_path / "risks.csv"
    service.objects[NAME] = pa.table({"tags": [["a", "b"]]})
    result = run("risk", "releases/1", "--records", str(path))
    assert result.exit_code == 0, result.output
    assert path.read_text() == '"tags"\n"[a, b]"\n'


@pytest.mark.parametrize(
    "options",
    [
        ("--records", "risks.txt"),
        ("--population", "a", "--subset-column", "b"),
        ("--population-size", "3", "--sampling-fraction", "0.1"),
        ("--largest-subset", "0"),
        ("--quasi-identifiers", '"a'),
    ],
)
def test_what_cannot_be_asked(run: Run, service: FakeService, options: tuple[str, ...]) -> None:
    assert run("risk", "people", *options).exit_code == 2
    assert service.requests == []
