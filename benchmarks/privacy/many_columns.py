"""Section: the CPU seconds of a job with many unchanged columns, and of its checks of these."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.discharges import CACHE
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from benchmarks.service import LocalService
from tableveil.backend import Session
from tableveil.hierarchy import InlineLevels
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference

ROWS, REPEATS = 30_000, 3
OWN, VALUES = (80, 2, 12, 6, 40, 9, 5, 16, 30, 24), (2, 5, 12, 8, 8, 10, 6, 2, 7, 9, 12, 4, 9, 3)
"""The different values of 10 quasi-identifiers, and of 14 insensitive columns."""

MOST = 1.0
"""The goal: so many CPU seconds of all checks, those before the release is written and the verification."""

PARTS = {
    "check before writing": ("tableveil.lifecycle.publish", "check_exposure"),
    "verification of it": ("tableveil.verification.methods", "check_unchanged"),
}
ALL, WHOLE = "all checks", "whole job"


def many_columns() -> Section:
    """The least CPU seconds and the statements of the job and of its parts."""
    runs: list[tuple[Counter[str], Counter[str]]] = []
    CACHE.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as directory,
        LocalService(Path(directory) / "people.duckdb", threads=2) as service,
    ):
        columns = [f"(hash(100 * i + {j}) % {size})::INTEGER AS q{j}" for j, size in enumerate(OWN)]
        columns += [f"(hash(100 * i + {50 + i}) % {size})::INTEGER AS v{i}" for i, size in enumerate(VALUES)]
        with service.session() as session:
            session.execute(f"CREATE TABLE main.people AS SELECT {', '.join(columns)} FROM range({ROWS}) r(i)")
        for _ in range(REPEATS):
            seconds, statements = Counter[str](), Counter[str]()
            with _measured(seconds, statements), _part(WHOLE, seconds, statements):
                run = service.run(_policy())
            assert run.release is not None, run.failure
            runs.append((seconds, statements))
    rows = []
    for name, parts in {**{part: (part,) for part in PARTS}, ALL: tuple(PARTS), WHOLE: (WHOLE,)}.items():
        least = min(sum(run[0][part] for part in parts) for run in runs)
        number = sum(runs[-1][1][part] for part in parts)
        rows.append((name, f"{number:,}", f"{least:.2f}", verdict(least <= MOST) if name == ALL else ""))
    return Section(
        "Many columns that are released unchanged",
        (
            f"{ROWS:,} records, {len(OWN)} quasi-identifiers, {len(VALUES)} insensitive columns, k = 5; the least of "
            f"{REPEATS} runs. Goal: at most {MOST} CPU s of all checks, pairs included.",
            table(("part", "statements", "CPU s", "goal"), rows),
        ),
    )


@contextmanager
def _measured(seconds: Counter[str], statements: Counter[str]) -> Iterator[None]:
    """Counts the CPU seconds and the statements of the parts while the block runs, in all threads."""
    running = Session._running

    def counting(self: Session, *arguments: Any) -> Any:
        statements["all"] += 1
        return running(self, *arguments)

    with ExitStack() as stack:
        stack.enter_context(patch.object(Session, "_running", counting))
        for name, (module, function) in PARTS.items():
            checked = getattr(import_module(module), function)
            stack.enter_context(patch(f"{module}.{function}", _timed(name, checked, seconds, statements)))
        yield


def _timed(
    name: str, checked: Callable[..., Any], seconds: Counter[str], statements: Counter[str]
) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        with _part(name, seconds, statements):
            return checked(*arguments, **named)

    return timed


@contextmanager
def _part(name: str, seconds: Counter[str], statements: Counter[str]) -> Iterator[None]:
    began, before = time.process_time(), statements["all"]
    yield
    seconds[name] += time.process_time() - began  # type: ignore[assignment]
    statements[name] += statements["all"] - before


def _policy() -> Policy:
    def hierarchy(size: int) -> InlineLevels:
        return InlineLevels(tuple((str(i), f"a{i // 4}", f"b{i // 16}", "*") for i in range(size)))

    return Policy(
        source=TableReference("", "main", "people"),
        attributes=(
            *(AttributePolicy(f"q{j}", Role.QUASI_IDENTIFIER, hierarchy(size)) for j, size in enumerate(OWN)),
            *(AttributePolicy(f"v{i}", Role.INSENSITIVE) for i, _ in enumerate(VALUES)),
        ),
        person_column=None,
        privacy_models=(KAnonymity(5),),
        suppression_limit=Decimal("0.05"),
        release=ReleaseTarget("main", "out"),
    )
