"""The places of running queries."""

from __future__ import annotations

import time

import pytest

from tableveil.control import Control
from tableveil.endpoint.running import ConnectionPlaces
from tableveil.endpoint.settings import UseLimits
from tableveil.errors import BusyError


def test_a_query_that_nobody_reads_takes_no_place_of_others() -> None:
    """Its client may never read, nor leave: then the call lasts beyond the time of the query."""
    places = ConnectionPlaces(UseLimits(queries=1, queries_per_principal=1))
    unread, waiting = Control(), Control()
    waiting.limit(time.monotonic())
    with places.taken("ann", unread):
        with pytest.raises(BusyError), places.taken("bob", waiting):
            pass
        unread.limit(time.monotonic())
        with places.taken("bob", Control()):
            pass
        with pytest.raises(BusyError), places.taken("ann", waiting):
            pass
