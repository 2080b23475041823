"""Clusters of a whole table that meet all privacy models: of at least k records, t-close, diverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tableveil.classes import ClassCounter, NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.errors import Change, Fault, InfeasibleError, Relaxation
from tableveil.hierarchy import AttributeLevels
from tableveil.microaggregation.classes import cluster_classes
from tableveil.microaggregation.closeness.k_anonymity_first import k_anonymity_first
from tableveil.microaggregation.closeness.merge import merge_until_close, merge_until_released
from tableveil.microaggregation.closeness.merging import Merging
from tableveil.microaggregation.closeness.t_closeness_first import t_closeness_first
from tableveil.microaggregation.closeness.targets import Target, targets_of
from tableveil.microaggregation.clustering import cluster
from tableveil.microaggregation.coordinates import Space
from tableveil.microaggregation.points import Clustered, Clusters, Points
from tableveil.policy import PRIVACY_FIELDS, PrivacyModel
from tableveil.policy.microaggregation import ClosenessAlgorithm, Microaggregation
from tableveil.privacy import Conjunction, privacy_of

if TYPE_CHECKING:
    # The search builds on quality models, and those on what is aggregated.
    from tableveil.search.control import Control


def solve(
    points: Points,
    k: int,
    options: Microaggregation,
    sensitive: Sequence[SensitiveColumn],
    models: Sequence[PrivacyModel],
    control: Control,
    on_progress: Callable[[int, int], None] = lambda records, of: None,
) -> Clustered:
    """Clusters of at least k records that every model releases.

    The clusters are formed by `options.closeness` if a model asks for t-closeness, else by `options.clustering`. Then
    those that are not t-close are merged, and then those that the models' own rules do not release, until none is
    left. So whatever a method promises, what is returned is what the rules say.

    Args:
        points: All records that are clustered, at least one.
        k: The least size, that of the model of k-anonymity.
        options: How clusters are formed.
        sensitive: The columns of `points.sensitive`, in that order, with the counts of these records.
        models: The policy's, in its order: k-anonymity, and models of these columns but (n,t)-closeness.
        control: May stop the work.
        on_progress: Is told how many records are in clusters, of how many.

    Raises:
        InfeasibleError: A model does not even release all records together.
        Stopped: by the control.
    """
    counter = counter_of(points, sensitive)
    privacy = privacy_of(models, counter)
    if counter.records < k:
        _refuse(models, privacy, points, sensitive)
    targets = targets_of(models, sensitive)
    formed = _formed(points, k, options, targets, control, on_progress)
    merging = Merging(Space.of(points), formed.clusters, cluster_classes(points, formed.clusters, sensitive))
    if targets:
        merge_until_close(merging, targets, control)
    if not merge_until_released(merging, privacy, control):
        _refuse(models, privacy, points, sensitive)
    if not merging.merged:
        return formed
    times = "once" if merging.merged == 1 else f"{merging.merged:,} times"
    account = f"{formed.account}; {times} a cluster that the models refused was merged with its nearest"
    return Clustered(merging.clusters(), account, merged=merging.merged)


def _formed(
    points: Points,
    k: int,
    options: Microaggregation,
    targets: Sequence[Target],
    control: Control,
    on_progress: Callable[[int, int], None],
) -> Clustered:
    """Clusters before any is merged."""
    if not targets or options.closeness is ClosenessAlgorithm.MERGE:
        return cluster(points, k, options, control, on_progress)
    space = Space.of(points)
    if options.closeness is ClosenessAlgorithm.T_CLOSENESS_FIRST:
        clusters = t_closeness_first(space, k, targets, control, on_progress)
        return Clustered(clusters, "t-closeness first: the nearest record of each part of the sensitive column")
    clusters = k_anonymity_first(space, k, targets, control, on_progress)
    return Clustered(clusters, "k-anonymity first: the nearest records, with swaps for t-closeness")


def counter_of(points: Points, sensitive: Sequence[SensitiveColumn]) -> ClassCounter:
    """What rules ask about the source: the sensitive columns of all records."""
    rows = np.arange(len(points.counts))
    one = AttributeLevels((np.zeros(1, np.int32),), (), (np.ones(1),), 1.0, False, None)
    values = [
        (column, SensitiveRows(rows, codes, points.counts))
        for column, codes in zip(sensitive, points.sensitive, strict=True)
    ]
    return NumpyCounter([one], [np.zeros(len(rows), np.int32)], points.counts, sensitive=values)


def _refuse(
    models: Sequence[PrivacyModel], privacy: Conjunction, points: Points, sensitive: Sequence[SensitiveColumn]
) -> NoReturn:
    """Raises the error for models that do not release all records as one cluster."""
    rows = np.arange(len(points.counts))
    together = cluster_classes(points, Clusters(rows, np.zeros_like(rows), points.counts), sensitive)
    faults, changes = [], []
    for i, (model, rule) in enumerate(zip(models, privacy.rules, strict=True)):
        if not rule.releasable(together).all():
            nearest = rule.nearest(together, 0)
            found = f"{model}, which a single cluster of all {int(points.counts.sum())} records does not meet"
            hint = f"Feasible would be {nearest}." if nearest else "No parameter of this model would do."
            faults.append(Fault(f"privacy_models[{i}]", found, "a model that all records together meet", hint))
            name, _, value = (nearest or "").partition(" = ")
            changes.append(Change(f"privacy_models[{i}].{PRIVACY_FIELDS[type(model)]}.{name}", value))
    # Of one cluster, each model is met or not whatever the others ask: all of it has to change.
    relaxations = [Relaxation(tuple(changes), nearest=True)] if all(change.value for change in changes) else []
    message = "all records in one cluster do not meet the privacy models"
    raise InfeasibleError("INFEASIBLE", message, faults, relaxations)
