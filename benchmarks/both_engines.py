"""Runs reference cases as jobs in DuckDB and in Spark: both must find the same, and what the reference found.

    python benchmarks/both_engines.py --cases ../shared/reference/arx.jsonl --data ../shared/data --ids 'b-adult-k5-*'

Exit codes: 0 all alike, 1 something differs, 2 the cases cannot be run. It needs PySpark's server and Java.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from sqlglot import exp

if not __package__:
    # If run as a file, imports start in this folder, not in the repository.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.cases import Case, read_cases
from benchmarks.markdown import seconds
from benchmarks.markdown import table as as_table
from benchmarks.measured import searched
from benchmarks.prepared import Prepared, Tables, run_case
from benchmarks.problems import UnusableError
from benchmarks.service import TARGET, LocalService, Run
from tableveil.backend import WarehouseSession, table
from tableveil.errors import TableveilError
from tableveil.policy import Policy, TableReference
from tableveil.spark import SparkWarehouse
from tableveil.spark.capabilities import unsupported
from tableveil.spark.local import LocalServer

WAREHOUSE, SCHEMA = "lake", "cases"
MOST_COLLECTED = 2**28

HEADERS = ("case", "score", "classes", "suppressed", "checks", "Spark s", "DuckDB s", "result")


class Found(NamedTuple):
    """The result of a case in an engine, in which the engines may not differ; `failure` is its code."""

    score: float | None
    classes: int
    suppressed: int
    checks: int
    failure: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A case's runs in both engines; `differs` says how they differ from each other and from the reference."""

    id: str
    there: Run
    here: Run
    differs: tuple[str, ...]


class Lake:
    """The tables of cases in Spark, each copied from the service's database when it is first needed."""

    def __init__(self, rows: WarehouseSession) -> None:
        self._rows = rows
        self._copied: set[str] = set()
        rows.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")

    def policy(self, policy: Policy) -> Policy:
        """The policy over copies of its tables."""
        population = policy.population
        if population is not None and population.table is not None:
            population = replace(population, table=self._copy(population.table))
        return replace(policy, source=self._copy(policy.source), population=population)

    def _copy(self, found: TableReference) -> TableReference:
        name = found.table
        if name not in self._copied:
            self._rows.create(table(name, SCHEMA, WAREHOUSE), exp.select("*").from_(table(name, "main")))
            self._copied.add(name)
        return TableReference(WAREHOUSE, SCHEMA, name)


def can_run(policy: Policy) -> bool:
    """Whether a job over Spark may have the policy, and finds the same whenever it runs."""
    return not unsupported(policy) and policy.search.time_limit_seconds is None


def differing(there: Found, here: Found) -> Iterator[str]:
    """How the two engines' results differ."""
    for name, found, other in zip(Found._fields, there, here, strict=True):
        if found != other:
            yield f"{name} {found} in Spark, {other} in DuckDB"


def compare(cases: Sequence[Case], data: Path) -> Iterator[Compared]:
    """Runs each case that Spark can do in both engines.

    Raises:
        UnusableError: the cases cannot be run.
        TableveilError: there is no Spark.
    """
    tables = Tables(data)
    with tempfile.TemporaryDirectory() as folder:
        server = LocalServer(Path(folder, "spark"), persistent=False)
        try:
            warehouse = SparkWarehouse(WAREHOUSE, server.url, MOST_COLLECTED)
            with (
                LocalService(Path(folder, "ledger.duckdb"), warehouses=[warehouse]) as service,
                service.session() as embedded,
                warehouse.session(embedded) as rows,
            ):
                rows.execute(f"CREATE SCHEMA IF NOT EXISTS {TARGET.schema}")
                lake = Lake(rows)
                for case in tables.prepare(cases):
                    if isinstance(case, Prepared) and can_run(case.policy):
                        yield _compared(case, tables, service, lake)
        finally:
            server.close()


def _compared(case: Prepared, tables: Tables, service: LocalService, lake: Lake) -> Compared:
    here = run_case(case, tables, service)
    there = service.run(lake.policy(case.policy))
    differs = list(differing(_found(there), _found(here.run)))
    differs += [] if here.known else here.differences
    return Compared(case.case.id, there, here.run, tuple(differs))


def _found(run: Run) -> Found:
    if run.release is None:
        return Found(None, 0, 0, 0, run.failure.code if run.failure else "")
    release = run.release
    checks = searched(release).checked
    return Found(release.score, release.classes, release.suppressed_records, checks, "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compares the cases that the command line names, and returns the exit code."""
    parser = argparse.ArgumentParser(prog="both_engines.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=Path, required=True, help="a file with one case per line, as JSON")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds a folder per dataset")
    parser.add_argument("--ids", default="*", metavar="GLOB", help="only cases whose id matches")
    options = parser.parse_args(arguments)
    try:
        compared = list(compare(read_cases(options.cases, options.ids), options.data))
    except (UnusableError, TableveilError) as error:
        print(error, file=sys.stderr)
        return 2
    print(as_table(HEADERS, map(_row, compared)))
    return 1 if any(each.differs for each in compared) else 0


def _row(compared: Compared) -> list[str]:
    found = _found(compared.there)
    return [
        compared.id,
        "none" if found.score is None else f"{found.score:.10g}",
        str(found.classes),
        str(found.suppressed),
        str(found.checks),
        seconds(compared.there.seconds),
        seconds(compared.here.seconds),
        "; ".join(compared.differs) or "alike",
    ]


if __name__ == "__main__":
    sys.exit(main())
