"""Clusters of a whole table that meet all privacy models: of at least k records, t-close, diverse."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tableveil.aggregation.coordinates import Clustered, Points, Space, SparseClusters
from tableveil.classes import ClassCounter, EquivalenceClasses, NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.control import Control
from tableveil.errors import InfeasibleError
from tableveil.hierarchy import AttributeLevels
from tableveil.microaggregation.classes import cluster_classes
from tableveil.microaggregation.closeness.k_anonymity_first import k_anonymity_first
from tableveil.microaggregation.closeness.merge import merge_until_close, merge_until_released
from tableveil.microaggregation.closeness.merging import Merging
from tableveil.microaggregation.closeness.t_closeness_first import t_closeness_first
from tableveil.microaggregation.closeness.targets import targets_of
from tableveil.microaggregation.clustering import cluster
from tableveil.policy import Dominance, PrivacyModel
from tableveil.policy.methods.microaggregation import ClosenessAlgorithm, Microaggregation
from tableveil.privacy import Conjunction, privacy_of
from tableveil.search.relaxing import Unmet, refusal, ways_of

TOGETHER = "all records in one cluster do not meet the privacy models"
"""The reason why there are no clusters at all."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterProblem:
    """The records to cluster, and what every cluster has to meet.

    `k` is the least size: the k of the k-anonymity model. `sensitive` are the columns of `points.sensitive`, in that
    order, with the counts of these records. `models` are the policy's, in its order: k-anonymity, dominance, and models
    of these columns except (n,t)-closeness. There is at least one record.
    """

    points: Points
    k: int
    sensitive: Sequence[SensitiveColumn]
    models: Sequence[PrivacyModel]

    @property
    def counter(self) -> ClassCounter:
        """See `counter_of`."""
        return counter_of(self.points, self.sensitive)

    @property
    def privacy(self) -> Conjunction:
        """The rules of all models."""
        return privacy_of(self.models, self.counter)

    @property
    def together(self) -> EquivalenceClasses:
        """A single cluster of all records."""
        rows = np.arange(len(self.points.counts))
        one = SparseClusters(rows, np.zeros_like(rows), self.points.counts)
        return cluster_classes(self.points, one, self.sensitive)

    @property
    def code(self) -> str:
        """The code of the error if all records together do not meet the models."""
        return "TOO_FEW_RECORDS" if int(self.points.counts.sum()) < self.k else "INFEASIBLE"

    @property
    def proves(self) -> bool:
        """Whether all models that not even a single cluster of all records meets are proven to be met by no clusters.

        Shares of the people who have a value are not: in each of two clusters every person may have another value, and
        in their union all may have all.
        """
        together = self.together
        return all(rule.monotone or rule.releasable(together).all() for rule in self.privacy.rules)

    @property
    def refused(self) -> InfeasibleError:
        """The error if models do not release all records together, nor the clusters that were formed."""
        return refusal(self.code, TOGETHER, self.unmet(), nearest=self.proves)

    def unmet(self) -> list[Unmet]:
        """The models that not even a single cluster of all records meets, each judged by itself.

        No other clusters meet them either if the models hold for a union if they hold for its parts.
        """
        records = int(self.points.counts.sum())
        every = f"{records:,} records"
        if self.points.people is not None:
            people = len(np.unique(self.points.people))
            every += " of 1 person" if people == 1 else f" of {people:,} people"
        together, counter = self.together, self.counter

        def holds(model: PrivacyModel) -> bool:
            return bool(privacy_of([model], counter).releasable(together).all())

        return [
            Unmet(
                f"privacy_models[{i}]",
                f"{model}, which a single cluster of all {every} does not meet",
                "a model that all records together meet",
                ways_of(i, model, records, holds),
            )
            for i, model in enumerate(self.models)
            if not holds(model)
        ]


def solve(
    problem: ClusterProblem,
    options: Microaggregation,
    control: Control,
    on_progress: Callable[[int, int], None] = lambda records, of: None,
) -> Clustered:
    """Forms clusters of at least k records that every model releases.

    The clusters are formed by `options.closeness` if a model asks for t-closeness, else by `options.clustering`. Then
    clusters that are not t-close are merged, then clusters that the models' own rules do not release, until none is
    left. So the rules have the last word, whatever a method promises.

    Where people have several records, k counts people. Methods that do so form clusters of k people, with one record of
    each if a model limits their shares; what others form is merged until people are enough.

    Args:
        problem: The records, and what clusters have to meet.
        options: How clusters are formed.
        control: May stop the work.
        on_progress: Called with the number of records in clusters and the number of all.

    Raises:
        InfeasibleError: A model does not even release all records together; or, of models that hold of parts and not
            always of their union, neither these nor the clusters that were found.
        Stopped: `control` says so.
    """
    if problem.privacy.refuses_all_below(problem.together):
        raise problem.refused
    return _merged(problem, _formed(problem, options, control, on_progress), control)


def join(problem: ClusterProblem, clustered: Clustered, into: NDArray[np.intp], control: Control) -> Clustered:
    """Joins clusters to those of the number `into`, then merges as `solve` does until every model releases them.

    Raises:
        InfeasibleError: As for `solve`.
        Stopped: `control` says so.
    """
    before = clustered.clusters
    joined = SparseClusters.of(before.points, into[before.clusters], before.counts)
    formed = Clustered(joined, clustered.account, merged=clustered.merged + before.number - joined.number)
    return _merged(problem, formed, control)


def _merged(problem: ClusterProblem, formed: Clustered, control: Control) -> Clustered:
    points, targets = problem.points, targets_of(problem.models, problem.sensitive)
    merging = Merging(Space.of(points), formed.clusters, cluster_classes(points, formed.clusters, problem.sensitive))
    if targets:
        merge_until_close(merging, targets, control)
    if not merge_until_released(merging, problem.privacy, control):
        raise problem.refused
    if not merging.merged:
        return formed
    times = "once" if merging.merged == 1 else f"{merging.merged:,} times"
    account = f"{formed.account}; {times} a cluster that the models refused was merged with its nearest"
    return Clustered(merging.clusters(), account, merged=formed.merged + merging.merged)


def _formed(
    problem: ClusterProblem, options: Microaggregation, control: Control, on_progress: Callable[[int, int], None]
) -> Clustered:
    """The clusters before any are merged; of as many people as shares of them are asked for, too."""
    points, targets = problem.points, targets_of(problem.models, problem.sensitive)
    shares = [math.ceil(1 / Fraction(model.share)) for model in problem.models if isinstance(model, Dominance)]
    k = max([problem.k, *shares])
    if not targets or options.closeness is ClosenessAlgorithm.MERGE:
        return cluster(points, k, options, control, on_progress, singly=bool(shares))
    space = Space.of(points)
    if options.closeness is ClosenessAlgorithm.T_CLOSENESS_FIRST:
        clusters = t_closeness_first(space, k, targets, control, on_progress)
        return Clustered(clusters, "t-closeness first: the nearest record of each part of the sensitive column")
    clusters = k_anonymity_first(space, k, targets, control, on_progress)
    return Clustered(clusters, "k-anonymity first: the nearest records, with swaps for t-closeness")


def counter_of(points: Points, sensitive: Sequence[SensitiveColumn]) -> ClassCounter:
    """A counter with the source's sensitive columns, over all records, for rules that ask for them."""
    rows = np.arange(len(points.counts))
    one = AttributeLevels((np.zeros(1, np.int32),), (), (np.ones(1),), 1.0, False, None)
    values = [
        (column, SensitiveRows(rows, codes, points.counts))
        for column, codes in zip(sensitive, points.sensitive, strict=True)
    ]
    return NumpyCounter([one], [np.zeros(len(rows), np.int32)], points.counts, sensitive=values)
