"""The client: one method per verb of the service."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import grpc

from tableveil.client.failures import UnreachableError, error_from, error_of_call, failure_in, faults_from
from tableveil.client.formats import ExportFormat
from tableveil.client.names import (
    CLASSIFICATIONS,
    FRONTIERS,
    JOBS,
    PAYOUT_SWEEPS,
    RELEASES,
    RISK_ANALYSES,
    UTILITY_REPORTS,
    resource_name,
)
from tableveil.client.uploads import preview_requests, upload_requests
from tableveil.client.watching import watch
from tableveil.errors import Fault, InvalidError, TableveilError
from tableveil.v1 import (
    admin_service_pb2,
    classification_service_pb2,
    draft_service_pb2,
    frontier_service_pb2,
    hierarchy_service_pb2,
    job_service_pb2,
    payout_service_pb2,
    policy_pb2,
    release_service_pb2,
    risk_service_pb2,
    table_service_pb2,
    utility_service_pb2,
)
from tableveil.v1.admin_service_pb2_grpc import AdminServiceStub
from tableveil.v1.classification_service_pb2_grpc import ClassificationServiceStub
from tableveil.v1.draft_service_pb2_grpc import DraftServiceStub
from tableveil.v1.frontier_service_pb2_grpc import FrontierServiceStub
from tableveil.v1.hierarchy_service_pb2_grpc import HierarchyServiceStub
from tableveil.v1.job_service_pb2_grpc import JobServiceStub
from tableveil.v1.payout_service_pb2_grpc import PayoutServiceStub
from tableveil.v1.release_service_pb2_grpc import ReleaseServiceStub
from tableveil.v1.risk_service_pb2_grpc import RiskServiceStub
from tableveil.v1.table_service_pb2_grpc import TableServiceStub
from tableveil.v1.utility_service_pb2_grpc import UtilityServiceStub

if TYPE_CHECKING:
    import pyarrow as pa

    from tableveil.client.csv_hierarchies import CsvLevels

DEFAULT_ADDRESS = "127.0.0.1:50651"

# Checking a policy may read a large table; any other answer takes milliseconds.
SECONDS_TO_ANSWER = 300.0

_CHANNEL_OPTIONS = (
    # A proxy meant for the web has no business with somebody's tables.
    ("grpc.enable_http_proxy", 0),
    # What the server sends was asked for; it bounds what it accepts itself.
    ("grpc.max_receive_message_length", -1),
    # A server that was restarted is found again within a second.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Tells a quiet stream from a machine that is gone; servers take more than one ping in five minutes for abuse.
    ("grpc.keepalive_time_ms", 310_000),
)

Request = TypeVar("Request")
Response = TypeVar("Response")


class _PageRequest(Protocol):
    page_token: str


class _Page(Protocol):
    next_page_token: str


PageRequest = TypeVar("PageRequest", bound=_PageRequest)
Page = TypeVar("Page", bound=_Page)


class Client:
    """A connection to a Tableveil server; use it as a context manager, or close it.

    Jobs and releases are named as the service names them (`jobs/3`), or by number (`3`). Every method raises the
    errors of `tableveil.errors`, or `UnreachableError`. May be used from several threads.
    """

    # Arrow, DuckDB and the checks of policies take longer to load than most verbs take altogether: those methods that
    # need them import them.

    def __init__(self, address: str = DEFAULT_ADDRESS) -> None:
        self._address = address
        self._closed = threading.Event()
        self._channel = grpc.insecure_channel(address, options=_CHANNEL_OPTIONS)
        self._admin = AdminServiceStub(self._channel)
        self._jobs = JobServiceStub(self._channel)
        self._releases = ReleaseServiceStub(self._channel)
        self._hierarchies = HierarchyServiceStub(self._channel)
        self._frontiers = FrontierServiceStub(self._channel)
        self._payouts = PayoutServiceStub(self._channel)
        self._drafts = DraftServiceStub(self._channel)
        self._risks = RiskServiceStub(self._channel)
        self._utility = UtilityServiceStub(self._channel)
        self._tables = TableServiceStub(self._channel)
        self._classifications = ClassificationServiceStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection and every call that is under way, whatever thread waits for it."""
        self._closed.set()
        self._channel.close()

    def wait_until_ready(self, seconds: float) -> None:
        """Returns as soon as the server accepts calls.

        Raises:
            UnreachableError: It did not within that time.
        """
        try:
            grpc.channel_ready_future(self._channel).result(timeout=seconds)
        except grpc.FutureTimeoutError:
            message = f"no server at {self._address} within {seconds:g} seconds"
            raise UnreachableError("UNREACHABLE", message) from None

    def check_health(self, ready: bool = False) -> None:
        """Returns if the server lives, with `ready` if it takes calls; raises `UnreachableError` if not."""
        from tableveil.client.health import check_health

        check_health(self._channel, self._address, ready)

    def check_policy(self, policy: policy_pb2.Policy, base_directory: Path = Path()) -> list[Fault]:
        """Everything wrong with the policy, as far as client and server can tell; empty if a job can start.

        Args:
            policy: The policy; its CSV hierarchies are stored on the server if there is nothing wrong with them.
            base_directory: Where the paths of CSV hierarchies start.
        """
        from tableveil.client.checking import check_on_client, judged_without_csv, without_csv

        levels, faults = check_on_client(policy, base_directory)
        if not faults:
            return self._check(self._store(policy, levels))
        try:
            others = judged_without_csv(policy, self._check(without_csv(policy)))
        except TableveilError:
            # The server is away or busy; what is known already has to be put right anyway.
            others = []
        return faults + [fault for fault in others if fault not in faults]

    def prepare(self, policy: policy_pb2.Policy, base_directory: Path = Path()) -> policy_pb2.Policy:
        """Stores the policy's CSV hierarchies on the server and returns a copy that refers to what was stored.

        Raises:
            InvalidError: A file cannot be read or is no hierarchy; nothing was stored.
        """
        from tableveil.client.csv_hierarchies import read_csv_hierarchies

        levels, faults = read_csv_hierarchies(policy, base_directory)
        if faults:
            raise _invalid(faults)
        return self._store(policy, levels)

    def submit(self, policy: policy_pb2.Policy, base_directory: Path = Path()) -> job_service_pb2.Job:
        """Checks the policy, stores its CSV hierarchies, and queues a job for it.

        Raises:
            InvalidError: With everything that is wrong with the policy.
        """
        from tableveil.client.checking import check_on_client

        levels, faults = check_on_client(policy, base_directory)
        if faults:
            raise _invalid(self.check_policy(policy, base_directory))
        prepared = self._store(policy, levels)
        try:
            return self._jobs.SubmitJob(
                job_service_pb2.SubmitJobRequest(policy=prepared), timeout=SECONDS_TO_ANSWER
            ).job
        except grpc.RpcError as error:
            failure = failure_in(error)
            if failure is None or not failure.omitted_faults:
                raise self._error_of(error) from None
        # Not all faults fit into the metadata of a status.
        raise error_from(failure, self._check(prepared))

    def get_job(self, job: str) -> job_service_pb2.Job:
        """The job as it is now."""
        request = job_service_pb2.GetJobRequest(name=resource_name(JOBS, job))
        return self._ask(self._jobs.GetJob, request).job

    def list_jobs(self) -> Iterator[job_service_pb2.Job]:
        """All jobs, newest first, fetched as they are read."""
        for page in self._pages(self._jobs.ListJobs, job_service_pb2.ListJobsRequest()):
            yield from page.jobs

    def cancel_job(self, job: str) -> job_service_pb2.Job:
        """Asks the job to stop; a job whose release is being committed completes."""
        request = job_service_pb2.CancelJobRequest(name=resource_name(JOBS, job))
        return self._ask(self._jobs.CancelJob, request).job

    def resubmit_job(self, job: str) -> job_service_pb2.Job:
        """Queues a new job for what one that has ended was asked for; its request id names the new one from now on."""
        request = job_service_pb2.ResubmitJobRequest(name=resource_name(JOBS, job))
        return self._ask(self._jobs.ResubmitJob, request).job

    def delete_job(self, job: str) -> None:
        """Deletes a job that has ended, with what came out of it; a job that made a release stays."""
        self._ask(self._jobs.DeleteJob, job_service_pb2.DeleteJobRequest(name=resource_name(JOBS, job)))

    def watch_job(self, job: str) -> Iterator[job_service_pb2.Job]:
        """The job as it is now, then each change, the last one ended. Survives a stream that breaks."""
        name = resource_name(JOBS, job)
        return watch(
            lambda: self._jobs.WatchJob(job_service_pb2.WatchJobRequest(name=name)),
            lambda: self._jobs.GetJob(job_service_pb2.GetJobRequest(name=name), timeout=SECONDS_TO_ANSWER).job,
            self._error_of,
            self._closed.wait,
        )

    def wait(self, job: str) -> job_service_pb2.Job:
        """The job once it has ended, be it well or not: see its state and failure."""
        [last] = deque(self.watch_job(job), maxlen=1)
        return last

    def get_release(self, release: str) -> release_service_pb2.Release:
        """The release and its evidence."""
        request = release_service_pb2.GetReleaseRequest(name=resource_name(RELEASES, release))
        return self._ask(self._releases.GetRelease, request).release

    def list_releases(self) -> Iterator[release_service_pb2.Release]:
        """All releases, newest first, fetched as they are read."""
        for page in self._pages(self._releases.ListReleases, release_service_pb2.ListReleasesRequest()):
            yield from page.releases

    def withdraw_release(self, release: str, reason: str) -> release_service_pb2.Release:
        """Drops the public objects of a current release; its evidence stays, with the reason."""
        name = resource_name(RELEASES, release)
        request = release_service_pb2.WithdrawReleaseRequest(name=name, reason=reason)
        return self._ask(self._releases.WithdrawRelease, request).release

    def read(self, release: str, name: str) -> pa.RecordBatchReader:
        """A public object of the release as a stream of batches, in constant memory; close it to stop early."""
        from tableveil.client.objects import ObjectReader

        request = release_service_pb2.ReadObjectRequest(release=resource_name(RELEASES, release), object=name)
        return ObjectReader(self._releases.ReadObject(request), self._error_of)

    def read_table(self, release: str, name: str) -> pa.Table:
        """A public object of the release, all of it."""
        with self.read(release, name) as reader:
            return reader.read_all()

    def export(
        self,
        release: str,
        path: Path,
        export_format: ExportFormat = ExportFormat.PARQUET,
        overwrite: bool = False,
    ) -> list[Path]:
        """Writes all public objects of the release to files: a directory of Parquet, or a fresh DuckDB database.

        There is nothing at `path` until everything is.

        Returns:
            The Parquet files in the order of the release's objects, or the database.

        Raises:
            ConflictError: There is something at `path`, and `overwrite` is false or it is no such export.
        """
        from tableveil.client.export import export_objects

        names = [item.name for item in self.get_release(release).objects]
        return export_objects(names, lambda name: self.read(release, name), path, export_format, overwrite)

    def submit_frontier(
        self,
        policy: policy_pb2.Policy,
        ks: Iterable[int] = (),
        suppression_limits: Iterable[str] = (),
        base_directory: Path = Path(),
    ) -> job_service_pb2.Job:
        """Queues a job that finds the optimum for every k with every suppression limit; wait for it as for any other.

        Args:
            policy: The policy; its target may be missing, and its CSV hierarchies are stored first.
            ks: What takes the place of its k; none means its own.
            suppression_limits: Exact decimals such as `0.05`; none means the policy's own.
            base_directory: Where the paths of CSV hierarchies start.

        Raises:
            InvalidError: With everything that is wrong with the policy and what is asked for.
        """
        request = frontier_service_pb2.SubmitFrontierRequest(
            policy=self.prepare(policy, base_directory), k=ks, suppression_limits=suppression_limits
        )
        return self._ask(self._frontiers.SubmitFrontier, request).job

    def get_frontier(self, frontier: str) -> frontier_service_pb2.Frontier:
        """The frontier, all of its points."""
        request = frontier_service_pb2.GetFrontierRequest(name=resource_name(FRONTIERS, frontier))
        return self._ask(self._frontiers.GetFrontier, request).frontier

    def submit_payout_sweep(
        self,
        policy: policy_pb2.Policy,
        gains: Iterable[str] = (),
        if_method_known: bool = False,
        base_directory: Path = Path(),
    ) -> job_service_pb2.Job:
        """Queues a job that finds what the best releases of each method pay; wait for it as for any other.

        Args:
            policy: The policy, of which the game's benefit and cost matter; its CSV hierarchies are stored first.
            gains: Exact decimals such as `300`: what a successful attack gains the adversary, and costs the publisher;
                none means 0 to 2000 by 100.
            if_method_known: Whether to find, too, what record-level releases pay if the adversary knows the method.
            base_directory: Where the paths of CSV hierarchies start.

        Raises:
            InvalidError: With everything that is wrong with the policy and what is asked for.
        """
        request = payout_service_pb2.SubmitPayoutSweepRequest(
            policy=self.prepare(policy, base_directory), gains=gains, if_method_known=if_method_known
        )
        return self._ask(self._payouts.SubmitPayoutSweep, request).job

    def get_payout_sweep(self, payout_sweep: str) -> payout_service_pb2.PayoutSweep:
        """The payout sweep, all of its points."""
        request = payout_service_pb2.GetPayoutSweepRequest(name=resource_name(PAYOUT_SWEEPS, payout_sweep))
        return self._ask(self._payouts.GetPayoutSweep, request).payout_sweep

    def submit_risk_analysis(self, risk: risk_service_pb2.RiskRequest) -> job_service_pb2.Job:
        """Queues a job that measures the risks of a table or of a release; wait for it as for any other.

        Raises:
            InvalidError: With everything that is wrong with what is asked for.
        """
        request = risk_service_pb2.SubmitRiskAnalysisRequest(risk=risk)
        return self._ask(self._risks.SubmitRiskAnalysis, request).job

    def get_risk_analysis(self, risk_analysis: str) -> risk_service_pb2.RiskAnalysis:
        """The risk analysis: the owner's, not for publication."""
        request = risk_service_pb2.GetRiskAnalysisRequest(name=resource_name(RISK_ANALYSES, risk_analysis))
        return self._ask(self._risks.GetRiskAnalysis, request).risk_analysis

    def draft_policy(self, table: policy_pb2.TableReference) -> draft_service_pb2.DraftPolicyResponse:
        """A policy for a table as far as it can be guessed, with a remark on each guess; nothing is stored."""
        return self._ask(self._drafts.DraftPolicy, draft_service_pb2.DraftPolicyRequest(table=table))

    def read_record_risks(self, risk_analysis: str) -> pa.RecordBatchReader:
        """The risks of each combination of values, with the values, as a stream of batches; close it to stop early."""
        from tableveil.client.objects import ObjectReader

        request = risk_service_pb2.ReadRecordRisksRequest(name=resource_name(RISK_ANALYSES, risk_analysis))
        return ObjectReader(self._risks.ReadRecordRisks(request), self._error_of)

    def assess_classifiers(
        self, classification: classification_service_pb2.ClassificationRequest
    ) -> job_service_pb2.Job:
        """Queues a job that trains classifiers on a release and its source; wait for it as for any other.

        Raises:
            InvalidError: With everything that is wrong with what is asked for.
        """
        request = classification_service_pb2.AssessClassifiersRequest(classification=classification)
        return self._ask(self._classifications.AssessClassifiers, request).job

    def get_classification(self, classification: str) -> classification_service_pb2.ClassificationReport:
        """The classifier assessment: the owner's, not for publication."""
        name = resource_name(CLASSIFICATIONS, classification)
        request = classification_service_pb2.GetClassificationRequest(name=name)
        return self._ask(self._classifications.GetClassification, request).classification

    def list_classifications(self) -> Iterator[classification_service_pb2.ClassificationReport]:
        """All classifier assessments, newest first and without their ROC curves, fetched as they are read."""
        request = classification_service_pb2.ListClassificationsRequest()
        for page in self._pages(self._classifications.ListClassifications, request):
            yield from page.classifications

    def submit_utility_report(self, release: str) -> job_service_pb2.Job:
        """Queues a job that compares a release with its source; wait for it as for any other."""
        asked = utility_service_pb2.UtilityRequest(release=resource_name(RELEASES, release))
        request = utility_service_pb2.SubmitUtilityReportRequest(utility=asked)
        return self._ask(self._utility.SubmitUtilityReport, request).job

    def get_utility_report(self, utility_report: str) -> utility_service_pb2.UtilityReport:
        """The utility report: the owner's, not for publication."""
        request = utility_service_pb2.GetUtilityReportRequest(name=resource_name(UTILITY_REPORTS, utility_report))
        return self._ask(self._utility.GetUtilityReport, request).utility_report

    def create_hierarchy(
        self, name: str, rows: Iterable[Sequence[str]], origin: str = ""
    ) -> hierarchy_service_pb2.StoredHierarchyInfo:
        """Stores rows of a value and its labels as the next version of the hierarchy; the same rows again do not.

        `origin` says where they come from, such as the name of a file.
        """
        try:
            return self._hierarchies.CreateHierarchy(upload_requests(name, list(rows), origin)).hierarchy
        except grpc.RpcError as error:
            raise self._error_of(error) from None

    def preview_hierarchy(
        self, asked: hierarchy_service_pb2.PreviewHierarchyRequest, base_directory: Path = Path()
    ) -> hierarchy_service_pb2.PreviewHierarchyResponse:
        """The levels of any hierarchy, and what of a column it covers; a CSV file is read and sent, nothing is stored.

        Raises:
            InvalidError: With everything that is wrong with the hierarchy, or with using it on the column.
        """
        from tableveil.client.csv_hierarchies import asked_with_rows

        request, rows = asked_with_rows(asked, base_directory)
        try:
            return self._hierarchies.PreviewHierarchy(preview_requests(request, rows), timeout=SECONDS_TO_ANSWER)
        except grpc.RpcError as error:
            raise self._error_of(error) from None

    def compare_hierarchies(
        self, earlier: policy_pb2.StoredHierarchy, later: policy_pb2.StoredHierarchy, examples: int = 0
    ) -> hierarchy_service_pb2.CompareHierarchiesResponse:
        """What differs between two stored versions, with so many examples of each kind of difference."""
        request = hierarchy_service_pb2.CompareHierarchiesRequest(earlier=earlier, later=later, examples=examples)
        return self._ask(self._hierarchies.CompareHierarchies, request)

    def read_hierarchy(self, stored: policy_pb2.StoredHierarchy) -> Iterator[list[str]]:
        """The rows of a stored version, fetched as they are read."""
        request = hierarchy_service_pb2.ReadHierarchyRequest(hierarchy=stored)
        try:
            for piece in self._hierarchies.ReadHierarchy(request):
                yield from (list(row.labels) for row in piece.rows)
        except grpc.RpcError as error:
            raise self._error_of(error) from None

    def list_hierarchies(self) -> Iterator[hierarchy_service_pb2.StoredHierarchyInfo]:
        """All stored hierarchies by name, the newest version first, fetched as they are read."""
        request = hierarchy_service_pb2.ListHierarchiesRequest()
        for page in self._pages(self._hierarchies.ListHierarchies, request):
            yield from page.hierarchies

    def get_server_status(self) -> admin_service_pb2.GetServerStatusResponse:
        """How the server, its database and what is beside it are."""
        return self._ask(self._admin.GetServerStatus, admin_service_pb2.GetServerStatusRequest())

    def back_up(self, name: str) -> admin_service_pb2.Backup:
        """Writes a backup into the server's directory for backups; takes as long as copying the database does."""
        request = admin_service_pb2.BackupDatabaseRequest(name=name)
        try:
            return self._admin.BackupDatabase(request).backup
        except grpc.RpcError as error:
            raise self._error_of(error) from None

    def list_tables(self) -> Iterator[table_service_pb2.TableInfo]:
        """All tables and views by schema and name, fetched as they are read."""
        for page in self._pages(self._tables.ListTables, table_service_pb2.ListTablesRequest()):
            yield from page.tables

    def describe_table(self, table: policy_pb2.TableReference, values: int = 0) -> table_service_pb2.TableDescription:
        """What the table holds, with up to `values` of the most frequent values of each column."""
        request = table_service_pb2.DescribeTableRequest(table=table, values=values)
        return self._ask(self._tables.DescribeTable, request).description

    def list_loads(self) -> Iterator[table_service_pb2.Load]:
        """All loads, newest first, fetched as they are read."""
        for page in self._pages(self._tables.ListLoads, table_service_pb2.ListLoadsRequest()):
            yield from page.loads

    def load(
        self, start: table_service_pb2.LoadStart, rows: pa.RecordBatchReader | None = None
    ) -> table_service_pb2.LoadTableResponse:
        """Loads all rows or none: those of `start.file`, which is on the server, or else `rows`."""
        if rows is None:
            return self._load([table_service_pb2.LoadTableRequest(start=start)])
        from tableveil.client.loads import LoadRequests

        return self._load(LoadRequests(start, rows))

    def load_file(
        self,
        start: table_service_pb2.LoadStart,
        file: table_service_pb2.ServerFile,
        progress: Callable[[int], None] | None = None,
    ) -> table_service_pb2.LoadTableResponse:
        """Loads a file of this machine, all of it or nothing; `progress` is told how many rows were sent.

        Raises:
            InvalidError: The file cannot be read, or its rows do not fit the table.
        """
        from tableveil.client.loads import file_requests

        with file_requests(start, file, progress) as requests:
            return self._load(requests)

    def _load(self, requests: Iterable[table_service_pb2.LoadTableRequest]) -> table_service_pb2.LoadTableResponse:
        try:
            return self._tables.LoadTable(iter(requests))
        except grpc.RpcError as error:
            failure = getattr(requests, "failure", None)
            # What ended the messages says more than that they ended.
            raise failure or self._error_of(error) from None

    def _check(self, policy: policy_pb2.Policy) -> list[Fault]:
        request = job_service_pb2.CheckPolicyRequest(policy=policy)
        return faults_from(self._ask(self._jobs.CheckPolicy, request).faults)

    def _store(self, policy: policy_pb2.Policy, levels: Iterable[CsvLevels]) -> policy_pb2.Policy:
        from tableveil.client.csv_hierarchies import with_hierarchies

        stored = {}
        for file in levels:
            info = self.create_hierarchy(file.name, file.rows, file.file)
            reference = policy_pb2.StoredHierarchy(name=info.name, version=info.version)
            stored[file.attribute] = policy_pb2.Hierarchy(stored=reference)
        return with_hierarchies(policy, stored)

    def _ask(self, method: grpc.UnaryUnaryMultiCallable[Request, Response], request: Request) -> Response:
        try:
            return method(request, timeout=SECONDS_TO_ANSWER)
        except grpc.RpcError as error:
            raise self._error_of(error) from None

    def _pages(self, method: grpc.UnaryUnaryMultiCallable[PageRequest, Page], request: PageRequest) -> Iterator[Page]:
        while True:
            page = self._ask(method, request)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def _error_of(self, error: grpc.RpcError) -> TableveilError:
        return error_of_call(error, self._address)


def _invalid(faults: Sequence[Fault]) -> InvalidError:
    return InvalidError.about("POLICY_INVALID", "the policy is invalid", faults)
