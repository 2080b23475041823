"""Sections: local recoding against plain constructions, at other k, and with a sensitive column."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from benchmarks.local.comparators import COMPARATORS, score
from benchmarks.local.tables import full_domain_optimum, problem_of
from benchmarks.markdown import seconds, table
from benchmarks.section import Section, verdict
from tableveil.control import Control
from tableveil.local_recoding import LocalPartition, LocalProblem, recode
from tableveil.policy import Distance, DistinctLDiversity, EntropyLDiversity, KAnonymity, PrivacyModel, TCloseness

HEADERS = ("case", "score", "goal", "", "bound", "classes", "CPU s", "wall s")


@dataclass(frozen=True, slots=True)
class Case:
    """At most `goal` is to be reached in so many CPU seconds."""

    name: str
    problem: Callable[[Path], LocalProblem]
    goal: float
    limit: float


TABLES = (
    Case("adult, 9 columns", lambda data: problem_of(data, "adult"), 0.0505, 10),
    Case("fars, 8 columns", lambda data: problem_of(data, "fars"), 0.0365, 30),
    Case("mach2019, 10 columns", lambda data: problem_of(data, "mach2019", 10), 0.108, 120),
)

LONGER = (("adult, 9 columns", 0.050), ("fars, 8 columns", 0.036), ("mach2019, 10 columns", 0.105))
MORE = 120.0

OTHER_K = ((2, 0.0241), (10, 0.0773), (25, 0.1151))

SENSITIVE: tuple[tuple[str, tuple[PrivacyModel, ...], float | None], ...] = (
    ("alone", (), 0.0285),
    ("distinct 3-diversity", (DistinctLDiversity("occupation", 3),), 0.0320),
    ("0.2-closeness, ordered", (TCloseness("occupation", Decimal("0.2"), Distance.ORDERED),), 0.0470),
    ("entropy 3-diversity", (EntropyLDiversity("occupation", Decimal(3)),), None),
)
"""Goals; None is half of the full-domain optimum, which is searched beside it."""

SENSITIVE_LIMIT = 60.0

SHARE_OF_LAST = 0.9


def tables(shared: Path) -> Section:
    """The three tables within the time that is given, and with more."""
    rows, sound = [], True
    for case, (_, goal) in zip(TABLES, LONGER, strict=True):
        problem = case.problem(shared / "data")
        for limit, least in ((case.limit, case.goal), (case.limit + MORE, goal)):
            cells, valid = _measured(f"{case.name}, {limit:.0f} s", problem, least, limit)
            rows.append(cells)
            sound = sound and valid
    return Section("Local recoding", ("k = 5, nothing suppressed.", table(HEADERS, rows)), sound)


def comparators(shared: Path) -> Section:
    """Sound if local recoding is below the best of the plain constructions."""
    rows, sound = [], True
    for case in TABLES:
        problem = case.problem(shared / "data")
        scores, times = [], []
        for recoding in COMPARATORS.values():
            started = time.process_time()
            scores.append(score(problem, recoding(problem)))
            times.append(time.process_time() - started)
        # Less time than the last takes, whatever machine this is.
        found, cpu, _ = _recoded(problem, min(case.limit, SHARE_OF_LAST * times[-1]))
        met = found.score < min(scores)
        sound = sound and met
        plain = [f"{s:.4f} in {seconds(t)} s" for s, t in zip(scores, times, strict=True)]
        rows.append([case.name, *plain, f"{found.score:.4f} in {seconds(cpu)} s", verdict(met and cpu < times[-1])])
    return Section(
        "Plain constructions of local recoding",
        (
            "CPU seconds. Goal: below the best of them in less time than the last takes.",
            table(("case", *COMPARATORS, "local recoding", ""), rows),
        ),
        sound,
    )


def models(shared: Path) -> Section:
    """Adult at other k, and with occupation sensitive."""
    data, rows = shared / "data", []
    for k, goal in OTHER_K:
        rows.append(_measured(f"9 columns, k = {k}", problem_of(data, "adult", None, (KAnonymity(k),)), goal, 60.0)[0])
    for name, others, given in SENSITIVE:
        problem = problem_of(data, "adult", None, (KAnonymity(5), *others), "occupation")
        goal = full_domain_optimum(problem) / 2 if given is None else given
        rows.append(_measured(f"occupation sensitive, k = 5, {name}", problem, goal, SENSITIVE_LIMIT)[0])
    return Section("Local recoding of adult", (table(HEADERS, rows),))


def _recoded(problem: LocalProblem, limit: float) -> tuple[LocalPartition, float, float]:
    """The result within so many CPU seconds, which other processes do not use up; CPU and wall seconds."""
    control = Control(time.process_time)
    started, begun = time.process_time(), time.monotonic()
    control.limit(started + limit)
    found = recode(problem, control)
    return found, time.process_time() - started, time.monotonic() - begun


def _measured(name: str, problem: LocalProblem, goal: float, limit: float) -> tuple[list[str], bool]:
    found, cpu, wall = _recoded(problem, limit)
    bound = found.lower_bound
    return [
        name,
        f"{found.score:.5f}",
        f"{goal:.4f}",
        verdict(found.score <= goal),
        "none" if bound is None else f"{bound:.5f}",
        f"{len(found.levels):,}",
        seconds(cpu),
        seconds(wall),
    ], bound is None or bound <= found.score
