"""The tiny dataset on disk, and the runner on cases of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reference import main
from tests.benchmarks.tiny import write, write_dataset


@dataclass(frozen=True, slots=True)
class Done:
    """How the runner ended."""

    code: int
    output: str
    errors: str

    @property
    def results(self) -> list[dict[str, Any]]:
        """What it printed as JSON."""
        return [json.loads(line) for line in self.output.splitlines()]


Runner = Callable[..., Done]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the dataset `tiny`."""
    write_dataset(tmp_path / "data" / "tiny")
    return tmp_path / "data"


@pytest.fixture
def write_cases(tmp_path: Path) -> Callable[[Sequence[str | dict[str, Any]]], Path]:
    """Writes cases, or lines that may be none, to a file."""

    def written(cases: Sequence[str | dict[str, Any]]) -> Path:
        file = tmp_path / "cases.jsonl"
        write(file, [case if isinstance(case, str) else json.dumps(case) for case in cases])
        return file

    return written


@pytest.fixture
def run(
    data: Path,
    write_cases: Callable[[Sequence[str | dict[str, Any]]], Path],
    capsys: pytest.CaptureFixture[str],
) -> Runner:
    """Runs the runner on cases of the dataset."""

    def start(cases: Sequence[str | dict[str, Any]], *options: str) -> Done:
        code = main(["--cases", str(write_cases(cases)), "--data", str(data), *options])
        output, errors = capsys.readouterr()
        return Done(code, output, errors)

    return start
