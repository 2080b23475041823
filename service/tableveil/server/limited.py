"""Holds each call to the limits of its principal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from tableveil.fair_use import FairUse, Held
from tableveil.server.call import Call

_CHANGING_TABLES = {"LoadTable", "TruncateTable", "DropTable", "ErasePersons"}
"""The methods that count as loads."""


class LimitedCalls:
    """Counts calls and streams by principal; it is the `FairUse` of the doors."""

    def __init__(self, use: FairUse) -> None:
        self._use = use

    @contextmanager
    def admitted(self, call: Call) -> Iterator[None]:
        """Holds what the call takes while the block runs; `BusyError` if that is more than is left."""
        assert call.principal is not None
        name, held = call.principal.name, None
        if call.method.rpartition("/")[2] in _CHANGING_TABLES:
            held = Held.LOAD
        elif call.access is not None and call.access.is_stream:
            held = Held.STREAM
        self._use.count_call(name)
        with self._use.holding(name, held) if held is not None else nullcontext():
            yield
