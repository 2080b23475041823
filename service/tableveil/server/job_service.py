"""Jobs over gRPC."""

import threading
from collections.abc import Iterator
from functools import partial

import grpc

from tableveil.convert import fault_to_proto, job_number, job_to_proto, policy_from_proto
from tableveil.convert.enums import JOB_STATES
from tableveil.convert.warnings import ranks_to_proto, warnings_to_proto
from tableveil.errors import Checked
from tableveil.server.call import control_of
from tableveil.server.declared import completed, widen
from tableveil.server.kinds import submit, work_again
from tableveil.server.paging import page_of_numbered
from tableveil.server.servicer_parts import ServicerParts
from tableveil.v1 import job_service_pb2 as v1
from tableveil.v1 import job_service_pb2_grpc


class JobService(job_service_pb2_grpc.JobServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._jobs = parts.jobs
        self._privacies = parts.stores.privacies
        self._widening = parts.stores.widening
        self._checks = parts.checks

    def CheckPolicy(  # noqa: N802
        self, request: v1.CheckPolicyRequest, context: grpc.ServicerContext
    ) -> v1.CheckPolicyResponse:
        """Faults are the answer, not an error."""
        control = control_of(context)
        # A policy with all its hierarchies takes many times the memory of its message.
        with self._checks.taken():
            told = completed(request.policy, self._privacies)
            policy, faults = policy_from_proto(request.policy)
            checked = Checked()
            if policy is not None:
                checked = self._jobs.check(policy, control, rows=not faults)
        read_faults = map(told, (*faults, *checked.faults))
        return v1.CheckPolicyResponse(
            faults=map(fault_to_proto, read_faults),
            warnings=checked.warnings,
            warning_ranks=ranks_to_proto(checked.warnings),
            ranked_warnings=warnings_to_proto(checked.warnings),
        )

    def SubmitJob(  # noqa: N802
        self, request: v1.SubmitJobRequest, context: grpc.ServicerContext
    ) -> v1.Job:
        """The policy's message is kept as the job's document."""
        return submit(self._jobs, self._privacies, request, control_of(context))

    def GetJob(self, request: v1.GetJobRequest, context: grpc.ServicerContext) -> v1.Job:  # noqa: N802
        """One job."""
        return job_to_proto(self._jobs.get(job_number(request.name)))

    def ListJobs(  # noqa: N802
        self, request: v1.ListJobsRequest, context: grpc.ServicerContext
    ) -> v1.ListJobsResponse:
        """A page of jobs."""
        page = partial(self._jobs.page, states=JOB_STATES.chosen("states", request.states))
        jobs, token = page_of_numbered("jobs", request, page, job_to_proto)
        return v1.ListJobsResponse(jobs=jobs, next_page_token=token)

    def CancelJob(  # noqa: N802
        self, request: v1.CancelJobRequest, context: grpc.ServicerContext
    ) -> v1.Job:
        """The job after the request; it may take a moment to stop."""
        stop = self._jobs.keep_best if request.keep_best else self._jobs.cancel
        return job_to_proto(stop(job_number(request.name)))

    def WatchJob(  # noqa: N802
        self, request: v1.WatchJobRequest, context: grpc.ServicerContext
    ) -> Iterator[v1.WatchJobResponse]:
        """Ends with the job, or with the client."""
        gone = threading.Event()
        if not context.add_callback(gone.set):
            return
        for job in self._jobs.watch(job_number(request.name), gone.is_set):
            yield v1.WatchJobResponse(job=job_to_proto(job))

    def ResubmitJob(  # noqa: N802
        self, request: v1.ResubmitJobRequest, context: grpc.ServicerContext
    ) -> v1.Job:
        """A new job of the same kind."""
        job, control = self._jobs.get(job_number(request.name)), control_of(context)
        change = partial(widen, widening=self._widening, control=control) if request.widen else None
        again = self._jobs.submit(work_again(job, change), job.request.request_id, control, again=True)
        return job_to_proto(again)

    def DeleteJob(  # noqa: N802
        self, request: v1.DeleteJobRequest, context: grpc.ServicerContext
    ) -> v1.DeleteJobResponse:
        """Nothing is left of the job except references that others keep."""
        self._jobs.delete(job_number(request.name))
        return v1.DeleteJobResponse()
