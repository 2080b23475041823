"""Releases by each method, as an analyst reads them: per record and column a label, and the values it may stand for."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.usefulness.subjects import Subject
from tableveil.aggregation import AggregatedColumn, Points
from tableveil.classes import NumpyCounter
from tableveil.control import Control
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Lattice
from tableveil.local_recoding import SUPPRESSED, LocalProblem, label_costs, recode
from tableveil.microaggregation import cluster
from tableveil.policy import Aggregate, Aggregation, KAnonymity, LossModel, Scale
from tableveil.policy.methods.microaggregation import Microaggregation
from tableveil.privacy import privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem, exact

K = 5
SUPPRESSION_LIMIT = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A release.

    Attributes:
        labels: Shape (records, quasi-identifiers): the number of each label.
        kept: Per record, whether it was released.
        meanings: Per quasi-identifier, shape (labels, values): the share of each value in a label's values.
    """

    labels: NDArray[np.int64]
    kept: NDArray[np.bool_]
    meanings: tuple[NDArray[np.float64], ...]


def releases(subject: Subject, seconds: float) -> Iterator[tuple[str, Read]]:
    """One release per method and aggregate; local recoding has so many seconds."""
    combinations, of, counts = np.unique(subject.codes, axis=0, return_inverse=True, return_counts=True)
    levels, counts = subject.levels, counts.astype(np.int64)
    counter = NumpyCounter(levels, list(combinations.T), counts)
    tops = tuple(attribute.top for attribute in levels)
    suppressible = int(SUPPRESSION_LIMIT * len(subject.codes))
    weights = [1.0] * len(levels)
    privacy = privacy_of((KAnonymity(K),), counter)
    meanings = tuple(map(_meanings, levels))
    offsets = [np.cumsum([0, *map(len, attribute.leaves)]) for attribute in levels]

    def read(at: NDArray[np.int64], kept: NDArray[np.bool_]) -> Read:
        """The release of combinations, each at levels of its own."""
        labels = [
            offsets[j][at[:, j]] + np.array(attribute.groups)[at[:, j], combinations[:, j]]
            for j, attribute in enumerate(levels)
        ]
        return Read(np.column_stack(labels)[of], kept[of], meanings)

    for aggregate in Aggregate:
        if aggregate is Aggregate.SUM:
            # The arithmetic mean chooses the same.
            continue
        quality = quality_of(LossModel(aggregate), counter, weights, suppressible)
        found = exact(Problem(Lattice(subject.lowest, tops), counter, privacy, quality, suppressible), Control()).best
        assert found is not None
        at = np.tile(np.array(found.transformation), (len(combinations), 1))
        groups = np.column_stack([attribute.groups[at[0, j]][combinations[:, j]] for j, attribute in enumerate(levels)])
        _, classes = np.unique(groups, axis=0, return_inverse=True)
        yield (
            f"full-domain, {aggregate.replace('_', ' ').lower()}",
            read(at, np.bincount(classes, counts)[classes] >= K),
        )

    costs = label_costs(LossModel(Aggregate.ARITHMETIC_MEAN), levels, weights, counter.marginals().counts)
    control = Control()
    control.limit(control.now() + seconds)
    local = recode(
        LocalProblem(levels, combinations, counts, costs, subject.lowest, tops, privacy, suppressible), control
    )
    kept = local.classes != SUPPRESSED
    yield "local recoding", read(local.levels[np.where(kept, local.classes, 0)], kept)
    yield "microaggregation", _microaggregated(subject, combinations, of, counts)


def _meanings(attribute: AttributeLevels) -> NDArray[np.float64]:
    values = len(attribute.groups[0])
    shares = []
    for groups, leaves in zip(attribute.groups, attribute.leaves, strict=True):
        of_level = np.zeros((len(leaves), values))
        of_level[groups, np.arange(values)] = 1.0
        shares.append(of_level / np.maximum(of_level.sum(axis=1, keepdims=True), 1.0))
    return np.vstack(shares)


def _microaggregated(
    subject: Subject, combinations: NDArray[np.int64], of: NDArray[np.int64], counts: NDArray[np.int64]
) -> Read:
    """Means, as the nearest values, of numbers; modes of categories."""
    columns = []
    for j, (attribute, numbers) in enumerate(zip(subject.levels, subject.numbers, strict=True)):
        values = len(attribute.groups[0])
        nominal = numbers is None
        columns.append(
            AggregatedColumn(
                str(j),
                Aggregation(scale=Scale.NOMINAL) if nominal else Aggregation(),
                np.bincount(subject.codes[:, j], minlength=values),
                np.arange(values, dtype=float) if numbers is None else numbers,
                attribute if nominal else None,
            )
        )
    points = Points(tuple(columns), tuple(combinations.T.astype(np.int32)), counts)
    found = cluster(points, K, Microaggregation(), Control()).clusters
    # Entries and records, both in the order of their points.
    order = np.argsort(found.points, kind="stable")
    clusters = np.empty(len(of), np.int64)
    clusters[np.argsort(of, kind="stable")] = np.repeat(found.clusters[order], found.counts[order])
    labels = np.empty_like(subject.codes)
    for j, numbers in enumerate(subject.numbers):
        codes, values = subject.codes[:, j], len(subject.levels[j].groups[0])
        if numbers is None:
            together = np.bincount(clusters * values + codes, minlength=found.number * values)
            labels[:, j] = together.reshape(found.number, values).argmax(axis=1)[clusters]
        else:
            means = np.bincount(clusters, numbers[codes]) / np.bincount(clusters)
            labels[:, j] = np.abs(means[:, None] - numbers).argmin(axis=1)[clusters]
    identity = tuple(np.eye(len(attribute.groups[0])) for attribute in subject.levels)
    return Read(labels, np.ones(len(of), np.bool_), identity)
