"""The kinds of jobs: what comes out of each, and where it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tableveil.state.classifications import CLASSIFICATIONS
from tableveil.state.frontiers import FRONTIERS
from tableveil.state.jobs import JobKind
from tableveil.state.mapper import NumberedTable
from tableveil.state.payout_sweeps import PAYOUT_SWEEPS
from tableveil.state.releases import RELEASES
from tableveil.state.risk_analyses import RISK_ANALYSES
from tableveil.state.utility_reports import UTILITY_REPORTS


@dataclass(frozen=True, slots=True)
class StoredKind:
    """`noun` is the name of a result in messages; `results` are the results with their parts."""

    noun: str
    results: NumberedTable[Any]


KINDS: Mapping[JobKind, StoredKind] = {
    JobKind.RELEASE: StoredKind("release", RELEASES),
    JobKind.FRONTIER: StoredKind("frontier", FRONTIERS),
    JobKind.PAYOUT_SWEEP: StoredKind("payout sweep", PAYOUT_SWEEPS),
    JobKind.RISK_ANALYSIS: StoredKind("risk analysis", RISK_ANALYSES),
    JobKind.CLASSIFICATION: StoredKind("classifier assessment", CLASSIFICATIONS),
    JobKind.UTILITY_REPORT: StoredKind("utility report", UTILITY_REPORTS),
}
