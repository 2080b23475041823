"""The reference cases have the same score, checks and classes over Spark as in DuckDB, and the reference's score.

Jobs end with the plan of their release. A statement of one table runs once in Spark, whatever the number of cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from sqlglot import exp

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from benchmarks.cases import read_cases
from benchmarks.expected import close
from benchmarks.oddities import oddities
from benchmarks.prepared import Prepared, Tables
from benchmarks.service import TARGET, LocalService
from tableveil.backend import WarehouseSession, table
from tableveil.control import Control
from tableveil.errors import InfeasibleError
from tableveil.lifecycle import Evidence
from tableveil.pipelines.anonymize import solved
from tableveil.pipelines.read import resolve_fully
from tableveil.pipelines.work import JobContext
from tableveil.policy import Policy, TableReference
from tableveil.release import ReleasePlan
from tableveil.spark.types import unsupported
from tests.warehouses.conftest import MOST_COLLECTED
from tests.warehouses.remembering import Memory, RememberingSession

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
CASES = SHARED / "reference" / "arx.jsonl"

KINDS = ("a-adult-*5-*-gm", "a-fars-*-gm", "a-mach20196-*", "b-adult-k5-*", "c-adult-k5*", "d-adult-k*", "d-adult-avg*")
"""The others are the same models with another k, wider, risk analyses, limited by time, or games, which Spark lacks."""

SCHEMA = "cases"

pytestmark = pytest.mark.skipif(not CASES.is_file(), reason=f"there is no {CASES}")


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
            self._rows.create(table(name, SCHEMA, "lake"), exp.select("*").from_(table(name, "main")))
            self._copied.add(name)
        return TableReference("lake", SCHEMA, name)


def can_run(policy: Policy) -> bool:
    """Whether a job over Spark may have the policy, and finds the same whenever it runs."""
    return not unsupported(policy) and policy.search.time_limit_seconds is None


def _prepared(tables: Tables) -> dict[str, Prepared]:
    cases = [case for kind in KINDS for case in read_cases(CASES, kind)]
    found = (case for case in tables.prepare(cases) if isinstance(case, Prepared))
    return {case.case.id: case for case in found if can_run(case.policy)}


TABLES = Tables(SHARED / "data")
PREPARED: dict[str, Prepared] = _prepared(TABLES) if CASES.is_file() else {}


@dataclass(frozen=True, slots=True)
class Bench:
    """Both engines' sessions, with the same tables."""

    service: LocalService
    spark_url: str
    lake: Lake
    known: Memory

    def solved(self, policy: Policy) -> tuple[ReleasePlan, Evidence] | str:
        """The plan of a release, or the reason why there is none."""
        with self.service.session() as session:
            if not policy.source.catalog:
                return self._solved(JobContext(1, "{}", self.service.database, session, Control()), policy)
            with RememberingSession("lake", self.spark_url, session, MOST_COLLECTED) as rows:
                rows.known = self.known
                job = JobContext(1, "{}", self.service.database, session, Control(), elsewhere=rows)
                return self._solved(job, policy)

    def _solved(self, job: JobContext, policy: Policy) -> tuple[ReleasePlan, Evidence] | str:
        try:
            return solved(job, *resolve_fully(job.rows, policy, store=False))
        except InfeasibleError as error:
            return error.code


@pytest.fixture(scope="module")
def bench(spark_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    from tableveil.spark import SparkWarehouse

    warehouse = SparkWarehouse("lake", spark_url, MOST_COLLECTED)
    path = tmp_path_factory.mktemp("cases") / "ledger.duckdb"
    with (
        LocalService(path, warehouses=[warehouse]) as service,
        service.session() as embedded,
        warehouse.session(embedded) as rows,
    ):
        drop_and_make(rows)
        yield Bench(service, spark_url, Lake(rows), {})


def drop_and_make(rows: WarehouseSession) -> None:
    """Other tests may use the server."""
    for schema in ("cases", TARGET.schema):
        rows.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        rows.execute(f"CREATE SCHEMA {schema}")


@pytest.mark.parametrize("id_", PREPARED)
def test_both_engines_find_the_same(bench: Bench, id_: str) -> None:
    case = PREPARED[id_]
    TABLES.load(case, bench.service)
    here, there = bench.solved(case.policy), bench.solved(bench.lake.policy(case.policy))
    if isinstance(here, str) or isinstance(there, str):
        assert here == there
        assert case.expected.score is None
        return
    (plan, evidence), (own_plan, own) = there, here
    assert (evidence.solution.score, evidence.solution.parts) == (own.solution.score, own.solution.parts)
    searched, own_searched = evidence.solution.proof.searched, own.solution.proof.searched
    assert searched is not None
    assert own_searched is not None
    assert replace(searched, best_seconds=0) == replace(own_searched, best_seconds=0)
    assert plan.transformation == own_plan.transformation
    for word, own_word in zip(plan.classes.words, own_plan.classes.words, strict=True):
        assert np.array_equal(word, own_word)
    assert np.array_equal(plan.classes.counts, own_plan.classes.counts)
    assert np.array_equal(plan.kept, own_plan.kept)
    largest = max(int(plan.classes.counts.max()), case.expected.largest_class or 0)
    if not list(oddities(case.policy.privacy_models, plan.records, largest)):
        assert case.expected.score is not None
        assert close(evidence.solution.score, case.expected.score)
