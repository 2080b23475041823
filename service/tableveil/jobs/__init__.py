"""Jobs: queued, run by worker threads, watched, and remembered in the database."""

from tableveil.jobs.classifications import Classifications
from tableveil.jobs.drafts import Drafts
from tableveil.jobs.hierarchies import Hierarchies
from tableveil.jobs.loads import Loads
from tableveil.jobs.manager import JobManager
from tableveil.jobs.model import Failure, FailureKind, Job, JobProgress
from tableveil.jobs.releases import Releases
from tableveil.jobs.results import Frontiers, PayoutSweeps, UtilityReports
from tableveil.jobs.retention import Retention
from tableveil.jobs.risk_analyses import RiskAnalyses
from tableveil.jobs.tables import Tables
from tableveil.jobs.upkeep import Upkeep

__all__ = [
    "Classifications",
    "Drafts",
    "Failure",
    "FailureKind",
    "Frontiers",
    "Hierarchies",
    "Job",
    "JobManager",
    "JobProgress",
    "Loads",
    "PayoutSweeps",
    "Releases",
    "Retention",
    "RiskAnalyses",
    "Tables",
    "Upkeep",
    "UtilityReports",
]
