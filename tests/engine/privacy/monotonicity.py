"""Random small tables, and brute-force checks on them of a rule's declarations to the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses, NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice, Transformation
from tableveil.privacy import Facts, ReleaseRule
from tests.engine.search.problems import hierarchies

COLUMN = "disease"
"""The sensitive column of every table."""

Valued = tuple[str | None, int]
"""A value, and how many records have it."""

WITHHELD: list[list[Valued]] = [[], [], [("flu", 1)], [("measles", 2), (None, 1)]]

RuleFactory = Callable[[Facts], ReleaseRule]


@dataclass(frozen=True)
class SmallTable:
    """`codes[i]` are the quasi-identifiers' codes of the counter's row i, which stands for `counts[i]` records."""

    facts: Facts
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice((0,) * len(self.facts.top), self.facts.top)

    def at(self, x: Transformation) -> tuple[EquivalenceClasses, NDArray[np.intp]]:
        """The classes at x, and per row its class; -1 if all classes with its labels are in the population only."""
        classes = self.facts.counter.classes(x)
        keys = np.stack([classes.groups(j) for j in range(len(x))], axis=1)
        number = {tuple(key): i for i, key in enumerate(keys.tolist())}
        levels = self.facts.counter.levels
        groups = np.stack([levels[j].groups[level][self.codes[:, j]] for j, level in enumerate(x)], axis=1)
        return classes, np.array([number.get(tuple(key), -1) for key in groups.tolist()], np.intp)


@st.composite
def small_tables(
    draw: st.DrawFn, population: bool = False, most_attributes: int = 2, people: bool = False
) -> SmallTable:
    """With a sensitive column that may have NULLs, withheld records, and if asked for a population.

    With `people`, the values of the column are the records' people instead.
    """
    levels = []
    for rows in draw(st.lists(hierarchies(), min_size=1, max_size=most_attributes)):
        values = [row[0] for row in rows]
        labelled = label_values(InlineLevels(rows), ValueKind.TEXT, values, values)
        levels.append(attribute_levels(labelled, has_null=False))
    combination = st.tuples(*(st.integers(0, len(attribute.groups[0]) - 1) for attribute in levels))
    diseases = st.sampled_from(["none", "flu", "flu", "cold", "cancer", None][draw(st.integers(0, 3)) :])
    if people:
        diseases = st.sampled_from(["Ann", "Bob", "Cid", "Dan", "Eve", "Flo"])
    # A combination, a value, and how many have them: small classes and large ones at the same table.
    record = st.tuples(combination, diseases, st.sampled_from([1, 1, 1, 2, 3, 8]))
    records = draw(st.lists(record, min_size=1, max_size=12))
    withheld = draw(st.sampled_from(WITHHELD[:2] if people else WITHHELD))

    others = draw(st.lists(combination, max_size=3)) if population else []
    combinations = sorted({codes for codes, _, _ in records} | set(others))
    counts = np.zeros(len(combinations), np.int64)
    for codes, _, times in records:
        counts[combinations.index(codes)] += times
    extra = draw(st.lists(st.integers(0, 9), min_size=len(combinations), max_size=len(combinations)))
    everybody = np.maximum(counts + np.array(extra, np.int64), 1) if population else None

    column, sensitive = _sensitive(
        [(combinations.index(codes), value, times) for codes, value, times in records], withheld
    )
    column = replace(column, people=people, protected=not people)
    codes = np.array(combinations, np.int32).reshape(len(combinations), len(levels))
    groups = [codes[:, j].copy() for j in range(len(levels))]
    counter = NumpyCounter(
        levels,
        groups,
        counts,
        withheld=sum(times for _, times in withheld),
        sensitive=[(column, sensitive)],
        population=everybody,
    )
    return SmallTable(Facts(counter, int(everybody.sum()) if everybody is not None else None), codes, counts)


def _sensitive(
    records: list[tuple[int, str | None, int]], withheld: list[Valued]
) -> tuple[SensitiveColumn, SensitiveRows]:
    occurring = {value for _, value, _ in records} | {value for value, _ in withheld}
    order = sorted(value for value in occurring if value is not None)
    code = {value: i for i, value in enumerate(order)} | {None: len(order)}
    totals = np.zeros(len(occurring), np.int64)
    entries: dict[tuple[int, int], int] = {}
    for row, value, times in records:
        totals[code[value]] += times
        entries[row, code[value]] = entries.get((row, code[value]), 0) + times
    for value, times in withheld:
        totals[code[value]] += times
    keys = sorted(entries)
    column = SensitiveColumn(COLUMN, totals, code[None] if None in occurring else None)
    rows = SensitiveRows(
        np.array([row for row, _ in keys], np.intp),
        np.array([value for _, value in keys], np.intp),
        np.array([entries[key] for key in keys], np.int64),
    )
    return column, rows


# --- required properties --------------------------------------------------------------------------------------------


def check_declared(table: SmallTable, make: RuleFactory) -> None:
    """All declarations of the rule to the search, for every pair of transformations x <= y of the table."""
    rule = make(table.facts)
    judged = {x: _Judged.of(table, x, rule) for x in table.lattice}
    for x, finer in judged.items():
        assert (finer.classes.counts[finer.kept] >= rule.minimum_class_size).all(), "a smaller class was released"
        if not rule.by_sample:
            _check_same_answer_for_some(rule, finer)
        for y, coarser in judged.items():
            if all(low <= high for low, high in zip(x, y, strict=True)):
                _check_pair(rule.monotone, finer, coarser)


@dataclass(frozen=True)
class _Judged:
    """The rule's answers at a transformation; `class_of` has the class of each row, `suppressed` its lost records."""

    classes: EquivalenceClasses
    kept: NDArray[np.bool_]
    lost: NDArray[np.int64] | None
    vetoed: bool
    refused: bool
    class_of: NDArray[np.intp]
    suppressed: NDArray[np.int64]

    @classmethod
    def of(cls, table: SmallTable, x: Transformation, rule: ReleaseRule) -> _Judged:
        classes, class_of = table.at(x)
        kept = rule.releasable(classes)
        # Rows that are in the population only may have no class; they have no records to suppress.
        suppressed = np.where(kept[class_of], 0, table.counts) if len(kept) else table.counts
        vetoed, refused = rule.vetoes(classes), rule.refuses_all_below(classes)
        return cls(classes, kept, rule.lost(classes), vetoed, refused, class_of, suppressed)


def _check_pair(monotone: bool, finer: _Judged, coarser: _Judged) -> None:
    if coarser.lost is not None:
        within = coarser.class_of >= 0
        suppressed = np.bincount(coarser.class_of[within], finer.suppressed[within], len(coarser.classes.counts))
        assert (coarser.lost >= 0).all()
        assert (coarser.lost <= suppressed).all(), "a lost record was released at a finer transformation"
    if monotone and finer.kept.all():
        assert coarser.kept.all(), "all classes of the finer transformation are released, but not these"
    if coarser.vetoed:
        assert finer.vetoed, "a finer transformation than a vetoed one is valid"
    if coarser.refused:
        assert not finer.kept.all() or finer.vetoed, "a refused transformation holds as it is"


def _check_same_answer_for_some(rule: ReleaseRule, judged: _Judged) -> None:
    some = judged.classes.counts >= rule.minimum_class_size
    chosen = judged.classes.selected(some)
    assert (rule.releasable(chosen) == judged.kept[some]).all(), "another answer if others are not asked about"
    lost = rule.lost(chosen)
    assert (lost is None) == (judged.lost is None)
    if lost is not None and judged.lost is not None:
        assert (lost == judged.lost[some]).all(), "another answer if others are not asked about"
