"""Ties the work for a call to its caller."""

from __future__ import annotations

import grpc

from tableveil.control import Control
from tableveil.errors import CancelledError


def control_of(context: grpc.ServicerContext) -> Control:
    """Says to stop once the client is gone, its deadline is over, or the server ends the call.

    Raises:
        CancelledError: one of these is true already.
    """
    control = Control()
    if not context.add_callback(control.cancel):
        raise CancelledError("CANCELLED", "the client is gone")
    return control
