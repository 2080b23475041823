"""The caller of the call at hand, and the work for it that ends with the call."""

from contextvars import ContextVar

import grpc

from tableveil.control import Control
from tableveil.errors import CancelledError
from tableveil.identity import Principal
from tableveil.server.call import Call

CALL: ContextVar[Call] = ContextVar("call")
"""Set by access control, with its principal; gRPC gives each call a context of its own."""


def caller() -> Principal:
    """The principal that calls; only a handler may ask, in the thread of its call."""
    principal = CALL.get().principal
    assert principal is not None
    return principal


def control_of(context: grpc.ServicerContext) -> Control:
    """Says to stop once the client is gone, its deadline is over, or the server ends the call.

    Raises:
        CancelledError: one of these is true already.
    """
    control = Control()
    if not context.add_callback(control.cancel):
        raise CancelledError("CANCELLED", "the client is gone")
    return control
