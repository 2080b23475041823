"""The typed errors that every layer raises; their texts are safe to show to the owner of the source."""

from tableveil.errors.errors import (
    BusyError,
    CancelledError,
    Change,
    Checked,
    ConflictError,
    DeniedError,
    Fault,
    GuardedError,
    InfeasibleError,
    InternalError,
    InvalidError,
    NotFoundError,
    Relaxation,
    TableveilError,
    UnauthenticatedError,
    depending_on,
)
from tableveil.errors.wording import Nearest, is_shown, nearest, shortened

__all__ = [
    "BusyError",
    "CancelledError",
    "Change",
    "Checked",
    "ConflictError",
    "DeniedError",
    "Fault",
    "GuardedError",
    "InfeasibleError",
    "InternalError",
    "InvalidError",
    "Nearest",
    "NotFoundError",
    "Relaxation",
    "TableveilError",
    "UnauthenticatedError",
    "depending_on",
    "is_shown",
    "nearest",
    "shortened",
]
