"""Why nothing meets the policy, and what would: what the privacy models refuse at the most general transformation."""

from __future__ import annotations

from dataclasses import dataclass

from tableveil.lattice import Transformation
from tableveil.privacy import Conjunction
from tableveil.search.problem import Problem, valid


@dataclass(frozen=True, slots=True)
class Refusal:
    """What one rule, by its position in the problem's privacy, does at the transformation.

    It refuses classes of so many `records`, or `vetoes` the transformation whatever is suppressed. `nearest` is the
    strictest parameter of the rule with which the transformation would be valid: given that all other rules stay as
    they are if it `suffices` to change this one, else by itself, without the others. None: there is none.
    """

    rule: int
    records: int
    vetoes: bool
    nearest: str | None
    suffices: bool


@dataclass(frozen=True, slots=True)
class Infeasible:
    """What the most general transformation of a lattice does, of which nothing is valid.

    `suppressed` of `records` records would have to be suppressed there; `allowed` may be. `refusals` are those of the
    rules that refuse anything. If it is `within_limit`, it is not the number of suppressed records that is wrong: a
    rule vetoes, or the suppressed records, which are `kept`, may not be released together. With `more_general` levels,
    beyond the lattice, something is valid.
    """

    transformation: Transformation
    suppressed: int
    allowed: int
    records: int
    refusals: tuple[Refusal, ...]
    kept: bool
    more_general: bool

    @property
    def within_limit(self) -> bool:
        """Whether the suppression limit would be kept to."""
        return self.suppressed <= self.allowed


def why_infeasible(problem: Problem) -> Infeasible:
    """Counts the most general transformation of the lattice once more.

    Raises:
        Stopped: while counting.
    """
    counter, privacy, top = problem.counter, problem.privacy, problem.lattice.top
    rules = privacy.rules if isinstance(privacy, Conjunction) else (privacy,)
    classes = counter.classes(top)
    counts = classes.counts
    spare = problem.suppressible - counter.withheld
    refusals = []
    for number, rule in enumerate(rules):
        refused = int(counts[~rule.releasable(classes)].sum())
        vetoes = rule.vetoes(classes)
        if not refused and not vetoes:
            continue
        others = Conjunction(tuple(other for other in rules if other is not rule))
        left = others.releasable(classes)
        lost_to_others = int(counts[~left].sum())
        suffices = lost_to_others <= spare and not others.vetoes(classes)
        nearest = None
        if suffices:
            nearest = rule.nearest(classes.selected(left), spare - lost_to_others)
        elif spare >= 0:
            nearest = rule.nearest(classes, spare)
        refusals.append(Refusal(number, refused, vetoes, nearest, suffices))
    kept = privacy.releasable(classes)
    suppressed = counter.records - int(counts[kept].sum())
    tops = tuple(attribute.top for attribute in counter.levels)
    beyond = counter.classes(tops) if tops != top else None
    return Infeasible(
        transformation=top,
        suppressed=suppressed,
        allowed=problem.suppressible,
        records=counter.records,
        refusals=tuple(refusals),
        kept=problem.keeps_suppressed,
        more_general=beyond is not None and valid(problem, beyond, privacy.releasable(beyond)),
    )
