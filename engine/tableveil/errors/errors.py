"""The error tree: one class per kind of failure, each carrying a stable code and the faults found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self

from tableveil.errors.warned import Warned


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: where it is, what was found, what was expected, and what to do.

    `field` is a path into the policy (`attributes[2].hierarchy`) or the name of the object concerned.
    """

    field: str
    found: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.field}: found {self.found}; expected {self.expected}"
        return f"{text}. {self.hint}" if self.hint else text


# Failures of some classes pass, such as a full queue; of these codes somebody has to change something all the same.
LASTING = frozenset({"NOT_CONNECTED", "NOT_TABLEVEIL", "QUERY_MEMORY", "QUERY_TIME", "RESULT_TOO_LARGE"})

# Failures of the other classes last; these pass when other work has ended, or when the server is up again.
PASSING = frozenset(
    {
        "CALL_FAILED",
        "FILE_CHANGED",
        "INTERRUPTED",
        "LOAD_RUNNING",
        "RELEASED_MEANWHILE",
        "RELEASE_GONE",
        "RELEASE_IN_USE",
        "SOURCE_CHANGED",
        "STREAM_INCOMPLETE",
        "TABLE_IN_USE",
        "TARGET_IN_USE",
        "WRITE_CONFLICT",
    }
)


def passes(code: str, error: type[TableveilError]) -> bool:
    """Whether a failure may pass by itself, so that the same request is worth another try. Nothing else decides it."""
    return code in PASSING or (error.usually_passes and code not in LASTING)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of checking a policy: the faults that keep a job from starting, and warnings for the owner."""

    faults: tuple[Fault, ...] = ()
    warnings: tuple[Warned, ...] = ()


class FailureKind(StrEnum):
    """The kinds of failures of the service: one for each class below."""

    INVALID = "INVALID"
    NOT_FOUND = "NOT_FOUND"
    INFEASIBLE = "INFEASIBLE"
    CONFLICT = "CONFLICT"
    BUSY = "BUSY"
    CANCELLED = "CANCELLED"
    INTERNAL = "INTERNAL"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    DENIED = "DENIED"
    GUARDED = "GUARDED"


class TableveilError(Exception):
    """Base of all errors Tableveil raises on purpose.

    `kind` is one of `FailureKind`, or one that only a client meets. `code` is a stable identifier in upper snake case.
    `faults` holds all faults, not only the first. Its text depends on the `releases`: only readers of all of them are
    told it.
    """

    kind: ClassVar[str] = ""
    releases: tuple[int, ...] = ()
    usually_passes: ClassVar[bool] = False

    def __init__(self, code: str, message: str, faults: Iterable[Fault] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.faults = tuple(faults)

    def __str__(self) -> str:
        """The message, followed by the faults that it only counts: a traceback shows nothing else."""
        listed = [str(fault) for fault in self.faults]
        return self.message if listed in ([], [self.message]) else "\n  ".join([self.message, *listed])

    @property
    def retryable(self) -> bool:
        """Whether to make the same request again, with its request id; otherwise a person has to change something."""
        return passes(self.code, type(self))

    @classmethod
    def of(cls, code: str, field: str, found: str, expected: str, hint: str = "") -> Self:
        """The error for a single fault; the fault gives the wording."""
        fault = Fault(field, found, expected, hint)
        return cls(code, str(fault), (fault,))

    @classmethod
    def about(cls, code: str, summary: str, faults: Sequence[Fault]) -> Self:
        """The error for some faults: worded by the only fault if there is one, else by the summary and their number."""
        message = str(faults[0]) if len(faults) == 1 else f"{summary} ({len(faults)} faults)"
        return cls(code, message, faults)


@contextmanager
def depending_on(releases: Collection[int]) -> Iterator[None]:
    """Errors of the block depend on these releases."""
    try:
        yield
    except TableveilError as error:
        error.releases = tuple(sorted({*error.releases, *releases}))
        raise


def together(errors: Sequence[TableveilError]) -> TableveilError:
    """The first of some errors, with the faults of all: who corrects one should not meet the next later."""
    first, *others = errors
    if not others:
        return first
    faults = tuple(dict.fromkeys(fault for error in errors for fault in error.faults))
    merged = type(first).about(first.code, "it is refused", faults)
    merged.releases = tuple(sorted({number for error in errors for number in error.releases}))
    return merged


def check_all(*checks: Callable[[], object]) -> None:
    """Makes all checks.

    Raises:
        TableveilError: the first that failed, with the faults of all.
    """
    errors = []
    for check in checks:
        try:
            check()
        except TableveilError as error:
            errors.append(error)
    if errors:
        raise together(errors)


class InvalidError(TableveilError):
    """The request can never work as it is written."""

    kind = FailureKind.INVALID


class NotFoundError(TableveilError):
    """A named object of the service (job, release, hierarchy) does not exist."""

    kind = FailureKind.NOT_FOUND


@dataclass(frozen=True, slots=True)
class Change:
    """Another value for the field of the policy at that path; an empty value means that the field is left out."""

    field: str
    value: str

    def __str__(self) -> str:
        return f"{self.field} = {self.value}" if self.value else f"no {self.field}"


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Changes to a policy, all to be made together; with them the search found something that meets it.

    They are `nearest` if nothing meets the policy any more once one of them is made a step smaller.
    """

    changes: tuple[Change, ...]
    nearest: bool

    def __str__(self) -> str:
        return " and ".join(map(str, self.changes))


class InfeasibleError(TableveilError):
    """The request is well-formed, but no transformation meets the policy; `relaxations` of the policy would be met."""

    kind = FailureKind.INFEASIBLE

    def __init__(
        self, code: str, message: str, faults: Iterable[Fault] = (), relaxations: Iterable[Relaxation] = ()
    ) -> None:
        super().__init__(code, message, faults)
        self.relaxations = tuple(relaxations)


class GuardedError(TableveilError):
    """The request could be done, but a guard holds back what would take the place of something better."""

    kind = FailureKind.GUARDED


class ConflictError(TableveilError):
    """The request clashes with something that exists, or with something that changed meanwhile."""

    kind = FailureKind.CONFLICT


class BusyError(TableveilError):
    """A resource (queue, memory, the database file) is exhausted or taken at the moment."""

    kind = FailureKind.BUSY
    usually_passes = True

    retry_seconds = 1.0
    """After this time it may be worth to ask again."""


class CancelledError(TableveilError):
    """The job was asked to stop."""

    kind = FailureKind.CANCELLED


class UnauthenticatedError(TableveilError):
    """The server does not know who calls."""

    kind = FailureKind.UNAUTHENTICATED


class DeniedError(TableveilError):
    """The caller has no right to it."""

    kind = FailureKind.DENIED


class InternalError(TableveilError):
    """A defect or a broken environment; the request is not to blame."""

    kind = FailureKind.INTERNAL


BY_KIND = {FailureKind(one.kind): one for one in TableveilError.__subclasses__()}
"""The class of each kind."""
