"""Executes a statement: it becomes the requests that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from google.protobuf.message import Message

from tableveil.errors import InvalidError
from tableveil.statements.parse import parse
from tableveil.statements.statement import CreateAnonymized, ShowReleases
from tableveil.statements.values import Places
from tableveil.v1.dry_run_service_pb2 import SubmitDryRunRequest
from tableveil.v1.job_service_pb2 import SubmitJobRequest
from tableveil.v1.release_service_pb2 import ListReleasesRequest
from tableveil.v1.statement_service_pb2 import ExecuteStatementRequest, ExecuteStatementResponse

Call = Callable[[Message], Any]
"""Calls the only method that takes such a request, as the caller of the statement, and returns its answer."""


def execute(request: ExecuteStatementRequest, call: Call) -> ExecuteStatementResponse:
    """Executes the statement of a request.

    Raises:
        TableveilError: it is no statement, or a call failed. Faults of a policy have lines and columns as fields.
    """
    match parse(request.statement):
        case CreateAnonymized(policy, places, dry_run):
            kind = SubmitDryRunRequest if dry_run else SubmitJobRequest
            with _placed(places):
                return ExecuteStatementResponse(job=call(kind(policy=policy, request_id=request.request_id)))
        case ShowReleases(limit):
            return ExecuteStatementResponse(releases=call(ListReleasesRequest(page_size=limit)))


@contextmanager
def _placed(places: Places) -> Iterator[None]:
    """Puts the places of a policy's faults into the error that has them."""
    try:
        yield
    except InvalidError as error:
        if error.code != "POLICY_INVALID":
            raise
        faults = [places.of(fault) for fault in error.faults]
        raise InvalidError.about(error.code, "the policy of the statement is invalid", faults) from None
