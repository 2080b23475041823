"""Uses the classes of an earlier recoding for other records: labels stay, what fits none of them is recoded anew."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.control import Control, Stopped
from tableveil.errors import InfeasibleError
from tableveil.hierarchy import AttributeLevels
from tableveil.local_recoding.bound import every_level
from tableveil.local_recoding.judge import Judge, labels_of
from tableveil.local_recoding.labels import sets_of
from tableveil.local_recoding.problem import SUPPRESSED, LocalPartition, LocalProblem
from tableveil.local_recoding.solve import recode, settle

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class KnownClasses:
    """The labels of classes: `levels` and the `groups` at these levels, each of shape (classes, quasi-identifiers).

    No two classes have the same labels. Every label stands for a value of the problem's hierarchies.
    """

    levels: Integers
    groups: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Reused:
    """A valid partition, and how many of its classes have the labels of a known one, with how many records."""

    recoding: LocalPartition
    classes: int
    records: int


def reuse(problem: LocalProblem, known_classes: KnownClasses, control: Control) -> Reused:
    """Puts every combination into a known class whose labels it has, the cheapest of several, and recodes the others.

    The others are the combinations that fit no known class, and those whose class would fail a model now. If they
    cannot be recoded by themselves, they join other classes, whose labels become more general then.

    Raises:
        InfeasibleError: No valid partition was found.
        CancelledError: `control` was cancelled.
    """
    problem = replace(problem, held_at=_held_at(problem, known_classes))
    classes = _valid(problem, _fitting(problem, known_classes, control))
    complete = True
    free = np.flatnonzero(classes == SUPPRESSED)
    if problem.counts[free].any():
        try:
            rest = recode(_only(problem, free), control, bounded=False)
            complete = rest.complete
            classes[free] = np.where(rest.classes == SUPPRESSED, SUPPRESSED, rest.classes + len(known_classes.levels))
        except (InfeasibleError, Stopped):
            control.raise_if_cancelled()
    used = np.unique(classes[(classes != SUPPRESSED) & (classes < len(known_classes.levels))])
    anchored = _anchored(problem, known_classes, used)
    settled = settle(anchored, control, np.concatenate([classes, used]))
    settled = replace(settled, classes=settled.classes[: len(classes)], complete=complete)
    same = np.flatnonzero(_have_labels(problem, settled, known_classes))
    return Reused(settled, len(same), int(problem.counts[np.isin(settled.classes, same)].sum()))


def _held_at(problem: LocalProblem, known_classes: KnownClasses) -> dict[int, tuple[int, ...]]:
    """The levels of held columns: those of the known classes, and the most general ones if there may be more."""
    held = {}
    for j, most in problem.most_levels.items():
        levels = every_level(problem)[j]
        used = np.unique(known_classes.levels[:, j]).tolist()
        others = [level for level in levels if level not in used]
        held[j] = tuple(sorted([*used, *others[max(len(others) + len(used) - most, 0) :]]))
    return held


def _fitting(problem: LocalProblem, known_classes: KnownClasses, control: Control) -> Integers:
    """Per combination the cheapest known class whose labels it has, the first of several; or `SUPPRESSED`."""
    number, columns = known_classes.levels.shape
    values = np.empty(problem.codes.shape, np.int64)
    first, last = np.empty((number, columns), np.int64), np.empty((number, columns), np.int64)
    costs = np.zeros(number)
    for j, attribute in enumerate(problem.levels):
        # Values of a label stand together: a class is a box of ranks.
        order = np.lexsort(attribute.groups)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        values[:, j] = rank[problem.codes[:, j]]
        for level in np.unique(known_classes.levels[:, j]):
            these = known_classes.levels[:, j] == level
            groups = known_classes.groups[these, j]
            occurring, begin, length = np.unique(attribute.groups[level][order], return_index=True, return_counts=True)
            at = np.searchsorted(occurring, groups)
            first[these, j], last[these, j] = begin[at], begin[at] + length[at] - 1
            costs[these] += problem.costs.labels[j][level][groups]
    orders = np.argsort(values, axis=0, kind="stable")
    ranked = np.take_along_axis(values, orders, axis=0)
    begins = np.column_stack([np.searchsorted(ranked[:, j], first[:, j]) for j in range(columns)])
    ends = np.column_stack([np.searchsorted(ranked[:, j], last[:, j], side="right") for j in range(columns)])
    narrowest = (ends - begins).argmin(axis=1)
    classes = np.full(len(values), SUPPRESSED)
    for cell in np.argsort(costs, kind="stable"):
        control.raise_if_cancelled()
        j = narrowest[cell]
        rows = orders[begins[cell, j] : ends[cell, j], j]
        rows = rows[classes[rows] == SUPPRESSED]
        inside = (values[rows] >= first[cell]) & (values[rows] <= last[cell])
        classes[rows[inside.all(axis=1)]] = cell
    return classes


def _valid(problem: LocalProblem, classes: Integers) -> Integers:
    """The classes that may be released; combinations of others have none."""
    rows = np.flatnonzero(classes != SUPPRESSED)
    order, starts = sets_of(classes[rows])
    rows = rows[order]
    kept = Judge(problem).releasable(rows, starts)
    valid = classes.copy()
    valid[rows[~np.repeat(kept, np.diff(starts, append=len(rows)))]] = SUPPRESSED
    return valid


def _have_labels(
    problem: LocalProblem, local_partition: LocalPartition, known_classes: KnownClasses
) -> NDArray[np.bool_]:
    """Per class, whether a known one has its labels."""
    there, ours = np.stack([known_classes.levels, known_classes.groups], axis=2), labels_of(problem, local_partition)
    labels = {row.tobytes() for row in there}
    return np.array([row.tobytes() in labels for row in ours], np.bool_)


def _only(problem: LocalProblem, rows: NDArray[np.intp]) -> LocalProblem:
    """The problem of some combinations; whether suppressed ones may be shown is asked when all classes are known."""
    sensitive = []
    for column, spread in problem.sensitive:
        inside = np.isin(spread.rows, rows)
        of = np.searchsorted(rows, spread.rows[inside])
        sensitive.append((column, replace(spread, rows=of, values=spread.values[inside], counts=spread.counts[inside])))
    return replace(
        problem,
        codes=problem.codes[rows],
        counts=problem.counts[rows],
        costs=replace(problem.costs, constant=0.0),
        sensitive=tuple(sensitive),
        population=None if problem.population is None else problem.population[rows],
        may_show_others=None,
    )


def _anchored(problem: LocalProblem, known_classes: KnownClasses, used: Integers) -> LocalProblem:
    """The problem with one more combination for each used class, without records, which has just its labels.

    The most specific labels that the members of a class share are those of the class, then.
    """
    levels, costs, codes = [], [], []
    for j, attribute in enumerate(problem.levels):
        labels = np.column_stack([known_classes.levels[used, j], known_classes.groups[used, j]])
        labels, of = np.unique(labels, axis=0, return_inverse=True)
        codes.append(len(attribute.groups[0]) + of.reshape(-1))
        groups, label_costs = _with_labels(attribute, problem.costs.labels[j], labels)
        levels.append(replace(attribute, groups=groups))
        costs.append(label_costs)
    none = np.zeros(len(used), np.int64)
    population = problem.population
    return replace(
        problem,
        levels=tuple(levels),
        codes=np.concatenate([problem.codes, np.column_stack(codes).astype(problem.codes.dtype)]),
        counts=np.concatenate([problem.counts, none]),
        costs=replace(problem.costs, labels=tuple(costs)),
        population=None if population is None else np.concatenate([population, none]),
    )


def _with_labels(
    attribute: AttributeLevels, costs: tuple[NDArray[np.float64], ...], labels: NDArray[Any]
) -> tuple[tuple[NDArray[np.int32], ...], tuple[NDArray[np.float64], ...]]:
    """The groups and the costs with one more value for each label, by level and group: below it is like no other."""
    members = np.array([np.flatnonzero(attribute.groups[level] == group)[0] for level, group in labels.tolist()], int)
    groups, with_more = [], []
    for level, (of, cost) in enumerate(zip(attribute.groups, costs, strict=True)):
        own = len(cost) + np.arange(len(labels))
        groups.append(np.append(of, np.where(labels[:, 0] > level, own, of[members])).astype(np.int32))
        with_more.append(np.append(cost, np.zeros(len(labels))))
    return tuple(groups), tuple(with_more)
