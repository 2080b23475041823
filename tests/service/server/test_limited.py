"""Which limit of its principal each call counts against."""

from contextlib import ExitStack
from unittest.mock import Mock

import pytest

from tableveil.errors import BusyError
from tableveil.fair_use import FairUse, Limits
from tableveil.server.call import declared
from tableveil.server.limited import LimitedCalls
from tableveil.server.services import DESCRIPTORS
from tableveil.serving.settings import LARGE_REQUEST

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


@pytest.mark.parametrize("method", ["SubmitJob", "CheckPolicy", "ExecuteStatement", "GetJob"])
def test_large_requests_come_in_turn_whatever_their_method(method: str) -> None:
    use = FairUse(Limits(large=1))
    calls = LimitedCalls(use)
    one, other, others = call(method), call("SubmitJob"), call("SubmitJob")
    one.principal.name = other.principal.name = "ann"
    others.principal.name = "bert"
    with calls.admitted(one), calls.admitted(others):
        one.received(LARGE_REQUEST + 1)
        others.received(LARGE_REQUEST + 1)
        with pytest.raises(BusyError, match="large requests") as raised, calls.admitted(other):
            other.received(LARGE_REQUEST + 1)
        assert raised.value.code == "RATE_LIMITED"
        with calls.admitted(other):
            other.received(LARGE_REQUEST)
    with calls.admitted(other):
        other.received(LARGE_REQUEST + 1)
    assert not use._held


def test_an_upload_keeps_no_turn_of_large_requests() -> None:
    calls = LimitedCalls(FairUse(Limits(large=1)))
    load, other = call("LoadTable"), call("SubmitJob")
    load.principal.name = other.principal.name = "ann"
    with calls.admitted(load), calls.admitted(other):
        load.received(LARGE_REQUEST + 1)
        other.received(LARGE_REQUEST + 1)
