"""Sections: visits of people against the same rows counted as people, and a table in which everybody stands twice."""

import tempfile
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.datasets import Dataset
from benchmarks.markdown import seconds, table, times
from benchmarks.people.visits import K, create_visits, visits_policy
from benchmarks.problems import UnusableError
from benchmarks.section import Section, verdict
from benchmarks.service import TARGET, LocalService, Run
from tableveil.hierarchy import InlineLevels
from tableveil.policy import AttributePolicy, KAnonymity, Policy, Role, TableReference
from tableveil.state.releases import Release

PEOPLE, FEW_PEOPLE = 1_000_000, 1_000
MEMORY_LIMIT = "4GiB"
THREADS = 2
MOST_TIMES = 4.0
MOST_CHECKS = Decimal("1.1")


def visits() -> Section:
    """Visits of a million people, by person and as if every visit were a person."""
    with (
        tempfile.TemporaryDirectory() as directory,
        LocalService(Path(directory) / "visits.duckdb", MEMORY_LIMIT, THREADS) as service,
    ):
        # The first jobs load the code that all need: none of those that are measured should pay for it.
        with service.session() as session:
            create_visits(session, FEW_PEOPLE)
            for of in (None, "person"):
                service.run(visits_policy(of))
            session.execute("DROP TABLE main.visits")
            rows = create_visits(session, PEOPLE)
        runs: dict[str, Run] = {}
        cpu: dict[str, float] = {}
        for name, of in (("rows", None), ("people", "person")):
            before = time.process_time()
            runs[name] = service.run(visits_policy(of))
            cpu[name] = time.process_time() - before
    found = {name: run.release for name, run in runs.items() if run.release is not None}
    if len(found) < len(runs):
        return Section("Several records per person", (_failures(runs),), sound=False)
    ratio, of_seconds = cpu["people"] / cpu["rows"], runs["people"].seconds / runs["rows"].seconds
    phases = sorted({phase for release in found.values() for phase in release.phase_seconds})
    return Section(
        "Several records per person",
        (
            f"{rows:,} visits of {PEOPLE:,} people, six quasi-identifiers, k = {K}, dominance 0.2, at most 5 % "
            f"suppressed; memory_limit {MEMORY_LIMIT}, {THREADS} threads. Beside it the same rows, each as a person.",
            table(
                ("counted", "job s", "CPU s", *phases, "checks", "counting"),
                (
                    [
                        name,
                        seconds(runs[name].seconds),
                        seconds(cpu[name]),
                        *(seconds(release.phase_seconds.get(phase, 0.0)) for phase in phases),
                        str(_checks(release)),
                        release.proof.counting,
                    ]
                    for name, release in found.items()
                ),
            ),
            f"Goal: at most {times(MOST_TIMES)} the CPU seconds of the job that counts rows. It took {times(ratio)}: "
            f"{verdict(ratio <= MOST_TIMES)}. It took {times(of_seconds)} the time, which depends on what else the "
            "machine does.",
        ),
    )


def doubled(shared: Path) -> Section:
    """Adult with every record twice, shuffled, as two records of one person, against adult itself."""
    title = "Everybody twice"
    try:
        dataset = Dataset.open(shared / "data", "adult")
        rows, listed = dataset.table(), {name: InlineLevels(dataset.levels(name)) for name in dataset.columns}
    except UnusableError as error:
        return Section(title, (f"Failed: {error}",), sound=False)
    policy = Policy(
        source=TableReference("", "main", "once"),
        attributes=(
            *(AttributePolicy(name, Role.QUASI_IDENTIFIER, levels) for name, levels in listed.items()),
            AttributePolicy("person", Role.IDENTIFYING),
        ),
        person_column="person",
        privacy_models=(KAnonymity(K),),
        release=TARGET,
        suppression_limit=Decimal("0.05"),
    )
    once = rows.append_column("person", pa.array(range(len(rows))))
    twice = pa.concat_tables([once, once]).take(np.random.default_rng(21).permutation(2 * len(rows)))
    runs: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as directory, LocalService(Path(directory) / "adult.duckdb") as service:
        for name, loaded in (("once", once), ("twice", twice)):
            service.load(name, loaded)
            runs[name] = service.run(replace(policy, source=TableReference("", "main", name)))
    first, second = (run.release for run in runs.values())
    if first is None or second is None:
        return Section(title, (_failures(runs),), sound=False)
    same = np.isclose(first.score, second.score, rtol=1e-9) and first.risk_after.classes == second.risk_after.classes
    few = _checks(second) <= MOST_CHECKS * _checks(first)
    return Section(
        title,
        (
            table(
                ("adult", "score", "classes", "checks", "job s"),
                (
                    [
                        name,
                        f"{release.score:.12f}",
                        f"{release.risk_after.classes:,}",
                        str(_checks(release)),
                        seconds(runs[name].seconds),
                    ]
                    for name, release in (("once", first), ("twice", second))
                ),
            ),
            f"Goals: score and number of classes of the plain job: {verdict(bool(same))}; checks within 10 %: "
            f"{verdict(few)}.",
        ),
        sound=bool(same),
    )


def _checks(release: Release) -> int:
    return release.proof.searched.checked if release.proof.searched is not None else 0


def _failures(runs: dict[str, Run]) -> str:
    return f"Failed: {'; '.join(f'{name}: {run.failure}' for name, run in runs.items() if run.release is None)}"
