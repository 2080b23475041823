"""Relaxations of a policy for which a search found nothing, over the counted source."""

from dataclasses import replace

from tableveil.backend import Session
from tableveil.classes import ClassCounter, Effort, RememberingCounter
from tableveil.counting import BaseHistogram
from tableveil.counting.cost import memory_limit
from tableveil.pipelines.inherited import also_meeting
from tableveil.pipelines.lattice import lattice_of
from tableveil.pipelines.privacy import choosing_models, privacy_for
from tableveil.pipelines.work import JobContext
from tableveil.policy import Choose, Policy, SuppressedRecords
from tableveil.search import Problem
from tableveil.search.relaxing import LatticeQuestions, ProblemOf, Relaxed, RelaxedOutcome, UnmetPolicy, relax

MOST_SECONDS = 5.0
"""People wait for an answer that is no release."""

SHARE_OF_MEMORY = 8
"""The part of the job's memory for remembered classes, because transformations are asked for repeatedly."""


def relaxed(job: JobContext, policy: Policy, problem: Problem, base: BaseHistogram, proven: bool) -> Relaxed:
    """The conflict in the policy and its relaxations, found in a few seconds, or within the search's time limit.

    `problem` is the one that was searched; if the search was complete, it is `proven` that nothing meets the policy.

    Raises:
        CancelledError: `control` was cancelled.
    """
    unmet, asked = UnmetPolicy(policy, _tops(problem), problem.counter.records), problem_of(job.session, problem, base)
    return relax(unmet, asked, job.control, seconds_for(policy), proven)


def chosen_by_all(job: JobContext, policy: Policy, problem: Problem, base: BaseHistogram) -> RelaxedOutcome:
    """Whether anything meets a policy whose models all take part in choosing, if that can be found out in time.

    Raises:
        CancelledError: `control` was cancelled.
    """
    questions = LatticeQuestions(problem_of(job.session, problem, base), job.control, seconds_for(policy))
    return questions.find(replace(policy, search=replace(policy.search, choose=Choose.ALL_MODELS)))


def seconds_for(policy: Policy) -> float:
    """The seconds for relaxations: some, but no more than the search may take."""
    return min(policy.search.seconds, MOST_SECONDS)


def _tops(problem: Problem) -> list[int]:
    return [attribute.top for attribute in problem.counter.levels]


def problem_of(session: Session, problem: Problem, base: BaseHistogram, effort: Effort | None = None) -> ProblemOf:
    """The problem for other policies over this source; the quality model stays that of `problem`.

    Joint classes meet all that earlier releases ask, whatever another policy asks.

    `effort` counts the checks, also of classes that are remembered.
    """
    counter: ClassCounter = RememberingCounter(problem.counter, memory_limit(session) // SHARE_OF_MEMORY)
    if effort is not None:
        counter = effort.counting(counter)
    tops = _tops(problem)

    def of(policy: Policy) -> Problem | None:
        lattice, faults = lattice_of(policy, tops)
        if lattice is None or faults:
            return None
        if base.columns.earlier is not None:
            policy = also_meeting(policy, base.columns.earlier.inherited)
        return Problem(
            lattice=lattice,
            counter=counter,
            privacy=privacy_for(choosing_models(policy), policy, base, problem.counter),
            quality=problem.quality,
            suppressible=policy.suppressible(counter.records),
            keeps_suppressed=policy.suppressed_records is SuppressedRecords.KEEP,
        )

    return of
