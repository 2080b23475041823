"""Analyses of tables, policies and releases that make no release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tableveil.client.names import (
    CLASSIFICATIONS,
    FRONTIERS,
    PAYOUT_SWEEPS,
    RELEASES,
    RISK_ANALYSES,
    UTILITY_REPORTS,
    resource_name,
)
from tableveil.client.verbs.hierarchies import HierarchyVerbs
from tableveil.v1 import (
    classification_service_pb2,
    draft_service_pb2,
    frontier_service_pb2,
    job_service_pb2,
    payout_service_pb2,
    policy_pb2,
    risk_service_pb2,
    utility_service_pb2,
)
from tableveil.v1.classification_service_pb2_grpc import ClassificationServiceStub
from tableveil.v1.draft_service_pb2_grpc import DraftServiceStub
from tableveil.v1.frontier_service_pb2_grpc import FrontierServiceStub
from tableveil.v1.payout_service_pb2_grpc import PayoutServiceStub
from tableveil.v1.risk_service_pb2_grpc import RiskServiceStub
from tableveil.v1.utility_service_pb2_grpc import UtilityServiceStub

if TYPE_CHECKING:
    import pyarrow as pa


class AnalysisVerbs(HierarchyVerbs):
    """Verbs that measure, compare and draft."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._drafts = DraftServiceStub(self._channel)
        self._risks = RiskServiceStub(self._channel)
        self._frontiers = FrontierServiceStub(self._channel)
        self._payouts = PayoutServiceStub(self._channel)
        self._classifications = ClassificationServiceStub(self._channel)
        self._utility = UtilityServiceStub(self._channel)

    def draft_policy(self, source: policy_pb2.TableReference | str) -> draft_service_pb2.DraftPolicyResponse:
        """A guessed policy for a table, or for the rows of a SELECT, with a remark on each guess.

        Nothing is stored.
        """
        request = draft_service_pb2.DraftPolicyRequest()
        if isinstance(source, str):
            request.source_query = source
        else:
            request.table.CopyFrom(source)
        return self._ask(self._drafts.DraftPolicy, request)

    def submit_risk_analysis(self, risk: risk_service_pb2.RiskRequest) -> job_service_pb2.Job:
        """Queues a job that measures the risks of a table or of a release; wait for it as for any other.

        Raises:
            InvalidError: With all faults of the request.
        """
        request = risk_service_pb2.SubmitRiskAnalysisRequest(risk=risk)
        return self._ask(self._risks.SubmitRiskAnalysis, request).job

    def get_risk_analysis(self, risk_analysis: str) -> risk_service_pb2.RiskAnalysis:
        """The risk analysis: the owner's, not for publication."""
        request = risk_service_pb2.GetRiskAnalysisRequest(name=resource_name(RISK_ANALYSES, risk_analysis))
        return self._ask(self._risks.GetRiskAnalysis, request).risk_analysis

    def read_record_risks(self, risk_analysis: str) -> pa.RecordBatchReader:
        """The risks of each combination of values, with the values, as a stream of batches; close it to stop early."""
        from tableveil.client.objects import ObjectReader

        request = risk_service_pb2.ReadRecordRisksRequest(name=resource_name(RISK_ANALYSES, risk_analysis))
        return ObjectReader(self._risks.ReadRecordRisks(request), self._error_of)

    def submit_frontier(
        self,
        policy: policy_pb2.Policy,
        ks: Iterable[int] = (),
        suppression_limits: Iterable[str] = (),
        base_directory: Path = Path(),
    ) -> job_service_pb2.Job:
        """Queues a job that finds the optimum for every k with every suppression limit; wait for it as for any other.

        Args:
            policy: The policy; its target may be missing, and its CSV hierarchies are stored first.
            ks: The values that replace its k; none means its own.
            suppression_limits: Exact decimals such as `0.05`; none means the policy's own.
            base_directory: Where the paths of CSV hierarchies start.

        Raises:
            InvalidError: With all faults of the policy and of the request.
        """
        request = frontier_service_pb2.SubmitFrontierRequest(
            policy=self.prepare(policy, base_directory), k=ks, suppression_limits=suppression_limits
        )
        return self._ask(self._frontiers.SubmitFrontier, request).job

    def get_frontier(self, frontier: str) -> frontier_service_pb2.Frontier:
        """The frontier, all of its points."""
        request = frontier_service_pb2.GetFrontierRequest(name=resource_name(FRONTIERS, frontier))
        return self._ask(self._frontiers.GetFrontier, request).frontier

    def submit_payout_sweep(
        self,
        policy: policy_pb2.Policy,
        gains: Iterable[str] = (),
        if_method_known: bool = False,
        base_directory: Path = Path(),
    ) -> job_service_pb2.Job:
        """Queues a job that finds the payouts of each method's best releases; wait for it as for any other.

        Args:
            policy: The policy, of which the game's benefit and cost matter; its CSV hierarchies are stored first.
            gains: Exact decimals such as `300`: the adversary's gain by a successful attack, and the publisher's loss;
                none means 0 to 2000 by 100.
            if_method_known: Whether to also find the payouts of record-level releases if the adversary knows the
                method.
            base_directory: Where the paths of CSV hierarchies start.

        Raises:
            InvalidError: With all faults of the policy and of the request.
        """
        request = payout_service_pb2.SubmitPayoutSweepRequest(
            policy=self.prepare(policy, base_directory), gains=gains, if_method_known=if_method_known
        )
        return self._ask(self._payouts.SubmitPayoutSweep, request).job

    def get_payout_sweep(self, payout_sweep: str) -> payout_service_pb2.PayoutSweep:
        """The payout sweep, all of its points."""
        request = payout_service_pb2.GetPayoutSweepRequest(name=resource_name(PAYOUT_SWEEPS, payout_sweep))
        return self._ask(self._payouts.GetPayoutSweep, request).payout_sweep

    def assess_classifiers(
        self, classification: classification_service_pb2.ClassificationRequest
    ) -> job_service_pb2.Job:
        """Queues a job that trains classifiers on a release and its source; wait for it as for any other.

        Raises:
            InvalidError: With all faults of the request.
        """
        request = classification_service_pb2.AssessClassifiersRequest(classification=classification)
        return self._ask(self._classifications.AssessClassifiers, request).job

    def get_classification(self, classification: str) -> classification_service_pb2.ClassificationReport:
        """The classifier assessment: the owner's, not for publication."""
        name = resource_name(CLASSIFICATIONS, classification)
        request = classification_service_pb2.GetClassificationRequest(name=name)
        return self._ask(self._classifications.GetClassification, request).classification

    def list_classifications(self) -> Iterator[classification_service_pb2.ClassificationReport]:
        """All classifier assessments, newest first and without their ROC curves, fetched as they are read."""
        request = classification_service_pb2.ListClassificationsRequest()
        for page in self._pages(self._classifications.ListClassifications, request):
            yield from page.classifications

    def submit_utility_report(self, release: str) -> job_service_pb2.Job:
        """Queues a job that compares a release with its source; wait for it as for any other."""
        asked = utility_service_pb2.UtilityRequest(release=resource_name(RELEASES, release))
        request = utility_service_pb2.SubmitUtilityReportRequest(utility=asked)
        return self._ask(self._utility.SubmitUtilityReport, request).job

    def get_utility_report(self, utility_report: str) -> utility_service_pb2.UtilityReport:
        """The utility report: the owner's, not for publication."""
        request = utility_service_pb2.GetUtilityReportRequest(name=resource_name(UTILITY_REPORTS, utility_report))
        return self._ask(self._utility.GetUtilityReport, request).utility_report
