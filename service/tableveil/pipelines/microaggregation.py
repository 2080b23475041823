"""One job of microaggregation: read, cluster the whole table, aggregate, write, each by who knows how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tableveil.aggregation.aggregates import Aggregates, aggregate, all_same
from tableveil.aggregation.columns import AggregatedColumn
from tableveil.aggregation.points import Clustered, Points
from tableveil.backend import Database, Session
from tableveil.classes import EquivalenceClasses, SensitiveColumn
from tableveil.control import Progress
from tableveil.counting.points import read_points
from tableveil.dictionary import SensitiveDictionary
from tableveil.errors import shortened
from tableveil.microaggregation.classes import before_clustering, cluster_classes, column_values
from tableveil.microaggregation.error import SquaredError, squared_error
from tableveil.microaggregation.solve import TOGETHER, code_of, counter_of, solve, unmet_together
from tableveil.pipelines.infeasible import unmet_limit
from tableveil.pipelines.read import Dictionaries, read_dictionaries, resolve_fully
from tableveil.pipelines.report import Report
from tableveil.policy import KAnonymity, Policy, SensitiveModel, policy_warnings
from tableveil.privacy import Facts
from tableveil.privacy.guarantees import guarantees
from tableveil.release import Evidence, ReleasePlan, check_disclosure, publish
from tableveil.release.plan import Aggregated, Members
from tableveil.risk import ClassSizes
from tableveil.search import Candidate, SearchOutcome
from tableveil.search.relaxing import refusal
from tableveil.source import Fingerprint
from tableveil.state.jobs import JobPhase

SCORED = "squared error, as a share of that of a single cluster"
"""What the score of a release is."""


@dataclass(frozen=True, slots=True)
class Clusterable:
    """What is clustered, all of one snapshot; `policy` has a role for every column.

    `protected` are the sensitive columns that a privacy model looks at: those of the points.
    """

    policy: Policy
    fingerprint: Fingerprint
    dictionaries: Dictionaries
    protected: tuple[SensitiveDictionary, ...]
    points: Points

    @property
    def k(self) -> int:
        """The least size of a cluster."""
        return max(model.k for model in self.policy.privacy_models if isinstance(model, KAnonymity))

    @property
    def clustered(self) -> int:
        """Records that are clustered."""
        return int(self.points.counts.sum())

    @property
    def records(self) -> int:
        """All records of the source."""
        return self.clustered + self.dictionaries.set_aside

    def lost(self, share: float, columns: Sequence[AggregatedColumn]) -> float:
        """The share of the columns' squared error if every record set aside adds what the average record could lose."""
        if not any(np.ptp(column.positions) for column in columns):
            return 0.0
        return (share * self.clustered + self.dictionaries.set_aside) / self.records

    @property
    def columns(self) -> tuple[SensitiveColumn, ...]:
        """The sensitive columns as models look at them."""
        return tuple(dictionary.values for dictionary in self.protected)


@dataclass(frozen=True, slots=True)
class _Solved:
    """Clusters, what replaces the values in them, and the error of that."""

    found: Clustered
    classes: EquivalenceClasses
    aggregates: tuple[Aggregates, ...]
    error: SquaredError
    seconds: float


def run_microaggregation(
    database: Database, session: Session, job: int, policy: Policy, document: str, report: Report
) -> int:
    """Runs a job on a session of its own and returns the number of the release it wrote.

    Raises:
        TableveilError: nothing was written.
    """
    read = _read(session, policy, report)
    _check_limit(read)
    solved = _solve(session, read, report)
    report.phase(JobPhase.WRITING)
    plan = _plan(read, solved)
    check_disclosure(session, plan)
    before = cluster_classes(read.points, before_clustering(read.points), read.columns)
    best = _best(read, solved)
    evidence = Evidence(
        job=job,
        document=document,
        fingerprint=read.fingerprint,
        population_fingerprint="",
        search=_outcome(solved, best),
        best=best,
        losses=tuple(
            read.lost(share, [column])
            for share, column in zip(solved.error.columns.tolist(), read.points.columns, strict=True)
        ),
        quality_model=SCORED,
        chosen_by=policy.privacy_models,
        explanation=None,
        counter="numpy",
        counting=f"all {len(read.points.counts):,} combinations in numpy",
        sizes_before=ClassSizes.of(before.counts),
        warnings=tuple(_warnings(read, solved)),
        elapsed=report.elapsed,
        phases=report.seconds,
        guarantees=guarantees(
            Facts(counter_of(read.points, read.columns)), policy.privacy_models, before, solved.classes
        ),
    )
    return publish(database, session, plan, evidence, verifying=lambda: report.phase(JobPhase.VERIFYING))


def _read(session: Session, policy: Policy, report: Report) -> Clusterable:
    report.phase(JobPhase.READING)
    source, policy, hierarchies = resolve_fully(session, policy, store=True)
    # One transaction, so that everything is read of the same rows.
    with session.transaction():
        mark, dictionaries = read_dictionaries(session, source, policy, hierarchies)
        report.phase(JobPhase.COUNTING)
        return clusterable(session, policy, mark, dictionaries)


def clusterable(session: Session, policy: Policy, mark: Fingerprint, dictionaries: Dictionaries) -> Clusterable:
    """Reads what is clustered of a source with that fingerprint; call it in the transaction of the dictionaries."""
    asked = {model.column for model in policy.privacy_models if isinstance(model, SensitiveModel)}
    protected = tuple(found for found in dictionaries.sensitive if found.attribute.column in asked)
    points = read_points(session, dictionaries.source, dictionaries.aggregated, protected)
    return Clusterable(policy, mark, dictionaries, protected, points)


def clustered_plan(session: Session, read: Clusterable, report: Report) -> tuple[ReleasePlan, float]:
    """The plan by which a job writes its release, and the release's score; of the same rows they are the same."""
    solved = _solve(session, read, report)
    return _plan(read, solved), _best(read, solved).score


def _check_limit(read: Clusterable) -> None:
    """Raises `InfeasibleError` if too many records are set aside; then with what the models refuse of the others."""
    why = "they have a NULL in an aggregated column"
    unmet = unmet_limit(read.policy, read.dictionaries.set_aside, read.records, why)
    if unmet is not None:
        models = unmet_together(read.points, read.columns, read.policy.privacy_models)
        message = f"{unmet.found}; {TOGETHER}" if models else ""
        raise refusal(code_of(read.points, read.k), message, [unmet, *models])


def _solve(session: Session, read: Clusterable, report: Report) -> _Solved:
    report.phase(JobPhase.SEARCHING)
    policy, points = read.policy, read.points
    assert session.control is not None
    assert policy.microaggregation is not None
    started = session.control.now()

    def progress(clustered: int, of: int) -> None:
        report.on_progress(Progress(clustered, of, None, None, None, of_records=True))

    found = solve(
        points, read.k, policy.microaggregation, read.columns, policy.privacy_models, session.control, progress
    )
    progress(read.clustered, read.clustered)
    values = [column_values(points, found.clusters, j) for j in range(len(points.columns))]
    return _Solved(
        found=found,
        classes=cluster_classes(points, found.clusters, read.columns),
        aggregates=tuple(aggregate(column, of) for column, of in zip(points.columns, values, strict=True)),
        error=squared_error(points, found.clusters),
        seconds=session.control.now() - started,
    )


def _plan(read: Clusterable, solved: _Solved) -> ReleasePlan:
    points, clusters, dictionaries = read.points, solved.found.clusters, read.dictionaries
    members = Members(
        by=read.protected,
        codes=tuple(codes[clusters.points] for codes in points.codes),
        sensitive=tuple(codes[clusters.points] for codes in points.sensitive),
        classes=clusters.clusters.astype(np.int64),
        counts=clusters.counts,
    )
    return ReleasePlan(
        policy=read.policy,
        source=dictionaries.source,
        dictionaries=(),
        transformation=(),
        classes=solved.classes,
        kept=np.ones(clusters.number, np.bool_),
        records=read.records,
        sensitive=dictionaries.sensitive,
        aggregated=Aggregated(dictionaries.aggregated, solved.aggregates, members),
    )


# --- the evidence ---------------------------------------------------------------------------------------------------


def _best(read: Clusterable, solved: _Solved) -> Candidate:
    """The clusters, as a candidate of no transformation."""
    score = read.lost(solved.error.total, [column for column in read.points.columns if column.weight])
    return Candidate(
        transformation=(),
        key=((score,), 0, ()),
        score=score,
        values=(),
        suppressed=read.dictionaries.set_aside,
        classes=solved.found.clusters.number,
    )


def _outcome(solved: _Solved, best: Candidate) -> SearchOutcome:
    """The search as releases know it, of a lattice that has one element: no column is generalized."""
    optimal = solved.found.optimal
    return SearchOutcome(
        strategy=solved.found.account,
        best=best,
        complete=optimal,
        lower_bound=best.score if optimal else 0.0,
        checked=1,
        counted=1,
        lattice_size=1,
        pruned={},
        runners_up=(),
        seconds=solved.seconds,
        best_seconds=None,
    )


def _warnings(read: Clusterable, solved: _Solved) -> Iterator[str]:
    yield from policy_warnings(read.policy)
    if solved.found.clusters.number == 1:
        yield "All records are in one cluster: the quasi-identifiers tell nothing of any of them."
        return
    every = np.ones(solved.found.clusters.number, np.bool_)
    for column, aggregates in zip(read.points.columns, solved.aggregates, strict=True):
        if len(column.counts) > 1 and all_same(aggregates, every):
            yield f"{shortened(column.column)} is the same in all clusters: it tells nothing of any record."
