"""What could be asked less of a policy that a search found nothing for, over the source that was counted."""

from __future__ import annotations

from tableveil.classes import RememberingCounter
from tableveil.counting import BaseHistogram
from tableveil.jobs.lattice import lattice_of
from tableveil.jobs.privacy import choosing_models, privacy_for
from tableveil.policy import Policy, SuppressedRecords
from tableveil.search import Control, Problem
from tableveil.search.relaxing import ProblemOf, Relaxed, relax

MOST_SECONDS = 5.0
"""People wait for an answer that is no release."""

MEMORY = 256 << 20
"""Bytes of classes remembered, because the same transformations are asked for under other policies."""


def relaxed(policy: Policy, problem: Problem, base: BaseHistogram, control: Control, proven: bool) -> Relaxed:
    """The conflict in the policy and what would do, found in a few seconds, or in as many as the search may take.

    `problem` is the one that was searched; if that was to the end, it is `proven` that nothing meets the policy.

    Raises:
        CancelledError: the control was cancelled.
    """
    limit = policy.search.time_limit_seconds
    seconds = MOST_SECONDS if limit is None else min(float(limit), MOST_SECONDS)
    tops = [attribute.top for attribute in problem.counter.levels]
    asked = _problem_of(problem, base, tops)
    return relax(policy, asked, tops, problem.counter.records, control, seconds, proven)


def _problem_of(problem: Problem, base: BaseHistogram, tops: list[int]) -> ProblemOf:
    counter = RememberingCounter(problem.counter, MEMORY)

    def problem_of(policy: Policy) -> Problem | None:
        lattice, faults = lattice_of(policy, tops)
        if lattice is None or faults:
            return None
        return Problem(
            lattice=lattice,
            counter=counter,
            privacy=privacy_for(choosing_models(policy), policy, base, problem.counter),
            quality=problem.quality,
            suppressible=policy.suppressible(counter.records),
            keeps_suppressed=policy.suppressed_records is SuppressedRecords.KEEP,
        )

    return problem_of
