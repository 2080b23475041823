"""Whether anything is valid, and how little a field must be relaxed until something is, within a budget of time."""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from tableveil.classes import Check
from tableveil.control import Control, Stopped
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import Policy
from tableveil.search.outcome import Problem, valid
from tableveil.search.relaxing.candidates import Candidates

SHARE = 4
"""Each question may take this part (1 / SHARE) of the remaining time, so that none takes the time of all others."""

MOST_TRIED = 32
"""Up to this number, all values are tried if none follows from another; of more values, so many are tried."""

ProblemOf = Callable[[Policy], Problem | None]
"""The search's problem for a policy; None if there is no such policy."""

Feasible = Callable[[Policy], bool | None]
"""Whether a policy can be met; None if that cannot be found out."""


@dataclass(frozen=True, slots=True)
class RelaxedOutcome:
    """Whether anything meets a policy, if that is `proven`; `at` is the transformation, if one was looked for."""

    feasible: bool
    proven: bool
    at: Transformation | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The strictest step found with which something is valid; None if none was found.

    If it is `nearest`, nothing is valid at any step before it; or, if there is none, at any step at all.
    """

    step: int | None
    nearest: bool


class Questions(ABC):
    """Answers questions about policies as long as there is time.

    A policy is called feasible only after a try under that very policy.
    """

    def __init__(self, control: Control, seconds: float) -> None:
        self._control = control
        self._deadline = control.now() + seconds

    @abstractmethod
    def find(self, policy: Policy) -> RelaxedOutcome:
        """Whether anything meets the policy.

        Raises:
            CancelledError: the control was cancelled.
        """

    @abstractmethod
    def strictest(self, policy_at: Callable[[int], Policy], last: int, monotone: bool) -> Step:
        """The least step from 1 to `last` with a policy that anything meets.

        Every later step must leave open at least the transformations of an earlier one. If it is `monotone`, whatever
        is valid at a step is valid at every later one.

        Raises:
            CancelledError: the control was cancelled.
        """

    @contextmanager
    def _limited(self) -> Iterator[list[Stopped]]:
        """Limits the enclosed work to a part of the remaining time; afterwards the list holds the stop, if any."""
        stopped: list[Stopped] = []
        now = self._control.now()
        try:
            self._control.limit(now + (self._deadline - now) / SHARE)
            yield stopped
        except Stopped as stop:
            self._control.raise_if_cancelled()
            stopped.append(stop)
        finally:
            self._control.limit(None)


class LatticeQuestions(Questions):
    """Answers by counting transformations."""

    def __init__(self, problem_of: ProblemOf, control: Control, seconds: float) -> None:
        super().__init__(control, seconds)
        self._problem_of = problem_of

    def find(self, policy: Policy) -> RelaxedOutcome:
        """Goes through the lattice until something is valid."""
        problem = self._problem_of(policy)
        if problem is None:
            return RelaxedOutcome(False, proven=True)
        candidates = Candidates(problem.lattice, self._control)
        with self._limited() as stopped:
            while check := candidates.next(problem):
                if is_valid(problem, check.at):
                    return RelaxedOutcome(True, proven=True, at=check.at)
        return RelaxedOutcome(False, proven=not stopped)

    def strictest(self, policy_at: Callable[[int], Policy], last: int, monotone: bool) -> Step:
        """Goes through the lattice once."""
        # A rule may remember much.
        problem_at = lru_cache(maxsize=2)(lambda step: self._problem_of(policy_at(step)))
        search = _Strictest(problem_at, last, monotone, self._control)
        with self._limited() as stopped:
            search.run()
        return Step(search.least if search.least <= last else None, search.exact and not stopped)


class JudgedQuestions(Questions):
    """Answers by trying whole policies, without looking for a single transformation."""

    def __init__(self, feasible: Feasible, control: Control, seconds: float) -> None:
        super().__init__(control, seconds)
        self._feasible = feasible

    def find(self, policy: Policy) -> RelaxedOutcome:
        """Tries the policy."""
        feasible = None
        with self._limited():
            feasible = self._feasible(policy)
        return RelaxedOutcome(bool(feasible), proven=feasible is not None)

    def strictest(self, policy_at: Callable[[int], Policy], last: int, monotone: bool) -> Step:
        """Tries the most lenient step, then bisects."""
        least, exact = last + 1, monotone or last == 1

        def met(step: int) -> bool:
            nonlocal least, exact
            self._control.raise_if_stopped()
            feasible = self._feasible(policy_at(step))
            exact &= feasible is not None
            if feasible:
                least = min(least, step)
            return bool(feasible)

        with self._limited() as stopped:
            if met(last):
                bisect_left(range(1, last), True, key=met)
        return Step(least if least <= last else None, exact and not stopped)


class _Strictest:
    """The least step, `least`, found so far for which something is valid; if it is `exact`, no lesser step has any."""

    def __init__(
        self, problem_at: Callable[[int], Problem | None], last: int, monotone: bool, control: Control
    ) -> None:
        self.least = last + 1
        self.exact = True
        self._problem_at = problem_at
        self._monotone = monotone
        self._control = control

    def run(self) -> None:
        """Looks at all transformations that may be valid at a step before the least one found."""
        lattice, candidates = None, None
        while self.least > 1:
            problem = self._problem_at(self.least - 1)
            if problem is None:
                self.exact = False
                return
            if candidates is None or problem.lattice != lattice:
                lattice, candidates = problem.lattice, Candidates(problem.lattice, self._control)
            check = candidates.next(problem)
            if check is None:
                return
            if self._monotone:
                self._bisect(check, 0, self.least - 1)
            else:
                self._try(check)

    def _try(self, check: Check) -> None:
        most = self.least - 1
        if most > MOST_TRIED:
            self.exact = False
            self._bisect(check, 0, most)
            if self.least <= most:
                return
        before, steps = 0, sorted({max(1, most * i // MOST_TRIED) for i in range(1, MOST_TRIED + 1)})
        for step in steps:
            self._bisect(check, before, step)
            if self.least <= step:
                return
            before = step

    def _bisect(self, check: Check, refused: int, step: int) -> None:
        """Assumes the transformation to be valid from some step on: after `refused`, and at most up to `step`."""
        if not self._valid(check, step):
            return
        self.least = step
        while self.least - refused > 1:
            middle = (refused + self.least) // 2
            if self._valid(check, middle):
                self.least = middle
            else:
                refused = middle

    def _valid(self, check: Check, step: int) -> bool:
        self._control.raise_if_stopped()
        problem = self._problem_at(step)
        return problem is not None and within(problem.lattice, check.at) and is_valid(problem, check.at)


def is_valid(problem: Problem, at: Transformation) -> bool:
    """Whether a transformation is valid for the problem, by its classes."""
    classes = problem.counter.classes(at)
    return valid(problem, classes, problem.privacy.releasable(classes))


def within(lattice: Lattice, at: Transformation) -> bool:
    """Whether a transformation is in the lattice."""
    inside = all(low <= level <= high for low, level, high in zip(lattice.bottom, at, lattice.top, strict=True))
    return inside and all(len({at[j] for j in axis}) == 1 for axis in lattice.axes)
