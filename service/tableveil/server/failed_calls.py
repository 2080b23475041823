"""The failures of calls, made from what was raised: errors are meant for the caller, anything else is a defect."""

import logging
import traceback

import grpc

from tableveil.control import Stopped
from tableveil.errors import BusyError, CancelledError, InternalError, TableveilError, UnauthenticatedError
from tableveil.runtime.model import Failure
from tableveil.server.call import Call

logger = logging.getLogger("tableveil.server")


def failure_of(call: Call, error: BaseException) -> Failure:
    """The failure that the client is told; raises the error on if the client is gone."""
    match error:
        case Stopped():
            return Failure.of(CancelledError("CANCELLED", "nobody waits for it any more"))
        case UnauthenticatedError() | BusyError(code="RATE_LIMITED"):
            # A line for each would let anybody fill the disk; the audit counts them.
            return Failure.of(error)
        case TableveilError():
            fields = {"method": call.method, "code": error.code, "correlation": call.correlation}
            logger.info("%s: %s", call.method, error.code, extra=fields)
            return Failure.of(error)
        case Exception() if not isinstance(error, grpc.RpcError):
            return Failure.of(_unexpected(call, error))
    # gRPC knows its own exception by identity.
    raise error


def _unexpected(call: Call, error: Exception) -> InternalError:
    """The client's view of a defect: an id to look for in the log.

    The log gets the place, but no text: it may be data.
    """
    method, correlation = call.method, call.correlation
    frames = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    fields = {"method": method, "correlation": correlation}
    logger.error("%s failed [%s]: %s at %s", method, correlation, _types(error), place, extra=fields)
    return InternalError("INTERNAL", f"an unexpected error; the server's log tells more at [{correlation}]")


def _types(error: BaseException) -> str:
    """Types of an exception and of those that led to it."""
    names = [type(error).__name__]
    while (cause := error.__cause__ or error.__context__) is not None and len(names) < 5:
        names.append(type(cause).__name__)
        error = cause
    return " from ".join(names)
