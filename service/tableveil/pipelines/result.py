"""The end of a job: its result is stored, and names the job's outcome."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tableveil.errors import Warned, by_rank
from tableveil.pipelines.job import JobContext
from tableveil.state import jobs
from tableveil.state.jobs import JobPhase, JobState, Outcome
from tableveil.state.mapper import NumberedTable

Result = TypeVar("Result")


def store_result(
    job: JobContext, results: NumberedTable[Any], make: Callable[[int], Result], warnings: Iterable[Warned] = ()
) -> int:
    """Stores the result that `make` makes for its number, in one transaction, and returns the number.

    Raises:
        TableveilError: nothing was stored.
    """
    job.report.phase(JobPhase.WRITING)
    ledger = job.session.ledger
    with job.session.transaction():
        number = results.next_number(ledger)
        results.insert(ledger, [make(number)])
        # The manager looks for the outcome: a commit that reports success may have written nothing.
        outcome = Outcome(JobState.SUCCEEDED, jobs.now(), number, warnings=by_rank(warnings))
        jobs.insert_outcome(ledger, job.number, outcome)
    return number
