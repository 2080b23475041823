"""Runs a job as the server would, in a new database, and measures it."""

import tempfile
from pathlib import Path
from unittest.mock import patch

from benchmarks.everyday.jobs import TABLE, EverydayJob
from benchmarks.everyday.meter import Measured, Meter
from benchmarks.service import LocalService
from tableveil.convert import canonical_json
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.dry_run import dry_run_work
from tableveil.runtime.follow_up import Checksums, FollowUp, Matches
from tests.service.convert.policy_to_proto import policy_to_proto

MEMORY, THREADS = "2GiB", 2


class JobFailedError(Exception):
    """A job made nothing."""


def run(job: EverydayJob) -> Measured:
    """The measured job, which is the first of its database."""
    rows, policy = job.made()
    meter, work_of = Meter(), dry_run_work if job.dry_run else release_work
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "everyday.duckdb")
        # The work after releases is done here: its own threads would do it at any time.
        with patch.object(FollowUp, "_work", lambda follow_up: None), LocalService(path, MEMORY, THREADS) as service:
            service.load(TABLE, rows)
            with meter.job() as measured:
                document = canonical_json(policy_to_proto(policy))
                number = service.submit(work_of(policy, document))
                meter.submitted()
                ended = service.ended(number)
                meter.ended()
                Checksums(service.database).follow()
                Matches(service.database, lambda entry: None).follow()
                meter.finished()
    if ended.failure is not None:
        raise JobFailedError(f"{job.name}: {ended.failure}")
    return measured
