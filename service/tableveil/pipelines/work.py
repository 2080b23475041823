"""The requests of jobs: each kind checks a request of its own against the database, and runs it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from tableveil.backend import Session
from tableveil.errors import Fault, InvalidError
from tableveil.hierarchy import SafeHarborZip, TableLevels
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.assessed_release import resolve_assessed
from tableveil.pipelines.classification import run_classification
from tableveil.pipelines.frontier import run_frontier
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.payout_sweep import run_payout_sweep
from tableveil.pipelines.read import check_request
from tableveil.pipelines.released_rows import PolicyOf, current_release
from tableveil.pipelines.risk_analysis import run_risk_analysis
from tableveil.pipelines.risk_subject import resolve_subject
from tableveil.pipelines.utility_report import run_utility_report
from tableveil.policy import Policy, Population, ReleaseTarget, TableReference, early_warnings
from tableveil.release import check_existing, check_ledger
from tableveil.release.figures import check_figures
from tableveil.requests.classification import ClassificationRequest
from tableveil.requests.frontier import FrontierGrid
from tableveil.requests.payout_sweep import SweptGains
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.requests.utility import UtilityRequest
from tableveil.source import Source, resolve_source
from tableveil.state.jobs import JobKind


class Work(ABC):
    """One request. `kind` is the kind of result; `document` is the policy, or its replacement, as JSON."""

    kind: ClassVar[JobKind]
    document: str

    @property
    @abstractmethod
    def request_id(self) -> str:
        """The client's name for the request, or an empty text."""

    @property
    def options(self) -> str:
        """The request's options beside the document, as JSON, or an empty text: equal requests agree in both."""
        return ""

    @property
    def target(self) -> ReleaseTarget | None:
        """The place of objects that no other job may write at the same time."""
        return None

    @property
    def population(self) -> Population | None:
        """The population, whose table may be read beside the source's."""
        return None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the owner before the job has ended."""
        return ()

    @property
    def source_query(self) -> str:
        """The query whose rows are the source, or an empty text if the source is a table."""
        return ""

    @property
    def hierarchy_tables(self) -> tuple[TableReference, ...]:
        """The tables that hierarchies are read from."""
        return ()

    @property
    def release(self) -> int | None:
        """The release that is read; its objects have to stay until the job has ended."""
        return None

    @abstractmethod
    def admit(self, session: Session) -> TableReference:
        """The source's full name, after all checks that do not read its rows.

        Raises:
            InvalidError: the request does not fit the database.
            ConflictError: something exists at the target.
        """

    @abstractmethod
    def run(self, job: JobContext) -> int:
        """Does the work, inserts the job's outcome, and returns the number of the result.

        Raises:
            TableveilError: nothing was written.
        """


@dataclass(frozen=True, slots=True)
class _PolicyWork(Work):
    """The request of a policy."""

    policy: Policy

    @property
    def request_id(self) -> str:
        """The policy's request id."""
        return self.policy.request_id

    @property
    def population(self) -> Population | None:
        """The policy's population."""
        return self.policy.population

    @property
    def source_query(self) -> str:
        """The policy's query."""
        return self.policy.source_query

    @property
    def hierarchy_tables(self) -> tuple[TableReference, ...]:
        """The tables of the policy's hierarchies."""
        definitions = [attribute.hierarchy for attribute in self.policy.attributes]
        return tuple(
            TableReference(found.catalog, found.schema, found.table)
            for found in definitions
            if isinstance(found, (TableLevels, SafeHarborZip))
        )

    def admit(self, session: Session) -> TableReference:
        """The source, for any target; see `Work`."""
        source, _, faults = resolve_source(session, self.policy)
        return _fitting(source, faults).reference


@dataclass(frozen=True, slots=True)
class ReleaseWork(_PolicyWork):
    """The work for a release."""

    kind = JobKind.RELEASE

    document: str

    @property
    def target(self) -> ReleaseTarget | None:
        """The policy's target."""
        return self.policy.release

    @property
    def warnings(self) -> tuple[str, ...]:
        """The policy's warnings."""
        return tuple(early_warnings(self.policy))

    def admit(self, session: Session) -> TableReference:
        """The source, if the target is free and the ledger allows it; see `Work`."""
        source, policy, faults = check_request(session, self.policy)
        found = _fitting(source, faults)
        check_existing(session, policy)
        check_ledger(session, policy, found, None)
        return found.reference

    def run(self, job: JobContext) -> int:
        """The release's number."""
        return anonymize(job, self.policy)


@dataclass(frozen=True, slots=True)
class FrontierWork(_PolicyWork):
    """The work for a frontier."""

    kind = JobKind.FRONTIER

    grid: FrontierGrid
    document: str

    @property
    def options(self) -> str:
        """The grid."""
        limits = [f"{limit:f}" for limit in self.grid.suppression_limits]
        return json.dumps({"k": self.grid.ks, "suppression_limits": limits}, separators=(",", ":"))

    def run(self, job: JobContext) -> int:
        """The frontier's number."""
        return run_frontier(job, self.policy, self.grid)


@dataclass(frozen=True, slots=True)
class PayoutSweepWork(_PolicyWork):
    """The work for a payout sweep."""

    kind = JobKind.PAYOUT_SWEEP

    swept: SweptGains
    document: str

    @property
    def options(self) -> str:
        """The gains, and which adversaries to look at."""
        gains = [f"{gain:f}" for gain in self.swept.gains]
        return json.dumps({"gains": gains, "if_method_known": self.swept.if_method_known}, separators=(",", ":"))

    def run(self, job: JobContext) -> int:
        """The payout sweep's number."""
        return run_payout_sweep(job, self.policy, self.swept)


@dataclass(frozen=True, slots=True)
class RiskAnalysisWork(Work):
    """A risk analysis; the document is the request, `policy_of` reads the policy of its release if it has one."""

    kind = JobKind.RISK_ANALYSIS

    request: RiskRequest
    document: str
    policy_of: PolicyOf

    @property
    def request_id(self) -> str:
        """The id of the request."""
        return self.request.request_id

    @property
    def release(self) -> int | None:
        """The release in the request."""
        return self.request.release

    @property
    def population(self) -> Population | None:
        """The population in the request."""
        return self.request.population

    @property
    def source_query(self) -> str:
        """The query in the request."""
        return self.request.source_query

    def admit(self, session: Session) -> TableReference:
        """The table, or that of the release; see `Work`."""
        reference, _ = resolve_subject(session, self.request, self.policy_of)
        return reference

    def run(self, job: JobContext) -> int:
        """The risk analysis's number."""
        return run_risk_analysis(job, self.request, self.policy_of)


@dataclass(frozen=True, slots=True)
class UtilityReportWork(Work):
    """A utility report; the document is the request, `policy_of` reads the policy of its release."""

    kind = JobKind.UTILITY_REPORT

    request: UtilityRequest
    document: str
    policy_of: PolicyOf

    @property
    def request_id(self) -> str:
        """The id of the request."""
        return self.request.request_id

    @property
    def release(self) -> int | None:
        """The release in the request."""
        return self.request.release

    def admit(self, session: Session) -> TableReference:
        """The source of the release; see `Work`."""
        return current_release(session, self.request.release).source

    def run(self, job: JobContext) -> int:
        """The utility report's number."""
        return run_utility_report(job, self.request, self.policy_of)


@dataclass(frozen=True, slots=True)
class ClassificationWork(Work):
    """A classifier assessment; the document is the request, `policy_of` reads the policy of its release."""

    kind = JobKind.CLASSIFICATION

    request: ClassificationRequest
    document: str
    policy_of: PolicyOf

    @property
    def request_id(self) -> str:
        """The id of the request."""
        return self.request.request_id

    @property
    def release(self) -> int | None:
        """The release in the request."""
        return self.request.release

    def admit(self, session: Session) -> TableReference:
        """The source of the release; see `Work`."""
        release = resolve_assessed(session, self.request, self.policy_of).release
        if self.request.publish:
            check_figures(session, release)
        return release.source

    def run(self, job: JobContext) -> int:
        """The assessment's number."""
        return run_classification(job, self.request, self.policy_of)


def _fitting(source: Source | None, faults: list[Fault]) -> Source:
    if source is None or faults:
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the database", faults)
    return source
