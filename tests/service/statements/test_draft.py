"""Drafts as statements: what is decided reads back, what is not is a comment, whatever columns are called."""

from hypothesis import example, given

from tableveil.statements import parse
from tableveil.statements.render import drafted_statement
from tableveil.statements.statement import SetPrivacy
from tableveil.v1 import draft_service_pb2 as v1
from tableveil.v1 import policy_pb2
from tests.service.document.test_draft import drafts

HOSTILE = policy_pb2.Policy(
    source=policy_pb2.TableReference(table="t"),
    person_column="a\r\n, INSENSITIVE (b) --",
    attributes=[policy_pb2.Attribute(column="c", role=policy_pb2.ROLE_SENSITIVE)],
)


@given(drafts())
@example(v1.DraftPolicyResponse(proposal=HOSTILE, policy=policy_pb2.Policy(attributes=HOSTILE.attributes)))
def test_a_draft_reads_back_from_its_statement(draft: v1.DraftPolicyResponse) -> None:
    statement = parse(drafted_statement(draft))
    assert isinstance(statement, SetPrivacy)
    assert statement.table == draft.proposal.source
    person = draft.proposal.person_column
    known = [attribute for attribute in draft.policy.attributes if attribute.role and attribute.column != person]
    assert list(statement.privacy.attributes) == known
    assert statement.privacy.WhichOneof("person") is None
    draft.policy.person_column = person
    declared = parse(drafted_statement(draft))
    assert isinstance(declared, SetPrivacy)
    assert declared.privacy.person_column == person
