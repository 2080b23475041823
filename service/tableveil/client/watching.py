"""Following a job to its end, over streams that may break."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import grpc

from tableveil.client.failures import UnreachableError, is_broken
from tableveil.errors import BusyError, TableveilError
from tableveil.v1 import job_service_pb2

ENDED = frozenset(
    {
        job_service_pb2.JOB_STATE_SUCCEEDED,
        job_service_pb2.JOB_STATE_FAILED,
        job_service_pb2.JOB_STATE_CANCELLED,
        job_service_pb2.JOB_STATE_INTERRUPTED,
    }
)

# Seconds before each attempt to watch again: together long enough for a server to be restarted.
RECONNECT_AFTER = (0.5, 0.5, 1.0, 2.0, 4.0)

Jobs = Iterator[job_service_pb2.Job]
# The name is private to the types of grpc, which have no public one.
Streams: TypeAlias = "Callable[[], grpc._CallIterator[job_service_pb2.WatchJobResponse]]"
ErrorOf = Callable[[grpc.RpcError], TableveilError]


def watch(
    open_stream: Streams, get: Callable[[], job_service_pb2.Job], error_of: ErrorOf, sleep: Callable[[float], object]
) -> Jobs:
    """The job as it is, then each change, the last one ended.

    A stream that breaks after it had begun, or ends before the job, is opened again.

    Raises:
        TableveilError: The server refused, was never there, or stayed away too long.
    """
    last: job_service_pb2.Job | None = None
    attempts = 0
    while True:
        error: TableveilError = UnreachableError("STREAM_ENDED", "the server ended the stream before the job had ended")
        try:
            for job in _jobs(open_stream, get, error_of):
                attempts = 0
                if job != last:
                    last = job
                    yield job
            # A stream that its client leaves is a cancelled call for the server.
            if last is not None and last.state in ENDED:
                return
        except grpc.RpcError as failed:
            if last is not None and last.state in ENDED:
                return
            error = error_of(failed)
            if last is None or not is_broken(failed):
                raise error from None
        if attempts == len(RECONNECT_AFTER):
            raise error
        sleep(RECONNECT_AFTER[attempts])
        attempts += 1


def _jobs(open_stream: Streams, get: Callable[[], job_service_pb2.Job], error_of: ErrorOf) -> Jobs:
    """The jobs that one stream sends; if the server has no place left for watchers, the job in its present state."""
    call = open_stream()
    try:
        for response in call:
            yield response.job
    except grpc.RpcError as failed:
        if not isinstance(error_of(failed), BusyError):
            raise
        yield get()
    finally:
        call.cancel()
