"""The tiny dataset on disk, and the runner on cases of it."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pytest

from benchmarks import reference
from benchmarks.reference import main
from benchmarks.service import TARGET, LocalService, Run
from tableveil.policy import Policy, ReleaseTarget
from tableveil.runtime import Job
from tests.benchmarks.tiny import write, write_dataset


@dataclass(frozen=True, slots=True)
class Done:
    """How the runner ended."""

    code: int
    output: str
    errors: str

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results that it printed as JSON."""
        return [json.loads(line) for line in self.output.splitlines()]


Runner = Callable[..., Done]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the dataset `tiny`."""
    write_dataset(tmp_path / "data" / "tiny")
    return tmp_path / "data"


@pytest.fixture
def write_cases(tmp_path: Path) -> Callable[[Sequence[str | dict[str, Any]]], Path]:
    """Writes cases, or lines that may be invalid, to a file."""

    def written(cases: Sequence[str | dict[str, Any]]) -> Path:
        file = tmp_path / "cases.jsonl"
        write(file, [case if isinstance(case, str) else json.dumps(case) for case in cases])
        return file

    return written


class Remembering(LocalService):
    """A service for all tests on the tiny dataset: loads a table once, and runs a policy once."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._loaded: set[str] = set()
        self._runs: dict[Policy, Run] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stays open for the next test; `close` ends it."""

    def close(self) -> None:
        super().__exit__(None, None, None)

    def load(self, name: str, rows: pa.Table) -> None:
        if name not in self._loaded:
            super().load(name, rows)
            self._loaded.add(name)

    def run(
        self, policy: Policy, watch: Callable[[Job], None] = lambda job: None, *, target: ReleaseTarget = TARGET
    ) -> Run:
        if policy not in self._runs:
            self._runs[policy] = super().run(policy, watch, target=target)
        return self._runs[policy]


@pytest.fixture(scope="module")
def remembering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remembering]:
    service = Remembering(tmp_path_factory.mktemp("reference") / "reference.duckdb")
    yield service
    service.close()


@pytest.fixture
def run(
    data: Path,
    write_cases: Callable[[Sequence[str | dict[str, Any]]], Path],
    remembering: Remembering,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Runner:
    """Runs the runner on cases of the dataset."""
    monkeypatch.setattr(reference, "LocalService", lambda path: remembering)

    def start(cases: Sequence[str | dict[str, Any]], *options: str) -> Done:
        code = main(["--cases", str(write_cases(cases)), "--data", str(data), *options])
        output, errors = capsys.readouterr()
        return Done(code, output, errors)

    return start
