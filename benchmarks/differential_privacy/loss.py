"""Section: the loss of drawn releases beside SafePub, the best possible, and k-anonymity."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.differential_privacy.safepub import at_least, sampling, walk
from benchmarks.local.tables import problem_of
from benchmarks.markdown import table
from benchmarks.section import Section, verdict
from tableveil.differential_privacy import Drops, Gains, draw_transformation, drops, eta, values_of
from tableveil.differential_privacy.gains import EXPECTED_BITS, VALUE_BITS
from tableveil.lattice import Lattice, Transformation
from tableveil.local_recoding import LocalProblem

EPSILON, SEARCH, DELTA = Fraction(1), Fraction(1, 10), Fraction(1, 10**6)
NEAR = 0.002
MOST_CHECKS = 3
CASES = (("adult", 9), ("mach2019", 10))
DRAWS, WALKS, STEPS = 20, 2, (100, 300)
CERTAIN = Fraction(1_000, 1 << (VALUE_BITS + EXPECTED_BITS))
"""With such a rate a draw takes the best transformation, as an exact search does."""


@dataclass(frozen=True, slots=True)
class _Table:
    problem: LocalProblem
    lattice: Lattice

    def gains(self, removed: Drops, counts: NDArray[np.int64] | None = None) -> Gains:
        levels, part = self.problem.levels, Fraction(1, len(self.problem.levels))
        records = self.problem.counts if counts is None else counts
        there = records > 0
        codes = [self.problem.codes[there, j].astype(np.int32) for j in range(len(levels))]
        worth = [values_of(attribute, part) for attribute in levels]
        return Gains([attribute.groups for attribute in levels], worth, codes, records[there], removed)

    def lost(self, gains: Gains, at: Transformation) -> float:
        """The loss, with everything that is not released counted as lost."""
        return 1 - gains.check(at).gain / (int(self.problem.counts.sum()) << (VALUE_BITS + EXPECTED_BITS))

    def inside(
        self, gains: Gains, at: Transformation, removed: Drops, counts: NDArray[np.int64] | None = None
    ) -> float:
        """The loss of the expected rows of the release."""
        records = self.problem.counts if counts is None else counts
        levels, codes = self.problem.levels, self.problem.codes
        columns = [levels[j].groups[level][codes[:, j]] for j, level in enumerate(at)]
        _, of_class = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
        sizes = np.bincount(of_class.reshape(-1), weights=records).astype(np.int64)
        left = sum(removed.kept(int(size), EXPECTED_BITS) for size in sizes)
        return 1 - gains.check(at).gain / (left << VALUE_BITS) if left else 0.0


def losses(shared: Path) -> Iterator[Callable[[], Section]]:
    """A section for each table, which takes a minute or more."""
    for name, columns in CASES:
        yield partial(loss, shared, name, columns)


def loss(shared: Path, name: str, columns: int, draws: int = DRAWS, walks: int = WALKS) -> Section:
    """On one table, with epsilon 1 and delta 10^-6."""
    problem = problem_of(shared / "data", name, columns)
    of = _Table(problem, Lattice(problem.lowest, problem.highest))
    rows, sound = _measured(f"{name}, {columns} columns", of, draws, walks)
    headers = ("case", "loss, unreleased rows lost", "loss inside", "checks", "")
    told = (
        f"Epsilon is {EPSILON}, of which {SEARCH} is for the choice, and delta {float(DELTA):g}. Figures are means of "
        f"{draws} draws, and of {walks} walks of SafePub over samples of their own, whose steps share the same part of "
        "epsilon. Removed rows are expectations. Rows marked *not private* keep no promise.",
        table(headers, rows),
    )
    return Section(f"Loss under differential privacy: {name}", told, sound)


def _measured(name: str, of: _Table, draws: int, walks: int) -> tuple[list[tuple[str, ...]], bool]:
    removed = drops(EPSILON - SEARCH, DELTA)
    gains = of.gains(removed)
    rate, checks, drawn = eta(SEARCH, gains.range), [], []
    for _ in range(draws):
        known = len(gains.checked)
        drawn.append(draw_transformation(gains, of.lattice, rate, secrets.randbelow))
        checks.append(len(gains.checked) - known)
    ours = float(np.mean([of.lost(gains, x) for x in drawn]))
    inside = float(np.mean([of.inside(gains, x, removed) for x in drawn]))
    best = _best(of.gains(removed), of)
    anonymous = _best(of.gains(at_least(5)), of)
    rows, private = [], []
    for steps in STEPS:
        last, visited = zip(*(_walked(of, steps) for _ in range(walks)), strict=True)
        for called, ends in ((f"SafePub, last of {steps} pivots", last), (f"best of {steps}, *not private*", visited)):
            means = np.mean(ends, axis=0)
            private.append(float(means[0]))
            rows.append((f"{name}: {called}", f"{means[0]:.4f}", f"{means[1]:.4f}", "", ""))
    few = checks[0] <= MOST_CHECKS * best[2]
    met = ours < min(private) and ours - best[0] <= NEAR and few
    optima = [
        (f"{name}: {called}", f"{found[0]:.4f}", f"{found[1]:.4f}", f"{found[2]:,}", "")
        for called, found in (("the best of the mechanism", best), ("the best with k = 5, *not private*", anonymous))
    ]
    return [(f"{name}: drawn", f"{ours:.4f}", f"{inside:.4f}", f"{checks[0]:,}", verdict(met)), *optima, *rows], met


def _best(gains: Gains, of: _Table) -> tuple[float, float, int]:
    at = draw_transformation(gains, of.lattice, CERTAIN, secrets.randbelow)
    checks = len(gains.checked)
    return of.lost(gains, at), of.inside(gains, at, gains.drops), checks


def _walked(of: _Table, steps: int) -> tuple[tuple[float, float], tuple[float, float]]:
    share, k = sampling(float(EPSILON - SEARCH), float(DELTA))
    random = np.random.default_rng(secrets.randbits(128))
    sample, rule = random.binomial(of.problem.counts, share), at_least(k)
    gains = of.gains(rule, sample)
    ends = walk(gains, of.lattice, k, float(SEARCH), steps, random.random)
    last, best = ((of.lost(gains, x), of.inside(gains, x, rule, sample)) for x in ends)
    return last, best
