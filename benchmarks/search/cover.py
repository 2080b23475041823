"""Section: how few checks could exclude by suppression the transformations that the bound alone does not exclude."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.markdown import table
from benchmarks.search.in_memory import instances
from benchmarks.section import Section
from tableveil.classes import Check
from tableveil.control import Control
from tableveil.search import Problem, exact

TITLE = "The search: how few checks could do"

IDS = ("a-adult-k5-s0.05-loss-gm", "a-fars-k5-s0.05-loss-gm", "a-mach201910-k5-s0.05-loss-gm")


def cover(shared: Path) -> Section:
    """Counts every transformation of the lattices and covers greedily; says so if there is no data."""
    if not (shared / "data").is_dir():
        return Section(TITLE, (f"Skipped: there is no `{shared / 'data'}`.",))
    rows = []
    for instance in instances(shared, IDS):
        problem = instance.problem()
        outcome = exact(problem, Control())
        needed, greedy = _cover(problem)
        rows.append([instance.name, f"{outcome.checked:,}", f"{needed:,}", f"{greedy:,}"])
    return Section(
        TITLE,
        (
            "Transformations that would beat the optimum if nothing were suppressed have to be excluded because they "
            "suppress too much: each by a check of one above it that does. With everything counted beforehand, a "
            "greedy set cover chooses those checks. The search may need fewer, because its bounds know of "
            "suppression, but it also has to find them, and to check where it is not too much.",
            table(("case", "checks of the search", "to be excluded", "checks that cover them"), rows),
        ),
    )


def _cover(problem: Problem) -> tuple[int, int]:
    """Maximal transformations that only suppression excludes, and how many checks cover them, chosen greedily."""
    lattice, size = problem.lattice, problem.privacy.minimum_class_size
    shape = tuple(top + 1 for top in lattice.top)
    too_many, better = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    best = exact(problem, Control()).best
    assert best is not None
    for x in lattice:
        check = Check(problem.counter, x, size)
        everything = np.ones(len(check.classes.counts), np.bool_)
        too_many[x] = check.below > problem.suppressible
        better[x] = problem.quality.assess(x, check.classes, everything).score < best.key[0]
    needed = np.argwhere(_maximal(too_many & better))
    checks = np.argwhere(_maximal(too_many))
    covers = np.ones((len(checks), len(needed)), np.bool_)
    for j in range(len(shape)):
        covers &= checks[:, j, None] >= needed[None, :, j]
    left, chosen = np.ones(len(needed), np.bool_), 0
    while left.any():
        left &= ~covers[(covers & left).sum(axis=1).argmax()]
        chosen += 1
    return len(needed), chosen


def _maximal(marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The marked transformations with no marked one above; those below a marked one need not be."""
    maximal = marked.copy()
    for j in range(marked.ndim):
        above = np.roll(marked, -1, axis=j)
        np.moveaxis(above, j, 0)[-1] = False
        maximal &= ~above
    return maximal
