"""Policies become statements, which become equal policies, which become the same statements."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.document import load_policy
from tableveil.statements import parse
from tableveil.statements.render import create_statement, privacy_statement
from tableveil.statements.statement import SetPrivacy
from tableveil.v1 import policy_pb2
from tableveil.v1.privacy_service_pb2 import Privacy, TablePrivacy
from tests.service.document.test_round_trip import POLICIES, TREACHEROUS
from tests.service.statements.test_parse import STATEMENT, policy_of

DEMO = Path(__file__).parents[3] / "service/tableveil/demo/policy.yaml"

QUERIES = [
    "",
    "SELECT a FROM t",
    "SELECT -- what\n a FROM t -- WITH (",
    "WITH u AS (SELECT 'it''s') SELECT \"with (\" FROM u WHERE a IN ($$ WITH ( $$)",
    "FROM t",
]


@st.composite
def statable(draw: st.DrawFn) -> policy_pb2.Policy:
    """Any policy that has the names which a statement cannot do without, and a role in each attribute."""
    policy = draw(POLICIES)
    policy.release.name = policy.release.name or "r"
    policy.source_query = draw(st.sampled_from(QUERIES))
    if policy.source_query:
        policy.ClearField("source")
    else:
        policy.source.table = policy.source.table or "t"
    if policy.HasField("tables"):
        # Without people it would take the statement's source for these.
        policy.tables.people.table = policy.tables.people.table or "p"
    for attribute in policy.attributes:
        attribute.role = attribute.role or policy.default_role or policy_pb2.ROLE_SENSITIVE
    return policy


@given(statable())
@settings(deadline=None, max_examples=60)
def test_a_policy_reads_back_from_its_statement(policy: policy_pb2.Policy) -> None:
    statement = create_statement(policy)
    assert policy_of(statement) == policy
    assert create_statement(policy_of(statement)) == statement


@pytest.mark.parametrize("key", ["pid", "p id", "SELECT"])
def test_the_people_of_related_tables_are_the_statements_source(key: str) -> None:
    policy = policy_pb2.Policy(
        attributes=[
            policy_pb2.Attribute(column=key, role=policy_pb2.ROLE_IDENTIFYING),
            policy_pb2.Attribute(column=key, role=policy_pb2.ROLE_IDENTIFYING, table="visits"),
        ],
        tables=policy_pb2.RelatedTables(
            people=policy_pb2.PeopleTable(schema="main", table="patients", key=key),
            events=[policy_pb2.EventTable(table="visits", orphans=policy_pb2.ORPHANS_DROP)],
            rows_limit="0.1",
        ),
        release=policy_pb2.ReleaseTarget(name="r"),
    )
    statement = create_statement(policy)
    assert "AS SELECT * FROM main.patients" in statement
    assert policy_of(statement) == policy


@pytest.mark.parametrize("text", TREACHEROUS)
def test_no_text_is_taken_for_another(text: str) -> None:
    name = text or "r"
    policy = policy_pb2.Policy(
        source=policy_pb2.TableReference(catalog=name, schema=name, table=name),
        attributes=[policy_pb2.Attribute(column=name, role=policy_pb2.ROLE_SENSITIVE)],
        search=policy_pb2.Search(levels={text: 1}),
        repeat_reason=text,
        release=policy_pb2.ReleaseTarget(schema=name, name=name),
    )
    assert policy_of(create_statement(policy)) == policy


def test_the_demos_policy_has_a_statement() -> None:
    policy, _ = load_policy(DEMO)
    assert policy_of(create_statement(policy)) == policy


def test_people_can_read_it() -> None:
    assert (
        create_statement(policy_of(STATEMENT))
        == """CREATE OR REPLACE ANONYMIZED TABLE main.discharges_released
  PRIVACY (
    PERSON patient_id,
    IDENTIFYING (name),
    QUASI_IDENTIFIER age USING intervals(0, 105, widths => [5, 10, 20, 40], top_coding => 90) LEVELS 1 TO 4,
    QUASI_IDENTIFIER "zip code" USING redaction(length => 5, alphabet => '0123456789') \
WITH (weight = 2.5, nulls = ERROR),
    SENSITIVE (diagnosis, charge),
    OTHERS INSENSITIVE
  )
  AS SELECT * FROM hospital.discharges
  WITH (
    k_anonymity(5),
    entropy_l_diversity(diagnosis, 3),
    loss(aggregate => MAXIMUM),
    suppression_limit = 0.05,
    search = {levels: {age: 1, "zip code": 2}},
    risk_thresholds = [0.1, 0.2]
  );"""
    )


@given(statable(), st.booleans())
@settings(deadline=None, max_examples=30)
def test_a_privacy_reads_back_from_its_statement(policy: policy_pb2.Policy, counts_rows: bool) -> None:
    privacy = Privacy(attributes=policy.attributes, default_role=policy.default_role)
    if counts_rows:
        privacy.rows_are_people = True
    else:
        privacy.attributes.add(column="who", role=policy_pb2.ROLE_IDENTIFYING)
        privacy.person_column = "who"
    table = policy_pb2.TableReference(schema="s", table="t")
    statement = parse(privacy_statement(TablePrivacy(table=table, privacy=privacy)))
    assert isinstance(statement, SetPrivacy)
    assert (statement.table, statement.privacy) == (table, privacy)
