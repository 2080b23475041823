"""A tiny dataset and its cases, and the runner as a user starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

Runner = Callable[..., subprocess.CompletedProcess[str]]

# For k = 4, at most 4 of the 12 records suppressed. Age at level 1 leaves classes of 4, 4, 3 and 1: 8 records lose 2/5 of
# their age, 4 all. Age at its top leaves three classes of 4, which is best for the geometric mean.
AGES_GROUPED = {"score": (0.6 + 1 / 3) / 2, "transformation": {"age": 1, "city": 0}, "suppressed": 4, "classes": 2}
AGES_GONE = {"score": 2**0.5 - 1, "transformation": {"age": 2, "city": 0}, "suppressed": 0, "classes": 3}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the dataset `tiny`: byte order mark, CRLF, quoted fields, a delimiter inside quotes."""
    tiny = tmp_path / "data" / "tiny"
    (tiny / "hierarchies").mkdir(parents=True)
    rows = ["age;\"city\";note"]
    rows += [f'{age};"Bad ""Town""; North";{age}' for age in (1, 2, 3, 3)]
    rows += [f"0{age};Ulm;" for age in (4, 4, 5, 5)]
    rows += [f'{age};Rom;"a\r\nb"' for age in (1, 2, 3)]
    rows += ["04;Rom;x"]
    write(tiny / "data.csv", rows)
    write(tiny / "hierarchies" / "age.csv", ["1;low;*", "2;low;*", "3;low;*", "04;high;*", "05;high;*", "6;high;*"])
    write(tiny / "hierarchies" / "city.csv", ['"Bad ""Town""; North";*', "Ulm;*", "Rom;*"])
    return tmp_path / "data"


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Runner:
    """Writes cases (lines, or what makes them) to a file and runs the runner on it."""

    def start(
        cases: Sequence[str | dict[str, Any]], *options: str, module: bool = False
    ) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "cases.jsonl"
        write(file, [case if isinstance(case, str) else json.dumps(case) for case in cases])
        return reference(["--cases", str(file), "--data", str(data), *options], module)

    return start


def reference(options: Sequence[str], module: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs the runner as a file, or as a module."""
    command = ["-m", "benchmarks.reference"] if module else ["benchmarks/reference.py"]
    return subprocess.run(
        [sys.executable, *command, *options], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )


def case(id_: str = "tiny", expected: dict[str, Any] | None = None, **settings: str) -> dict[str, Any]:
    """A case on the tiny dataset."""
    usual = {"dataset": "tiny", "qis": "age,city", "priv": "k:4", "supp": "0.4", "metric": "loss:am:0.5"}
    return {
        "id": id_,
        "case": {**usual, **settings},
        "expected": expected or {},
        "arx": {"transformations_checked": 6},
    }


def write(path: Path, lines: Sequence[str]) -> None:
    """Writes a file as Windows programs do."""
    path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in lines).encode())
