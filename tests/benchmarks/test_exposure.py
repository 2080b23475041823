"""The sections about the exposure run, at a small size."""

from pathlib import Path

import pytest

from benchmarks.privacy import exposure

pytestmark = pytest.mark.long


def test_strictness_and_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CACHE": tmp_path, "DRAWS": 1, "SIZES": (300,), "ROWS": 1_000, "REPEATS": 1}.items():
        monkeypatch.setattr(exposure, name, value)
    told = str(exposure.strictness())
    assert "| independent, 2 values | 300 | 0 | 0 |" in told
    assert "| birth year | 300 | 1 | 1 |" in told
    assert "| born |" in str(exposure.cost())
