"""The requirements of a policy that conflict, and the least relaxations for something to be valid."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tableveil.control import Control
from tableveil.errors import Change, Relaxation
from tableveil.lattice import Transformation
from tableveil.policy import Policy
from tableveil.search.relaxing.parameters import Parameter
from tableveil.search.relaxing.requirements import Requirement, other_levels, requirements_of
from tableveil.search.relaxing.searching import Feasible, JudgedQuestions, LatticeQuestions, ProblemOf, Questions, Step

MOST = 8
"""The most relaxations that are offered: more are no help."""

SHARE_OF_CONFLICT = 0.4
"""The share of the time for finding the conflict: the relaxations are worth more."""

LIMIT = "suppression_limit"

Steps = Mapping[str, int]
"""The step of each parameter by its field; 0 for fields that are missing."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The findings, within the time, about a policy that nothing seems to meet.

    If a `valid` transformation is given, it meets the policy as it is. Else if it is `proven`, none does. Nothing meets
    all requirements in `conflict`, if that is `proven`; the conflict is `minimal` if, without any one of them,
    something meets the others. An empty conflict means that nothing can be released, whatever is required. If there are
    no relaxations, nothing meets all requirements in `hopeless`, even if every number of the policy is the most lenient
    one.
    """

    valid: Transformation | None
    proven: bool
    conflict: tuple[Requirement, ...] = ()
    minimal: bool = False
    relaxations: tuple[Relaxation, ...] = ()
    hopeless: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class UnmetPolicy:
    """A policy that nothing meets, with a role for every column, on a source of so many records.

    `tops` are the tops of the quasi-identifiers' hierarchies, in policy order.
    """

    policy: Policy
    tops: Sequence[int]
    records: int

    @property
    def requirements(self) -> list[Requirement]:
        """All that it asks for."""
        return requirements_of(self.policy, self.tops, self.records)


def relax(unmet: UnmetPolicy, problem_of: ProblemOf, control: Control, seconds: float, proven: bool = False) -> Relaxed:
    """Looks for a minimal conflict in the policy and for its least relaxations, for at most so many seconds.

    Args:
        unmet: The policy.
        problem_of: The search's problem for this policy, and for others of the same source.
        control: May cancel the work.
        seconds: The time limit, by the control's clock. Findings that are not finished by then are left out, or not
            given as proven.
        proven: Whether it is known already that nothing meets the policy.

    Raises:
        CancelledError: `control` was cancelled.
    """
    if not proven:
        # This, too, is a part of the time for the conflict.
        started = control.now()
        without_any = LatticeQuestions(problem_of, control, seconds * SHARE_OF_CONFLICT).find(unmet.policy)
        if without_any.feasible:
            return Relaxed(without_any.at, proven=True)
        proven = without_any.proven
        seconds -= control.now() - started
    choices = other_levels(unmet.policy, unmet.tops) if unmet.policy.search.levels else []
    relaxed = _relaxed(unmet, choices, partial(LatticeQuestions, problem_of, control), control, seconds)
    return relaxed if proven else replace(relaxed, proven=False, minimal=False)


def relax_judged(unmet: UnmetPolicy, feasible: Feasible, control: Control, seconds: float) -> Relaxed:
    """Like `relax`, for a policy that is known to be infeasible; whole policies are judged."""
    return _relaxed(unmet, [], partial(JudgedQuestions, feasible, control), control, seconds)


def _relaxed(
    unmet: UnmetPolicy,
    choices: Sequence[Sequence[Parameter]],
    questions_for: Callable[[float], Questions],
    control: Control,
    seconds: float,
) -> Relaxed:
    """The conflict and the relaxations of a policy that nothing meets; `choices` are other levels for each column."""
    policy, requirements, started = unmet.policy, unmet.requirements, control.now()
    conflict, minimal = _conflict(policy, requirements, questions_for(seconds * SHARE_OF_CONFLICT))
    questions = questions_for(seconds - (control.now() - started))
    relaxations = _Relaxing(policy, requirements, conflict, questions, choices).found()[:MOST]
    hopeless = [] if relaxations else _hopeless(unmet, questions)
    return Relaxed(None, True, tuple(conflict), minimal, tuple(relaxations), tuple(hopeless))


def _hopeless(unmet: UnmetPolicy, questions: Questions) -> list[Requirement]:
    """The conflict if all numbers are the most lenient ones, if it can be proven in time."""
    policy = unmet.policy
    for field, parameter in _parameters(unmet.requirements).items():
        # Models keep their positions.
        if not field.endswith("]") or field.startswith("search"):
            policy = parameter.applied(policy, parameter.last)
    if not _infeasible(policy, questions):
        return []
    conflict, minimal = _conflict(policy, replace(unmet, policy=policy).requirements, questions)
    return conflict if minimal else []


def _conflict(
    policy: Policy, requirements: Sequence[Requirement], questions: Questions
) -> tuple[list[Requirement], bool]:
    """Leaves out requirements one by one as long as nothing is valid without them; returns whether that is proven.

    The rest is a minimal infeasible subset (Chinneck and Dravnieks 1991, the deletion filter).
    """
    levels = [r for r in requirements if r.field.startswith(("attributes", "search"))]
    without = _without(policy, levels)
    if levels and _infeasible(without, questions):
        policy, requirements = without, [r for r in requirements if r not in levels]
    conflict, minimal = [], True
    for requirement in requirements:
        without = requirement.dropped(policy)
        outcome = questions.find(without)
        if not outcome.feasible and outcome.proven:
            policy = without
        else:
            conflict.append(requirement)
            minimal &= outcome.proven
    return conflict, minimal


def _without(policy: Policy, requirements: Iterable[Requirement]) -> Policy:
    for requirement in requirements:
        policy = requirement.dropped(policy)
    return policy


def _infeasible(policy: Policy, questions: Questions) -> bool:
    outcome = questions.find(policy)
    return not outcome.feasible and outcome.proven


class _Relaxing:
    """Changes of the policy that make it feasible; the search for them is one question after the other."""

    def __init__(
        self,
        policy: Policy,
        requirements: Sequence[Requirement],
        conflict: Sequence[Requirement],
        questions: Questions,
        choices: Sequence[Sequence[Parameter]],
    ) -> None:
        self._policy = policy
        self._conflict = conflict
        self._questions = questions
        self._choices = choices
        self._parameters = _parameters(requirements)

    def found(self) -> list[Relaxation]:
        """Changes of one field each, then of several at once."""
        singles = self._of_one_field()
        relaxations = [relaxation for relaxation, _ in singles.values()] + self._other_levels()
        for together in self._of_several_fields(singles):
            if together not in relaxations:
                relaxations.append(together)
        return relaxations

    # --- one field ---

    def _of_one_field(self) -> dict[str, tuple[Relaxation, int]]:
        """The relaxations by field, each with its step. Only a requirement in the conflict can end it alone."""
        singles = {}
        for field, parameter in _parameters(self._conflict).items():
            strictest = self._strictest(field, {field: parameter.last})
            if strictest.step is not None:
                relaxation = Relaxation((Change(field, parameter.spelled(strictest.step)),), strictest.nearest)
                singles[field] = relaxation, strictest.step
        return singles

    def _other_levels(self) -> list[Relaxation]:
        """For each column, the nearest other level that makes the policy feasible while all others keep theirs."""
        relaxations = []
        for choices in self._choices:
            nearest = True
            for choice in choices:
                outcome = self._questions.find(choice.applied(self._policy, 1))
                if outcome.feasible:
                    relaxations.append(Relaxation((Change(choice.field, choice.spelled(1)),), nearest))
                    break
                nearest &= outcome.proven
        return relaxations

    # --- several fields ---

    def _of_several_fields(self, singles: Mapping[str, tuple[Relaxation, int]]) -> list[Relaxation]:
        """If only the limit helps alone: several fields together; and half of the limit's change with a model."""
        relaxations = []
        levels = [field for field in self._parameters if field.startswith(("attributes", "search"))]
        others = [field for field in self._parameters if field not in levels and field != LIMIT]
        limit = [field for field in self._parameters if field == LIMIT]
        if not any(field != LIMIT for field in singles):
            # Fields that come first keep their values if they can.
            relaxations += self._least({}, [*limit, *levels, *others])
            relaxations += self._least({}, [*limit, *others, *levels])
        if not singles:
            relaxations += self._least({}, [*levels, *others, *limit])
        if LIMIT in singles and singles[LIMIT][1] > 1:
            _, step = singles[LIMIT]
            for field in (field for field in _parameters(self._conflict) if field in others):
                order = [*levels, *(other for other in others if other != field), field, LIMIT]
                relaxations += self._least({LIMIT: step // 2}, order)
        return [relaxation for relaxation in relaxations if len(relaxation.changes) > 1]

    def _least(self, steps: Steps, fields: Sequence[str]) -> list[Relaxation]:
        """From the most lenient values back, field by field in this order; no further than `steps`.

        First, fields that need not change get their own values back. Each is as strict as it can be in its turn;
        because others only become stricter after it, that stays true.
        """
        last_steps = {field: self._parameters[field].last for field in self._parameters} | dict(steps)
        if not self._questions.find(self._at(last_steps)).feasible:
            return []
        # A step that is refused may hold with an earlier step of another field.
        nearest = all(parameter.monotone for parameter in self._parameters.values())
        for field in fields:
            if field not in steps:
                nearest &= self._left(field, last_steps)
        for field in fields:
            if field in steps:
                nearest &= self._left(field, last_steps)
            if last_steps[field]:
                strictest = self._strictest(field, last_steps)
                if strictest.step is None:
                    # The time is over: the most lenient value would hold, and helps nobody.
                    return []
                nearest &= strictest.nearest
                last_steps[field] = strictest.step
        changes = [Change(f, self._parameters[f].spelled(step)) for f, step in last_steps.items() if step]
        return [Relaxation(tuple(changes), nearest)]

    def _left(self, field: str, known: dict[str, int]) -> bool:
        """Gives a field its own value back if that holds with the known others; returns whether that is proven."""
        outcome = self._questions.find(self._at({**known, field: 0}))
        if outcome.feasible:
            known[field] = 0
        return outcome.proven

    def _strictest(self, field: str, steps: Steps) -> Step:
        """The strictest step of a field, up to the given one, if the others have these."""
        return self._questions.strictest(
            lambda step: self._at({**steps, field: step}), steps[field], self._parameters[field].monotone
        )

    def _at(self, steps: Steps) -> Policy:
        policy = self._policy
        for field, step in steps.items():
            policy = self._parameters[field].applied(policy, step)
        return policy


def _parameters(requirements: Iterable[Requirement]) -> dict[str, Parameter]:
    """The parameters by field; models may share those of the game."""
    return {
        parameter.field: parameter
        for requirement in requirements
        for parameter in requirement.parameters
        if parameter.last
    }


def single_changes(
    policy: Policy, tops: Sequence[int], records: int, questions: Questions
) -> Iterator[tuple[Change, Policy]]:
    """Each change of the suppression limit or of a privacy model that suffices alone, with the changed policy.

    Args:
        policy: With a role for every column.
        tops: The tops of the quasi-identifiers' hierarchies, in policy order.
        records: All records of the source.
        questions: Answers as long as it has time.

    Raises:
        CancelledError: the questions' control was cancelled.
    """
    # The limit stands last, and every owner understands it.
    for requirement in reversed(requirements_of(policy, tops, records)):
        for parameter in requirement.parameters:
            if parameter.field.startswith(("attributes", "search")) or not parameter.last:
                continue
            strictest = questions.strictest(partial(parameter.applied, policy), parameter.last, parameter.monotone)
            if strictest.step is not None:
                yield (
                    Change(parameter.field, parameter.spelled(strictest.step)),
                    parameter.applied(policy, strictest.step),
                )
