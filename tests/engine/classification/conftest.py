"""Forests of a few trees: their number does not matter to the tests, but the time does."""

import pytest

from tableveil.classification import classifiers


@pytest.fixture(autouse=True)
def small_forests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifiers, "TREES", 5)
