"""Executes a statement: it becomes the requests that it stands for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from google.protobuf.message import Message

from tableveil.backend import folded
from tableveil.convert.names import BOUND_TO, without_loads
from tableveil.errors import DeniedError, InvalidError, NotFoundError, nearest, shortened
from tableveil.statements.parse import parse
from tableveil.statements.render import create_statement
from tableveil.statements.statement import (
    CreateAnonymized,
    CreateSchema,
    Decide,
    GrantStatement,
    Promote,
    Refresh,
    SetPrivacy,
    SetSchemaRule,
    ShowCreate,
    ShowPrivacy,
    ShowReleases,
    ShowRisk,
    StatementTarget,
    Withdraw,
)
from tableveil.statements.values import FieldPlaces
from tableveil.v1.access_service_pb2 import (
    AddGrantRequest,
    GrantRule,
    ListGrantsRequest,
    RemoveGrantRequest,
    SchemaRule,
    SetSchemaRuleRequest,
)
from tableveil.v1.access_service_pb2 import Grant as GrantMessage
from tableveil.v1.admin_service_pb2 import CreateSchemaRequest
from tableveil.v1.dry_run_service_pb2 import SubmitDryRunRequest
from tableveil.v1.job_service_pb2 import SubmitJobRequest
from tableveil.v1.policy_pb2 import IF_EXISTS_REPLACE, ROLE_QUASI_IDENTIFIER, Policy, TableReference
from tableveil.v1.privacy_service_pb2 import DeclarePrivacyRequest, DescribePrivacyRequest
from tableveil.v1.release_service_pb2 import (
    ApproveReleaseRequest,
    GetReleaseRequest,
    ListReleasesRequest,
    PromoteReleaseRequest,
    RejectReleaseRequest,
    WithdrawReleaseRequest,
)
from tableveil.v1.risk_service_pb2 import RiskRequest, SubmitRiskAnalysisRequest
from tableveil.v1.statement_service_pb2 import ExecuteStatementRequest, ExecuteStatementResponse

MOST_KNOWN = 1000
"""The most releases among whose names a nearly right one is looked for."""

Call = Callable[[Message], Any]
"""Calls the only method that takes such a request, as the caller of the statement, and returns its answer."""


_CHANGES = (SetPrivacy, Withdraw, Promote, Decide, GrantStatement, CreateSchema, SetSchemaRule)


def changes(statement: str) -> bool:
    """Whether a statement makes a change by itself, not by a job."""
    return isinstance(parse(statement), _CHANGES)


def execute(request: ExecuteStatementRequest, call: Call) -> ExecuteStatementResponse:
    """Executes the statement of a request.

    Raises:
        TableveilError: it is no statement, or a call failed. Faults of a policy have lines and columns as fields.
    """
    match parse(request.statement):
        case CreateAnonymized(policy, places, dry_run=True):
            with _placed(places):
                asked = SubmitDryRunRequest(policy=policy, request_id=request.request_id)
                return ExecuteStatementResponse(job=call(asked))
        case CreateAnonymized(policy, places, trial=trial):
            with _placed(places):
                wanted = SubmitJobRequest(policy=policy, request_id=request.request_id, trial=trial)
                return ExecuteStatementResponse(job=call(wanted))
        case SetPrivacy(table, privacy, places):
            with _placed(places):
                declared = call(DeclarePrivacyRequest(table=table, privacy=privacy))
            return ExecuteStatementResponse(privacy=declared)
        case Refresh(target, reason):
            policy = _policy_of(_standing(target, call), call)
            # The rows that the source has now may be those of a later load.
            policy, _ = without_loads(policy)
            policy.release.if_exists = IF_EXISTS_REPLACE
            policy.repeat_reason = reason or policy.repeat_reason
            return ExecuteStatementResponse(job=call(SubmitJobRequest(policy=policy, request_id=request.request_id)))
        case Withdraw(target, reason):
            withdrawn = call(WithdrawReleaseRequest(name=_standing(target, call), reason=reason))
            return ExecuteStatementResponse(release=withdrawn)
        case Promote(name, reason, others):
            promoted = call(PromoteReleaseRequest(name=name, repeat_reason=reason, other_people=others))
            return ExecuteStatementResponse(release=promoted)
        case Decide(name, approved, note):
            decision = ApproveReleaseRequest if approved else RejectReleaseRequest
            return ExecuteStatementResponse(release=call(decision(name=name, note=note)))
        case GrantStatement(rule, taken=False):
            return ExecuteStatementResponse(grant=call(AddGrantRequest(rule=rule)))
        case GrantStatement(rule):
            return ExecuteStatementResponse(removed_grant=_removed(rule, call))
        case CreateSchema(name):
            return ExecuteStatementResponse(schema=call(CreateSchemaRequest(schema=name)))
        case SetSchemaRule(schema, joint_k):
            of_schema = SchemaRule(schema=schema, joint_k=joint_k)
            return ExecuteStatementResponse(schema_rule=call(SetSchemaRuleRequest(rule=of_schema)))
        case ShowReleases() | ShowCreate() | ShowPrivacy() | ShowRisk() as shown:
            return _shown(shown, request.request_id, call)


def _shown(
    statement: ShowReleases | ShowCreate | ShowPrivacy | ShowRisk, request_id: str, call: Call
) -> ExecuteStatementResponse:
    """The answer of a statement that changes nothing."""
    match statement:
        case ShowReleases(limit):
            return ExecuteStatementResponse(releases=call(ListReleasesRequest(page_size=limit)))
        case ShowCreate(target):
            policy, loads = without_loads(_policy_of(_standing(target, call), call))
            head = f"-- {BOUND_TO.format(loads)}\n" if loads else ""
            return ExecuteStatementResponse(statement=head + create_statement(policy))
        case ShowPrivacy(table):
            return ExecuteStatementResponse(privacy=call(DescribePrivacyRequest(table=table)))
        case ShowRisk(table):
            risk = RiskRequest(table=table, quasi_identifiers=_quasi_identifiers(table, call))
            job = call(SubmitRiskAnalysisRequest(risk=risk, request_id=request_id))
            return ExecuteStatementResponse(job=job)


def _standing(target: StatementTarget, call: Call) -> str:
    """The name of the release whose objects stand in a table or view."""
    for release in call(ListReleasesRequest(target=target.reference)).releases:
        return str(release.name)
    standing = {
        release.target.name for release in call(ListReleasesRequest(page_size=MOST_KNOWN, summary=True)).releases
    }
    name = target.reference.table
    hint = nearest(name, standing - {name})
    expected = "a table or view that a release made, and that stands"
    raise NotFoundError.of("RELEASE_NOT_FOUND", target.place, shortened(name), expected, hint)


def _policy_of(name: str, call: Call) -> Policy:
    """The policy of a release."""
    release = call(GetReleaseRequest(name=name))
    if not release.HasField("policy"):
        raise DeniedError.of("PERMISSION_DENIED", "policy", f"that of {name}", "a steward of what it was made of")
    policy: Policy = release.policy
    return policy


def _quasi_identifiers(table: TableReference, call: Call) -> list[str]:
    """The declared ones of a table; without any, those that the analysis guesses are taken."""
    try:
        attributes = call(DescribePrivacyRequest(table=table)).privacy.attributes
    except NotFoundError as error:
        if error.code != "PRIVACY_NOT_FOUND":
            raise
        return []
    return [attribute.column for attribute in attributes if attribute.role == ROLE_QUASI_IDENTIFIER]


def _removed(rule: GrantRule, call: Call) -> GrantMessage:
    """The newest grant of that rule, which is removed."""
    asked = ListGrantsRequest()
    while True:
        page = call(asked)
        for grant in page.grants:
            if _same(grant.rule, rule):
                call(RemoveGrantRequest(name=grant.name))
                removed: GrantMessage = grant
                return removed
        asked.page_token = page.next_page_token
        if not asked.page_token:
            actual = f"no grant to {shortened(rule.group or rule.principal)}"
            raise NotFoundError.of("GRANT_NOT_FOUND", "statement", actual, "a grant on this table or view alone")


def _same(one: GrantRule, other: GrantRule) -> bool:
    """Whether two rules are equal to the database, which compares names of tables without regard to case."""
    pairs = ((one.schema, other.schema), (one.table, other.table))
    return all(folded(first) == folded(second) for first, second in pairs) and (
        (one.role, one.principal, one.group, one.release) == (other.role, other.principal, other.group, other.release)
    )


@contextmanager
def _placed(places: FieldPlaces) -> Iterator[None]:
    """Puts the places of a policy's faults into the error that has them."""
    try:
        yield
    except InvalidError as error:
        if error.code not in ("POLICY_INVALID", "PRIVACY_INVALID"):
            raise
        faults = [places.of(fault) for fault in error.faults]
        raise InvalidError.about(error.code, "the statement is invalid", faults) from None
