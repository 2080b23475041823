"""Checking and submitting policies, and jobs of every kind."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from tableveil.client.connection import SECONDS_TO_ANSWER
from tableveil.client.failures import UnpublishedError, error_from, failure_in, faults_from
from tableveil.client.listing import Listing
from tableveil.client.names import JOBS, RELEASES, Name, resource_name
from tableveil.client.verbs.privacies import PrivacyVerbs
from tableveil.client.verbs.releases import ReleaseVerbs
from tableveil.client.watching import watch
from tableveil.errors import Checked, DeniedError, Fault, InvalidError, NotFoundError, TableveilError
from tableveil.v1 import job_service_pb2, policy_pb2
from tableveil.v1.job_service_pb2_grpc import JobServiceStub

if TYPE_CHECKING:
    from tableveil.client.csv_hierarchies import CsvLevels


class JobVerbs(ReleaseVerbs, PrivacyVerbs):
    """Verbs about policies and jobs."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._jobs = JobServiceStub(self._channel)

    def check_policy(self, policy: policy_pb2.Policy | str | Path, base_directory: Path | None = None) -> list[Fault]:
        """The faults of `checked`: empty if a job can start."""
        return list(self.checked(policy, base_directory).faults)

    def checked(self, policy: policy_pb2.Policy | str | Path, base_directory: Path | None = None) -> Checked:
        """All faults of the policy that client and server can find, and the server's warnings.

        Args:
            policy: The policy, or a YAML or JSON file; its CSV hierarchies are stored on the server if it has no faults
                on the client.
            base_directory: Where the paths of CSV hierarchies start; by default at the file.
        """
        from tableveil.client.checking import judged_without_csv, without_csv

        policy, base_directory, faults = _read(policy, base_directory)
        if faults:
            return Checked(tuple(faults))
        levels, faults = self._checked_here(policy, base_directory)
        if not faults:
            return self._check(self._store(policy, levels))
        try:
            checked_policy = self._check(without_csv(policy))
        except TableveilError:
            # The server is away or busy; the known faults have to be fixed anyway.
            return Checked(tuple(faults))
        others = judged_without_csv(policy, checked_policy.faults)
        return Checked((*faults, *(fault for fault in others if fault not in faults)), checked_policy.warnings)

    def submit(
        self,
        policy: policy_pb2.Policy | str | Path,
        base_directory: Path | None = None,
        request_id: str = "",
        *,
        trial: bool = False,
    ) -> job_service_pb2.Job:
        """Checks the policy, or that of a YAML or JSON file, stores its CSV hierarchies, and queues a job for it.

        The paths of these start at the file, or at `base_directory`.
        With a `request_id`, the same policy again means the first job. A `trial` stays private until it is promoted.

        Raises:
            InvalidError: With all faults of the policy.
        """
        policy, base_directory, faults = _read(policy, base_directory)
        if faults:
            raise InvalidError.about("POLICY_INVALID", "the policy is invalid", faults)
        levels, faults = self._checked_here(policy, base_directory)
        if faults:
            raise InvalidError.about(
                "POLICY_INVALID", "the policy is invalid", self.check_policy(policy, base_directory)
            )
        stored = self._store(policy, levels)
        request = job_service_pb2.SubmitJobRequest(policy=stored, request_id=request_id, trial=trial)
        return self._patiently(lambda: self._submitted(request))

    def get_job(self, job: Name) -> job_service_pb2.Job:
        """The job as it is now."""
        request = job_service_pb2.GetJobRequest(name=resource_name(JOBS, job))
        return self._ask(self._jobs.GetJob, request)

    def list_jobs(self, states: Iterable[job_service_pb2.JobState.ValueType] = ()) -> Listing[job_service_pb2.Job]:
        """Jobs in these states, or all, newest first, fetched as they are read."""
        return self._listed(self._jobs.ListJobs, job_service_pb2.ListJobsRequest(states=states), lambda page: page.jobs)

    def cancel_job(self, job: Name, *, keep_best: bool = False) -> job_service_pb2.Job:
        """Asks the job to stop; a job whose release is being committed completes.

        With `keep_best` only its search stops, and the best that it has found is written.

        Raises:
            ConflictError: the search has found nothing yet that could be kept (NOTHING_TO_KEEP).
        """
        request = job_service_pb2.CancelJobRequest(name=resource_name(JOBS, job), keep_best=keep_best)
        return self._ask(self._jobs.CancelJob, request)

    def resubmit_job(self, job: Name, *, widen: bool = False) -> job_service_pb2.Job:
        """Queues a new job with the request of one that has ended; its request id names the new one from now on.

        With `widen`, bounds of its policy that do not cover all values any more are extended first.
        """
        request = job_service_pb2.ResubmitJobRequest(name=resource_name(JOBS, job), widen=widen)
        return self._ask(self._jobs.ResubmitJob, request)

    def delete_job(self, job: Name) -> None:
        """Deletes a job that has ended, with its result; a job that made a release stays."""
        self._ask(self._jobs.DeleteJob, job_service_pb2.DeleteJobRequest(name=resource_name(JOBS, job)))

    def watch_job(self, job: Name, timeout: float | None = None) -> Iterator[job_service_pb2.Job]:
        """The job as it is now, then each change, the last one ended. Survives a stream that breaks.

        Raises:
            TimeoutError: The job has not ended within so many seconds. It goes on.
        """
        name = resource_name(JOBS, job)
        until = None if timeout is None else time.monotonic() + timeout

        def left() -> float | None:
            return None if until is None else max(0.0, until - time.monotonic())

        try:
            yield from self._watched(name, left)
        except TableveilError:
            if left() != 0.0:
                raise
            raise TimeoutError(f"{name} has not ended within {timeout:g} seconds, and goes on") from None

    def _watched(self, name: str, left: Callable[[], float | None]) -> Iterator[job_service_pb2.Job]:
        return watch(
            lambda: self._jobs.WatchJob(job_service_pb2.WatchJobRequest(name=name), timeout=left()),
            lambda: self._jobs.GetJob(job_service_pb2.GetJobRequest(name=name), timeout=SECONDS_TO_ANSWER),
            self._error_of,
            self._closed.wait,
        )

    def wait(
        self, job: Name, *, publication: bool = True, timeout: float | None = None, progress: bool = False
    ) -> job_service_pb2.Job:
        """The job once it has succeeded and, with `publication`, its release is at all targets of its policy.

        With `progress` it shows meanwhile what the job does: as a bar in a terminal, and as lines in a notebook.

        Raises:
            TimeoutError: The job has not ended within so many seconds. It goes on.
            UnpublishedError: The release stands, but a target did not take it.
            TableveilError: The job failed, or was cancelled or interrupted. `watch_job` ends with such a job instead.
        """
        changes = self.watch_job(job, timeout)
        if progress:
            # Rich is not loaded by programs that show nothing.
            from rich.console import Console

            from tableveil.client.progress import shown

            changes = shown(changes, Console())
        [last] = deque(changes, maxlen=1)
        if last.state != job_service_pb2.JOB_STATE_SUCCEEDED:
            raise error_from(last.failure)
        if publication and (error := self.unpublished(last)) is not None:
            raise error
        return last

    def unpublished(self, job: job_service_pb2.Job) -> UnpublishedError | None:
        """Waits for the targets of the release that a job made, and returns the error if one does not take it.

        A caller who may see the job, but not its release, is told nothing of it.
        """
        if job.kind == RELEASES and job.result:
            try:
                self.wait_until_published(job.result)
            except UnpublishedError as error:
                return error
            except (NotFoundError, DeniedError):
                pass
        return None

    def _submitted(self, request: job_service_pb2.SubmitJobRequest) -> job_service_pb2.Job:
        try:
            return self._jobs.SubmitJob(request, timeout=SECONDS_TO_ANSWER)
        except grpc.RpcError as error:
            failure = failure_in(error)
            if failure is None or not failure.omitted_faults:
                raise self._error_of(error) from None
        # Not all faults fit into the metadata of a status.
        raise error_from(failure, self._check(request.policy).faults)

    def _checked_here(self, policy: policy_pb2.Policy, base_directory: Path) -> tuple[list[CsvLevels], list[Fault]]:
        """The contents of the CSV files, and the faults that show without a database.

        Parts that the policy leaves out may be declared on the server, which adds them to what it gets.
        """
        from tableveil.client.checking import check_on_client
        from tableveil.convert.privacies import complete

        levels, faults = check_on_client(policy, base_directory)
        if not faults or not policy.source.table:
            return levels, faults
        try:
            named = policy_pb2.TableReference()
            named.CopyFrom(policy.source)
            named.ClearField("load")
            named.ClearField("loads")
            declared = self.describe_privacy(named)
        except TableveilError:
            return levels, faults
        whole = policy_pb2.Policy()
        whole.CopyFrom(policy)
        told = complete(whole, declared)
        levels, faults = check_on_client(whole, base_directory)
        return levels, list(map(told, faults))

    def _check(self, policy: policy_pb2.Policy) -> Checked:
        # It loads the whole engine.
        from tableveil.convert.warnings import ranked_from, warnings_from

        answer = self._ask(self._jobs.CheckPolicy, job_service_pb2.CheckPolicyRequest(policy=policy))
        warnings = ranked_from(answer.ranked_warnings) or warnings_from(answer.warnings, answer.warning_ranks)
        return Checked(tuple(faults_from(answer.faults)), warnings)


def _read(
    policy: policy_pb2.Policy | str | Path, base_directory: Path | None
) -> tuple[policy_pb2.Policy, Path, list[Fault]]:
    """The policy, where its paths start, and the faults of the document that it was read from."""
    if isinstance(policy, policy_pb2.Policy):
        return policy, base_directory or Path(), []
    from tableveil.document import load_policy

    file = Path(policy)
    read, faults = load_policy(file)
    return read, base_directory or file.parent, faults
