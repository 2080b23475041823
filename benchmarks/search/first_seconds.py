"""Section: the first seconds of a search with many columns, alone and beside busy cores, and the rest of its job."""

import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from benchmarks.datasets import Dataset
from benchmarks.markdown import seconds, table
from benchmarks.models import Models
from benchmarks.search.in_memory import problem_of
from benchmarks.section import Section, verdict
from benchmarks.service import TARGET, LocalService
from tableveil.control import Control
from tableveil.hierarchy import InlineLevels
from tableveil.policy import (
    Aggregate,
    AttributePolicy,
    KAnonymity,
    LossModel,
    Policy,
    Role,
    SearchOptions,
    TableReference,
)
from tableveil.search import search

COLUMNS = 16
LIMIT = Decimal("0.05")

BEFORE = {1: (0.5263, 0.5542), 5: (0.5243, 0.5284), 30: (0.5243, 0.5249)}
"""By seconds, the scores alone and beside busy processes, before sums left the threads of BLAS."""

OF_JOB = Decimal(5)
MOST_BESIDE = 2.8
"""The seconds of a job beside its search: half of what it took when advice had as long as the search."""

BUSY_PROCESSES_PER_CORE = 2


def first_seconds(shared: Path) -> Section:
    """Runs the searches and the job."""
    data = shared / "data"
    busy = BUSY_PROCESSES_PER_CORE * (os.cpu_count() or 1)
    rows = [*_rows(data, "alone", 0)]
    with _busy(busy):
        rows += _rows(data, f"beside {busy} busy processes", 1)
    return Section(
        "The first seconds of a search",
        (
            f"mach2019, {COLUMNS} QIs, k = 5, limit 5 %, loss, geometric mean; seconds of wall clock.",
            table(("", "after s", "checks", "score", "before", ""), rows),
            f"A job whose search is limited to {OF_JOB} s, alone:",
            table(("phase", "s"), _job(data)),
        ),
    )


def _rows(data: Path, beside: str, number: int) -> Iterator[list[str]]:
    columns = Dataset.open(data, "mach2019").columns[:COLUMNS]
    for limit, before in BEFORE.items():
        problem = problem_of(
            data, "mach2019", columns, Models((KAnonymity(5),), LossModel(Aggregate.GEOMETRIC_MEAN), LIMIT)
        )
        found = search(problem, SearchOptions(time_limit_seconds=Decimal(limit)), Control())
        assert found.best is not None
        met = round(found.best.score, 4) <= before[number]
        yield [beside, str(limit), f"{found.checked:,}", f"{found.best.score:.4f}", str(before[number]), verdict(met)]


def _job(data: Path) -> Iterator[list[str]]:
    dataset = Dataset.open(data, "mach2019")
    columns = dataset.columns[:COLUMNS]
    policy = Policy(
        source=TableReference("", "main", "mach2019"),
        attributes=tuple(
            AttributePolicy(column, Role.QUASI_IDENTIFIER, InlineLevels(dataset.levels(column))) for column in columns
        ),
        person_column=None,
        privacy_models=(KAnonymity(5),),
        release=TARGET,
        suppression_limit=LIMIT,
        quality_model=LossModel(Aggregate.GEOMETRIC_MEAN),
        search=SearchOptions(OF_JOB),
    )
    with tempfile.TemporaryDirectory() as folder, LocalService(Path(folder, "job.duckdb")) as service:
        service.load("mach2019", dataset.table().select(list(columns)))
        run = service.run(policy)
    assert run.release is not None
    for phase, spent in run.release.phase_seconds.items():
        yield [phase, seconds(spent)]
    beside = run.seconds - run.release.proof.seconds
    yield [f"all but the search, goal: at most {MOST_BESIDE}", f"{seconds(beside)} {verdict(beside <= MOST_BESIDE)}"]


@contextmanager
def _busy(number: int) -> Iterator[None]:
    processes = [multiprocessing.get_context("spawn").Process(target=_spin, daemon=True) for _ in range(number)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _spin() -> None:
    while True:
        pass
