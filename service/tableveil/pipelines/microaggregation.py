"""Microaggregation of the whole table: clusters of records, and aggregates in place of their values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tableveil.aggregation.aggregates import aggregate, all_same
from tableveil.aggregation.coordinates import AggregatedColumn, Clustered, Points
from tableveil.backend import Session
from tableveil.classes import EquivalenceClasses, SensitiveColumn
from tableveil.control import Progress
from tableveil.counting import CountedColumns
from tableveil.counting.points import read_points
from tableveil.dictionary import PeopleDictionary, SensitiveDictionary
from tableveil.errors import Warned, by_rank, shortened
from tableveil.lifecycle import Solution
from tableveil.microaggregation.classes import (
    SquaredError,
    before_clustering,
    cluster_classes,
    column_values,
    squared_error,
)
from tableveil.microaggregation.solve import TOGETHER, ClusterProblem, counter_of, join, solve
from tableveil.pipelines.infeasible import unmet_limit
from tableveil.pipelines.people import people_risks, people_warnings
from tableveil.pipelines.read import Dictionaries
from tableveil.pipelines.solution import Method
from tableveil.pipelines.work import JobContext
from tableveil.policy import KAnonymity, Policy, SensitiveModel, policy_warnings
from tableveil.policy.methods.microaggregation import MICROAGGREGATION
from tableveil.policy.methods.microaggregation import Microaggregation as MicroaggregationOptions
from tableveil.privacy import Facts
from tableveil.privacy.guarantees import guarantees
from tableveil.release import ReleasePlan
from tableveil.release.clusters import Clusters, Members, alike
from tableveil.release.plan import Aggregated
from tableveil.risk import ClassSizes
from tableveil.search.relaxing import refusal
from tableveil.state.releases import Proof

SCORED = "squared error, as a share of that of a single cluster"
"""The meaning of a release's score."""


@dataclass(frozen=True, slots=True)
class Clusterable:
    """The input of clustering, all from one snapshot; `policy` has a role for every column.

    The points have the aggregated `columns` and those sensitive ones that a privacy model looks at, and where people
    have several records the people, and their pairs with values.
    """

    policy: Policy
    options: MicroaggregationOptions
    dictionaries: Dictionaries
    columns: CountedColumns
    points: Points

    @property
    def k(self) -> int:
        """The least size of a cluster, in people."""
        return max(model.k for model in self.policy.privacy_models if isinstance(model, KAnonymity))

    @property
    def problem(self) -> ClusterProblem:
        """The records, and what their clusters have to meet."""
        return ClusterProblem(self.points, self.k, self.counted, self.policy.privacy_models)

    @property
    def clustered(self) -> int:
        """Records that are clustered."""
        return int(self.points.counts.sum())

    @property
    def records(self) -> int:
        """All records of the source."""
        return self.clustered + self.dictionaries.set_aside

    def lost(self, share: float, columns: Sequence[AggregatedColumn]) -> float:
        """The share of the columns' squared error if a record set aside adds the possible loss of an average one."""
        if not any(np.ptp(column.positions) for column in columns):
            return 0.0
        return (share * self.clustered + self.dictionaries.set_aside) / self.records

    @property
    def counted(self) -> tuple[SensitiveColumn, ...]:
        """The counted columns of the points in the form for models."""
        return replace(self.columns, aggregated=()).counted


@dataclass(frozen=True, slots=True)
class _Solved:
    """Clusters, the aggregates of their values, and the resulting error."""

    found: Clustered
    classes: EquivalenceClasses
    aggregates: Aggregated
    error: SquaredError
    seconds: float = 0.0


class MicroaggregationMethod(Method[Clusterable]):
    """See `Method`."""

    def count(self, job: JobContext, policy: Policy, read: Dictionaries) -> Clusterable:
        """The points to cluster."""
        return clusterable(job.session, policy, read)

    def solve(self, job: JobContext, counts: Clusterable) -> Solution:
        """Clusters, and aggregates of their values."""
        _check_limit(counts)
        solved = _solve(job, counts)
        before = cluster_classes(counts.points, before_clustering(counts.points), counts.counted)
        models, facts = counts.policy.privacy_models, Facts(counter_of(counts.points, counts.counted))
        score = _score(counts, solved)
        risk_before, risk_after = people_risks(counts.policy, facts, before, solved.classes)
        reached = guarantees(facts, models, before, solved.classes)
        return Solution(
            plan=_plan(counts, solved),
            score=score,
            parts=(),
            proof=_proof(counts, solved, score),
            losses=tuple(
                counts.lost(share, [column])
                for share, column in zip(solved.error.columns.tolist(), counts.points.columns, strict=True)
            ),
            quality_model=SCORED,
            chosen_by=models,
            explanation=None,
            sizes_before=ClassSizes.of(before.counts),
            guarantees=reached,
            warnings=by_rank((*_warnings(counts, solved), *people_warnings(counts.policy, facts, solved.classes))),
            risk_before=risk_before,
            risk_after=risk_after,
        )


def clusterable(session: Session, policy: Policy, dictionaries: Dictionaries) -> Clusterable:
    """Reads the input of clustering; call it in the transaction of the dictionaries."""
    asked = {model.column for model in policy.privacy_models if isinstance(model, SensitiveModel)}
    columns = dictionaries.columns
    columns = replace(columns, sensitive=tuple(of for of in columns.sensitive if of.attribute.column in asked))
    points = read_points(session, dictionaries.source, columns)
    return Clusterable(policy, MICROAGGREGATION.options(policy), dictionaries, columns, points)


def _check_limit(read: Clusterable) -> None:
    """Raises `InfeasibleError` if too many records are set aside; its faults include models that refuse the others."""
    why = "they have a NULL in an aggregated column"
    unmet = unmet_limit(read.policy, read.dictionaries.set_aside, read.records, why)
    if unmet is not None:
        problem = read.problem
        models = problem.unmet()
        message = f"{unmet.found}; {TOGETHER}" if models else ""
        raise refusal(problem.code, message, [unmet, *models], nearest=problem.proves)


def clustered_plan(job: JobContext, read: Clusterable) -> tuple[ReleasePlan, float]:
    """The plan with which a job writes its release, and its score. Equal rows give an equal plan."""
    solved = _solve(job, read)
    return _plan(read, solved), _score(read, solved)


def _solve(job: JobContext, read: Clusterable) -> _Solved:
    started = job.control.now()

    def progress(clustered: int, of: int) -> None:
        job.report.on_progress(Progress(clustered, of, None, None, None, of_records=True))

    solved = _measured(read, solve(read.problem, read.options, job.control, progress))
    # A class of the rows has all clusters with its values. A people's share may hold of each and not of all together;
    # and one person's share of a cluster is not that of the class, which is what is told of people.
    while read.columns.people is not None:
        into = alike(job.session, _plan(read, solved))
        if into.max() + 1 == solved.found.clusters.number:
            break
        solved = _measured(read, join(read.problem, solved.found, into, job.control))
    progress(read.clustered, read.clustered)
    return replace(solved, seconds=job.control.now() - started)


def _measured(read: Clusterable, clustered: Clustered) -> _Solved:
    points = read.points
    values = [column_values(points, clustered.clusters, j) for j in range(len(points.columns))]
    aggregates = zip(read.columns.aggregates, values, strict=True)
    return _Solved(
        found=clustered,
        classes=cluster_classes(points, clustered.clusters, read.counted),
        aggregates=tuple((column, aggregate(column.values, of)) for (_, column), of in aggregates),
        error=squared_error(points, clustered.clusters),
    )


def _plan(read: Clusterable, solved: _Solved) -> ReleasePlan:
    points, clusters, columns = read.points, solved.found.clusters, read.columns
    by: list[SensitiveDictionary | PeopleDictionary] = [*columns.sensitive]
    by += [] if columns.people is None else [columns.people]
    members = Members(
        by=tuple(by),
        codes=tuple(codes[clusters.points] for codes in points.codes),
        sensitive=tuple(codes[clusters.points] for codes in points.sensitive[: len(by)]),
        classes=clusters.clusters.astype(np.int64),
        counts=clusters.counts,
    )
    return ReleasePlan(
        policy=read.policy,
        source=read.dictionaries.source,
        dictionaries=(),
        recoding=Clusters(solved.aggregates, members),
        classes=solved.classes,
        kept=np.ones(clusters.number, np.bool_),
        records=read.records,
        sensitive=read.dictionaries.columns.sensitive,
        people=columns.people,
    )


# --- the evidence ---------------------------------------------------------------------------------------------------


def _score(read: Clusterable, solved: _Solved) -> float:
    return read.lost(solved.error.total, [column for column in read.points.columns if column.weight])


def _proof(read: Clusterable, solved: _Solved, score: float) -> Proof:
    optimal = solved.found.optimal
    return Proof(
        optimal=optimal,
        lower_bound=score if optimal else 0.0,
        strategy=solved.found.account,
        seconds=solved.seconds,
        counter="numpy",
        counting=f"all {len(read.points.counts):,} combinations in numpy",
        searched=None,
    )


def _warnings(read: Clusterable, solved: _Solved) -> Iterator[Warned]:
    yield from policy_warnings(read.policy)
    if solved.found.clusters.number == 1:
        records = int(solved.found.clusters.sizes.sum())
        text = f"All {records:,} records are in one cluster: the quasi-identifiers tell nothing of any of them."
        yield Warned(text, count_of=records)
        return
    every = np.ones(solved.found.clusters.number, np.bool_)
    for dictionary, aggregates in solved.aggregates:
        if dictionary.distinct > 1 and all_same(aggregates, every):
            name = shortened(dictionary.attribute.column)
            text = f"{name} is the same in all clusters: it tells nothing of any record."
            yield Warned(text, field=dictionary.attribute.column)
