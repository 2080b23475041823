"""What the service reads back from the database: releases, results of jobs, hierarchies, tables."""

from tableveil.lookups.hierarchies import Hierarchies
from tableveil.lookups.releases import Releases
from tableveil.lookups.results import Classifications, Frontiers, PayoutSweeps, RiskAnalyses, UtilityReports
from tableveil.lookups.tables import Tables

__all__ = [
    "Classifications",
    "Frontiers",
    "Hierarchies",
    "PayoutSweeps",
    "Releases",
    "RiskAnalyses",
    "Tables",
    "UtilityReports",
]
