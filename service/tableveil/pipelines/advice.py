"""Advice for the owner about a choice: the columns it erased, and the cost of another choice."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from tableveil.control import Control
from tableveil.errors import Change, Relaxation, Warned, shortened
from tableveil.pipelines.infeasible import unprotected_values
from tableveil.pipelines.privacy import choosing_models, judging_models, privacy_for
from tableveil.pipelines.quality import quality_for
from tableveil.pipelines.read import Counted
from tableveil.policy import Choose, ClassificationModel, Policy, looking_at_values, policy_warnings
from tableveil.search import Candidate, Problem, SearchOutcome, search
from tableveil.search.relaxing import LatticeQuestions, ProblemOf, Unmet, single_changes

MOST_CHECKS = 1_000
MOST_COUNTED = 200_000_000
LEAST_CHECKS = 20
"""Advice takes so many checks at most, and fewer where there are many combinations to count in each."""

SHARE_OF_SEARCHES = 0.5
"""The share of a column's checks for the search with a limit of its level; the rest is for other remedies."""

MOST_REMEDIES = 2
"""The most offered changes, each of which suffices."""


@dataclass(frozen=True, slots=True)
class AdviceSearch:
    """The result of a search for another policy; empty if there is no `best`."""

    problem: Problem
    found: SearchOutcome
    unmet: tuple[Unmet, ...]

    @property
    def best(self) -> Candidate | None:
        """The transformation that would be released."""
        return None if self.unmet else self.found.best


@dataclass(frozen=True, slots=True)
class Advice:
    """Tries other policies on the counted source, by so many `checks` in all.

    `problem` is the one that was searched and `best` the choice; `problem_of` gives the problem for a policy. The clock
    of `control` counts checks, so that equal jobs give equal advice. `locally` says what local recoding would keep of
    erased columns.
    """

    counted: Counted
    problem: Problem
    best: Candidate
    problem_of: ProblemOf
    control: Control
    checks: float
    locally: Mapping[int, str] = field(default_factory=dict)

    def erased(self) -> Iterator[Warned]:
        """The warnings about erased columns, without the search for what would keep some of them."""
        for position in erased_columns(self.problem, self.best):
            remedy = (
                self._without_remedy(position)
                or "tableveil show --advice, or a dry run, tells what would keep some of it."
            )
            yield self._says_nothing(position).followed_by(remedy)

    def warnings(self) -> Iterator[Warned]:
        """Warnings in whole sentences, for the owner.

        Raises:
            CancelledError: `control` was cancelled.
        """
        deadline = self.control.now() + self.checks
        erased = erased_columns(self.problem, self.best)
        blindly = chosen_blindly(self.counted.policy)
        left = len(erased) + (blindly is not None)
        if blindly is not None:
            yield self._choosing_blindly(blindly, (deadline - self.control.now()) / left)
            left -= 1
        for position in erased:
            remedy = self._remedy(position, (deadline - self.control.now()) / left)
            yield self._says_nothing(position).followed_by(remedy)
            left -= 1

    def _says_nothing(self, position: int) -> Warned:
        column = self.counted.policy.quasi_identifiers[position].column
        return says_nothing(column).followed_by(self.locally.get(position, ""))

    # --- chosen by quasi-identifiers only ---

    def blindly(self) -> Iterator[Warned]:
        """The warning about choosing by quasi-identifiers only, where sensitive values take part."""
        policy = chosen_blindly(self.counted.policy)
        if policy is not None:
            yield self._choosing_blindly(policy, self.checks)

    def _choosing_blindly(self, policy: Policy, checks: float) -> Warned:
        (warning,) = policy_warnings(self.counted.policy)
        return warning.followed_by(self._cost_of_choosing_blindly(policy, checks))

    def _cost_of_choosing_blindly(self, policy: Policy, checks: float) -> str:
        tried = self._tried(policy, checks)
        if tried is None or tried.found.best is None:
            # A transformation that meets the policy meets this one.
            return f"The cost of choosing by quasi-identifiers only was not found out in {self.checks:,.0f} checks."
        surely = "" if tried.found.complete else " found"
        if tried.best is None:
            fields = ", ".join(one.field for one in tried.unmet)
            return (
                f"Choosing by quasi-identifiers only is not feasible: the best release{surely} would not meet {fields}."
            )
        return (
            f"Choosing by quasi-identifiers only would cost a score of {tried.best.score:.4g} instead of "
            f"{self.best.score:.4g}: the best release{surely} meets all models."
        )

    # --- erased columns ---

    def _remedy(self, position: int, checks: float) -> str:
        """The cheapest change that keeps something of a column: a limit of its level, alone or with one more change."""
        if none := self._without_remedy(position):
            return none
        levels = self._telling_levels(position)
        deadline = self.control.now() + checks
        for left, level in zip(range(len(levels), 0, -1), levels, strict=True):
            remedy = self._limited(position, level, (deadline - self.control.now()) / left)
            if remedy:
                return f"Feasible would be {remedy}, instead of a score of {self.best.score:.4g}."
        return "No limit of its level was found that would keep some of it, alone or with one other change."

    def _without_remedy(self, position: int) -> str:
        """The reason why no change of a level would keep something of a column; empty if one may."""
        if self.counted.policy.search.levels:
            return "search.levels gives its level."
        if not self._telling_levels(position):
            return "Its levels are limited to those, or all other values are suppressed."
        return ""

    def _limited(self, position: int, level: int, checks: float) -> str:
        """A remedy for a column with that limit of its level; empty if none was found."""
        policy, deadline = self.counted.policy, self.control.now() + checks
        i = policy.attributes.index(policy.quasi_identifiers[position])
        limit = Change(f"attributes[{i}].maximum_level", str(level))
        attribute = replace(policy.attributes[i], maximum_level=level)
        policy = replace(policy, attributes=(*policy.attributes[:i], attribute, *policy.attributes[i + 1 :]))
        kept = self._keeping(position, policy, checks * SHARE_OF_SEARCHES)
        if kept is not None:
            return _offered(kept.score, (limit,))
        offered = []
        for change, relaxed in self._less(policy, deadline - self.control.now()):
            kept = self._keeping(position, relaxed, deadline - self.control.now())
            if kept is not None:
                offered.append((kept.score, (limit, change)))
        offered.sort(key=lambda one: one[0])
        return ", or ".join(_offered(*one) for one in offered[:MOST_REMEDIES])

    def _telling_levels(self, position: int) -> list[int]:
        """The levels below the chosen one at which the source has several labels, the highest first."""
        levels, counts = self.problem.counter.levels[position], self.problem.counter.marginals().counts[position]
        policy = self.counted.policy
        least = policy.least_level(policy.quasi_identifiers[position])
        return [
            level
            for level in range(self.best.transformation[position] - 1, least - 1, -1)
            if len(np.unique(levels.groups[level][counts > 0])) > 1
        ]

    def _less(self, policy: Policy, checks: float) -> Iterator[tuple[Change, Policy]]:
        tops = [levels.top for levels in self.problem.counter.levels]
        questions = LatticeQuestions(self.problem_of, self.control, checks)
        return single_changes(policy, tops, self.problem.counter.records, questions)

    def _keeping(self, position: int, policy: Policy, checks: float) -> Candidate | None:
        """The best for a policy, if it keeps something of a column."""
        tried = self._tried(policy, checks)
        if tried is None or tried.best is None or position in erased_columns(tried.problem, tried.best):
            return None
        return tried.best

    # --- searching ---

    def _tried(self, policy: Policy, checks: float) -> AdviceSearch | None:
        """The best for a policy, found in so many checks; None if none is left or there is nothing to search."""
        problem = self.problem_of(policy) if checks > 0 else None
        if problem is None:
            return None
        base, counter = self.counted.base, problem.counter
        # Bounds may depend on the number of suppressible records.
        problem = replace(problem, quality=quality_for(policy, base, counter, problem.suppressible))
        outcome = search(problem, replace(policy.search, time_limit_seconds=Decimal(checks)), self.control)
        if outcome.best is None:
            return AdviceSearch(problem, outcome, ())
        judging = judging_models(policy)
        if not judging:
            return AdviceSearch(problem, outcome, ())
        unmet = unprotected_values(
            policy, problem, outcome.best, judging, lambda model: privacy_for((model,), policy, base, counter)
        )
        return AdviceSearch(problem, outcome, tuple(unmet))


def checks_for(combinations: int) -> float:
    """The checks that advice may take on a source of so many combinations of values."""
    return min(MOST_CHECKS, max(LEAST_CHECKS, MOST_COUNTED // max(combinations, 1)))


def erased_columns(problem: Problem, best: Candidate) -> list[int]:
    """Positions of the quasi-identifiers that have one label in all released records, and several values in the source.

    Empty if no record is released.
    """
    classes, values = problem.counter.classes(best.transformation), problem.counter.marginals().counts
    kept = problem.privacy.releasable(classes)
    if not kept.any():
        return []
    return [
        position
        for position in range(len(best.transformation))
        if np.count_nonzero(values[position]) > 1 and len(np.unique(classes.groups(position)[kept])) == 1
    ]


def _offered(score: float, changes: tuple[Change, ...]) -> str:
    return f"{Relaxation(changes, nearest=True)} (score {score:.4g})"


def says_nothing(column: str, what: str = "label") -> Warned:
    """The warning that a column is erased."""
    text = f"{shortened(column)} has the same {what} in all released records: the release says nothing of it."
    return Warned(text, field=column)


def is_empty(records: int) -> Warned:
    """The warning that nothing is released."""
    return Warned(f"All {records:,} records are suppressed: the release is empty.", count_of=records)


def chosen_blindly(policy: Policy) -> Policy | None:
    """The policy that chooses without sensitive values, where they take part; None if there is no such policy."""
    blindly = replace(policy, search=replace(policy.search, choose=Choose.QUASI_IDENTIFIERS_ONLY))
    by_quality = isinstance(policy.quality_model, ClassificationModel)
    return blindly if looking_at_values(policy) and choosing_models(blindly) and not by_quality else None
