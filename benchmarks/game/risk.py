"""Section: a full risk analysis of a large table, against one GROUP BY over its quasi-identifiers.

python -m benchmarks.game.risk analysis|grouped DATABASE does the work in a process of its own.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from sqlglot import exp

from benchmarks.discharges import CACHE, TABLE, discharges, wide_policy
from benchmarks.markdown import seconds, table, times
from benchmarks.measured import MEMORY_LIMIT, ROWS, THREADS, Measured, in_a_process, peak_memory
from benchmarks.problems import UnusableError
from benchmarks.section import Section, verdict
from tableveil import backend
from tableveil.backend import Database, Session, Settings
from tableveil.control import Control
from tableveil.convert import stored_policy
from tableveil.pipelines.risk_analysis import run_risk_analysis
from tableveil.pipelines.work import JobContext, JobReport
from tableveil.policy import Population, TableReference
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.state.migrate import migrate
from tableveil.state.risk_analyses import RISK_ANALYSES

TITLE = "A full risk analysis"
MOST_TIMES = 2.0
SAMPLED = 10
"""The population is said to be so many times as large."""

COLUMNS = tuple(attribute.column for attribute in wide_policy().quasi_identifiers)


def risk(rows: int = ROWS) -> Section:
    """Runs both, each in a process of its own."""
    try:
        database = discharges(rows)
        grouped, analysis = (_measured(work, database) for work in _WORK)
    except UnusableError as error:
        return Section(TITLE, (f"Failed: {error}",), sound=False)
    ratio = analysis.seconds / grouped.seconds
    return Section(
        TITLE,
        (
            f"{rows:,} generated discharges, {len(COLUMNS)} quasi-identifiers ({', '.join(COLUMNS)}), memory_limit "
            f"{MEMORY_LIMIT}, {THREADS} threads. All measures: every record has the weight {SAMPLED}, and the "
            f"population is said to be {SAMPLED} times as large. Beside it, one GROUP BY over the columns into a "
            "temporary table.",
            table(
                ("", "s", "peak memory"),
                [
                    [name, seconds(found.seconds), f"{found.peak_memory / 2**30:.2f} GiB"]
                    for name, found in (("GROUP BY", grouped), ("analysis", analysis))
                ]
                + [[f"analysis, {part}", seconds(found), ""] for part, found in analysis.parts.items()],
            ),
            f"{times(ratio)} of the GROUP BY; goal: at most {times(MOST_TIMES)}: {verdict(ratio <= MOST_TIMES)}.",
            table(("", ""), [list(fact) for fact in analysis.facts.items()]),
        ),
    )


def _measured(work: str, database: Path) -> Measured:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        copy = shutil.copyfile(database, Path(folder, "copy.duckdb"))
        return Measured(**in_a_process("benchmarks.game.risk", work, copy))


def _grouped(database: Database, session: Session) -> Measured:
    columns = [backend.column(name) for name in COLUMNS]
    query = exp.select(*columns, backend.alias(exp.Count(this=exp.Star()), "n")).from_(backend.table(TABLE, "main"))
    started = time.monotonic()
    session.stage("grouped", query.group_by(*columns))
    return Measured(time.monotonic() - started, {}, peak_memory(), {})


def _analysis(database: Database, session: Session) -> Measured:
    migrate(session.ledger)
    session.execute(f"ALTER TABLE main.{TABLE} ADD COLUMN weight INTEGER DEFAULT {SAMPLED}")
    rows = session.value(exp.select(exp.Count(this=exp.Star())).from_(backend.table(TABLE, "main")))
    population = Population(size=SAMPLED * rows)
    request = RiskRequest(TableReference("", "main", TABLE), None, COLUMNS, population, weight_column="weight")
    report, started = JobReport(), time.monotonic()
    number = run_risk_analysis(JobContext(1, "{}", database, session, Control(), report), request, stored_policy)
    taken, parts = time.monotonic() - started, report.seconds()
    found = RISK_ANALYSES.find(session.ledger, number)
    assert found is not None
    facts = {
        "combinations": f"{found.classes:,}",
        "subsets": f"{len(found.subsets)}, of up to {found.largest_subset} columns",
        "measures": str(len(found.measures)),
    }
    return Measured(taken, parts, peak_memory(), facts)


_WORK: Mapping[str, Callable[[Database, Session], Measured]] = {"grouped": _grouped, "analysis": _analysis}


if __name__ == "__main__":
    work, path = sys.argv[1:]
    opened = Database(Settings(Path(path), MEMORY_LIMIT, THREADS))
    with opened.session() as own:
        own.control = Control()
        print(json.dumps(asdict(_WORK[work](opened, own))))
    opened.close()
