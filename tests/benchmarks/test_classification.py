"""The experiments with classifiers, on a small table with one column that predicts the class."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.classification import accuracies, adult, correlation
from tableveil.policy import ClassificationModel
from tests.benchmarks.tiny import write

QUASI_IDENTIFIERS = ("telling", "noise")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the reference's: 400 records, two quasi-identifiers of levels 0 to 2."""
    generator = np.random.default_rng(1)
    rows = ["telling;noise;class"]
    for _ in range(400):
        telling, noise = generator.integers(0, 8, 2)
        rows.append(f"{telling};{noise};{'yes' if (telling >= 4) ^ (generator.random() < 0.1) else 'no'}")
    folder = tmp_path / "data" / "small"
    (folder / "hierarchies").mkdir(parents=True)
    write(folder / "data.csv", rows)
    for name in QUASI_IDENTIFIERS:
        write(folder / "hierarchies" / f"{name}.csv", [f"{value};{value // 4};*" for value in range(8)])
    for module in (adult, correlation, accuracies):
        for name, value in {"DATASET": "small", "QUASI_IDENTIFIERS": QUASI_IDENTIFIERS, "CLASS": "class"}.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    return tmp_path


def test_released_records_are_generalized_and_small_classes_suppressed(shared: Path) -> None:
    table = adult.Adult.open(shared / "data")
    finest = table.released((0, 0))
    sizes = np.unique(np.stack(table.codes), axis=1, return_counts=True)[1]
    assert finest.kept.sum() == sizes[sizes >= adult.K].sum()
    records = table.records((1, 2))
    assert records.kept.all()
    telling, noise = records.features
    assert (telling.original.categories, telling.released.categories, noise.released.categories) == (8, 2, 1)
    assert (telling.released.codes == telling.original.codes // 4).all()


def test_quality_models_are_measured_by_classifiers(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlation, "VALID", 5)
    of_class = dict.fromkeys((correlation.OURS, correlation.LENIENT), ClassificationModel(("class",)))
    monkeypatch.setattr(correlation, "MODELS", {**correlation.MODELS, **of_class})
    section = correlation.correlation(shared)
    text = str(section)
    for name in correlation.MODELS:
        assert f"\n| {name} | " in text
    # To a classifier, and to this model, generalizing a column without information makes no difference.
    assert "Its optimum is within 2% of the best relative accuracy found there" in text
    assert section.sound


def test_accuracies_are_beside_the_references(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = {"accuracy_zeror": 0.5, "accuracy_input": 0.9, "accuracy_output": 0.7}
    measured |= {"brier_input": 0.2, "brier_output": 0.5}
    case = SimpleNamespace(
        id="f-small",
        expected={
            "transformation": {"telling": 2, "noise": 0},
            "classification": {"logistic_regression": measured, "naive_bayes": measured},
        },
    )
    monkeypatch.setattr(accuracies, "instances", lambda shared, ids: [SimpleNamespace(case=case)])
    lines = [line for line in str(accuracies.accuracies(shared)).splitlines() if line.startswith("| f-small, ")]
    assert len(lines) == 2
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")]
        assert cells[5].endswith("/ 0.500")
        _, original, anonymized = (float(cell.split(" / ")[0]) for cell in cells[2:5])
        # The column that predicts the class is gone.
        assert original > 0.8
        assert anonymized < 0.65


@pytest.mark.parametrize("section", [accuracies.accuracies, correlation.correlation])
def test_missing_data_is_said_to_be_skipped(section: Any, tmp_path: Path) -> None:
    found = section(tmp_path)
    assert found.sound
    assert "Skipped: there is no `" in str(found)
