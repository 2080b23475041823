"""Errors behind the service arrive as a status that clients can act on, within gRPC's default limits."""

import logging
from collections.abc import Callable, Iterator
from typing import Any, cast
from unittest.mock import Mock

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from tableveil import errors
from tableveil.errors import Fault, TableveilError
from tableveil.runtime.model import Failure
from tableveil.server.status import status_of
from tableveil.serving.settings import LARGEST_MESSAGE
from tableveil.v1 import (
    faults_pb2,
    hierarchy_service_pb2,
    hierarchy_service_pb2_grpc,
    job_service_pb2,
    job_service_pb2_grpc,
    policy_pb2,
    release_service_pb2,
    release_service_pb2_grpc,
)
from tests.once import once

FAULT = Fault("attributes[3].role", "'QI'", "a role", "Did you mean 'QUASI_IDENTIFIER'?")


def error_of(call: Callable[[], Any]) -> grpc.Call:
    """The failed call; what gRPC raises is one, although its types do not say so."""
    with pytest.raises(grpc.RpcError) as raised:
        call()
    return cast(grpc.Call, raised.value)


def details_of(error: grpc.Call) -> dict[str, Any]:
    """The details by the name of their type."""
    status = rpc_status.from_call(error)
    found: dict[str, Any] = {}
    for kind in (
        error_details_pb2.ErrorInfo,
        error_details_pb2.BadRequest,
        error_details_pb2.RetryInfo,
        faults_pb2.Failure,
    ):
        for detail in status.details:
            message = kind()
            if detail.Unpack(message):
                found[kind.DESCRIPTOR.name] = message
    assert len(found) == len(status.details)
    return found


def get_job(channel: grpc.Channel) -> Any:
    return job_service_pb2_grpc.JobServiceStub(channel).GetJob(job_service_pb2.GetJobRequest(name="jobs/1"))


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (errors.InvalidError, grpc.StatusCode.INVALID_ARGUMENT, "INVALID"),
        (errors.NotFoundError, grpc.StatusCode.NOT_FOUND, "NOT_FOUND"),
        (errors.InfeasibleError, grpc.StatusCode.FAILED_PRECONDITION, "INFEASIBLE"),
        (errors.ConflictError, grpc.StatusCode.FAILED_PRECONDITION, "CONFLICT"),
        (errors.BusyError, grpc.StatusCode.RESOURCE_EXHAUSTED, "BUSY"),
        (errors.CancelledError, grpc.StatusCode.CANCELLED, "CANCELLED"),
        (errors.InternalError, grpc.StatusCode.INTERNAL, "INTERNAL"),
    ],
)
def test_each_kind_has_its_status(
    channel: grpc.Channel, jobs: Mock, error: type[TableveilError], code: grpc.StatusCode, kind: str
) -> None:
    jobs.get.side_effect = error("SOME_CODE", "what happened", [FAULT])
    raised = error_of(lambda: get_job(channel))
    details = details_of(raised)
    assert (raised.code(), raised.details()) == (code, "what happened")
    assert (details["ErrorInfo"].reason, details["ErrorInfo"].domain) == ("SOME_CODE", "tableveil")
    failure = details["Failure"]
    assert failure == faults_pb2.Failure(
        kind=faults_pb2.FailureKind.Value(f"FAILURE_KIND_{kind}"),
        code="SOME_CODE",
        message="what happened",
        faults=[faults_pb2.Fault(field=FAULT.field, found=FAULT.found, expected=FAULT.expected, hint=FAULT.hint)],
    )
    extra = {"INVALID": {"BadRequest"}, "BUSY": {"RetryInfo"}}.get(kind, set())
    assert set(details) == {"ErrorInfo", "Failure"} | extra


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConflictError("TARGET_EXISTS", "m"), grpc.StatusCode.ALREADY_EXISTS),
        (errors.ConflictError("REQUEST_ID_REUSED", "m"), grpc.StatusCode.ALREADY_EXISTS),
        (errors.ConflictError("JOB_OF_RELEASE", "m"), grpc.StatusCode.FAILED_PRECONDITION),
        (errors.ConflictError("TARGET_IN_USE", "m"), grpc.StatusCode.ABORTED),
        (errors.BusyError("STOPPING", "m"), grpc.StatusCode.UNAVAILABLE),
    ],
)
def test_some_codes_have_a_status_of_their_own(
    channel: grpc.Channel, jobs: Mock, error: TableveilError, code: grpc.StatusCode
) -> None:
    jobs.get.side_effect = error
    assert error_of(lambda: get_job(channel)).code() is code


def test_violations_of_fields(channel: grpc.Channel, jobs: Mock) -> None:
    jobs.get.side_effect = errors.InvalidError("POLICY_INVALID", "two faults", [FAULT, Fault("source", "x", "y")])
    violations = details_of(error_of(lambda: get_job(channel)))["BadRequest"].field_violations
    assert [(violation.field, violation.description) for violation in violations] == [
        ("attributes[3].role", "found 'QI'; expected a role"),
        ("source", "found x; expected y"),
    ]


@pytest.mark.parametrize("kind", once([errors.InvalidError, errors.ConflictError]))
@pytest.mark.parametrize(
    "text", ["plain words", "x" * 10_000, "数" * 10_000, "😀 \n" * 1000, "", "a\udcffb"], ids=lambda text: text[:5]
)
def test_a_thousand_faults_fit(channel: grpc.Channel, jobs: Mock, kind: type[TableveilError], text: str) -> None:
    faults = [Fault(f"attributes[{i}].{text}", text, text, text) for i in range(1000)]
    jobs.get.side_effect = kind("POLICY_INVALID", "; ".join(map(str, faults)), faults)
    raised = error_of(lambda: get_job(channel))
    failure = details_of(raised)["Failure"]
    assert failure.code == "POLICY_INVALID"
    assert len(failure.faults) >= 1
    assert len(failure.faults) + failure.omitted_faults == 1000
    assert failure.faults[0].field.startswith("attributes[0].")


def test_as_many_faults_as_fit() -> None:
    faults = [Fault(f"attributes[{i}].column", "'a'", "'b'") for i in range(1000)]
    for count in range(1, 60):
        status = status_of(Failure.of(errors.InvalidError("C", "m", faults[:count])))
        size = sum(len(key) + len(value) for key, value in status.trailing_metadata)
        assert size < 6000
    ((_, value),) = status_of(Failure.of(errors.InvalidError("C", "m", faults))).trailing_metadata
    assert len(value) > 4500, "room is not wasted either"


def secret_failure(*_: object) -> Any:
    try:
        raise KeyError("Jane Doe")
    except KeyError as error:
        raise ValueError("could not convert 'Jane Doe'") from error


def test_unexpected_errors_tell_an_id_and_nothing_else(
    channel: grpc.Channel, jobs: Mock, caplog: pytest.LogCaptureFixture
) -> None:
    jobs.get.side_effect = secret_failure
    with caplog.at_level(logging.DEBUG):
        raised = error_of(lambda: get_job(channel))
    details = details_of(raised)
    assert raised.code() is grpc.StatusCode.INTERNAL
    assert details["Failure"].kind == faults_pb2.FAILURE_KIND_INTERNAL
    (record,) = (record for record in caplog.records if record.levelno >= logging.ERROR)
    correlation = raised.details().rpartition("[")[2].rstrip("]")
    assert correlation in record.getMessage()
    assert "ValueError from KeyError" in record.getMessage()
    assert "secret_failure" in record.getMessage()
    assert "Jane" not in caplog.text + raised.details() + str(details)


def test_server_streams_fail_with_a_status(channel: grpc.Channel, jobs: Mock, releases: Mock) -> None:
    watch = job_service_pb2_grpc.JobServiceStub(channel).WatchJob
    jobs.watch.side_effect = errors.NotFoundError("JOB_NOT_FOUND", "none")
    raised = error_of(lambda: list(watch(job_service_pb2.WatchJobRequest(name="jobs/1"))))
    assert (raised.code(), details_of(raised)["Failure"].code) == (grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND")
    raised = error_of(lambda: list(watch(job_service_pb2.WatchJobRequest(name="1"))))
    assert raised.code() is grpc.StatusCode.INVALID_ARGUMENT
    releases.read.side_effect = secret_failure
    read = release_service_pb2_grpc.ReleaseServiceStub(channel).ReadObject
    raised = error_of(lambda: list(read(release_service_pb2.ReadObjectRequest(release="releases/1", object="x"))))
    assert raised.code() is grpc.StatusCode.INTERNAL


def test_client_streams_fail_with_a_status(channel: grpc.Channel, hierarchies: Mock) -> None:
    create = hierarchy_service_pb2_grpc.HierarchyServiceStub(channel).CreateHierarchy
    for error, code in (
        (errors.InvalidError("HIERARCHY_INVALID", "bad", [FAULT]), grpc.StatusCode.INVALID_ARGUMENT),
        (ValueError("Jane Doe"), grpc.StatusCode.INTERNAL),
    ):
        hierarchies.create.side_effect = error
        raised = error_of(lambda: create(iter([hierarchy_service_pb2.CreateHierarchyRequest(name="zip")])))
        assert raised.code() is code
        assert "Jane" not in raised.details()


@pytest.mark.parametrize("method", ["JobService/GetJob", "JobService/WatchJob", "HierarchyService/CreateHierarchy"])
def test_bytes_that_are_no_message(channel: grpc.Channel, method: str) -> None:
    path = f"/tableveil.v1.{method}"
    raw: Any = channel
    calls: dict[str, Callable[[], Any]] = {
        "GetJob": lambda: raw.unary_unary(path)(b"\xff\xff"),
        "WatchJob": lambda: list(raw.unary_stream(path)(b"\xff\xff")),
        "CreateHierarchy": lambda: raw.stream_unary(path)(iter([b"\xff\xff"])),
    }
    raised = error_of(calls[method.partition("/")[2]])
    assert raised.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert details_of(raised)["Failure"].code == "REQUEST_MALFORMED"


def test_unknown_methods(channel: grpc.Channel) -> None:
    raw: Any = channel
    raised = error_of(lambda: raw.unary_unary("/tableveil.v1.JobService/Nothing")(b""))
    assert raised.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_message_over_the_limit_is_answered_with_the_limit(channel: grpc.Channel, hierarchies: Mock) -> None:
    policy = policy_pb2.Policy(repeat_reason="x" * LARGEST_MESSAGE)
    raised = error_of(
        lambda: job_service_pb2_grpc.JobServiceStub(channel).SubmitJob(job_service_pb2.SubmitJobRequest(policy=policy))
    )
    assert raised.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert str(LARGEST_MESSAGE) in raised.details()

    too_large = hierarchy_service_pb2.CreateHierarchyRequest(name="x" * LARGEST_MESSAGE)

    def chunks() -> Iterator[hierarchy_service_pb2.CreateHierarchyRequest]:
        yield hierarchy_service_pb2.CreateHierarchyRequest(name="zip", row_count=1)
        yield too_large

    # gRPC often ends the server's iterator as if all had come: a part must not be stored.
    for _ in range(10):
        raised = error_of(lambda: hierarchy_service_pb2_grpc.HierarchyServiceStub(channel).CreateHierarchy(chunks()))
        assert raised.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert str(LARGEST_MESSAGE) in raised.details()
    hierarchies.create.assert_not_called()


def test_a_message_below_the_limit_is_taken(channel: grpc.Channel) -> None:
    policy = policy_pb2.Policy(repeat_reason="x" * (LARGEST_MESSAGE - 1000))
    request = job_service_pb2.CheckPolicyRequest(policy=policy)
    assert job_service_pb2_grpc.JobServiceStub(channel).CheckPolicy(request).faults[0].field == "person_column"
