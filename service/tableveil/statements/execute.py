"""Executes a statement: it becomes the requests that it stands for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from google.protobuf.message import Message

from tableveil.backend import folded
from tableveil.convert.names import BOUND_TO, without_loads
from tableveil.errors import DeniedError, InvalidError, NotFoundError, nearest, shortened
from tableveil.statements import statement as ast
from tableveil.statements.parse import parse
from tableveil.statements.render import create_statement
from tableveil.statements.values import FieldPlaces
from tableveil.v1 import access_service_pb2 as access_v1
from tableveil.v1 import release_service_pb2 as releases_v1
from tableveil.v1.admin_service_pb2 import CreateSchemaRequest
from tableveil.v1.dry_run_service_pb2 import SubmitDryRunRequest
from tableveil.v1.job_service_pb2 import SubmitJobRequest
from tableveil.v1.policy_pb2 import IF_EXISTS_REPLACE, ROLE_QUASI_IDENTIFIER, Policy, TableReference
from tableveil.v1.privacy_service_pb2 import DeclarePrivacyRequest, DescribePrivacyRequest
from tableveil.v1.risk_service_pb2 import RiskRequest, SubmitRiskAnalysisRequest
from tableveil.v1.statement_service_pb2 import ExecuteStatementRequest, ExecuteStatementResponse

MOST_KNOWN = 1000
"""The most releases among whose names a nearly right one is looked for."""

Call = Callable[[Message], Any]
"""Calls the only method that takes such a request, as the caller of the statement, and returns its answer."""


_CHANGES = (
    ast.SetPrivacy,
    ast.Withdraw,
    ast.Promote,
    ast.Decide,
    ast.GrantStatement,
    ast.CreateSchema,
    ast.SetSchemaRule,
)


def changes(statement: str) -> bool:
    """Whether a statement makes a change by itself, not by a job."""
    return isinstance(parse(statement), _CHANGES)


def execute(request: ExecuteStatementRequest, call: Call) -> ExecuteStatementResponse:
    """Executes the statement of a request.

    Raises:
        TableveilError: it is no statement, or a call failed. Faults of a policy have lines and columns as fields.
    """
    match parse(request.statement):
        case ast.CreateAnonymized(policy, places, dry_run=True):
            with _placed(places):
                asked = SubmitDryRunRequest(policy=policy, request_id=request.request_id)
                return ExecuteStatementResponse(job=call(asked))
        case ast.CreateAnonymized(policy, places, trial=trial):
            with _placed(places):
                wanted = SubmitJobRequest(policy=policy, request_id=request.request_id, trial=trial)
                return ExecuteStatementResponse(job=call(wanted))
        case ast.SetPrivacy(table, privacy, places):
            with _placed(places):
                declared = call(DeclarePrivacyRequest(table=table, privacy=privacy))
            return ExecuteStatementResponse(privacy=declared)
        case ast.Refresh(target, reason):
            policy = _policy_of(_standing(target, call), call)
            # The rows that the source has now may be those of a later load.
            policy, _ = without_loads(policy)
            policy.release.if_exists = IF_EXISTS_REPLACE
            policy.repeat_reason = reason or policy.repeat_reason
            return ExecuteStatementResponse(job=call(SubmitJobRequest(policy=policy, request_id=request.request_id)))
        case ast.Withdraw(target, reason):
            withdrawn = call(releases_v1.WithdrawReleaseRequest(name=_standing(target, call), reason=reason))
            return ExecuteStatementResponse(release=withdrawn)
        case ast.Promote(name, reason, others):
            promoted = call(releases_v1.PromoteReleaseRequest(name=name, repeat_reason=reason, other_people=others))
            return ExecuteStatementResponse(release=promoted)
        case ast.Decide(name, approved, note):
            decision = releases_v1.ApproveReleaseRequest if approved else releases_v1.RejectReleaseRequest
            return ExecuteStatementResponse(release=call(decision(name=name, note=note)))
        case ast.GrantStatement(rule, taken=False):
            return ExecuteStatementResponse(grant=call(access_v1.AddGrantRequest(rule=rule)))
        case ast.GrantStatement(rule):
            return ExecuteStatementResponse(removed_grant=_removed(rule, call))
        case ast.CreateSchema(name):
            return ExecuteStatementResponse(schema=call(CreateSchemaRequest(schema=name)))
        case ast.SetSchemaRule(schema, joint_k):
            of_schema = access_v1.SchemaRule(schema=schema, joint_k=joint_k)
            return ExecuteStatementResponse(schema_rule=call(access_v1.SetSchemaRuleRequest(rule=of_schema)))
        case ast.ShowReleases() | ast.ShowCreate() | ast.ShowPrivacy() | ast.ShowRisk() as shown:
            return _shown(shown, request.request_id, call)


def _shown(
    statement: ast.ShowReleases | ast.ShowCreate | ast.ShowPrivacy | ast.ShowRisk, request_id: str, call: Call
) -> ExecuteStatementResponse:
    """The answer of a statement that changes nothing."""
    match statement:
        case ast.ShowReleases(limit):
            return ExecuteStatementResponse(releases=call(releases_v1.ListReleasesRequest(page_size=limit)))
        case ast.ShowCreate(target):
            policy, loads = without_loads(_policy_of(_standing(target, call), call))
            head = f"-- {BOUND_TO.format(loads)}\n" if loads else ""
            return ExecuteStatementResponse(statement=head + create_statement(policy))
        case ast.ShowPrivacy(table):
            return ExecuteStatementResponse(privacy=call(DescribePrivacyRequest(table=table)))
        case ast.ShowRisk(table):
            risk = RiskRequest(table=table, quasi_identifiers=_quasi_identifiers(table, call))
            job = call(SubmitRiskAnalysisRequest(risk=risk, request_id=request_id))
            return ExecuteStatementResponse(job=job)


def _standing(target: ast.StatementTarget, call: Call) -> str:
    """The name of the release whose objects stand in a table or view."""
    for release in call(releases_v1.ListReleasesRequest(target=target.reference)).releases:
        return str(release.name)
    standing = {
        release.target.name
        for release in call(releases_v1.ListReleasesRequest(page_size=MOST_KNOWN, summary=True)).releases
    }
    name = target.reference.table
    hint = nearest(name, standing - {name})
    expected = "a table or view that a release made, and that stands"
    raise NotFoundError.of("RELEASE_NOT_FOUND", target.place, shortened(name), expected, hint)


def _policy_of(name: str, call: Call) -> Policy:
    """The policy of a release."""
    release = call(releases_v1.GetReleaseRequest(name=name))
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


def _removed(rule: access_v1.GrantRule, call: Call) -> access_v1.Grant:
    """The newest grant of that rule, which is removed."""
    asked = access_v1.ListGrantsRequest()
    while True:
        page = call(asked)
        for grant in page.grants:
            if _same(grant.rule, rule):
                call(access_v1.RemoveGrantRequest(name=grant.name))
                removed: access_v1.Grant = grant
                return removed
        asked.page_token = page.next_page_token
        if not asked.page_token:
            actual = f"no grant to {shortened(rule.group or rule.principal)}"
            raise NotFoundError.of("GRANT_NOT_FOUND", "statement", actual, "a grant on this table or view alone")


def _same(one: access_v1.GrantRule, other: access_v1.GrantRule) -> bool:
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
