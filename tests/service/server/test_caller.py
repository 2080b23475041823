"""Long work ends with the call that asked for it: a client that is gone leaves nothing running."""

import threading
from unittest.mock import Mock

import grpc
import pytest
from google.protobuf.message import Message

from tableveil.control import Control, Stopped
from tableveil.server import services
from tableveil.server.stores import Stores
from tableveil.statements.render import create_statement
from tableveil.v1 import (
    admin_service_pb2,
    audit_service_pb2,
    classification_service_pb2,
    draft_service_pb2,
    dry_run_service_pb2,
    frontier_service_pb2,
    hierarchy_service_pb2,
    job_service_pb2,
    payout_service_pb2,
    policy_pb2,
    privacy_service_pb2,
    proposal_service_pb2,
    release_service_pb2,
    risk_service_pb2,
    statement_service_pb2,
    table_service_pb2,
    utility_service_pb2,
)
from tests.service.client.samples import playing, policy

SECONDS = 20.0
"""How long work goes on that nothing ends."""


class Long:
    """Work that ends when its control says so."""

    def __init__(self) -> None:
        self.begun, self.stopped = threading.Event(), threading.Event()

    def run(self, *arguments: object, **options: object) -> None:
        (control,) = [argument for argument in arguments if isinstance(argument, Control)]
        began = control.now()
        self.begun.set()
        while not control.must_stop:
            assert control.now() < began + SECONDS, "nobody says that it is to stop"
            threading.Event().wait(0.02)
        self.stopped.set()
        raise Stopped


POLICY = policy()
STORED = policy_pb2.StoredHierarchy(name="zip")
RISK = risk_service_pb2.RiskRequest(release="releases/1")
PROPOSAL = proposal_service_pb2.ProposalRequest(table=POLICY.source)
UTILITY = utility_service_pb2.UtilityRequest(release="releases/1")
CLASSIFICATION = classification_service_pb2.ClassificationRequest(release="releases/1", classes=["ill"])

LONG: dict[str, tuple[Message, str]] = {
    "AdminService/GetServerStatus": (admin_service_pb2.GetServerStatusRequest(), "upkeep.examine"),
    "AdminService/BackupDatabase": (admin_service_pb2.BackupDatabaseRequest(name="x"), "upkeep.back_up"),
    "AdminService/CreateSchema": (admin_service_pb2.CreateSchemaRequest(schema="x"), "upkeep.create_schema"),
    "ClassificationService/AssessClassifiers": (
        classification_service_pb2.AssessClassifiersRequest(classification=CLASSIFICATION),
        "submit",
    ),
    "DraftService/DraftPolicy": (draft_service_pb2.DraftPolicyRequest(source_query="SELECT 1"), "drafts.draft"),
    "AuditService/VerifyAudit": (audit_service_pb2.VerifyAuditRequest(), "audit.verified"),
    "DraftService/WidenPolicy": (draft_service_pb2.WidenPolicyRequest(policy=POLICY), "widening.rules"),
    "DryRunService/SubmitDryRun": (dry_run_service_pb2.SubmitDryRunRequest(policy=POLICY), "submit"),
    "FrontierService/SubmitFrontier": (frontier_service_pb2.SubmitFrontierRequest(policy=POLICY), "submit"),
    "HierarchyService/CompareHierarchies": (
        hierarchy_service_pb2.CompareHierarchiesRequest(
            earlier=policy_pb2.StoredHierarchy(name="a"), later=policy_pb2.StoredHierarchy(name="b")
        ),
        "hierarchies.compare",
    ),
    "JobService/CheckPolicy": (job_service_pb2.CheckPolicyRequest(policy=POLICY), "check"),
    "JobService/SubmitJob": (job_service_pb2.SubmitJobRequest(policy=POLICY), "submit"),
    "JobService/ResubmitJob": (job_service_pb2.ResubmitJobRequest(name="jobs/1"), "submit"),
    "PayoutService/SubmitPayoutSweep": (
        payout_service_pb2.SubmitPayoutSweepRequest(policy=playing(), gains=["2"]),
        "submit",
    ),
    "PrivacyService/DeclarePrivacy": (
        privacy_service_pb2.DeclarePrivacyRequest(
            table=POLICY.source,
            privacy=privacy_service_pb2.Privacy(attributes=POLICY.attributes, person_column=POLICY.person_column),
        ),
        "check",
    ),
    "ProposalService/SubmitProposal": (proposal_service_pb2.SubmitProposalRequest(proposal=PROPOSAL), "submit"),
    "ReleaseService/ApproveRelease": (
        release_service_pb2.ApproveReleaseRequest(name="releases/1"),
        "jobs.releases.decide",
    ),
    "ReleaseService/PromoteRelease": (
        release_service_pb2.PromoteReleaseRequest(name="releases/1"),
        "jobs.releases.promote",
    ),
    "ReleaseService/RejectRelease": (
        release_service_pb2.RejectReleaseRequest(name="releases/1"),
        "jobs.releases.decide",
    ),
    "ReleaseService/WithdrawRelease": (
        release_service_pb2.WithdrawReleaseRequest(name="releases/1", reason="x"),
        "jobs.releases.withdraw",
    ),
    "RiskService/SubmitRiskAnalysis": (risk_service_pb2.SubmitRiskAnalysisRequest(risk=RISK), "submit"),
    "StatementService/ExecuteStatement": (
        statement_service_pb2.ExecuteStatementRequest(statement=create_statement(POLICY)),
        "submit",
    ),
    "TableService/DescribeTable": (
        table_service_pb2.DescribeTableRequest(table=policy_pb2.TableReference(table="people")),
        "tables.describe",
    ),
    "TableService/ErasePersons": (table_service_pb2.ErasePersonsRequest(persons=["7"]), "removals.erase"),
    "TableService/TruncateTable": (table_service_pb2.TruncateTableRequest(), "removals.remove"),
    "TableService/DropTable": (table_service_pb2.DropTableRequest(), "removals.remove"),
    "UtilityService/SubmitUtilityReport": (utility_service_pb2.SubmitUtilityReportRequest(utility=UTILITY), "submit"),
}
"""Calls that may take long: a request, and what is called for it."""


@pytest.mark.parametrize("method", LONG)
def test_a_call_ends_with_its_caller(
    channel: grpc.Channel, jobs: Mock, stores: Stores, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr("tableveil.server.job_service.work_again", lambda job, change: job)
    monkeypatch.setattr("tableveil.server.release_service.stored_policy", lambda _: Mock())
    monkeypatch.setattr("tableveil.server.release_service.given_reason", lambda *_: (Mock(), ""))
    request, called = LONG[method]
    store, _, name = called.rpartition(".")
    long = Long()
    owner = jobs.releases if store == "jobs.releases" else getattr(stores, store) if store else jobs
    getattr(owner, name).side_effect = long.run
    call: grpc.UnaryUnaryMultiCallable[Message, bytes] = channel.unary_unary(
        f"/tableveil.v1.{method}", request_serializer=type(request).SerializeToString
    )
    asked = call.future(request)
    assert long.begun.wait(SECONDS)
    asked.cancel()
    assert long.stopped.wait(SECONDS)


def test_every_call_is_tied_or_short() -> None:
    unary = {
        f"{service.name}/{method.name}"
        for service in services.DESCRIPTORS
        for method in service.methods
        if not method.client_streaming and not method.server_streaming
    }
    assert set(LONG) <= unary
    tokens = {"CreateToken", "RevokeToken", "ConfirmToken"}
    grants = {"AddGrant", "RemoveGrant", "ConfirmRestored", "SetSchemaRule", "SetPrivacyBudget"}
    published = {"PublishRelease", "UnpublishRelease"}
    worksheets = {"CreateWorksheet", "UpdateWorksheet", "DeleteWorksheet"}
    # Changes that end as a whole, as a hierarchy's upload does.
    rest = {"CancelJob", "DeleteJob", "DescribePrivacy", "ForgetHierarchyRows"}
    short = {"Get", "List", *rest, *tokens, *grants, *published, *worksheets}
    assert [name for name in unary - set(LONG) if not name.partition("/")[2].startswith(tuple(short))] == []
