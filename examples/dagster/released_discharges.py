"""Two Dagster assets: a load, and the release of its rows, followed in the run's log, its figures kept as metadata."""

# Dagster reads the types of an asset's parameters as they are: they must not be postponed.
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from tableveil.client import Client
from tableveil.client.failures import error_from
from tableveil.document import load_policy
from tableveil.errors import TableveilError
from tableveil.v1 import job_service_pb2, policy_pb2, release_service_pb2, table_service_pb2

POLICY = Path(__file__).with_name("policy.yaml")


class Tableveil(dg.ConfigurableResource):  # type: ignore[misc]  # Dagster's base class is not typed for subclasses
    """The address of the server, the files with the token and the rows, and how long to wait for passing failures.

    Without a file the client finds the token as the command line does, in TABLEVEIL_TOKEN or TABLEVEIL_TOKEN_FILE.
    """

    address: str = "127.0.0.1:50651"
    token_file: str | None = None
    extract: str = "discharges.parquet"
    seconds_between_attempts: float = 60.0

    def load(self, context: dg.AssetExecutionContext, table: str) -> table_service_pb2.Load:
        """The load of the extract in place of a table's rows. A retried step loads nothing twice."""
        with self._client() as client:
            return client.load_file(self.extract, table, replace=True, request_id=request_id(context)).load

    def release(self, context: dg.AssetExecutionContext, policy: policy_pb2.Policy) -> release_service_pb2.Release:
        """The release of a policy. A retried step gets the job of its first attempt, if that goes on."""
        with self._client() as client:
            return client.get_release(self._followed(context, client, policy).result)

    @contextmanager
    def _client(self) -> Iterator[Client]:
        """A client.

        Raises:
            dagster.RetryRequested: the obstacle may pass by itself. dagster.Failure: the policy, or the table, has to
            be changed.
        """
        try:
            with Client(self.address, token_file=Path(self.token_file) if self.token_file else None) as client:
                yield client
        except TableveilError as error:
            if error.retryable:
                raise dg.RetryRequested(3, self.seconds_between_attempts) from error
            raise dg.Failure(description=str(error), allow_retries=False) from error

    def _followed(
        self, context: dg.AssetExecutionContext, client: Client, policy: policy_pb2.Policy
    ) -> job_service_pb2.Job:
        """The job, once it has succeeded; a run that is terminated takes its job with it."""
        # A repaired extract is another load, whose release is another request.
        name = client.submit(policy, POLICY.parent, f"{request_id(context)} {policy.source.load}").name
        try:
            for job in client.watch_job(name):
                context.log.info(progress(job))
        except dg.DagsterExecutionInterruptedError:
            client.cancel_job(name)
            raise
        if job.state != job_service_pb2.JOB_STATE_SUCCEEDED:
            raise error_from(job.failure)
        # The targets of the policy, if it names some, are to have the release as well.
        client.wait_until_published(job.result)
        return job


def request_id(context: dg.AssetExecutionContext) -> str:
    """The name of a step's request: the same when the step is tried again."""
    return f"dagster {context.run.run_id} {context.asset_key.to_user_string()}"


def progress(job: job_service_pb2.Job) -> str:
    """The log line about a job: its phase and the progress of its search, without values of the table."""
    state = job_service_pb2.JobState.Name(job.state).removeprefix("JOB_STATE_").lower()
    phase = job_service_pb2.JobPhase.Name(job.phase).removeprefix("JOB_PHASE_").lower()
    said = f"{job.name} {state}" + (f", {phase}" if job.state == job_service_pb2.JOB_STATE_RUNNING else "")
    if job.HasField("progress"):
        said += f": {job.progress.transformations_checked} of {job.progress.lattice_size} transformations checked"
    return said


def figures(release: release_service_pb2.Release) -> Mapping[str, dg.MetadataValue]:
    """The figures of a release that Dagster keeps and draws over time."""
    return {
        "release": dg.MetadataValue.text(release.name),
        "dagster/row_count": dg.MetadataValue.int(release.records - release.suppressed_records),
        "suppressed_records": dg.MetadataValue.int(release.suppressed_records),
        "classes": dg.MetadataValue.int(release.classes),
        "score": dg.MetadataValue.float(release.score),
        "optimal": dg.MetadataValue.bool(release.proof.optimal),
        "highest_risk": dg.MetadataValue.float(release.risk_after.highest),
        "average_risk": dg.MetadataValue.float(release.risk_after.average),
        "levels": dg.MetadataValue.json({found.column: found.level for found in release.attributes}),
        "source_fingerprint": dg.MetadataValue.text(release.source_fingerprint),
    }


@dg.asset(kinds={"duckdb"})
def discharges(context: dg.AssetExecutionContext, tableveil: Tableveil) -> dg.Output[str]:
    """The discharges as the clinic has them; the value is the name of the load."""
    load = tableveil.load(context, "discharges")
    return dg.Output(load.name, metadata={"load": load.name, "dagster/row_count": load.rows})


@dg.asset(kinds={"duckdb"})
def discharges_released(
    context: dg.AssetExecutionContext, tableveil: Tableveil, discharges: str
) -> dg.MaterializeResult[None]:
    """The discharges of that load as analysts may see them."""
    policy, faults = load_policy(POLICY)
    if faults:
        raise dg.Failure(description="\n".join(map(str, faults)), allow_retries=False)
    policy.source.load = discharges
    # Nobody is there to decide.
    policy.release.guards.hold_undecided = True
    return dg.MaterializeResult(metadata=figures(tableveil.release(context, policy)))


defs = dg.Definitions(assets=[discharges, discharges_released], resources={"tableveil": Tableveil()})
