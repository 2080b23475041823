"""The client: one method per verb of the service."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, overload

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tableveil.client.connection import SECONDS_TO_ANSWER, Connection, with_name
from tableveil.client.failures import UnpublishedError, error_from, failure_in, faults_from
from tableveil.client.formats import ExportFormat, FileFormat, server_file
from tableveil.client.listing import Listing
from tableveil.client.names import (
    DRY_RUNS,
    GRANTS,
    HIERARCHIES,
    JOBS,
    LOADS,
    PRIVACY_BUDGETS,
    RELEASES,
    SCHEMA_RULES,
    SCHEMAS,
    TARGETS,
    TOKENS,
    WORKSHEETS,
    Name,
    collection_of,
    full_name,
    resource_name,
    source_reference,
    table_reference,
    text_of,
)
from tableveil.client.uploads import preview_requests, upload_requests
from tableveil.client.watching import watch
from tableveil.errors import Checked, DeniedError, Fault, InvalidError, NotFoundError, TableveilError, shortened
from tableveil.v1 import access_service_pb2 as access_v1
from tableveil.v1 import admin_service_pb2 as admin_v1
from tableveil.v1 import audit_service_pb2 as audit_v1
from tableveil.v1 import draft_service_pb2 as drafts_v1
from tableveil.v1 import hierarchy_service_pb2 as hierarchies_v1
from tableveil.v1 import job_service_pb2 as jobs_v1
from tableveil.v1 import privacy_service_pb2 as privacy_v1
from tableveil.v1 import release_service_pb2 as releases_v1
from tableveil.v1 import report_service_pb2 as reports_v1
from tableveil.v1 import risk_service_pb2 as risks_v1
from tableveil.v1 import statement_service_pb2 as statements_v1
from tableveil.v1 import table_service_pb2 as tables_v1
from tableveil.v1 import worksheet_service_pb2 as worksheets_v1
from tableveil.v1.access_pb2 import AccessRole
from tableveil.v1.access_service_pb2_grpc import AccessServiceStub
from tableveil.v1.admin_service_pb2_grpc import AdminServiceStub
from tableveil.v1.audit_service_pb2_grpc import AuditServiceStub
from tableveil.v1.draft_service_pb2_grpc import DraftServiceStub
from tableveil.v1.hierarchy_service_pb2_grpc import HierarchyServiceStub
from tableveil.v1.job_service_pb2_grpc import JobServiceStub
from tableveil.v1.policy_pb2 import Hierarchy, Policy, StoredHierarchy, TableReference
from tableveil.v1.privacy_service_pb2_grpc import PrivacyServiceStub
from tableveil.v1.release_service_pb2_grpc import ReleaseServiceStub
from tableveil.v1.report_service_pb2_grpc import ReportServiceStub
from tableveil.v1.risk_service_pb2_grpc import RiskServiceStub
from tableveil.v1.statement_service_pb2_grpc import StatementServiceStub
from tableveil.v1.table_service_pb2_grpc import TableServiceStub
from tableveil.v1.worksheet_service_pb2_grpc import WorksheetServiceStub

# Arrow, DuckDB and the checks of policies take longer to load than most verbs run: the methods that need them import
# them.
if TYPE_CHECKING:
    import pyarrow as pa

    from tableveil.client.csv_hierarchies import CsvLevels
    from tableveil.client.loads import GuessedFormat, StoredRows

MOST_NAMES = 20
"""Names in one request to confirm them: the server takes no more."""

_REQUEST = "a request of a job, such as SubmitProposalRequest"
_RESULT = "the result of a job, such as Proposal"

Result = TypeVar("Result", bound=Message)
Table: TypeAlias = "str | TableReference"


class SupportsArrowStream(Protocol):
    """A source of rows through Arrow's PyCapsule interface, such as tables, readers, relations and data frames."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows."""


class Client(Connection):
    """A connection to a Tableveil server; use it as a context manager, or close it.

    It needs a token; `tableveil.client.token.find_token` says where it looks for one. Jobs and releases are named as
    the service names them (`jobs/3`), or by number (`3`). Every method raises the errors of `tableveil.errors`, or
    `UnreachableError`. May be used from several threads.
    """

    def _open_stubs(self) -> None:
        self._access = AccessServiceStub(self._channel)
        self._admin = AdminServiceStub(self._channel)
        self._audit = AuditServiceStub(self._channel)
        self._drafts = DraftServiceStub(self._channel)
        self._hierarchies = HierarchyServiceStub(self._channel)
        self._jobs = JobServiceStub(self._channel)
        self._privacies = PrivacyServiceStub(self._channel)
        self._releases = ReleaseServiceStub(self._channel)
        self._reports = ReportServiceStub(self._channel)
        self._risks = RiskServiceStub(self._channel)
        self._statements = StatementServiceStub(self._channel)
        self._tables = TableServiceStub(self._channel)
        self._worksheets = WorksheetServiceStub(self._channel)

    # --- Policies and jobs ---

    def check_policy(self, policy: Policy | str | Path, base_directory: Path | None = None) -> list[Fault]:
        """The faults of `checked`: empty if a job can start."""
        return list(self.checked(policy, base_directory).faults)

    def checked(self, policy: Policy | str | Path, base_directory: Path | None = None) -> Checked:
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
            by_server = self._check(without_csv(policy))
        except TableveilError:
            # The server is away or busy; the known faults have to be fixed anyway.
            return Checked(tuple(faults))
        others = judged_without_csv(policy, by_server.faults)
        return Checked((*faults, *(fault for fault in others if fault not in faults)), by_server.warnings)

    def submit(
        self,
        policy: Policy | str | Path,
        base_directory: Path | None = None,
        request_id: str = "",
        *,
        trial: bool = False,
    ) -> jobs_v1.Job:
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
        request = jobs_v1.SubmitJobRequest(policy=stored, request_id=request_id, trial=trial)
        return self._patiently(lambda: self._submitted(request))

    def get_job(self, job: Name) -> jobs_v1.Job:
        """The job as it is now."""
        request = jobs_v1.GetJobRequest(name=resource_name(JOBS, job))
        return self._ask(self._jobs.GetJob, request)

    def list_jobs(self, states: Iterable[jobs_v1.JobState.ValueType] = ()) -> Listing[jobs_v1.Job]:
        """Jobs in these states, or all, newest first, fetched as they are read."""
        return self._listed(self._jobs.ListJobs, jobs_v1.ListJobsRequest(states=states), lambda page: page.jobs)

    def cancel_job(self, job: Name, *, keep_best: bool = False) -> jobs_v1.Job:
        """Asks the job to stop; a job whose release is being committed completes.

        With `keep_best` only its search stops, and the best that it has found is written.

        Raises:
            ConflictError: the search has found nothing yet that could be kept (NOTHING_TO_KEEP).
        """
        request = jobs_v1.CancelJobRequest(name=resource_name(JOBS, job), keep_best=keep_best)
        return self._ask(self._jobs.CancelJob, request)

    def resubmit_job(self, job: Name, *, widen: bool = False) -> jobs_v1.Job:
        """Queues a new job with the request of one that has ended; its request id names the new one from now on.

        With `widen`, bounds of its policy that do not cover all values any more are extended first.
        """
        request = jobs_v1.ResubmitJobRequest(name=resource_name(JOBS, job), widen=widen)
        return self._ask(self._jobs.ResubmitJob, request)

    def delete_job(self, job: Name) -> None:
        """Deletes a job that has ended, with its result; a job that made a release stays."""
        self._ask(self._jobs.DeleteJob, jobs_v1.DeleteJobRequest(name=resource_name(JOBS, job)))

    def watch_job(self, job: Name, timeout: float | None = None) -> Iterator[jobs_v1.Job]:
        """The job as it is now, then each change, the last one ended. Survives a stream that breaks.

        Raises:
            TimeoutError: The job has not ended within so many seconds. It goes on.
        """
        name = resource_name(JOBS, job)
        until = None if timeout is None else time.monotonic() + timeout

        def left() -> float | None:
            return None if until is None else max(0.0, until - time.monotonic())

        try:
            yield from watch(
                lambda: self._jobs.WatchJob(jobs_v1.WatchJobRequest(name=name), timeout=left()),
                lambda: self._jobs.GetJob(jobs_v1.GetJobRequest(name=name), timeout=SECONDS_TO_ANSWER),
                self._error_of,
                self._closed.wait,
            )
        except TableveilError:
            if left() != 0.0:
                raise
            raise TimeoutError(f"{name} has not ended within {timeout:g} seconds, and goes on") from None

    def wait(
        self, job: Name, *, publication: bool = True, timeout: float | None = None, progress: bool = False
    ) -> jobs_v1.Job:
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
        if last.state != jobs_v1.JOB_STATE_SUCCEEDED:
            raise error_from(last.failure)
        if publication and (error := self.unpublished(last)) is not None:
            raise error
        return last

    def unpublished(self, job: jobs_v1.Job) -> UnpublishedError | None:
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

    def _submitted(self, request: jobs_v1.SubmitJobRequest) -> jobs_v1.Job:
        try:
            return self._jobs.SubmitJob(request, timeout=SECONDS_TO_ANSWER)
        except grpc.RpcError as error:
            failure = failure_in(error)
            if failure is None or not failure.omitted_faults:
                raise self._error_of(error) from None
        # Not all faults fit into the metadata of a status.
        raise error_from(failure, self._check(request.policy).faults)

    def _checked_here(self, policy: Policy, base_directory: Path) -> tuple[list[CsvLevels], list[Fault]]:
        from tableveil.client.checking import check_completed

        return check_completed(policy, base_directory, self.describe_privacy)

    def _check(self, policy: Policy) -> Checked:
        # It loads the whole engine.
        from tableveil.convert.warnings import ranked_from, warnings_from

        answer = self._ask(self._jobs.CheckPolicy, jobs_v1.CheckPolicyRequest(policy=policy))
        warnings = ranked_from(answer.ranked_warnings) or warnings_from(answer.warnings, answer.warning_ranks)
        return Checked(tuple(faults_from(answer.faults)), warnings)

    # --- Releases ---

    def get_release(self, release: Name) -> releases_v1.Release:
        """The release and its evidence."""
        request = releases_v1.GetReleaseRequest(name=resource_name(RELEASES, release))
        return self._ask(self._releases.GetRelease, request)

    def list_releases(
        self,
        states: Iterable[releases_v1.ReleaseState.ValueType] = (),
        target_schema: str = "",
        *,
        summary: bool = False,
    ) -> Listing[releases_v1.Release]:
        """Releases in these states and into this schema, or all, newest first, fetched as they are read.

        With `summary` only what lists show of each.
        """
        request = releases_v1.ListReleasesRequest(states=states, target_schema=target_schema, summary=summary)
        return self._listed(self._releases.ListReleases, request, lambda page: page.releases)

    def get_joint_classes(self, releases: Iterable[str]) -> releases_v1.JointClasses:
        """How many people some releases tell apart together."""
        names = [resource_name(RELEASES, release) for release in releases]
        return self._ask(self._releases.GetJointClasses, releases_v1.GetJointClassesRequest(releases=names))

    def get_report(
        self,
        name: Name,
        audience: reports_v1.ReportAudience.ValueType = reports_v1.REPORT_AUDIENCE_UNSPECIFIED,
        report_format: reports_v1.ReportFormat.ValueType = reports_v1.REPORT_FORMAT_HTML,
    ) -> reports_v1.Report:
        """The report of a release, or of a dry run by its full name; by default the edition that the caller may see."""
        collection = DRY_RUNS if text_of(name).startswith(DRY_RUNS) else RELEASES
        request = reports_v1.GetReportRequest(
            name=resource_name(collection, name), audience=audience, format=report_format
        )
        return self._ask(self._reports.GetReport, request)

    def withdraw_release(self, release: Name, reason: str) -> releases_v1.Release:
        """Drops the public objects of a current release; its evidence stays, with the reason."""
        name = resource_name(RELEASES, release)
        request = releases_v1.WithdrawReleaseRequest(name=name, reason=reason)
        return self._ask(self._releases.WithdrawRelease, request)

    def promote_release(
        self, release: Name, repeat_reason: str = "", other_people: Sequence[str] = ()
    ) -> releases_v1.Release:
        """Makes a release of a trial of the caller's.

        It needs a reason if its people were released meanwhile; `other_people` names releases of others.
        """
        name = resource_name(RELEASES, release)
        others = [resource_name(RELEASES, other, "other_people") for other in other_people]
        request = releases_v1.PromoteReleaseRequest(name=name, repeat_reason=repeat_reason, other_people=others)
        return self._ask(self._releases.PromoteRelease, request)

    def approve_release(self, release: Name, note: str = "") -> releases_v1.Release:
        """Makes a release public that waits for it, and that somebody else made."""
        name = resource_name(RELEASES, release)
        request = releases_v1.ApproveReleaseRequest(name=name, note=note)
        return self._ask(self._releases.ApproveRelease, request)

    def reject_release(self, release: Name, note: str) -> releases_v1.Release:
        """Drops the private objects of a release that waits for approval, and that somebody else made."""
        name = resource_name(RELEASES, release)
        request = releases_v1.RejectReleaseRequest(name=name, note=note)
        return self._ask(self._releases.RejectRelease, request)

    def publish_release(
        self, release: Name, target: str, repeat_reason: str = "", other_people: Sequence[str] = ()
    ) -> releases_v1.Release:
        """Asks the server to publish a release to one of its targets; `publications` of the release tell how far it is.

        It needs a reason if the target's readers have another release of the same people; `other_people` names
        releases of others.
        """
        request = releases_v1.PublishReleaseRequest(
            name=resource_name(RELEASES, release),
            target=target,
            repeat_reason=repeat_reason,
            other_people=[resource_name(RELEASES, other, "other_people") for other in other_people],
        )
        return self._ask(self._releases.PublishRelease, request)

    def wait_until_published(self, release: str) -> releases_v1.Release:
        """The release once all targets that it was to be published to have it, or at once if it waits for approval.

        Raises:
            UnpublishedError: A target refused it, or fails for longer than a minute. The release stands all the same.
        """
        from tableveil.client.publications import wait_until_published

        return wait_until_published(lambda: self.get_release(release), self._closed.wait)

    def unpublish_release(self, release: Name, target: str) -> releases_v1.Release:
        """Asks the server to remove a release from a target; the release stays as it is."""
        request = releases_v1.UnpublishReleaseRequest(name=resource_name(RELEASES, release), target=target)
        return self._ask(self._releases.UnpublishRelease, request)

    def get_target(self, target: str) -> releases_v1.PublicationTarget:
        """A place that releases are published to."""
        request = releases_v1.GetTargetRequest(name=full_name(TARGETS, target))
        return self._ask(self._releases.GetTarget, request)

    def list_targets(self) -> list[releases_v1.PublicationTarget]:
        """The places that releases are published to, by name, of those that the caller may know."""
        return list(self._ask(self._releases.ListTargets, releases_v1.ListTargetsRequest()).targets)

    @overload
    def read(self, release: Name, name: str = "", into: None = None) -> pa.RecordBatchReader: ...

    @overload
    def read(self, release: Name, name: str = "", *, into: Literal["arrow"]) -> pa.Table: ...

    @overload
    def read(self, release: Name, name: str = "", *, into: Literal["pandas", "polars"]) -> Any: ...

    def read(self, release: Name, name: str = "", into: str | None = None) -> Any:
        """A public object of the release, by default its rows.

        By default it comes as a stream of batches, in constant memory; close it to stop early. `into` reads all of it
        into a table of Arrow, or into a data frame of pandas or polars, which you install yourself.

        Raises:
            InvalidError: `into` is none of these, or not installed.
        """
        from tableveil.client.objects import ObjectReader, collected_into

        if into is not None:
            return collected_into(into, lambda: self.read(release, name))
        name = name or self._rows_of(release)
        request = releases_v1.ReadObjectRequest(release=resource_name(RELEASES, release), object=name)
        return ObjectReader(self._releases.ReadObject(request), self._error_of)

    def _rows_of(self, release: Name) -> str:
        kinds = {item.kind: item.name for item in self.get_release(release).objects}
        if releases_v1.RELEASE_OBJECT_KIND_ROWS not in kinds:
            raise NotFoundError.of("OBJECT_NOT_FOUND", "name", "no released rows", "a release whose rows stand")
        return kinds[releases_v1.RELEASE_OBJECT_KIND_ROWS]

    def read_table(self, release: Name, name: str = "") -> pa.Table:
        """A public object of the release, all of it."""
        return self.read(release, name, into="arrow")

    def export(
        self,
        release: Name,
        path: str | Path,
        export_format: ExportFormat = ExportFormat.PARQUET,
        overwrite: bool = False,
        storage_version: str = "",
    ) -> list[Path]:
        """Writes all public objects of the release to files: a directory of Parquet or CSV, or a fresh DuckDB file.

        `path` exists only once everything is written. DuckDB from `storage_version` on reads the file.

        Returns:
            The files in the order of the release's objects, or the database.

        Raises:
            InvalidError: the storage version is none, or the format is another one.
            ConflictError: `path` exists, and `overwrite` is false or it is no such export.
        """
        from tableveil.client.export import export_objects

        names = [item.name for item in self.get_release(release).objects]
        return export_objects(
            names, lambda name: self.read(release, name), Path(path), export_format, overwrite, storage_version
        )

    # --- Analyses, and what jobs find out ---

    def draft_policy(
        self,
        source: TableReference | str,
        quasi_identifiers: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        events: Iterable[TableReference | str] = (),
        key: str | Iterable[str] = "",
    ) -> drafts_v1.DraftPolicyResponse:
        """A guessed policy for a table, or for the rows of a SELECT, with a remark on each guess.

        Nothing is stored. A text with a blank or parenthesis is a SELECT, any other the name of a table. The columns
        `quasi_identifiers` get that role and a hierarchy, whatever is guessed of them, and those of `sensitive` that
        role, with elements where cells seem to be lists.

        With tables of `events` of the people in the source, the policy is for all of them, joined by the `key`. Further
        keys have the table before them, such as `visits.person`, where events have another name for it.

        Raises:
            InvalidError: With all faults of the request; the people have two keys.
        """
        of_events = [*map(source_reference, events)]
        keys = [key] if isinstance(key, str) else [*key]
        # Names may have dots themselves.
        parts = [[*one.catalog.split("."), *one.schema.split("."), *one.table.split(".")] for one in of_events]
        prefixes = tuple(f"{'.'.join(names[i:])}." for names in parts for i in range(len(names)))
        own = [one for one in keys if not one.startswith(prefixes)]
        if len(own) > 1:
            found = f"{shortened(own[0])} and {shortened(own[1])}"
            others = " or ".join(f"{one.table}.COLUMN" for one in of_events) or "of events"
            raise InvalidError.of("DRAFT_INVALID", "key", found, "one key of the people", f"Others are {others}.")
        request = drafts_v1.DraftPolicyRequest(
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            events=of_events,
            key="".join(own),
            event_keys=[one for one in keys if one not in own],
        )
        if isinstance(source, str) and re.search(r"[\s(]", source):
            request.source_query = source
        else:
            request.table.CopyFrom(source_reference(source))
        return self._ask(self._drafts.DraftPolicy, request)

    def widen_policy(self, policy: Policy) -> drafts_v1.WidenPolicyResponse:
        """The policy with intervals and dates that cover all values of its source, and the columns that changed."""
        return self._ask(self._drafts.WidenPolicy, drafts_v1.WidenPolicyRequest(policy=policy))

    def submit_analysis(self, request: Message, base_directory: Path = Path()) -> jobs_v1.Job:
        """Queues a job for a request, such as `SubmitFrontierRequest`; wait for it as for any other.

        Args:
            request: The request of any kind of job. If it has a policy, its CSV hierarchies are stored first.
            base_directory: Where the paths of CSV hierarchies start.

        Raises:
            InvalidError: With all faults of the request.
        """
        if "policy" in request.DESCRIPTOR.fields_by_name:
            request = type(request).FromString(request.SerializeToString())
            request.policy.CopyFrom(self.prepare(request.policy, base_directory))  # type: ignore[attr-defined]
        submit = _only(request.DESCRIPTOR, _REQUEST, lambda one: one.input_type is request.DESCRIPTOR)
        job: jobs_v1.Job = self._ask(self._method(submit), request)
        return job

    def get_result(self, kind: type[Result], name: Name) -> Result:
        """The result of a job, such as a `Frontier`, by its name or number: the owner's, not for publication."""
        get = _only(kind.DESCRIPTOR, _RESULT, lambda one: one.output_type is kind.DESCRIPTOR)
        request = GetMessageClass(get.input_type)(name=resource_name(collection_of(kind), name))
        result: Result = self._ask(self._method(get), request)
        return result

    def list_results(self, kind: type[Result]) -> Listing[Result]:
        """All results of a kind, such as `Frontier`, newest first, fetched as they are read."""
        listing = _only(kind.DESCRIPTOR, _RESULT, lambda one: one.name.startswith("List"))
        request, (items, *_) = GetMessageClass(listing.input_type)(), listing.output_type.fields
        return self._listed(self._method(listing), request, lambda page: getattr(page, items.name))

    def read_record_risks(self, risk_analysis: str) -> pa.RecordBatchReader:
        """The risks of each combination of values, with the values, as a stream of batches; close it to stop early."""
        from tableveil.client.objects import ObjectReader

        name = resource_name(collection_of(risks_v1.RiskAnalysis), risk_analysis)
        return ObjectReader(self._risks.ReadRecordRisks(risks_v1.ReadRecordRisksRequest(name=name)), self._error_of)

    def _method(self, method: Any) -> Any:
        asked, answer = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
        path = f"/{method.containing_service.full_name}/{method.name}"
        return self._channel.unary_unary(path, asked.SerializeToString, answer.FromString)

    # --- Hierarchies ---

    def create_hierarchy(
        self, name: str, rows: Iterable[Sequence[str]], origin: str = ""
    ) -> hierarchies_v1.StoredHierarchyInfo:
        """Stores rows of a value and its labels as the next version of the hierarchy; repeated rows keep their version.

        `origin` says where they come from, such as the name of a file.
        """
        with self._failures():
            return self._hierarchies.CreateHierarchy(upload_requests(name, list(rows), origin))

    def forget_hierarchy_rows(
        self, hierarchy: str, values: Iterable[str]
    ) -> hierarchies_v1.ForgetHierarchyRowsResponse:
        """Takes the rows of values out of a stored version, such as `ages@2`."""
        name = full_name(HIERARCHIES, hierarchy)
        request = hierarchies_v1.ForgetHierarchyRowsRequest(name=name, values=values)
        return self._ask(self._hierarchies.ForgetHierarchyRows, request)

    def preview_hierarchy(
        self, asked: hierarchies_v1.PreviewHierarchyRequest, base_directory: Path = Path()
    ) -> hierarchies_v1.PreviewHierarchyResponse:
        """The levels of any hierarchy, and its coverage of a column; a CSV file is read and sent, nothing is stored.

        Raises:
            InvalidError: With all faults of the hierarchy, or of using it on the column.
        """
        from tableveil.client.csv_hierarchies import asked_with_rows

        request, rows = asked_with_rows(asked, base_directory)
        with self._failures():
            return self._hierarchies.PreviewHierarchy(preview_requests(request, rows), timeout=SECONDS_TO_ANSWER)

    def compare_hierarchies(
        self, earlier: StoredHierarchy, later: StoredHierarchy, examples: int = 0
    ) -> hierarchies_v1.CompareHierarchiesResponse:
        """The differences between two stored versions, with up to `examples` of each kind."""
        request = hierarchies_v1.CompareHierarchiesRequest(earlier=earlier, later=later, examples=examples)
        return self._ask(self._hierarchies.CompareHierarchies, request)

    def read_hierarchy(self, stored: StoredHierarchy) -> Iterator[list[str]]:
        """The rows of a stored version, fetched as they are read."""
        request = hierarchies_v1.ReadHierarchyRequest(hierarchy=stored)
        with self._failures():
            for piece in self._hierarchies.ReadHierarchy(request):
                yield from (list(row.labels) for row in piece.rows)

    def get_hierarchy(self, hierarchy: str) -> hierarchies_v1.StoredHierarchyInfo:
        """A stored hierarchy by its name and version, as `ages@2`; without one, the newest version."""
        request = hierarchies_v1.GetHierarchyRequest(name=full_name(HIERARCHIES, hierarchy))
        return self._ask(self._hierarchies.GetHierarchy, request)

    def list_hierarchies(self) -> Listing[hierarchies_v1.StoredHierarchyInfo]:
        """All stored hierarchies by name, the newest version first, fetched as they are read."""
        request = hierarchies_v1.ListHierarchiesRequest()
        return self._listed(self._hierarchies.ListHierarchies, request, lambda page: page.hierarchies)

    def prepare(self, policy: Policy, base_directory: Path = Path()) -> Policy:
        """Stores the policy's CSV hierarchies on the server and returns a copy that refers to the stored ones.

        Raises:
            InvalidError: A file cannot be read or is no hierarchy; nothing was stored.
        """
        from tableveil.client.csv_hierarchies import read_csv_hierarchies

        levels, faults = read_csv_hierarchies(policy, base_directory)
        if faults:
            raise InvalidError.about("POLICY_INVALID", "the policy is invalid", faults)
        return self._store(policy, levels)

    def _store(self, policy: Policy, levels: Iterable[CsvLevels]) -> Policy:
        from tableveil.client.csv_hierarchies import with_hierarchies

        infos = {file.attribute: self.create_hierarchy(file.name, file.rows, file.file) for file in levels}
        stored = {at: StoredHierarchy(name=info.name, version=info.version) for at, info in infos.items()}
        return with_hierarchies(policy, {at: Hierarchy(stored=one) for at, one in stored.items()})

    # --- Tables ---

    def list_tables(self, schema: str = "") -> Listing[tables_v1.TableInfo]:
        """The tables and views of a schema, or all, by schema and name, fetched as they are read."""
        request = tables_v1.ListTablesRequest(schema=schema)
        return self._listed(self._tables.ListTables, request, lambda page: page.tables)

    def describe_table(self, table: Table, values: int = 0) -> tables_v1.TableDescription:
        """The contents of the table, with up to `values` of the most frequent values of each column."""
        request = tables_v1.DescribeTableRequest(table=source_reference(table), values=values)
        return self._ask(self._tables.DescribeTable, request)

    def get_load(self, load: Name) -> tables_v1.Load:
        """A load that was done, by its name or number."""
        request = tables_v1.GetLoadRequest(name=resource_name(LOADS, load))
        return self._ask(self._tables.GetLoad, request)

    def list_loads(self, table: Table | None = None) -> Listing[tables_v1.Load]:
        """Loads into a table, or all, newest first, fetched as they are read."""
        request = tables_v1.ListLoadsRequest(table=None if table is None else table_reference(table))
        return self._listed(self._tables.ListLoads, request, lambda page: page.loads)

    def truncate_table(self, table: Table) -> int:
        """Removes all rows of a table, and returns their number."""
        request = tables_v1.TruncateTableRequest(table=table_reference(table))
        return self._ask(self._tables.TruncateTable, request).removed_rows

    def erase_persons(
        self, table: Table, persons: Iterable[str], person_column: str = ""
    ) -> tables_v1.ErasePersonsResponse:
        """Removes the rows of people, and tells which releases hold them.

        `persons` are values of the column, which is by default the one that policies for the table name.
        """
        request = tables_v1.ErasePersonsRequest(
            table=table_reference(table), person_column=person_column, persons=persons
        )
        return self._ask(self._tables.ErasePersons, request)

    def drop_table(self, table: Table) -> int:
        """Removes a table, and returns the number of its rows."""
        request = tables_v1.DropTableRequest(table=table_reference(table))
        return self._ask(self._tables.DropTable, request).removed_rows

    def load(
        self,
        rows: SupportsArrowStream,
        table: Table,
        *,
        append: bool = False,
        replace: bool = False,
        columns_changed: bool = False,
        request_id: str = "",
    ) -> tables_v1.LoadTableResponse:
        """Loads rows into a table, all of them or none.

        Args:
            rows: A `pyarrow.Table`, a `RecordBatchReader`, a DuckDB relation, a data frame, or any other Arrow stream.
            table: `TABLE`, `SCHEMA.TABLE` or, for names with dots, a reference.
            append: Whether to append to the table instead of creating it.
            replace: Whether to put the rows in place of the table's, if there is one.
            columns_changed: Whether a table to replace gets the columns and types of the rows, without constraints.
            request_id: A name for the load: a repeated load with it loads nothing twice.
        """
        import pyarrow as pa

        from tableveil.client.loads import LoadRequests

        if not hasattr(rows, "__arrow_c_stream__"):
            expected = "what Arrow reads, such as a data frame or pyarrow.Table.from_pylist(rows)"
            raise TypeError(f"rows: found a {type(rows).__name__}; expected {expected}")
        return self._load(
            LoadRequests(
                _start(table, append, replace, columns_changed, request_id), pa.RecordBatchReader.from_stream(rows)
            )
        )

    def load_file(
        self,
        path: str | Path,
        table: Table,
        how: FileFormat | None = None,
        *,
        append: bool = False,
        replace: bool = False,
        columns_changed: bool = False,
        request_id: str = "",
        progress: Callable[[int], None] | None = None,
        most_columns: int = 4000,
        show_lines: bool = False,
        shown: Callable[[StoredRows], None] | None = None,
    ) -> tables_v1.LoadTableResponse:
        """Loads a local file, all of it or nothing; `progress` is called with the number of rows sent.

        `how` is by default Parquet for a file that ends in .parquet or .pq, and CSV with a header for any other. The
        server may allow fewer columns than `most_columns`. Errors have values of the file only if `show_lines`. Once
        it is loaded, `shown` is called with the first rows that were sent, as the table's columns store them.

        Raises:
            InvalidError: The file cannot be read, or its rows do not fit the table.
        """
        from tableveil.client.loads import file_requests, stored_rows

        start = _start(table, append, replace, columns_changed, request_id)
        with file_requests(start, server_file(path, how), progress, most_columns, show_lines) as requests:
            loaded = self._load(requests)
        if not loaded.repeated:
            loaded.notes.extend(requests.notes)
        if shown is not None and not loaded.repeated:
            shown(stored_rows(requests.first, loaded.load.columns))
        return loaded

    @staticmethod
    def guess_csv_format(
        path: str | Path,
        stated: tables_v1.CsvFormat | None = None,
        kept: Collection[str] = (),
        most_columns: int = 4000,
        replaces: bool = False,
    ) -> GuessedFormat:
        """How a local CSV file seems to be written, for `load_file`.

        Fields of `stated` that `kept` names are not guessed: delimiter and quote where they are not empty, and
        `encoding`, `header`, `null_texts`, `decimal_comma`, `date_format`, `timestamp_format`, `century_pivots`,
        `skip_lines`, `trimmed`, `thousands`.

        Raises:
            InvalidError: The file cannot be read.
            GuardedError: It is empty, and its rows are for `replaces`: to replace others.
        """
        from tableveil.client.loads import guessed_format

        return guessed_format(str(path), stated or tables_v1.CsvFormat(), kept, most_columns, replaces)

    def load_server_file(
        self,
        path: str | Path,
        table: Table,
        how: FileFormat | None = None,
        *,
        append: bool = False,
        replace: bool = False,
        columns_changed: bool = False,
        request_id: str = "",
    ) -> tables_v1.LoadTableResponse:
        """Loads a file of the server's machine that lies below one of its `--load-directory`, as `load_file` does."""
        start = _start(table, append, replace, columns_changed, request_id)
        start.file.CopyFrom(server_file(path, how))
        return self._load([tables_v1.LoadTableRequest(start=start)])

    def load_postgresql(
        self,
        url: str,
        table: Table,
        *,
        source_table: str = "",
        query: str = "",
        append: bool = False,
        replace: bool = False,
        columns_changed: bool = False,
        request_id: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> tables_v1.LoadTableResponse:
        """Loads a table of PostgreSQL, or the rows of a query there, in one snapshot: all of it or nothing.

        The client connects, by libpq's ways: `url` is `postgresql://…` without a password.

        Raises:
            InvalidError: PostgreSQL refuses, or a column's type or values cannot be loaded as they are.
            UnreachableError: PostgreSQL is not reached, or ends in the middle.
        """
        from tableveil.client.loads import LoadRequests
        from tableveil.client.postgresql import postgresql_rows, source_name

        with postgresql_rows(url, source_table, query) as rows:
            start = _start(table, append, replace, columns_changed, request_id)
            start.client_source = source_name(url, source_table, query)
            requests = LoadRequests(start, rows, progress=progress)
            try:
                return self._load(requests)
            finally:
                # The connection must not be closed while another thread reads from it.
                requests.end()

    def _load(self, requests: Iterable[tables_v1.LoadTableRequest]) -> tables_v1.LoadTableResponse:
        try:
            return self._tables.LoadTable(iter(requests))
        except grpc.RpcError as error:
            failure = getattr(requests, "failure", None)
            # The error that ended the messages says more than the call's.
            raise failure or self._error_of(error) from None

    def declare_privacy(self, table: str | TableReference, privacy: privacy_v1.Privacy) -> privacy_v1.TablePrivacy:
        """Declares who is a person in a table, and which role each column has; policies may leave that out then.

        Raises:
            InvalidError: With all faults of the declaration.
        """
        request = privacy_v1.DeclarePrivacyRequest(table=table_reference(table), privacy=privacy)
        return self._ask(self._privacies.DeclarePrivacy, request)

    def describe_privacy(self, table: str | TableReference, version: int = 0) -> privacy_v1.TablePrivacy:
        """A version of what was declared of a table; the newest one if 0."""
        request = privacy_v1.DescribePrivacyRequest(table=table_reference(table), version=version)
        return self._ask(self._privacies.DescribePrivacy, request)

    # --- Statements ---

    def execute(self, statement: str, request_id: str = "") -> statements_v1.ExecuteStatementResponse:
        """The answer of what a statement stands for; docs/reference/statements.md has the grammar.

        Jobs are not waited for.

        Raises:
            InvalidError: With lines and columns of the statement as fields of its faults.
        """
        request = statements_v1.ExecuteStatementRequest(statement=statement, request_id=request_id)
        return self._ask(self._statements.ExecuteStatement, request)

    # --- Worksheets ---

    def create_worksheet(self, worksheet: worksheets_v1.Worksheet) -> worksheets_v1.Worksheet:
        """Keeps a new worksheet of a table."""
        return self._ask(self._worksheets.CreateWorksheet, worksheets_v1.CreateWorksheetRequest(worksheet=worksheet))

    def get_worksheet(self, name: Name) -> worksheets_v1.Worksheet:
        """The worksheet of that name or number."""
        return self._ask(
            self._worksheets.GetWorksheet, worksheets_v1.GetWorksheetRequest(name=resource_name(WORKSHEETS, name))
        )

    def update_worksheet(self, worksheet: worksheets_v1.Worksheet) -> worksheets_v1.Worksheet:
        """Puts the contents in place of those of the worksheet, which must have its etag.

        Raises:
            ConflictError: somebody else has changed it (WORKSHEET_CHANGED).
        """
        return self._ask(self._worksheets.UpdateWorksheet, worksheets_v1.UpdateWorksheetRequest(worksheet=worksheet))

    def list_worksheets(self) -> Listing[worksheets_v1.Worksheet]:
        """All worksheets of tables of the caller's, newest first, without their policies, fetched as they are read."""
        return self._listed(
            self._worksheets.ListWorksheets, worksheets_v1.ListWorksheetsRequest(), lambda page: page.worksheets
        )

    def delete_worksheet(self, name: Name, etag: str = "") -> None:
        """Deletes a worksheet; with an etag, only if nobody has changed it."""
        request = worksheets_v1.DeleteWorksheetRequest(name=resource_name(WORKSHEETS, name), etag=etag)
        self._ask(self._worksheets.DeleteWorksheet, request)

    # --- The audit ---

    def list_audit_entries(
        self, principal: str = "", method: str = "", code: str = "", since: datetime | None = None
    ) -> Listing[audit_v1.AuditEntry]:
        """Entries of the audit, newest first, fetched as they are read.

        Args:
            principal: Only those about this principal.
            method: Only calls of this method, such as `SubmitJob`.
            code: Only calls with this gRPC status or reason of failure.
            since: Only those from this time on, which needs a time zone.
        """
        request = audit_v1.ListAuditEntriesRequest(principal=principal, method=method, code=code)
        if since is not None:
            request.since.FromDatetime(since)
        return self._listed(self._audit.ListAuditEntries, request, lambda page: page.entries)

    def verify_audit(self, head: str = "", after: str = "") -> audit_v1.VerifyAuditResponse:
        """Verifies the server's file of the audit there, against a `head` that was kept elsewhere if it is stated."""
        return self._ask(self._audit.VerifyAudit, audit_v1.VerifyAuditRequest(head=head, after=after))

    # --- The server itself ---

    def check_health(self, ready: bool = False) -> None:
        """Returns if the server lives, with `ready` if it takes calls; raises `UnreachableError` if not."""
        from tableveil.client.health import check_health

        check_health(self._channel, self._address, self._encryption, ready)

    def get_server_info(self) -> admin_v1.ServerInfo:
        """The server's version and limits, and the principal that it takes this client for."""
        return self._ask(self._admin.GetServerInfo, admin_v1.GetServerInfoRequest())

    def get_server_status(self) -> admin_v1.ServerStatus:
        """The state of the server, its database and the files beside it."""
        return self._ask(self._admin.GetServerStatus, admin_v1.GetServerStatusRequest())

    def back_up(self, name: str, keep: int | None = None) -> admin_v1.Backup:
        """Writes a backup into the server's directory for backups; this takes as long as copying the database.

        With `keep`, older backups of the database are removed then, so that so many are left.
        """
        request = admin_v1.BackupDatabaseRequest(name=name, keep=keep)
        with self._failures():
            return self._admin.BackupDatabase(with_name(request))

    def get_schema(self, schema: str) -> admin_v1.Schema:
        """A schema that the caller sees, by its name in any case."""
        request = admin_v1.GetSchemaRequest(name=full_name(SCHEMAS, schema))
        return self._ask(self._admin.GetSchema, request)

    def create_schema(self, schema: str) -> admin_v1.Schema:
        """Makes a schema of the database, for tables and releases."""
        return self._ask(self._admin.CreateSchema, admin_v1.CreateSchemaRequest(schema=schema))

    # --- Callers; these need the role admin ---

    def create_token(
        self,
        principal: str,
        label: str,
        roles: Collection[AccessRole.ValueType] = (),
        lifetime: timedelta | None = None,
    ) -> access_v1.Token:
        """A new token of a principal, with the `secret` that nobody can tell later; by default for the usual time."""
        request = access_v1.CreateTokenRequest(principal=principal, label=label, roles=roles)
        if lifetime is not None:
            request.lifetime.FromTimedelta(lifetime)
        return self._ask(self._access.CreateToken, request)

    def get_token(self, token: Name) -> access_v1.Token:
        """A token, without its text."""
        return self._ask(self._access.GetToken, access_v1.GetTokenRequest(name=resource_name(TOKENS, token)))

    def list_tokens(self) -> Listing[access_v1.Token]:
        """All tokens, newest first."""
        return self._listed(self._access.ListTokens, access_v1.ListTokensRequest(), lambda page: page.tokens)

    def revoke_token(self, token: Name) -> access_v1.Token:
        """Lets a token be refused from now on."""
        request = access_v1.RevokeTokenRequest(name=resource_name(TOKENS, token))
        return self._ask(self._access.RevokeToken, request)

    def confirm_token(self, token: Name) -> access_v1.Token:
        """Lets a token be accepted again that a restore suspended."""
        request = access_v1.ConfirmTokenRequest(name=resource_name(TOKENS, token))
        return self._ask(self._access.ConfirmToken, request)

    def add_grant(self, rule: access_v1.GrantRule) -> access_v1.Grant:
        """Gives a principal or a group a role; it counts from now on."""
        return self._ask(self._access.AddGrant, access_v1.AddGrantRequest(rule=rule))

    def get_grant(self, grant: Name) -> access_v1.Grant:
        """A grant on what the caller administers."""
        return self._ask(self._access.GetGrant, access_v1.GetGrantRequest(name=resource_name(GRANTS, grant)))

    def list_grants(self) -> Listing[access_v1.Grant]:
        """The grants on what the caller administers, newest first."""
        return self._listed(self._access.ListGrants, access_v1.ListGrantsRequest(), lambda page: page.grants)

    def remove_grant(self, grant: Name) -> None:
        """Takes a role back, from the next call on."""
        self._ask(self._access.RemoveGrant, access_v1.RemoveGrantRequest(name=resource_name(GRANTS, grant)))

    def set_privacy_budget(
        self, people: str, tables: Sequence[str], *, epsilon: str, delta: str
    ) -> access_v1.PrivacyBudget:
        """Sets how much differentially private releases may tell of the people in some tables; see `PrivacyBudget`."""
        budget = access_v1.PrivacyBudget(people=people, tables=tables, epsilon=epsilon, delta=delta)
        return self._ask(self._access.SetPrivacyBudget, access_v1.SetPrivacyBudgetRequest(budget=budget))

    def get_privacy_budget(self, people: str) -> access_v1.PrivacyBudget:
        """The privacy budget of these people, with what is spent of it."""
        request = access_v1.GetPrivacyBudgetRequest(name=full_name(PRIVACY_BUDGETS, people))
        return self._ask(self._access.GetPrivacyBudget, request)

    def list_privacy_budgets(self) -> list[access_v1.PrivacyBudget]:
        """All privacy budgets, by the names of their people."""
        return list(self._ask(self._access.ListPrivacyBudgets, access_v1.ListPrivacyBudgetsRequest()).budgets)

    def set_schema_rule(self, schema: str, *, joint_k: bool) -> access_v1.SchemaRule:
        """Makes the rule for releases into a schema; see `SchemaRule`."""
        request = access_v1.SetSchemaRuleRequest(rule=access_v1.SchemaRule(schema=schema, joint_k=joint_k))
        return self._ask(self._access.SetSchemaRule, request)

    def get_schema_rule(self, schema: str) -> access_v1.SchemaRule:
        """The rule for releases into a schema."""
        request = access_v1.GetSchemaRuleRequest(name=full_name(SCHEMA_RULES, schema))
        return self._ask(self._access.GetSchemaRule, request)

    def list_schema_rules(self) -> list[access_v1.SchemaRule]:
        """The rules of schemas that the caller administers, by name."""
        return list(self._ask(self._access.ListSchemaRules, access_v1.ListSchemaRulesRequest()).rules)

    def confirm_restored(self, names: Iterable[str] = ()) -> list[str]:
        """Lets grants and releases count again that a restore suspended; returns the names of those that still wait."""
        wanted = list(names)
        for start in range(0, len(wanted), MOST_NAMES):
            part = wanted[start : start + MOST_NAMES]
            self._ask(self._access.ConfirmRestored, access_v1.ConfirmRestoredRequest(names=part))
        return list(self._ask(self._access.ConfirmRestored, access_v1.ConfirmRestoredRequest()).suspended)


def _read(policy: Policy | str | Path, base_directory: Path | None) -> tuple[Policy, Path, list[Fault]]:
    """The policy, where its paths start, and the faults of the document that it was read from."""
    if isinstance(policy, Policy):
        return policy, base_directory or Path(), []
    from tableveil.document import load_policy

    file = Path(policy)
    read, faults = load_policy(file)
    return read, base_directory or file.parent, faults


def _only(message: Any, expected: str, fits: Callable[[Any], bool]) -> Any:
    """The one method that fits, of the services in the proto of a message; raises `TypeError` if there is none."""
    for service in message.file.services_by_name.values():
        for method in filter(fits, service.methods):
            return method
    raise TypeError(f"found a message {message.name}; expected {expected}")


def _start(table: Table, append: bool, replace: bool, columns_changed: bool, request_id: str) -> tables_v1.LoadStart:
    if append and replace:
        raise InvalidError.of("LOAD_INVALID", "mode", "append and replace", "one of them")
    mode = tables_v1.LOAD_MODE_APPEND if append else tables_v1.LOAD_MODE_CREATE
    mode = tables_v1.LOAD_MODE_REPLACE if replace else mode
    return tables_v1.LoadStart(
        table=table_reference(table), mode=mode, request_id=request_id, columns_changed=columns_changed
    )
