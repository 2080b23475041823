"""The refusals at the most general transformation of a lattice without any valid one: each rule's share."""

from dataclasses import dataclass

from tableveil.lattice import Transformation
from tableveil.privacy import Conjunction
from tableveil.search.problem import Problem


@dataclass(frozen=True, slots=True)
class Refusal:
    """One rule's refusals at the transformation.

    It refuses classes with so many `records`, or `vetoes` the transformation whatever is suppressed.
    """

    records: int
    vetoes: bool


@dataclass(frozen=True, slots=True)
class Infeasible:
    """`suppressed` of all `records` would have to be suppressed, `allowed` may be; `refusals` are per rule."""

    transformation: Transformation
    suppressed: int
    allowed: int
    records: int
    refusals: tuple[Refusal, ...]


def why_infeasible(problem: Problem) -> Infeasible:
    """Counts the most general transformation of the lattice once more.

    Raises:
        Stopped: `control` says so while classes are counted.
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
