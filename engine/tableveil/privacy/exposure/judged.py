"""All judgements of columns that are released unchanged, and the least number of rows that they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tableveil.numeric.threads import one_core
from tableveil.privacy.exposure.cells import Codes, ValuePairs, counted
from tableveil.privacy.exposure.determined import ValueReadings
from tableveil.privacy.exposure.fits import Flags, fits_of_one
from tableveil.privacy.exposure.formulas import ByFormula, Formula, Numbers, Reading, formulas_of
from tableveil.privacy.exposure.pairs import PairEvidence, telling_differences, telling_pairs
from tableveil.privacy.exposure.ranges import ByRanges
from tableveil.privacy.exposure.rows import ByValues, ClassRows, HeldValues, InClasses, Judgement, least_left
from tableveil.privacy.exposure.texts import Texts, concatenation, concatenations_of, numbered
from tableveil.privacy.exposure.together import formulas_of_columns


@dataclass(frozen=True, eq=False)
class OwnValues:
    """A quasi-identifier in the rows: a code per row, and per code its label; `hidden` if labels hide anything.

    Ordered ones that are aggregated have ascending `positions`, one per code, and no labels.
    """

    codes: Codes
    label: Codes
    hidden: bool
    positions: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Readings:
    """A column as formulas read it: numbers, the most natural first, and texts, per row; and its values by code."""

    numbers: Sequence[Numbers]
    texts: Texts
    values: ValueReadings | None = None


@dataclass(frozen=True, eq=False)
class Unchanged:
    """The rows of a release with all own values, and the `columns` that are released unchanged, by their values.

    `cells` counts the pairs of the own values of a quasi-identifier and the values of a column, in all records: there
    may be more of them than rows here. `suppressed` marks the class of suppressed records, which is looked at if it is
    `shown`.
    """

    rows: ClassRows
    own: Sequence[OwnValues]
    columns: Sequence[HeldValues]
    cells: Callable[[int, int], ValuePairs]
    suppressed: Flags
    shown: bool

    def looked_at(self, knows: Sequence[int]) -> Flags:
        """The classes that hide something of these quasi-identifiers; shown suppressed records have no labels."""
        hidden = any(self.own[j].hidden for j in knows)
        return (~self.suppressed & hidden) | (self.suppressed & self.shown)


@dataclass(frozen=True, slots=True)
class ColumnJudgement:
    """A judgement of `columns` by who `knows` these quasi-identifiers; `shown` if their dependence is no chance."""

    columns: frozenset[int]
    knows: frozenset[int]
    shown: bool
    judgement: Judgement


def judge(table: Unchanged, own: Sequence[Readings], read: Callable[[int], Readings]) -> list[ColumnJudgement]:
    """All judgements, by the readings of the `own` values, and those that `read` makes of a column."""
    read_own = [Reading(j, n, not r) for j, readings in enumerate(own) for r, n in enumerate(readings.numbers)]
    columns = [read(i) for i, _ in enumerate(table.columns)]
    with one_core():
        judged = [*_by_one(table), *_by_two(table, read_own)]
        for i, readings in enumerate(columns):
            judged += _by_formulas(table, i, read_own, [readings.texts for readings in own], readings)
        judged += _by_columns(table, read_own, [readings.numbers for readings in columns])
    return judged


def least(table: Unchanged, judged: Sequence[ColumnJudgement]) -> tuple[int, tuple[int, ...]]:
    """The least number of records, or of people, that the judgements leave, and who knows what where they do."""
    everybody = table.rows.people_of[table.looked_at(range(len(table.own)))]
    # Without a class to look at, nobody learns anything.
    fewest = int(everybody.min() if len(everybody) else table.rows.sizes.sum())
    by: tuple[int, ...] = (0,)
    with one_core():
        for knows in _known_together(judged):
            telling = [one.judgement for one in judged if one.knows == knows or (one.shown and one.knows < knows)]
            left = least_left(table.rows, table.looked_at(sorted(knows)), telling, fewest)
            if left < fewest:
                fewest, by = left, tuple(sorted(knows))
    return fewest, by


def _known_together(judged: Sequence[ColumnJudgement]) -> list[frozenset[int]]:
    """The quasi-identifiers that are known together: those of judgements, and pairs of those that are shown to tell."""
    shown = sorted({j for one in judged if one.shown and len(one.knows) == 1 for j in one.knows})
    pairs = (frozenset(pair) for pair in combinations(shown, 2))
    return sorted({*(one.knows for one in judged), *pairs}, key=lambda knows: (len(knows), sorted(knows)))


def _by_one(table: Unchanged) -> Iterator[ColumnJudgement]:
    for j, own in enumerate(table.own):
        in_classes = InClasses(table.rows, own.codes)
        for i, held in enumerate(table.columns) if own.hidden else ():
            cells = table.cells(j, i)
            if own.positions is not None:
                by_value = counted(cells.value, cells.own, cells.records, cells.values, cells.owns)
                judgement = ByRanges(table.rows, own.codes, held.value, own.positions, by_value)
                yield ColumnJudgement(frozenset([i]), frozenset([j]), False, judgement)
                continue
            fits = fits_of_one(cells, own.label, table.rows.repeats)
            if fits.telling:
                yield ColumnJudgement(frozenset([i]), frozenset([j]), fits.shown, ByValues(in_classes, held, fits))


def _by_two(table: Unchanged, read_own: Sequence[Reading]) -> Iterator[ColumnJudgement]:
    """By pairs of quasi-identifiers that have labels, and by their differences."""
    # Aggregates have no labels.
    rows, labelled = table.rows, [j for j, one in enumerate(table.own) if one.positions is None]
    if len(labelled) < 2 or not table.columns:
        return
    of_people = np.arange(len(rows)) if rows.people is None else np.unique(rows.people, return_index=True)[1]
    evidence = PairEvidence(table.columns, of_people, len(labelled) * (len(labelled) - 1))
    own = [table.own[j] for j in labelled]
    read = [replace(one, of=labelled.index(one.of)) for one in read_own if one.natural and one.of in labelled]
    for knows, i, codes, fits in (*telling_pairs(own, evidence), *telling_differences(own, read, evidence)):
        judgement = ByValues(InClasses(rows, codes), table.columns[i], fits)
        yield ColumnJudgement(frozenset([i]), frozenset(labelled[j] for j in knows), True, judgement)


def _by_formulas(
    table: Unchanged, i: int, read_own: Sequence[Reading], texts: Sequence[Texts], read: Readings
) -> Iterator[ColumnJudgement]:
    hidden = [one.hidden for one in table.own]

    def by(formula: Formula, value: Numbers) -> ColumnJudgement:
        return ColumnJudgement(frozenset([i]), frozenset(formula.knows), True, ByFormula(table.rows, value, formula))

    for numbers in read.numbers[:1]:
        yield from (by(formula, numbers) for formula in formulas_of(numbers, read_own, hidden))
    for order in concatenations_of(read.texts, texts, hidden):
        concatenated = concatenation(read.texts, texts, order)
        if concatenated is not None:
            yield by(concatenated, numbered(read.texts))


def _by_columns(
    table: Unchanged, read_own: Sequence[Reading], columns: Sequence[Sequence[Numbers]]
) -> Iterator[ColumnJudgement]:
    """By two columns that give a quasi-identifier together."""
    for given, together, formula in formulas_of_columns(columns, read_own, [one.hidden for one in table.own]):
        yield ColumnJudgement(
            frozenset(given), frozenset(formula.knows), True, ByFormula(table.rows, together, formula)
        )
