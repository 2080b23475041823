"""The document of numbers: every section is there at a small size, and a failed job is reported."""

from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks import discharges
from benchmarks.__main__ import main
from benchmarks.privacy import per_check, whole_searches
from benchmarks.scale import estimated, growth, visits
from benchmarks.scale import measured as scale
from benchmarks.service import LocalService
from tableveil.policy import DistinctLDiversity, KAnonymity, KMap

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (discharges, estimated, growth, visits):
        monkeypatch.setattr(module, "CACHE", tmp_path / "cache")


def test_growth_is_measured_per_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def measure_part(work: str, database: Path, memory_limit: str, threads: int) -> scale.Measured:
        with LocalService(database, memory_limit, threads) as service:
            return scale.WORK[work](service)

    monkeypatch.setattr(growth, "measure", measure_part)
    assert main(["--only", "scale", "--sizes", "20000,30000"]) == 0
    text = capsys.readouterr().out
    for part in ["reading", "counting", "searching", "writing", "verifying", "the whole job", "beside: GROUP BY"]:
        assert f"\n| {part} | " in text
    assert "\n| the job without its search / (GROUP BY + CREATE TABLE AS, sorted) | " in text
    assert "\n| five tables / copy of the rows | " in text


@pytest.mark.parametrize(("cpu", "verdict"), [(4.9, "met (2.5 x)"), (8.0, "**missed** (4.0 x)")])
def test_the_job_without_its_search_has_a_goal(cpu: float, verdict: str) -> None:
    """The search is left out on one side, and the plain write on the other."""
    parts = {"reading": scale.Part(9.0, cpu), growth.SEARCHING: scale.Part(9.0, 7.0)}
    beside = {
        name: scale.Part(9.0, seconds)
        for name, seconds in ((scale.GROUPED, 0.5), (scale.WRITTEN, 7.0), (scale.SORTED, 1.5))
    }
    size = growth._Size(1_000_000, scale.Measured(parts, 0), scale.Measured(beside, 0))
    assert verdict in growth._goals([size])


def test_missing_data_is_said_to_be_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--only", "privacy", "--shared", str(tmp_path)]) == 0
    assert "Skipped: there is no `" in capsys.readouterr().out


def test_privacy_models_are_measured_beside_k_anonymity(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(per_check, "DATASET", "tiny")
    monkeypatch.setattr(per_check, "QUASI_IDENTIFIERS", ("city",))
    monkeypatch.setattr(per_check, "SENSITIVE", "age")
    monkeypatch.setattr(per_check, "K", KAnonymity(2))
    monkeypatch.setattr(per_check, "FURTHER", (DistinctLDiversity("age", 2), DistinctLDiversity("age", 6), KMap(2)))
    text = str(per_check.per_check(data.parent))
    assert "\n| distinct 2-diversity of age | " in text
    assert "\n| distinct 6-diversity of age: infeasible | 1 | " in text
    assert "\n| 2-map | " in text


def test_whole_searches_are_measured_both_ways(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_searches, "TABLES", {"tiny": ("age", "city")})
    monkeypatch.setattr(whole_searches, "VALUES", (7,))
    monkeypatch.setattr(whole_searches, "THRESHOLDS", (Decimal("0.4"), Decimal("0.1")))
    section = whole_searches.whole_searches(data.parent)
    assert section.sound
    for t in ("0.4", "0.1"):
        assert str(section).count(f"\n| tiny, 7, {t} | ") == 2
