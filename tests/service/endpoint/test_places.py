"""The places of running queries."""

import time
from contextlib import closing

import pytest

from tableveil.endpoint.readers import Readers
from tableveil.endpoint.running import RunningQueries, RunningQuery
from tableveil.endpoint.settings import UseLimits
from tableveil.errors import BusyError
from tests.service.endpoint.published import KnownReaders


def test_a_query_that_nobody_reads_takes_no_place_of_others() -> None:
    """Its client may never read, nor leave: then the call lasts beyond the time of the query."""
    limits = UseLimits(queries=1, queries_per_principal=1)
    unread, waiting = RunningQuery(), RunningQuery()
    waiting.limit(time.monotonic())
    with (
        closing(RunningQueries(Readers(KnownReaders(), lambda: None), limits, seconds=600.0)) as queries,
        queries.taken("ann", unread),
    ):
        with pytest.raises(BusyError), queries.taken("bob", waiting):
            pass
        unread.limit(time.monotonic())
        with queries.taken("bob", RunningQuery()):
            pass
        with pytest.raises(BusyError), queries.taken("ann", waiting):
            pass
