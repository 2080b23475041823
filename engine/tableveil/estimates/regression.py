"""Interval-censored regression: a number that is known by its label alone, on the normal scores of its line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROUNDS = 25
"""Rounds of expectation and maximization; effects change by less than a hundredth after them."""

MOST_LEVELS = 70
LEAST_RECORDS = 30
"""A level of a predictor has an effect if so many fitted records have it, and of at most `MOST_LEVELS`."""

KNOTS = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
"""The scores at which the effect of a number may bend: newborns are no very young adults."""

_RIDGE = 1e-3
_FAR = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """A predictor by numbers: normal scores, with 0 where `missing`."""

    scores: Floats
    missing: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """A predictor by levels: codes from 0, below `size`."""

    codes: Integers
    size: int


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
                terms = _terms(predictor)
                mean += sum(effect * term for effect, term in zip(effects, terms, strict=True) if effect)
        return mean


def fit(predictors: tuple[Predictor, ...], low: Floats, high: Floats) -> Effects:
    """The effects under which scores between `low` and `high` are likeliest (Tobin 1958; EM as in Dempster 1977).

    Args:
        predictors: The other columns.
        low: Shape (rows,); -inf for no end.
        high: Shape (rows,), above `low`.
    """
    design, places = _design(predictors, len(low))
    inverse = np.linalg.inv(design.T @ design + _RIDGE * np.eye(design.shape[1]))
    b, spread = np.zeros(design.shape[1]), 1.0
    for _ in range(ROUNDS):
        mean = design @ b
        expected, variance = _truncated(mean, spread, low, high)
        b = inverse @ (design.T @ expected)
        spread = max(float(np.sqrt(np.mean(variance + (expected - design @ b) ** 2))), 1e-3)
    effects = []
    for predictor, (begin, kept) in zip(predictors, places, strict=True):
        if isinstance(predictor, Levels):
            of = np.zeros(predictor.size)
            of[kept] = b[begin : begin + len(kept)]
        else:
            of = b[begin : begin + len(kept)]
        effects.append(of)
    return Effects(float(b[0]), tuple(effects), spread)


def draw(effects: Effects, predictors: tuple[Predictor, ...], low: Floats, high: Floats, chance: Floats) -> Floats:
    """Scores between `low` and `high`, at `chance` of the distribution that the effects give there."""
    mean = effects.means(predictors, len(low))
    below, above = ndtr((low - mean) / effects.spread), ndtr((high - mean) / effects.spread)
    at = np.clip(below + chance * (above - below), _FAR, 1 - _FAR)
    scores: Floats = np.clip(mean + effects.spread * ndtri(at), low, high)
    return scores


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


def _design(predictors: tuple[Predictor, ...], rows: int) -> tuple[Floats, list[tuple[int, Integers]]]:
    """The columns of all effects, and per predictor the first column and the levels or terms that it has there."""
    columns, places = [np.ones(rows)], []
    for predictor in predictors:
        begin = len(columns)
        if isinstance(predictor, Levels):
            counts = np.bincount(predictor.codes, minlength=predictor.size)
            common = np.argsort(-counts, kind="stable")[: MOST_LEVELS + 1]
            kept = common[counts[common] >= LEAST_RECORDS][1:]
            columns += [(predictor.codes == level).astype(float) for level in kept]
        else:
            terms = _terms(predictor)
            kept = np.arange(len(terms))
            columns += terms
        places.append((begin, kept))
    return np.stack(columns, axis=1), places


def _terms(predictor: Scores) -> list[Floats]:
    """A score, its square less one, how far it is above each knot, and whether it is missing; 0 if that is so."""
    z, missing = predictor.scores, predictor.missing
    terms = [z, z * z - 1, *(np.maximum(z - knot, 0) for knot in KNOTS)]
    return [*(np.where(missing, 0.0, term) for term in terms), missing.astype(float)]
