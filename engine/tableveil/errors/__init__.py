"""The typed errors that every layer raises; their texts are safe to show to the owner of the source."""

from tableveil.errors.errors import (
    BY_KIND,
    BusyError,
    CancelledError,
    Change,
    Checked,
    ConflictError,
    DeniedError,
    FailureKind,
    Fault,
    GuardedError,
    InfeasibleError,
    InternalError,
    InvalidError,
    NotFoundError,
    Relaxation,
    TableveilError,
    UnauthenticatedError,
    check_all,
    depending_on,
    passes,
    together,
)
from tableveil.errors.warned import Rank, Warned, by_rank, must_decide, note, rank_of, sole, undecided, with_ranks
from tableveil.errors.wording import NearestNames, is_shown, listed, nearest, shortened

# Strict checkers take a name from a package only where it is listed; a client's program catches these.
__all__ = [
    "BusyError",
    "CancelledError",
    "ConflictError",
    "DeniedError",
    "Fault",
    "GuardedError",
    "InfeasibleError",
    "InternalError",
    "InvalidError",
    "NotFoundError",
    "TableveilError",
    "UnauthenticatedError",
]
