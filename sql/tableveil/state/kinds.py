"""The kinds of jobs: what comes out of each, and where it is stored."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from tableveil.state.classifications import CLASSIFICATIONS
from tableveil.state.dry_runs import DRY_RUNS
from tableveil.state.frontiers import FRONTIERS
from tableveil.state.mapper import NumberedTable
from tableveil.state.payout_sweeps import PAYOUT_SWEEPS
from tableveil.state.proposals import PROPOSALS
from tableveil.state.releases import RELEASES
from tableveil.state.risk_analyses import RISK_ANALYSES
from tableveil.state.utility_reports import UTILITY_REPORTS

Result = TypeVar("Result")


class JobKind(StrEnum):
    """The result of a job that succeeds."""

    RELEASE = "RELEASE"
    FRONTIER = "FRONTIER"
    PAYOUT_SWEEP = "PAYOUT_SWEEP"
    RISK_ANALYSIS = "RISK_ANALYSIS"
    CLASSIFICATION = "CLASSIFICATION"
    UTILITY_REPORT = "UTILITY_REPORT"
    DRY_RUN = "DRY_RUN"
    PROPOSAL = "PROPOSAL"


@dataclass(frozen=True, slots=True)
class StoredKind(Generic[Result]):
    """`collection` and a number name a result, `noun` is its word in messages; `results` has all, with their parts."""

    collection: str
    noun: str
    results: NumberedTable[Result]

    @property
    def module(self) -> str:
        """The modules with the kind's part of a package have this name, such as `payout_sweeps`."""
        return re.sub(r"(?=[A-Z])", "_", self.collection).lower()


KINDS: Mapping[JobKind, StoredKind[Any]] = {
    JobKind.RELEASE: StoredKind("releases", "release", RELEASES),
    JobKind.FRONTIER: StoredKind("frontiers", "frontier", FRONTIERS),
    JobKind.PAYOUT_SWEEP: StoredKind("payoutSweeps", "payout sweep", PAYOUT_SWEEPS),
    JobKind.RISK_ANALYSIS: StoredKind("riskAnalyses", "risk analysis", RISK_ANALYSES),
    JobKind.CLASSIFICATION: StoredKind("classifications", "classifier assessment", CLASSIFICATIONS),
    JobKind.UTILITY_REPORT: StoredKind("utilityReports", "utility report", UTILITY_REPORTS),
    JobKind.DRY_RUN: StoredKind("dryRuns", "dry run", DRY_RUNS),
    JobKind.PROPOSAL: StoredKind("proposals", "proposal", PROPOSALS),
}
