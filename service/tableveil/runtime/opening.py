"""The opening of jobs: the state is brought up to date, what an earlier process left is settled, and workers start."""

from tableveil.backend import Database
from tableveil.lifecycle import recover
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.runtime.manager import JobManager
from tableveil.runtime.model import Observer
from tableveil.runtime.outcomes import interrupted
from tableveil.runtime.publishing import Publishing
from tableveil.runtime.queue import DEFAULT_SETTINGS, JobSettings
from tableveil.state import jobs
from tableveil.state.lineage import notice_older_ledger
from tableveil.state.migrate import migrate


def open_jobs(
    database: Database,
    settings: JobSettings = DEFAULT_SETTINGS,
    *,
    observer: Observer | None = None,
    publishing: Publishing | None = None,
    policy_of: PolicyOf | None = None,
) -> JobManager:
    """Settles what an earlier process left, and takes jobs; see `JobManager`."""
    settle(database)
    return JobManager(database, settings, observer, publishing, policy_of)


def settle(database: Database) -> None:
    """Migrates the state, completes or drops what is half-published, and ends the jobs of an earlier process.

    Raises:
        ConflictError: the state is of a newer version.
    """
    with database.ledger() as ledger:
        migrate(ledger)
        notice_older_ledger(database.path, ledger)
        for warehouse in database.warehouses:
            recover(database, warehouse)
        for number in jobs.unfinished(ledger):
            jobs.insert_outcome(ledger, number, interrupted())
