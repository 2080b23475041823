"""One value per generalized cell, drawn by assumptions from released rows alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tableveil.estimates.line import TEMPER, NumberLine, Shape, tempered
from tableveil.estimates.regression import MOST_SCORE, Effects, Levels, Predictor, Scores, draw, fit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_FITTED = 40_000
"""The records that effects are fitted on."""

_ROUNDS = 2
"""Rounds in which each number is drawn given the others; at first, those not drawn yet are at the middles of labels."""

_LEAST_GENERALIZED = 0.002
"""A column with fewer generalized records than this share is drawn without a regression."""

_QUANTILES = 1_024

_FAR = 8.0
"""No score is as far from 0: `draw` takes no chances that are nearer to 0 or 1 than 1e-12."""

_MOST_GROUPS = 64
_PRIOR = 1_000
"""The records' weight of all groups in the spread of one: records of a class have one label, so few tell little."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """How values are assumed to lie under labels.

    Attributes:
        shape: The shape, for numbers.
        related: Whether numbers follow the other columns by a regression, or chance.
        exponent: The tempered rule's, for texts.
    """

    shape: Shape
    related: bool
    exponent: float


ASSUMPTIONS = (
    Assumption(Shape.SMOOTH, related=True, exponent=TEMPER),
    Assumption(Shape.UNIFORM, related=True, exponent=0.0),
    Assumption(Shape.UNIFORM, related=False, exponent=1.0),
    Assumption(Shape.LOW, related=True, exponent=1.0),
    Assumption(Shape.HIGH, related=False, exponent=1.0),
)
"""The estimated table's first; the others say how far reasonable assumptions differ.

Three times texts are coarse as if by chance (1.0): with milder exponents the spread of counts by texts was too narrow.
"""


@dataclass(frozen=True, slots=True, eq=False)
class TextLabels:
    """The labels of a column of texts.

    Attributes:
        under: Shape (labels, leaves): whether the leaf, a label that the release shows and that has no other below it,
            lies under the label. A leaf lies under itself.
        leaves: Shape (leaves,): their labels' codes.
        counts: Shape (labels,): the released records of each.
        unseen: How many leaves there may be that no record shows.
    """

    under: NDArray[np.bool_]
    leaves: Integers
    counts: Integers
    unseen: float = 0.0


def unseen(classes: Integers) -> float:
    """How many leaves no class shows, at least, where each of the others has so many `classes`.

    Chao (1984), in the form of Chao (2005) that needs no leaf of two classes.
    """
    once, twice = (classes == 1).sum(), (classes == 2).sum()
    return float(once * (once - 1) / (2 * (twice + 1)))


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Released rows as codes and numbers, by the positions of columns.

    Attributes:
        codes: The label of each row by column; the number of labels for NULL. Empty for columns without labels.
        levels: Columns without labels that are no numbers, by codes below their size.
        numbers: Columns without labels that are numbers; NaN for NULL.
    """

    codes: dict[int, Integers]
    levels: dict[int, Levels]
    numbers: dict[int, Floats]

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(
            next(iter([*self.codes.values(), *(of.codes for of in self.levels.values()), *self.numbers.values()]))
        )

    def at(self, rows: Integers) -> Rows:
        """Some of the rows."""
        return Rows(
            {j: codes[rows] for j, codes in self.codes.items()},
            {j: of.at(rows) for j, of in self.levels.items()},
            {j: numbers[rows] for j, numbers in self.numbers.items()},
        )


class Estimator:
    """Draws values for rows of a release, by one assumption. Blocks of rows come in the order of the release."""

    def __init__(
        self,
        lines: dict[int, NumberLine],
        texts: dict[int, TextLabels],
        fitted: Rows,
        assumption: Assumption,
        seed: int,
    ) -> None:
        """Fits the effects on `fitted`, rows of the release that were picked without looking at them."""
        self._lines, self._texts, self._assumption = lines, texts, assumption
        self._masses = {j: line.masses(assumption.shape) for j, line in lines.items()}
        self._ends = {j: _score_ends(line, self._masses[j]) for j, line in lines.items()}
        self._edge_scores = {j: _edge_scores(line.total(self._masses[j])) for j, line in lines.items()}
        self._leaves = {j: _Leaves(j, of, fitted, texts, assumption) for j, of in texts.items()}
        self._scores = {j: _quantile_scores(numbers) for j, numbers in fitted.numbers.items()}
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._effects: dict[tuple[int, int], Effects] = {}
        if assumption.related:
            self._regressed = [j for j in lines if self._worth_a_fit(j, fitted)]
            self._draw(fitted, np.random.Generator(np.random.PCG64(seed)), fitting=True)
        else:
            self._regressed = []

    def estimate(self, rows: Rows) -> dict[int, Floats | Integers]:
        """Per column of labels a value for each row: a number (NaN for NULL), or the code of a text's leaf (-1)."""
        return self._draw(rows, self._generator, fitting=False)

    def _worth_a_fit(self, j: int, fitted: Rows) -> bool:
        line = self._lines[j]
        if not line.bounded or not (fitted.codes[j] < len(line.low)).any():
            return False
        wide = int(line.labels.counts[~line.exact].sum())
        return wide > _LEAST_GENERALIZED * int(line.labels.counts.sum())

    def _draw(self, rows: Rows, generator: np.random.Generator, *, fitting: bool) -> dict[int, Floats | Integers]:
        chances = {j: generator.random(rows.size) for j in (*self._lines, *self._texts)}
        known = self._known(rows) if self._regressed else {}
        drawn = {j: self._at(j, rows.codes[j], chances[j]) for j in self._lines if j not in self._regressed}
        for j in drawn if known else ():
            known[j] = self._scored(j, drawn[j], rows.size)
        for turn in range(_ROUNDS if self._regressed else 0):
            for j in self._regressed:
                of = rows.codes[j]
                others = tuple(known[i] for i in sorted(known) if i != j)
                low, high = self._ends[j]
                if fitting:
                    there = of < len(low)
                    fitted = tuple(one.at(np.flatnonzero(there)) for one in others)
                    self._effects[turn, j] = fit(fitted, low[of[there]], high[of[there]])
                scores = draw(self._effects[turn, j], others, low, high, of, chances[j])
                # Ranks alone count: any other growing function of scores would do.
                drawn[j] = self._at(j, of, (scores + _FAR) / (2 * _FAR))
                if (turn, j) != (_ROUNDS - 1, self._regressed[-1]):
                    known[j] = self._scored(j, drawn[j], rows.size)
        found: dict[int, Floats | Integers] = {j: _in_rows(*drawn[j], rows.size) for j in self._lines}
        return found | {j: self._leaves[j].drawn(rows, chances[j]) for j in self._texts}

    def _known(self, rows: Rows) -> dict[int, Predictor]:
        """The predictors of all columns, before numbers are drawn: these are at the middles of their labels."""
        known: dict[int, Predictor] = dict(rows.levels)
        for j, numbers in rows.numbers.items():
            missing = np.isnan(numbers)
            values, scores = self._scores[j]
            known[j] = Scores(np.where(missing, 0.0, np.interp(np.where(missing, 0, numbers), values, scores)), missing)
        for j, of in self._texts.items():
            known[j] = Levels(rows.codes[j], len(of.counts) + 1)
        for j, line in self._lines.items():
            labels = np.arange(len(line.low) if line.bounded else 0)
            middles = self._scored(j, (labels, ((line.low + line.high) / 2)[labels]), len(line.low) + 1)
            known[j] = middles.at(rows.codes[j])
        return known

    def _at(self, j: int, codes: Integers, chances: Floats) -> tuple[Integers, Floats]:
        """The rows that have a value, by label, and ever greater values: chance does not change their totals."""
        line = self._lines[j]
        if not line.bounded:
            return np.zeros(0, np.int64), np.zeros(0)
        order, sizes, shares = _ranked(codes, chances, len(line.low))
        return order, line.quantiles(self._masses[j], sizes, shares)

    def _scored(self, j: int, drawn: tuple[Integers, Floats], rows: int) -> Scores:
        line, (at, values) = self._lines[j], drawn
        scores = np.interp(values + line.labels.step / 2, line.edges, self._edge_scores[j])
        found = _in_rows(at, np.clip(scores, -MOST_SCORE, MOST_SCORE), rows)
        missing = np.isnan(found)
        found[missing] = 0.0
        return Scores(found, missing)


def _in_rows(at: Integers, of: Floats, rows: int) -> Floats:
    """The numbers at their rows; NaN for all others."""
    found = np.full(rows, np.nan)
    found[at] = of
    return found


def _ranked(codes: Integers, chances: Floats, labels: int) -> tuple[Integers, Integers, Floats]:
    """The rows that have a label, by it and chance; how many each label has; and their ranks within it, in (0, 1)."""
    # Equal chances are those of rows whose values a label or a limit fixes: their order does not matter.
    order = np.argsort(codes + np.clip(chances, 0, 1 - 1e-9))
    sizes = np.bincount(codes, minlength=labels)[:labels]
    order = order[: sizes.sum()]
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order, sizes, (np.arange(len(order)) - first + 0.5) / np.repeat(sizes, sizes)


class _Leaves:
    """How rows of a text's labels are spread over leaves, apart for each value of the column that tells most.

    The leaves that no record shows are one more, of which a label has a share as of the others.
    """

    def __init__(
        self, j: int, of: TextLabels, fitted: Rows, texts: dict[int, TextLabels], assumption: Assumption
    ) -> None:
        self._j, self._of = j, of
        self._given: int | None = None
        self._group = np.zeros(0, np.int64)
        counts = of.counts.astype(float)
        groups = counts[None]
        if assumption.related:
            self._given, self._group = _telling(j, fitted, texts)
        if self._given is not None:
            there = fitted.codes[j] < len(counts)
            group = self._group[_codes(fitted, self._given)[there]]
            pairs = group * len(counts) + fitted.codes[j][there]
            number = int(self._group.max()) + 1
            groups = np.bincount(pairs, minlength=number * len(counts)).reshape(number, -1).astype(float)
            groups *= counts.sum() / max(groups.sum(), 1)
            groups += _PRIOR * counts / max(counts.sum(), 1)
        cover, ones = of.under.astype(float), np.ones(len(of.leaves))
        # All labels but leaves may have unseen ones, as many as they have of the others, each as one without a record.
        part = np.where(np.isin(np.arange(len(cover)), of.leaves), 0.0, cover.mean(1))
        more = of.unseen * part * 0.5**TEMPER
        hidden = more / np.maximum(more + cover @ (counts[of.leaves] + 0.5) ** TEMPER, 1e-300)
        shares = [tempered(cover, ones, of_group, 0 * ones, assumption.exponent) for of_group in groups]
        shares = [np.column_stack([of_group * (1 - hidden[:, None]), hidden]) for of_group in shares]
        self._leaves = np.append(of.leaves, -1)
        ends = np.cumsum(np.concatenate(shares), axis=1)
        self._ends = ends / np.maximum(ends[:, -1:], 1e-300)

    def drawn(self, rows: Rows, chances: Floats) -> Integers:
        """The leaves of rows: of each label's rows as many as its shares say; -1 for NULL and for an unseen leaf."""
        labels, codes = len(self._of.counts), rows.codes[self._j]
        if self._given is not None:
            group = self._group[_codes(rows, self._given)]
            codes = np.where(codes < labels, group * labels + codes, len(self._ends))
        order, sizes, at = _ranked(codes, chances, len(self._ends))
        sorted_codes = np.repeat(np.arange(len(sizes)), sizes)
        leaves = np.full(len(codes), -1)
        width = self._ends.shape[1]
        keys = (self._ends + np.arange(len(self._ends))[:, None]).ravel()
        places = np.searchsorted(keys, sorted_codes + at, side="right") - sorted_codes * width
        leaves[order] = self._leaves[np.clip(places, 0, width - 1)]
        return leaves


def _telling(j: int, rows: Rows, texts: dict[int, TextLabels]) -> tuple[int | None, Integers]:
    """The column of labels or levels that tells most about a column's labels, and the group of each of its codes."""
    best, found, groups = 0.0, None, np.zeros(0, np.int64)
    for i in (*(i for i in texts if i != j), *rows.levels):
        codes = _codes(rows, i)
        grouped = _grouped(codes, rows.levels[i].size if i in rows.levels else len(texts[i].counts) + 1)
        information = _information(grouped[codes], rows.codes[j])
        if information > best:
            best, found, groups = information, i, grouped
    return found, groups


def _codes(rows: Rows, i: int) -> Integers:
    return rows.levels[i].codes if i in rows.levels else rows.codes[i]


def _grouped(codes: Integers, size: int) -> Integers:
    """Per code its group: the commonest have one each, and all others are one."""
    counts = np.bincount(codes, minlength=size)
    common = np.argsort(-counts, kind="stable")[:_MOST_GROUPS]
    groups = np.full(size, len(common))
    groups[common] = np.arange(len(common))
    return groups


def _information(a: Integers, b: Integers) -> float:
    """The mutual information in nats, less what chance adds (Miller 1955)."""
    size = int(b.max()) + 1
    table = np.bincount(a * size + b, minlength=(int(a.max()) + 1) * size).reshape(-1, size).astype(float)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    total = table.sum()
    joint, expected = table / total, np.outer(table.sum(1), table.sum(0)) / total**2
    there = joint > 0
    by_chance = (table.shape[0] - 1) * (table.shape[1] - 1) / (2 * total)
    return float((joint[there] * np.log(joint[there] / expected[there])).sum() - by_chance)


def _edge_scores(total: Floats) -> Floats:
    """The normal scores of the edges of cells with these masses."""
    cumulated = np.concatenate([[0.0], np.cumsum(total)])
    scores: Floats = ndtri(cumulated / max(cumulated[-1], 1e-12))
    return scores


def _score_ends(line: NumberLine, masses: Floats) -> tuple[Floats, Floats]:
    """The normal scores of the ends of each label; those of the line's ends are infinite."""
    total = line.total(masses)
    cumulated = np.concatenate([[0.0], np.cumsum(total)]) / max(total.sum(), 1e-12)
    step = line.labels.step
    low, high = np.interp(line.low, line.edges, cumulated), np.interp(line.high, line.edges, cumulated)
    if not step:
        low, high = np.where(line.exact, low - 1e-6, low), np.where(line.exact, high + 1e-6, high)
    else:
        high = np.maximum(high, low + 1e-9)
    return ndtri(np.clip(low, 0, 1)), ndtri(np.clip(high, 0, 1))


def _quantile_scores(numbers: Floats) -> tuple[Floats, Floats]:
    """Quantiles of a column of numbers, and their normal scores."""
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return np.array([0.0]), np.array([0.0])
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    values = np.quantile(present, shares)
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, np.bincount(inverse, ndtri(shares)) / np.bincount(inverse)
