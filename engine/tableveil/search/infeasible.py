"""What the most general transformation of a lattice does of which nothing is valid: who refuses how much there."""

from __future__ import annotations

from dataclasses import dataclass

from tableveil.lattice import Transformation
from tableveil.privacy import Conjunction
from tableveil.search.problem import Problem


@dataclass(frozen=True, slots=True)
class Refusal:
    """What one rule does at the transformation.

    It refuses classes of so many `records`, or `vetoes` the transformation whatever is suppressed.
    """

    records: int
    vetoes: bool


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Of `records` records `suppressed` would have to be, `allowed` may be; `refusals` are by the problem's rules."""

    transformation: Transformation
    suppressed: int
    allowed: int
    records: int
    refusals: tuple[Refusal, ...]


def why_infeasible(problem: Problem) -> Infeasible:
    """Counts the most general transformation of the lattice once more.

    Raises:
        Stopped: while counting.
    """
    counter, privacy, top = problem.counter, problem.privacy, problem.lattice.top
    rules = privacy.rules if isinstance(privacy, Conjunction) else (privacy,)
    classes = counter.classes(top)
    refusals = (Refusal(int(classes.counts[~rule.releasable(classes)].sum()), rule.vetoes(classes)) for rule in rules)
    return Infeasible(
        transformation=top,
        suppressed=counter.records - int(classes.counts[privacy.releasable(classes)].sum()),
        allowed=problem.suppressible,
        records=counter.records,
        refusals=tuple(refusals),
    )
