"""Random search problems for every quality model, and what must be true of the outcome of searching them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.classes import ClassCounter, EquivalenceClasses, Marginals, NumpyCounter
from tableveil.classes.delegating import DelegatingCounter
from tableveil.control import Control, Progress
from tableveil.hierarchy import InlineLevels, LabelledValues, ValueKind, attribute_levels, label_values
from tableveil.hierarchy.labelled import CountedLeaves
from tableveil.lattice import Axis, Lattice, Transformation
from tableveil.policy import KAnonymity
from tableveil.policy import QualityModel as Named
from tableveil.privacy import Conjunction, ReleaseRule, privacy_of
from tableveil.quality import quality_of
from tableveil.search import Candidate, Problem, SearchOutcome
from tableveil.search.outcome import Key, valid
from tests.engine.quality.models import EVERY_MODEL, GAMES

Strategy = Callable[..., SearchOutcome]
"""Called with problem, control, time limit and report, as `tableveil.search.exact` is."""


@dataclass(frozen=True)
class EvenSizes(ReleaseRule):
    """A rule that implies no size, and whose failures finer transformations do not inherit, suppression or not."""

    monotone = False

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        even: NDArray[np.bool_] = classes.counts % 2 == 0
        return even

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        return None


class OnlyClasses(NumpyCounter):
    """Knows of small classes what the classes say: their groups, not those that a finer level has within them.

    It proves of every transformation whether too many records are in small classes.
    """

    def too_many_small(self, transformation: Transformation, size: int, most: int) -> bool:
        counts = self.classes(transformation).counts
        return int(counts[counts < size].sum()) > most

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        classes = self.classes(transformation)
        counts = [
            np.bincount(classes.groups(j)[mask], classes.counts[mask], len(levels.leaves[level])).astype(np.int64)
            for j, (levels, level) in enumerate(zip(self.levels, transformation, strict=True))
        ]
        return Marginals(transformation, tuple(counts))


class Watched(DelegatingCounter):
    """A counter that calls `before` with the number of questions asked so far; each takes a second of its clock."""

    def __init__(self, counter: ClassCounter, before: Callable[[int], None] = lambda asked: None) -> None:
        super().__init__(counter)
        self._before = before
        self._asked = 0
        self.counted: list[Transformation] = []

    @property
    def unwatched(self) -> ClassCounter:
        return self._counter

    def clock(self) -> float:
        return float(self._asked)

    def classes(self, transformation: Transformation) -> EquivalenceClasses:
        self._ask()
        self.counted.append(transformation)
        return self._counter.classes(transformation)

    def records_in(self, transformation: Transformation, mask: NDArray[np.bool_]) -> Marginals:
        self._ask()
        return self._counter.records_in(transformation, mask)

    def _ask(self) -> None:
        self._before(self._asked)
        self._asked += 1


def watched(problem: Problem, before: Callable[[int], None] = lambda asked: None) -> tuple[Problem, Watched]:
    """The problem, counted by a watched counter."""
    counter = Watched(problem.counter, before)
    return replace(problem, counter=counter), counter


# --- random problems ------------------------------------------------------------------------------------------------


@st.composite
def hierarchies(draw: st.DrawFn) -> tuple[tuple[str, ...], ...]:
    """The rows of one: up to five values, up to two levels between them and the top, which join siblings unevenly."""
    rows = [[f"v{i}"] for i in range(draw(st.integers(1, 5)))]
    for _ in range(draw(st.integers(0, 2))):
        parents = {name: draw(st.sampled_from(["v0", "x", "y", "z"])) for name in sorted({row[-1] for row in rows})}
        for row in rows:
            row.append(parents[row[-1]])
    return tuple((*row, "*") for row in rows)


@st.composite
def counted_in_part(draw: st.DrawFn, labelled: LabelledValues) -> LabelledValues:
    """Sometimes with the leaves that loss counts: those of a part of the values."""
    values = len(labelled.covered)
    part = np.array(draw(st.lists(st.booleans(), min_size=values, max_size=values)))
    if not part.any() or draw(st.booleans()):
        return labelled
    leaves = [
        np.array([float(sum(part[i] for i in range(values) if names[i] == name)) for name in names])
        for names in labelled.labels[:-1]
    ]
    return replace(labelled, loss=CountedLeaves(tuple(leaves), float(part.sum()), ~part))


@st.composite
def lattices(draw: st.DrawFn, tops: list[int]) -> Lattice:
    """Some part of the lattice, sometimes with two attributes linked."""
    bottom = [draw(st.just(0) | st.integers(0, top)) for top in tops]
    most = [draw(st.just(top) | st.integers(low, top)) for low, top in zip(bottom, tops, strict=True)]
    axes: list[Axis] = [(j,) for j in range(len(tops))]
    if len(tops) > 1 and draw(st.booleans()):
        i, j = sorted(draw(st.lists(st.integers(0, len(tops) - 1), min_size=2, max_size=2, unique=True)))
        low, high = max(bottom[i], bottom[j]), min(most[i], most[j])
        if low <= high:
            bottom[i] = bottom[j] = low
            most[i] = most[j] = high
            axes[i] = (i, j)
            axes.pop(j)
    return Lattice(tuple(bottom), tuple(most), tuple(axes))


@st.composite
def problems(
    draw: st.DrawFn,
    models: st.SearchStrategy[Named] = EVERY_MODEL,
    most_attributes: int = 4,
    counter: type[NumpyCounter] = NumpyCounter,
    even: bool = False,
) -> Problem:
    """Few records, so that the definitions can be followed; if `even`, only classes of even size are released too."""
    chosen = draw(st.lists(hierarchies(), min_size=1, max_size=most_attributes))
    levels = []
    for rows in chosen:
        values = [row[0] for row in rows]
        labelled = label_values(InlineLevels(rows), ValueKind.TEXT, values, values)
        levels.append(attribute_levels(draw(counted_in_part(labelled)), has_null=False))
    codes = st.tuples(*(st.integers(0, len(rows) - 1) for rows in chosen))
    records = draw(st.lists(codes, min_size=1, max_size=14))
    combinations, counts = np.unique(np.array(records, np.int32), axis=0, return_counts=True)
    withheld = draw(st.sampled_from([0, 0, 0, 1, 2]))
    groups = [combinations[:, j].copy() for j in range(len(chosen))]
    counted = counter(levels, groups, counts.astype(np.int64), withheld)
    suppressible = draw(st.sampled_from([0, counted.records]) | st.integers(0, counted.records))
    weights = [draw(st.sampled_from([1.0, 1.0, 0.0, 0.5, 2.0, 0.1, 3.7])) for _ in chosen]
    rules = privacy_of([KAnonymity(draw(st.integers(2, 5)))], counted).rules
    return Problem(
        lattice=draw(lattices([attribute.top for attribute in levels])),
        counter=counted,
        privacy=Conjunction((*rules, EvenSizes())) if even else Conjunction(rules),
        quality=quality_of(draw(models), counted, weights, suppressible, draw(GAMES)),
        suppressible=suppressible,
    )


# --- what must be true ----------------------------------------------------------------------------------------------


def key_at(problem: Problem, x: Transformation) -> Key | None:
    """The key of a transformation, computed by the models themselves; None if it fails."""
    classes = problem.counter.classes(x)
    kept = problem.privacy.releasable(classes)
    if not valid(problem, classes, kept):
        return None
    return problem.quality.assess(x, classes, kept).score, sum(x), x


def optimum(problem: Problem) -> Key | None:
    """The least key of all."""
    return min(filter(None, (key_at(problem, x) for x in problem.lattice)), default=None)


def check_candidates(problem: Problem, outcome: SearchOutcome) -> None:
    """The best and the runners-up are valid, of the lattice, told apart, and in order."""
    candidates: list[Candidate] = [*([outcome.best] if outcome.best else []), *outcome.runners_up]
    everything = set(problem.lattice)
    for candidate in candidates:
        assert candidate.transformation in everything
        assert candidate.key == key_at(problem, candidate.transformation)
        assert candidate.score == problem.quality.reported(candidate.key[0])
    keys = [candidate.key for candidate in candidates]
    assert keys == sorted(set(keys))


def check_complete(problem: Problem, outcome: SearchOutcome) -> None:
    """A search that ran to its end found the optimum, and accounts for the whole lattice."""
    best = optimum(problem)
    assert outcome.complete
    assert outcome.lattice_size == problem.lattice.size
    assert outcome.checked + sum(outcome.pruned.values()) == outcome.lattice_size
    assert all(pruned > 0 for pruned in outcome.pruned.values())
    assert outcome.gap == 0
    assert (outcome.best.key if outcome.best else None) == best
    if outcome.best is not None:
        assert outcome.lower_bound == outcome.best.score
    check_candidates(problem, outcome)


def check_stopped(problem: Problem, outcome: SearchOutcome) -> None:
    """A stopped search makes true statements, if not the whole truth."""
    check_candidates(problem, outcome)
    best = optimum(problem)
    assert outcome.checked + sum(outcome.pruned.values()) <= outcome.lattice_size
    if best is None or outcome.best is None:
        return
    score = problem.quality.reported(best[0])
    assert outcome.lower_bound <= score + 1e-12
    # Average class size is infinite where nothing is kept: then no gap tells anything.
    assert math.isinf(outcome.best.score) or outcome.best.score - outcome.gap <= score + 1e-12


def check_progress(problem: Problem, reports: list[Progress]) -> None:
    """Bounds enclose the optimum at every moment, and checks only become more."""
    best = optimum(problem)
    score = problem.quality.reported(best[0]) if best is not None else None
    for progress in reports:
        assert progress.lattice_size == problem.lattice.size
        if score is not None and progress.lower_bound is not None:
            assert progress.lower_bound <= score + 1e-12
        if progress.best_score is not None:
            assert score is not None
            assert score <= progress.best_score + 1e-12
    checked = [progress.checked for progress in reports]
    assert checked == sorted(checked)


def run(
    strategy: Strategy,
    problem: Problem,
    control: Control | None = None,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> SearchOutcome:
    """One search."""
    return strategy(problem, control or Control(), time_limit, report)
