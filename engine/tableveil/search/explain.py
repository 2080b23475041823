"""The reasons for a transformation: the effect of one level less or more per axis, and which privacy model binds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tableveil.classes import EquivalenceClasses
from tableveil.control import Control, Stopped
from tableveil.lattice import Axis, Transformation
from tableveil.privacy import Conjunction
from tableveil.search.outcome import Problem, valid


@dataclass(frozen=True, slots=True)
class RejectedRecords:
    """The records that one privacy rule rejects at a transformation, and those that no other rule rejects.

    The rule `binds` if the transformation fails, and would be valid without it.
    """

    classes: int
    records: int
    only_classes: int
    only_records: int
    binds: bool


@dataclass(frozen=True, slots=True)
class CheckedNeighbour:
    """The transformation one level less or more (`step`) on one axis; with step 0, the transformation itself.

    `rejected` of its `classes` may not be released. Rejecting them suppresses `suppressed` records, withheld ones
    included; `over` is how many of these exceed the limit. `score` is the score that users see, None if the
    transformation fails. `rules` are those of the problem's privacy, in its order.
    """

    axis: Axis
    step: int
    transformation: Transformation
    classes: int
    rejected: int
    suppressed: int
    over: int
    score: float | None
    rules: tuple[RejectedRecords, ...]


@dataclass(frozen=True, slots=True)
class NeighbourhoodExplanation:
    """A transformation, and its neighbours within the lattice: first those below, then those above, axis by axis.

    If it is not `complete`, time ran out, and neighbours are missing from the end.
    """

    itself: CheckedNeighbour
    neighbours: tuple[CheckedNeighbour, ...]
    complete: bool


def explain(
    problem: Problem, at: Transformation, control: Control, time_limit: float | None = None
) -> NeighbourhoodExplanation:
    """Counts a transformation and its neighbours, at most two per axis.

    `time_limit` is in seconds; the transformation itself is counted whatever the time.

    Raises:
        CancelledError: `control` was cancelled.
    """
    lattice = problem.lattice
    steps = [
        (axis, step)
        for step in (-1, 1)
        for axis in lattice.axes
        if lattice.bottom[axis[0]] <= at[axis[0]] + step <= lattice.top[axis[0]]
    ]
    neighbours: list[CheckedNeighbour] = []
    complete = True
    deadline = None if time_limit is None else control.now() + time_limit
    try:
        itself = _neighbour(problem, (), 0, at)
    except Stopped:
        # Only a cancel stops this one: no deadline is set yet.
        control.raise_if_cancelled()
        raise
    try:
        control.limit(deadline)
        for axis, step in steps:
            control.raise_if_stopped()
            neighbours.append(_neighbour(problem, axis, step, lattice.moved(at, axis, at[axis[0]] + step)))
    except Stopped:
        control.raise_if_cancelled()
        complete = False
    finally:
        control.limit(None)
    return NeighbourhoodExplanation(itself, tuple(neighbours), complete)


def _neighbour(problem: Problem, axis: Axis, step: int, at: Transformation) -> CheckedNeighbour:
    classes = problem.counter.classes(at)
    kept = problem.privacy.releasable(classes)
    suppressed = problem.counter.records - int(classes.counts[kept].sum())
    is_valid = valid(problem, classes, kept)
    return CheckedNeighbour(
        axis=axis,
        step=step,
        transformation=at,
        classes=len(classes.counts),
        rejected=int(np.count_nonzero(~kept)),
        suppressed=suppressed,
        over=max(0, suppressed - problem.suppressible),
        score=problem.quality.reported(problem.quality.assess(at, classes, kept).score) if is_valid else None,
        rules=tuple(_rejections(problem, classes, is_valid)),
    )


def _rejections(problem: Problem, classes: EquivalenceClasses, is_valid: bool) -> Iterator[RejectedRecords]:
    privacy = problem.privacy
    rules = privacy.rules if isinstance(privacy, Conjunction) else (privacy,)
    rejected = np.array([~rule.releasable(classes) for rule in rules], np.bool_)
    alone = rejected.sum(axis=0) == 1
    for rule, gone in zip(rules, rejected, strict=True):
        only = gone & alone
        others = Conjunction(tuple(other for other in rules if other is not rule))
        yield RejectedRecords(
            classes=int(np.count_nonzero(gone)),
            records=int(classes.counts[gone].sum()),
            only_classes=int(np.count_nonzero(only)),
            only_records=int(classes.counts[only].sum()),
            binds=not is_valid and valid(replace(problem, privacy=others), classes, others.releasable(classes)),
        )
