"""Section: the check of ordered t-closeness for the classes of one transformation, in ours and in published ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.markdown import table, times
from benchmarks.privacy.alternatives import ALL_PAIRS, GROUPINGS, CheckPruning, OverAllValues, SummandPruning
from benchmarks.section import Section, verdict
from tableveil.classes import ClassValues, SensitiveColumn
from tableveil.privacy.distances import ComparedClasses, Distributions, OrderedDistance

TITLE = "Privacy models: the check of ordered t-closeness"

VALUES = (7, 100, 1_000, 10_000)
CLASSES = (1_000, 10_000, 100_000)
THRESHOLDS = (Fraction(1, 2), Fraction(1, 5), Fraction(1, 10))

PUBLISHED: Mapping[str, type[OverAllValues]] = {
    "straightforward": OverAllValues,
    "check pruning": CheckPruning,
    "and summand pruning": SummandPruning,
}

LEAST = {7: 1.0, 100: 1.0, 1_000: 10.0, 10_000: 10.0}
"""By the number of values, the least speed-up over published pruning; 1 is never slower."""

MEASURED_ONCE = 50_000_000
"""From this number of class-value pairs on, methods that go through all of them run once, for one threshold."""

ROUNDS = 15
SECONDS = 1.0
"""The time for all rounds of a row: when it is spent, there is no further round."""

RECORDS_PER_CLASS = 20
SMALLEST = 5
SEED = 1

MANY = Fraction(1, 5)
"""The threshold at which the largest are measured."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A column's distribution, and classes of it."""

    counts: NDArray[np.int64]
    values: ClassValues
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, classes: int, values: int) -> Generated:
        """Few classes are large and most small; each is about some place in the order, with some spread."""
        random = np.random.default_rng(SEED)
        sizes = 1 + random.pareto(1.2, classes)
        sizes = np.maximum(SMALLEST, sizes / sizes.sum() * RECORDS_PER_CLASS * classes).astype(np.int64)
        number = np.repeat(np.arange(classes), sizes)
        center = 0.35 + 0.3 * random.random(classes)
        codes = np.clip(random.normal(center[number], 0.25) * values, 0, values - 1).astype(np.int64)
        pairs, counts = np.unique(number * values + codes, return_counts=True)
        # Every value occurs: those that no class has were withheld.
        whole = np.maximum(np.bincount(codes, minlength=values), 1)
        return cls(whole, ClassValues(*np.divmod(pairs, values), counts), sizes)

    def compared(self, distance: OrderedDistance) -> ComparedClasses:
        """The classes held against the whole."""
        return distance.against(self.values, self.sizes)


@dataclass(frozen=True, slots=True)
class _Row:
    """`ratios` are the speed-ups of ours, by method; empty where the methods were left out."""

    cells: list[str]
    values: int
    ratios: tuple[float, ...]
    same: bool


def ordered() -> Section:
    """Generates classes and measures; sound if all methods give equal answers."""
    rows = [row for values in VALUES for classes in CLASSES for row in _rows(classes, values)]
    return Section(
        TITLE,
        (
            "Milliseconds of CPU time to decide for all classes of one transformation, given their sparse values; the "
            f"least of up to {ROUNDS} rounds. Generated classes, {RECORDS_PER_CLASS} records on average, few large and "
            "most small. All ways are vectorized over all classes and count in whole numbers; the published ones go "
            "through tables of classes by values that fit in a core's cache, and with pruning stop early. The others "
            "are how many times as long as ours they take, medians of neighbours in time. With few values ours is the "
            "straightforward sum.",
            table(("values, classes, t", "kept", "entries", "ours ms", *PUBLISHED), (row.cells for row in rows)),
            table(("values", *PUBLISHED, "goal", ""), _summary(rows)),
            "Grouping of the entries by class and value, which numpy does before any check: CPU milliseconds.",
            table(("values, classes", "pairs", *GROUPINGS), _groupings()),
        ),
        sound=all(row.same for row in rows),
    )


def _rows(classes: int, values: int) -> Iterator[_Row]:
    generated = Generated.of(classes, values)
    column, whole = SensitiveColumn("generated", generated.counts), Distributions.whole(generated.counts)
    ways = {name: way(column, whole) for name, way in PUBLISHED.items()}
    distance = OrderedDistance(column, whole)
    compared = generated.compared(distance)
    for t in THRESHOLDS:
        measured = ways if classes * values < MEASURED_ONCE or t == MANY else {}
        answer = distance.within(compared, t)  # what is made once for all checks is made here
        taken, ratios = _seconds_and_ratios(
            partial(distance.within, compared, t), [partial(way.within, compared, t) for way in measured.values()]
        )
        same = all(bool((way.within(compared, t) == answer).all()) for way in measured.values())
        cells = [
            f"{values:,}, {classes:,}, {float(t)}",
            f"{np.mean(answer):.0%}",
            f"{len(generated.values.counts):,}",
            f"{1000 * taken:.2f}",
            *(map(times, ratios) if ratios else [""] * len(ways)),
        ]
        yield _Row(cells if same else [*cells[:-1], "**another answer**"], values, ratios, same)


def _summary(rows: list[_Row]) -> Iterator[list[str]]:
    for values in VALUES:
        by_way = list(zip(*(row.ratios for row in rows if row.values == values and row.ratios), strict=True))
        pruning = [
            min(ratios) for name, ratios in zip(PUBLISHED, by_way, strict=True) if PUBLISHED[name] is not OverAllValues
        ]
        yield [
            f"{values:,}",
            *(f"{times(min(ratios))} to {times(max(ratios))}" for ratios in by_way),
            f"at least {times(LEAST[values])}",
            verdict(min(pruning) >= LEAST[values]),
        ]


def _groupings() -> Iterator[list[str]]:
    for values in VALUES:
        for classes in CLASSES:
            random = np.random.default_rng(SEED)
            entries = RECORDS_PER_CLASS * classes
            keys = random.integers(classes, size=entries) * values + random.integers(values, size=entries)
            counts = np.ones(entries, np.int64)
            cells = []
            for name, grouped in GROUPINGS.items():
                if name == ALL_PAIRS and classes * values >= MEASURED_ONCE:
                    cells.append("")
                    continue
                cells.append(f"{1000 * _seconds(partial(grouped, keys, counts)):.1f}")
            yield [f"{values:,}, {classes:,}", f"{classes * values:,}", *cells]


def _seconds_and_ratios(
    ours: Callable[[], object], others: Sequence[Callable[[], object]]
) -> tuple[float, tuple[float, ...]]:
    """The least seconds of ours, and for each other the median ratio of its time to ours beside it."""
    taken: list[float] = []
    ratios: list[list[float]] = [[] for _ in others]
    started = time.process_time()
    while not taken or (len(taken) < ROUNDS and time.process_time() - started < SECONDS):
        taken.append(_seconds(ours))
        for run, ratio in zip(others, ratios, strict=True):
            ratio.append(_seconds(run) / _seconds(ours))
    return min(taken), tuple(map(median, ratios))


def _seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started
