"""Which limit of its principal each call counts against."""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import Mock

import pytest

from tableveil.errors import BusyError
from tableveil.fair_use import FairUse, Limits
from tableveil.server.endpoint import DESCRIPTORS
from tableveil.server.limited import LimitedCalls
from tableveil.server.methods import declared

ACCESS = declared(DESCRIPTORS)


def call(method: str) -> Mock:
    (name,) = (one for one in ACCESS if one.endswith(f"/{method}"))
    return Mock(method=name, access=ACCESS[name], principal=Mock())


@pytest.mark.parametrize("method", ["LoadTable", "TruncateTable", "DropTable", "ErasePersons"])
def test_calls_that_change_tables_are_loads(method: str) -> None:
    calls = LimitedCalls(FairUse(Limits(loads=1, streams=1)))
    one = call(method)
    other = call("LoadTable")
    other.principal.name = one.principal.name = "ann"
    with ExitStack() as held:
        held.enter_context(calls.admitted(one))
        with pytest.raises(BusyError, match="running loads"), calls.admitted(other):
            pass
        watched = call("WatchJob")
        watched.principal.name = "ann"
        held.enter_context(calls.admitted(watched))
    with calls.admitted(other):
        pass
