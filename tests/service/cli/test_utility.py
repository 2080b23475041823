"""The command `utility`: what it asks for, how it shows what came out, and its page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tableveil.convert.utility_reports import utility_report_to_proto
from tableveil.v1 import job_service_pb2, utility_service_pb2
from tests.file_modes import open_to_others
from tests.service.cli.conftest import Run
from tests.service.client.fake_service import FakeService
from tests.service.utility_samples import utility_report

NAME = "utilityReports/2"


@pytest.fixture(autouse=True)
def report(service: FakeService) -> None:
    """A job that has made it."""
    service.jobs["jobs/1"] = job_service_pb2.Job(name="jobs/1", state=job_service_pb2.JOB_STATE_SUCCEEDED, result=NAME)
    service.utility_reports[NAME] = utility_report_to_proto(utility_report())


def test_what_people_read(run: Run, service: FakeService) -> None:
    result = run("utility", "3")
    assert result.exit_code == 0, result.output
    [asked] = [r for r in service.requests if isinstance(r, utility_service_pb2.SubmitUtilityReportRequest)]
    assert asked.utility.release == "releases/3"
    lines = result.stdout.splitlines()
    assert lines[0] == "utilityReports/2 of releases/3: before → after"
    assert " ".join(lines[2].split()) == 'age <"&> level 1 of 3 0.2500 60 → 2 30.5 → 31 2 → 3 30 → 24.5'
    assert r"city" in lines[3]
    assert 'age <"&> and born correlation -0.750 none' in [" ".join(line.split()) for line in lines]
    assert [" ".join(line.split()) for line in lines if "city: NULL" in line] == [
        "city: NULL born: 1970-01-01 25 % of 500 50 % of 400"
    ]
    assert lines[-1].startswith("note: 100 of 1,000 records are suppressed")
    assert run("show", NAME).stdout == result.stdout


def test_as_json(run: Run, documents: Callable[..., list[Any]]) -> None:
    *_, found = documents("utility", "releases/3", "--json")
    assert found["utility_report"]["name"] == NAME
    assert [column["column"] for column in found["utility_report"]["columns"]] == ['age <"&>', "city", "born"]


def test_the_page(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert run("utility", "3", "--html", str(path)).exit_code == 0
    assert open_to_others(path) == {}
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>\n")
    page = ElementTree.fromstring(text.split("\n", 1)[1])
    words = " ".join(page.itertext())
    for told in (
        'age <"&>',
        "level 1 of 3",
        "loss 0.2500",
        "SSE/SST 0.0625",
        "mean of its class",
        "1970-01-01",
        "city: A & B",
    ):
        assert told in words
    assert "(nothing)" not in words
    assert "* (any value)" in words, "the label that stands for all values"
    # Four with bars (one column has other labels after), two squares.
    assert len([element for element in page.iter() if element.tag.endswith("svg")]) == 6
    assert run("utility", "3", "--html", str(path)).exit_code != 0
    assert run("utility", "3", "--html", str(path), "--overwrite").exit_code == 0


def test_a_release_that_is_none(run: Run, service: FakeService) -> None:
    assert run("utility", "jobs/3").exit_code == 2
    assert not service.requests
