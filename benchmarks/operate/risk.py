"""Section: `tableveil risk TABLE` alone, which guesses the columns, against one GROUP BY over the same columns.

python -m benchmarks.operate.risk grouped|guessed DATABASE does the work in a process of its own.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from sqlglot import exp

from benchmarks.discharges import TABLE, discharges
from benchmarks.game.risk import in_a_process
from benchmarks.large import DEFAULT_ROWS, MEMORY_LIMIT, THREADS
from benchmarks.markdown import seconds, table, times
from benchmarks.measured import Measured, peak_memory
from benchmarks.problems import UnusableError
from benchmarks.section import Section, verdict
from tableveil import backend
from tableveil.backend import Database, Session, Settings
from tableveil.control import Control
from tableveil.convert import stored_policy
from tableveil.drafting import guessed_quasi_identifiers
from tableveil.pipelines.draft import Drafts
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.risk_analysis import run_risk_analysis
from tableveil.policy import TableReference
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.source import find_table
from tableveil.source.drafted import role_facts
from tableveil.state.migrate import migrate

TITLE = "Risk first: one command on a table"
MOST_TIMES = 2.0

_SOURCE = TableReference("", "main", TABLE)


def risk(rows: int = DEFAULT_ROWS) -> Section:
    """Runs each in a process of its own."""
    try:
        database = discharges(rows)
        grouped, guessed = (in_a_process("benchmarks.operate.risk", work, database) for work in _WORK)
    except UnusableError as error:
        return Section(TITLE, (f"Failed: {error}",), sound=False)
    ratio = guessed.seconds / grouped.seconds
    return Section(
        TITLE,
        (
            f"{rows:,} generated discharges, memory_limit {MEMORY_LIMIT}, {THREADS} threads. Guessed are "
            f"{grouped.facts['columns']}. Beside the analysis, one GROUP BY over these columns into a temporary table.",
            table(
                ("", "s", "peak memory"),
                [
                    [name, seconds(found.seconds), f"{found.peak_memory / 2**30:.2f} GiB"]
                    for name, found in (("GROUP BY", grouped), ("analysis of guessed columns", guessed))
                ]
                + [[part, seconds(found), ""] for part, found in guessed.parts.items()],
            ),
            f"{times(ratio)} of the GROUP BY; goal: at most {times(MOST_TIMES)}: {verdict(ratio <= MOST_TIMES)}.",
        ),
    )


def _columns(session: Session) -> tuple[str, ...]:
    reference, _ = find_table(session, _SOURCE, "table")
    assert reference is not None
    return tuple(guessed_quasi_identifiers(role_facts(session, reference))[0])


def _grouped(_: Database, session: Session) -> Measured:
    names = _columns(session)
    columns = [backend.column(name) for name in names]
    query = exp.select(*columns, backend.alias(exp.Count(this=exp.Star()), "n")).from_(backend.table(TABLE, "main"))
    started = time.monotonic()
    session.stage("grouped", query.group_by(*columns))
    return Measured(time.monotonic() - started, {}, peak_memory(), {"columns": ", ".join(names)})


def _guessed(database: Database, session: Session) -> Measured:
    """The analysis; then, by themselves, the guess in it and the draft of a policy."""
    migrate(session.ledger)
    started = time.monotonic()
    context = JobContext(1, "{}", database, session, Control())
    run_risk_analysis(context, RiskRequest(_SOURCE, None, ()), stored_policy)
    taken, peak = time.monotonic() - started, peak_memory()
    parts = {}
    for part, work in (
        ("of it, guessing", lambda: _columns(session)),
        ("a policy draft", lambda: Drafts(database).draft(_SOURCE, Control())),
    ):
        started = time.monotonic()
        work()
        parts[part] = time.monotonic() - started
    return Measured(taken, parts, peak, {})


_WORK: Mapping[str, Callable[[Database, Session], Measured]] = {"grouped": _grouped, "guessed": _guessed}


if __name__ == "__main__":
    work, path = sys.argv[1:]
    opened = Database(Settings(Path(path), MEMORY_LIMIT, THREADS))
    with opened.session() as own:
        own.control = Control()
        print(json.dumps(asdict(_WORK[work](opened, own))))
    opened.close()
