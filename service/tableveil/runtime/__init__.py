"""How jobs run: submitted, queued, run by worker threads, watched, and remembered in the database."""

from tableveil.runtime.answered import AnsweredRequests
from tableveil.runtime.follow_up import Matches
from tableveil.runtime.loads import Loads
from tableveil.runtime.manager import JobManager, open_jobs
from tableveil.runtime.model import Failure, FailureKind, Job
from tableveil.runtime.publishing import Publishing
from tableveil.runtime.queue import JobSettings, QueueLimits
from tableveil.runtime.removals import Removals
from tableveil.runtime.upkeep import Retention, Upkeep
from tableveil.runtime.worksheets import Worksheets
