"""The experiments with the game: reproducible people, and sections that report their findings."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.cases import Case
from benchmarks.game import payout_sweep, pruning
from benchmarks.game.census import RACES, census
from benchmarks.game.experiment import SAFE_HARBOR, Shape, experiment
from benchmarks.game.payout_sweep import checks, sweep
from benchmarks.game.reference_cases import reference_cases, risks
from tableveil.game.sweep import Among, SweepMethod

SMALL = Shape("a village", people=3_000, zips=30, areas=3, sample=200)


def test_the_same_seed_makes_the_same_people() -> None:
    first, second, other = census(1_000, 20, 4), census(1_000, 20, 4), census(1_000, 20, 4, seed=6)
    assert first.table().equals(second.table())
    assert first.sample(50).table().equals(second.sample(50).table())
    assert not first.table().equals(other.table())


def test_people_have_the_shape_of_a_census() -> None:
    people = census(200_000, 500, 90)
    assert len(set(people.zips)) == 500
    assert len({code[:3] for code in people.zips}) == 90
    assert all(len(code) == 5 and code.isdigit() for code in people.zips)
    assert (people.age.min(), people.age.max()) == (0, 99)
    # There are fewer old people than young ones, and more women among the old.
    assert (people.age >= 85).mean() < (people.age < 15).mean() / 5
    assert people.sex[people.age >= 80].mean() < people.sex[people.age < 20].mean()
    sizes = np.sort(np.bincount(people.zip_code, minlength=500))
    assert sizes[-50:].sum() > 0.4 * sizes.sum()
    # Races live apart: the share of one varies by area far more than by chance.
    area = np.array([int(code[:3]) for code in people.zips])[people.zip_code]
    shares = np.array([(people.race[area == each] == 1).mean() for each in np.unique(area)])
    assert shares.std() > 0.05
    assert len(RACES) == people.race.max() + 1


def test_a_sample_is_of_the_population() -> None:
    counted = experiment(SMALL)
    combinations = counted.combinations
    assert combinations.records.sum() == SMALL.sample
    assert combinations.people.sum() == SMALL.people
    assert (combinations.records <= combinations.people).all()
    assert counted.lattice.top == (6, 1, 5, 1)
    ages, zips = combinations.levels[0], combinations.levels[2]
    assert len(set(ages.labels[SAFE_HARBOR[0] - 1])) <= 91
    assert all(label is not None and label.endswith("**") for label in zips.labels[SAFE_HARBOR[2] - 1])
    assert {"load", "count", "read"} <= counted.seconds.keys()


@pytest.mark.long
def test_a_sweep_is_told_with_its_times_and_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payout_sweep, "GAINS", tuple(map(Decimal, (0, 100, 200, 300, 2000))))
    text = str(sweep(SMALL))
    assert "\n| full-domain, all gains | " in text
    assert "\n| 2,000 | " in text
    assert "| at 300 the two within 1 % | " in text


@pytest.mark.parametrize(("full", "harbor", "answers"), [(0.999, 0.5, ["yes"] * 6), (0.5, 0.7, ["yes", "**no**"])])
def test_shapes_that_differ_are_said(full: float, harbor: float, answers: list[str]) -> None:
    shares = {SweepMethod.SAFE_HARBOR: harbor, SweepMethod.FULL_DOMAIN: full}
    curves = {
        (method, among): [shares.get(method, 1.0)] * len(payout_sweep.GAINS)
        for method in SweepMethod
        for among in Among
    }
    found = [row[-1] for row in checks(curves)]
    assert found[: len(answers)] == answers
    assert (found[3] == "yes") is (full > harbor)


def test_pruned_and_exhaustive_searches_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "STATE", SMALL)
    monkeypatch.setattr(pruning, "GAINS", pruning.GAINS[:3])
    section = pruning.pruning()
    assert section.sound
    assert "\n| journalist, 300 | " in str(section)


def test_missing_reference_cases_are_skipped(tmp_path: Path) -> None:
    assert "Skipped: there is no `" in str(reference_cases(tmp_path))


def test_risks_are_compared_with_the_reference(data: Path) -> None:
    """Twelve people in three cities of four each, five in the city of one record each: see `tiny`."""
    expected: Mapping[str, Any] = {
        "num_classes": 3.0,
        "num_records": 12.0,
        "population_size": 120,
        "sample_risks": dict.fromkeys(("highest", "average", "lowest", "est_marketer"), 0.25)
        | {"records_highest": 12.0, "records_lowest": 12.0},
        "sample_uniqueness": {"num_unique": 0.0},
        "summary_threshold_0.2": {"prosecutor_records_at_risk": 1.0},
        "summary_threshold_0.5": {"prosecutor_records_at_risk": 0.0},
        "population_uniqueness": {
            "ZAYATZ": {"available": True, "fraction": 0.0},
            "SNB": {"available": False, "fraction": 0.0},
            "chosen": "ZAYATZ",
        },
    }
    compared = list(risks(Case("g-tiny", "", "tiny", ("city",), {}, expected, None), data))
    assert all(found == wanted for _, found, wanted, _ in compared if wanted is not None)
    assert [what for what, _, wanted, _ in compared if wanted is None] == ["population uniqueness (SNB)"]
