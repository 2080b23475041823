"""Interval-censored regression: a number that is known by its label alone, on the normal scores of its line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tableveil.numeric.threads import one_core

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROUNDS = 25
"""Rounds of expectation and maximization; effects change by less than a hundredth after them."""

MOST_LEVELS = 70
LEAST_RECORDS = 30
"""A level of a predictor has an effect if so many fitted records have it, and of at most `MOST_LEVELS`."""

KNOTS = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
"""The scores at which the effect of a number may bend: newborns are no very young adults."""

MOST_SCORE = 4.0
"""Scores are between this and its negative."""

_POINTS = 256
_GRID = np.linspace(-MOST_SCORE, MOST_SCORE, int(2 * MOST_SCORE * _POINTS) + 1)
"""The scores at which the effect of a number is worked out for rows; those between have that of the nearest."""

_TERMS = len(KNOTS) + 3
_AT_ONCE = 2**15
"""Rows whose numbers a core has near while it draws them."""

_RIDGE = 1e-3
_FAR = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """A predictor by numbers: normal scores, with 0 where `missing`."""

    scores: Floats
    missing: NDArray[np.bool_]

    def at(self, rows: Integers | slice) -> Scores:
        """Some of the rows."""
        return Scores(self.scores[rows], self.missing[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """A predictor by levels: codes from 0, below `size`."""

    codes: Integers
    size: int

    def at(self, rows: Integers | slice) -> Levels:
        """Some of the rows."""
        return Levels(self.codes[rows], self.size)


Predictor = Scores | Levels


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """The result of a fit: a record's mean score is `constant` plus its effects, `spread` the deviation around it.

    `effects` has per predictor those of its levels, or of the terms of a score and of a missing one.
    """

    constant: float
    effects: tuple[Floats, ...]
    spread: float

    def means(self, predictors: tuple[Predictor, ...], rows: int) -> Floats:
        """Shape (rows,)."""
        mean = np.full(rows, self.constant)
        for predictor, effects in zip(predictors, self.effects, strict=True):
            if isinstance(predictor, Levels):
                mean += effects[predictor.codes]
            else:
                places = np.clip((predictor.scores + MOST_SCORE) * _POINTS + 0.5, 0, len(_GRID) - 1).astype(np.int32)
                along = effects[:-1] @ np.stack(_terms(Scores(_GRID, np.zeros(len(_GRID), np.bool_)))[:-1])
                mean += np.where(predictor.missing, effects[-1], along[places])
        return mean


@one_core()
def fit(predictors: tuple[Predictor, ...], low: Floats, high: Floats) -> Effects:
    """The effects under which scores between `low` and `high` are likeliest (Tobin 1958; EM as in Dempster 1977).

    Args:
        predictors: The other columns.
        low: Shape (rows,); -inf for no end.
        high: Shape (rows,), above `low`.
    """
    design = _Design(predictors, len(low))
    inverse = np.linalg.inv(design.products() + _RIDGE * np.eye(design.size))
    b, mean, spread = np.zeros(design.size), np.zeros(len(low)), 1.0
    for _ in range(ROUNDS):
        expected, variance = _truncated(mean, spread, low, high)
        b = inverse @ design.sums(expected)
        mean = design.means(b)
        spread = max(float(np.sqrt(np.mean(variance + (expected - mean) ** 2))), 1e-3)
    return Effects(float(b[0]), design.effects(b), spread)


def draw(
    effects: Effects, predictors: tuple[Predictor, ...], low: Floats, high: Floats, label: Integers, chance: Floats
) -> Floats:
    """Scores between the ends of rows' labels, at `chance` of the distribution that the effects give there.

    Args:
        effects: A fit on `predictors`.
        predictors: The other columns.
        low: Shape (labels,).
        high: Shape (labels,).
        label: Shape (rows,); rows without a label, which have their number, take any score.
        chance: Shape (rows,), in [0, 1).
    """
    low, high, found = np.append(low, -np.inf), np.append(high, np.inf), np.empty(len(label))
    for first in range(0, len(label), _AT_ONCE):
        rows = slice(first, first + _AT_ONCE)
        least, most = low[label[rows]], high[label[rows]]
        mean = effects.means(tuple(of.at(rows) for of in predictors), len(least))
        below, above = ndtr((least - mean) / effects.spread), ndtr((most - mean) / effects.spread)
        at = np.clip(below + chance[rows] * (above - below), _FAR, 1 - _FAR)
        found[rows] = np.clip(mean + effects.spread * ndtri(at), least, most)
    return found


def _truncated(mean: Floats, spread: float, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The mean and variance of normal scores between two ends (Johnson, Kotz, Balakrishnan 1994, section 13.10)."""
    a, b = (low - mean) / spread, (high - mean) / spread
    mass = np.maximum(ndtr(b) - ndtr(a), _FAR)
    at_a, at_b = _density(a), _density(b)
    shift = (at_a - at_b) / mass
    ends = (np.where(np.isfinite(a), a, 0) * at_a - np.where(np.isfinite(b), b, 0) * at_b) / mass
    expected = np.clip(mean + spread * shift, low, high)
    return expected, np.clip(spread**2 * (1 + ends - shift**2), 0, spread**2)


def _density(z: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * np.square(np.clip(z, -40, 40))) / np.sqrt(2 * np.pi)
    return density


class _Design:
    """The matrix of a constant, the terms of scores, and the common levels, whose columns are kept as codes."""

    def __init__(self, predictors: tuple[Predictor, ...], rows: int) -> None:
        self._predictors = predictors
        scores = [_terms(of) for of in predictors if isinstance(of, Scores)]
        self._terms = np.stack([np.ones(rows), *(term for terms in scores for term in terms)])
        self._kept = [_common(of) for of in predictors if isinstance(of, Levels)]
        levels = (of for of in predictors if isinstance(of, Levels))
        self._places = [_places(of, kept)[of.codes] for of, kept in zip(levels, self._kept, strict=True)]
        ends = np.cumsum([len(self._terms), *map(len, self._kept)])
        self._slices = [slice(*ends) for ends in pairwise(ends.tolist())]
        self.size = int(ends[-1])

    def means(self, b: Floats) -> Floats:
        """The matrix times effects."""
        means: Floats = b[: len(self._terms)] @ self._terms
        for places, of in zip(self._places, self._slices, strict=True):
            means += np.append(b[of], 0.0)[places]
        return means

    def sums(self, of: Floats) -> Floats:
        """The transposed matrix times a number for each row."""
        levels = (np.bincount(at, of, len(kept) + 1)[:-1] for at, kept in zip(self._places, self._kept, strict=True))
        return np.concatenate([self._terms @ of, *levels])

    def products(self) -> Floats:
        """The transposed matrix times the matrix."""
        found = np.zeros((self.size, self.size))
        first = len(self._terms)
        found[:first, :first] = self._terms @ self._terms.T
        for i, term in enumerate(self._terms):
            found[i, first:] = found[first:, i] = self.sums(term)[first:]
        for i, a in enumerate(self._slices):
            for j, b in enumerate(self._slices):
                shape = len(self._kept[i]) + 1, len(self._kept[j]) + 1
                both = np.bincount(self._places[i] * shape[1] + self._places[j], minlength=shape[0] * shape[1])
                found[a, b] = both.reshape(shape)[:-1, :-1]
        return found

    def effects(self, b: Floats) -> tuple[Floats, ...]:
        """The effects of each predictor's levels or terms."""
        effects, first = [], 1
        levels = iter(zip(self._kept, self._slices, strict=True))
        for predictor in self._predictors:
            if isinstance(predictor, Levels):
                kept, at = next(levels)
                of = np.zeros(predictor.size)
                of[kept] = b[at]
            else:
                of = b[first : first + _TERMS]
                first += _TERMS
            effects.append(of)
        return tuple(effects)


def _common(of: Levels) -> Integers:
    """The levels that have an effect: all common ones but the commonest."""
    counts = np.bincount(of.codes, minlength=of.size)
    common = np.argsort(-counts, kind="stable")[: MOST_LEVELS + 1]
    kept: Integers = common[counts[common] >= LEAST_RECORDS][1:]
    return kept


def _places(of: Levels, kept: Integers) -> Integers:
    """The place of each level among those that are kept; all others have the place after them."""
    places = np.full(of.size, len(kept))
    places[kept] = np.arange(len(kept))
    return places


def _terms(predictor: Scores) -> list[Floats]:
    """A score, its square less one, how far it is above each knot, and whether it is missing; 0 if that is so."""
    z, missing = predictor.scores, predictor.missing
    terms = [z, z * z - 1, *(np.maximum(z - knot, 0) for knot in KNOTS)]
    return [*(np.where(missing, 0.0, term) for term in terms), missing.astype(float)]
