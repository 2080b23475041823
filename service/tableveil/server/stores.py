"""All that the servicers look up or start, but for jobs."""

from __future__ import annotations

from dataclasses import dataclass

from tableveil.lookups import (
    Classifications,
    Frontiers,
    Hierarchies,
    PayoutSweeps,
    Releases,
    RiskAnalyses,
    Tables,
    UtilityReports,
)
from tableveil.pipelines.draft import Drafts
from tableveil.runtime import Loads, Upkeep


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything but jobs that a call can reach."""

    releases: Releases
    hierarchies: Hierarchies
    frontiers: Frontiers
    payout_sweeps: PayoutSweeps
    risk_analyses: RiskAnalyses
    classifications: Classifications
    utility_reports: UtilityReports
    upkeep: Upkeep
    tables: Tables
    loads: Loads
    drafts: Drafts
