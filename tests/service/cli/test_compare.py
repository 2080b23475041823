"""The command `compare`: what it says of two releases, in the terminal and as a page."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tableveil.convert.utility_reports import utility_report_to_proto
from tableveil.v1.release_service_pb2 import Release
from tests.service.cli.conftest import Run
from tests.service.client import samples
from tests.service.client.fake_service import FakeService
from tests.service.utility_samples import utility_report

HOSTILE = "</td><script>=1"


@pytest.fixture
def releases(service: FakeService) -> tuple[Release, Release]:
    """The second has a level more of its first column, a level less of its second, and one that the first has not."""
    first, second = samples.release("releases/3"), samples.release("releases/4")
    second.attributes[0].level += 1
    second.attributes[0].loss += 0.125
    second.attributes[1].loss /= 2
    second.attributes.add(column=HOSTILE, level=1, top_level=2, loss=0.5)
    second.policy.suppression_limit = "0.25"
    second.risk_after.highest = first.risk_after.highest / 2
    service.releases |= {first.name: first, second.name: second}
    return first, second


def lines(output: str) -> list[str]:
    return [" ".join(line.split()) for line in output.splitlines()]


def test_what_became_finer_or_coarser(run: Run, releases: tuple[Release, Release]) -> None:
    result = run("compare", "3", "releases/4")
    assert result.exit_code == 0, result.output
    found = lines(result.stdout)
    assert found[0] == "releases/3 and releases/4 compared"
    by_name = {line.split()[0]: line for line in found if line}
    first, second = (one.column for one in releases[0].attributes[:2])
    assert by_name[first].endswith("coarser")
    assert by_name[second].endswith("finer")
    assert by_name["highest"].endswith("lower")
    assert "suppression_limit" in by_name
    assert any(line.startswith("note: The usefulness of releases/3 is not compared") for line in found)
    assert "no quasi-identifier" in result.stdout


def test_scores_and_losses_are_compared_within_one_hierarchy(run: Run, releases: tuple[Release, Release]) -> None:
    """Dates that are declared to 2033 lose less by quarters than those of a year by months."""
    assert any(line.startswith("score (less is better)") for line in lines(run("compare", "3", "4").stdout))
    for release, last in zip(releases, ("2024-12-31", "2033-12-31"), strict=True):
        column, result = release.attributes[0].column, release.attributes[0]
        del release.policy.attributes[:]
        declared = release.policy.attributes.add(column=column).hierarchy.dates
        declared.minimum, declared.maximum = "2024-01-01", last
        result.loss, result.distinct_after = (0.08, 12) if last < "2025" else (0.02, 4)
    found = lines(run("compare", "3", "4").stdout)
    assert not [line for line in found if line.startswith("score")]
    assert any("are not compared: quality models" in line for line in found)
    assert next(line for line in found if line.startswith(column)).endswith("coarser")


def test_policies_are_compared_by_what_they_say(run: Run, releases: tuple[Release, Release]) -> None:
    """An option without fields was left out, and a model that was inserted made all models after it differ."""
    first, second = (release.policy for release in releases)
    for policy in (first, second):
        del policy.privacy_models[:]
    first.privacy_models.add().k_anonymity.k = 5
    first.privacy_models.add().entropy_l_diversity.column = "diagnosis"
    for k in (5, 7):
        second.privacy_models.add().k_anonymity.k = k
    second.privacy_models.add().entropy_l_diversity.column = "diagnosis"
    second.privacy_models.add().safe_harbor.SetInParent()
    second.local_recoding.SetInParent()
    differs = lines(run("compare", "3", "4").stdout.partition("Policies: what differs")[2])
    assert {line.partition(" ")[0]: line for line in differs if "privacy_models" in line or "local" in line} == {
        "local_recoding": "local_recoding none given",
        "privacy_models.k_anonymity": "privacy_models.k_anonymity (2).k none 7",
        "privacy_models.safe_harbor": "privacy_models.safe_harbor none given",
    }


def test_policies_are_compared_in_one_order(run: Run, releases: tuple[Release, Release]) -> None:
    """A map of a message has another order in each process, and showed it."""
    scheme = releases[1].policy.differential_privacy.scheme
    for level, column in enumerate("fbdagceh"):
        scheme[column] = level
    differs = lines(run("compare", "3", "4").stdout.partition("Policies: what differs")[2])
    found = [line.split()[0].rpartition(".")[2] for line in differs if line.startswith("differential_privacy.scheme")]
    assert found == sorted("fbdagceh")


def test_methods_are_compared(run: Run, releases: tuple[Release, Release]) -> None:
    """Local recoding's average risk is higher by its nature: the method stands beside the figures."""
    releases[1].policy.local_recoding.SetInParent()
    (row,) = [line for line in lines(run("compare", "3", "4").stdout) if line.startswith("method ")]
    assert row == "method full-domain generalization local recoding differs"


def test_nothing_differs_from_itself(run: Run, releases: tuple[Release, Release]) -> None:
    found = run("compare", "3", "3").stdout
    assert not {"coarser", "finer", "higher", "lower", "differs"} & set(found.partition("Policies")[0].split())
    assert lines(found.partition("Policies: what differs")[2])[1] == "none"


def test_usefulness_that_was_measured_is_compared(
    run: Run, service: FakeService, releases: tuple[Release, Release]
) -> None:
    for name, release in (("utilityReports/1", "releases/3"), ("utilityReports/2", "releases/4")):
        service.utility_reports[name] = utility_report_to_proto(utility_report())
        service.utility_reports[name].name, service.utility_reports[name].release = name, release
    assert "associations that are left 75 % 75 %" in lines(run("compare", "3", "4").stdout)


def test_evidence_that_is_not_the_callers_is_not_compared(run: Run, releases: tuple[Release, Release]) -> None:
    """An analyst was told that releases met no privacy model, had no records and a score of 0."""
    for name in ("proof", "policy", "records", "score", "quality_model", "source", "attributes", "guarantees"):
        releases[0].ClearField(name)
    result = run("compare", "3", "4")
    assert result.exit_code == 0
    assert "The evidence of releases/3 is its owner's" in result.stdout
    assert "Risk after release" in result.stdout
    found = {line.partition("  ")[0].strip() for line in result.stdout.splitlines()}
    assert {"released records", "suppressed records"} <= found
    assert (
        not {"read", "privacy", "quality", "records of the table", "proven optimal", "Policies: what differs"} & found
    )
    assert "score" not in result.stdout


def test_the_page_has_the_same_tables(run: Run, releases: tuple[Release, Release], tmp_path: Path) -> None:
    path = tmp_path / "compared.html"
    assert run("compare", "3", "4", "--html", str(path)).exit_code == 0
    text = path.read_text(encoding="utf-8")
    assert "<script" not in text
    page = ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    headings = [found.text for found in page.iter("h2")]
    assert headings[:3] == ["In short", "Quasi-identifiers", "Risk after release"]
    assert HOSTILE in {found.text for found in page.iter("th")}
    assert run("compare", "3", "4", "--html", str(path)).exit_code == 6
