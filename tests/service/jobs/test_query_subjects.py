"""Drafts and risk analyses of a query's rows: the same as of a table that has these rows, and nothing is released."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.convert import policy_from_proto, stored_policy
from tableveil.convert.drafts import policy_draft_to_proto
from tableveil.document import read_policy, to_commented_yaml
from tableveil.errors import NotFoundError, TableveilError
from tableveil.pipelines.draft import Drafts
from tableveil.pipelines.risk_analysis import run_risk_analysis
from tableveil.policy import Population, TableReference
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.state.jobs import next_number
from tableveil.state.risk_analyses import RISK_ANALYSES, RiskAnalysis
from tests.service.jobs.contexts import context

NO_TABLE = TableReference("", "", "")
QUERY = 'SELECT age, sex, city AS "home, sweet", weight FROM people JOIN cities USING (zip) WHERE age > 20'
OF_QUERY = RiskRequest(None, None, (), source_query=QUERY)
OF_TABLE = RiskRequest(TableReference("", "main", "joined"), None, ())

Analyze = Callable[[RiskRequest], RiskAnalysis]


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    with shared_database.session() as session:
        session.execute(
            "CREATE TABLE people AS SELECT (hash(i, 1) % 60)::INTEGER AS age, hash(i, 2) % 2 = 0 AS sex, i % 5 AS zip, "
            "1 + i % 7 AS weight FROM range(300) r(i)"
        )
        session.execute("CREATE TABLE cities AS SELECT i AS zip, 'city ' || i // 2 AS city FROM range(5) r(i)")
        session.execute(f"CREATE TABLE joined AS {QUERY}")
    return shared_database


@pytest.fixture
def analyze(database: Database) -> Analyze:
    def analyze(request: RiskRequest) -> RiskAnalysis:
        with database.session() as own:
            own.control = Control()
            number = run_risk_analysis(context(own, number=next_number(own.ledger)), request, stored_policy)
            found = RISK_ANALYSES.find(own.ledger, number)
        assert found is not None
        return found

    return analyze


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(OF_TABLE, id="guessed"),
        pytest.param(
            replace(OF_TABLE, quasi_identifiers=("age", "home, sweet"), weight_column="weight"), id="with weights"
        ),
        pytest.param(
            replace(OF_TABLE, compare=(("age",), ("age", "home, sweet")), population=Population(subset_column="sex")),
            id="a part of the rows",
        ),
    ],
)
def test_a_query_has_the_risks_of_its_rows(analyze: Analyze, asked: RiskRequest) -> None:
    of_table, of_query = analyze(asked), analyze(replace(asked, table=None, source_query=QUERY))
    assert of_query.measures == of_table.measures
    assert of_query.subsets == of_table.subsets
    assert of_query.compared == of_table.compared
    assert of_query.warnings == of_table.warnings
    assert of_query.records == of_table.records > 50
    assert (of_query.source.schema, of_query.source.table) == ("", "")


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ("SELECT random() AS x FROM people", "source_query", "random"),
        ("SELECT * FROM peopel", "source_query", "people"),
        ("SELECT age FROM people WHERE age > 1000", "source_query", "the source query, which has no records"),
    ],
)
def test_a_query_that_is_no_source_is_refused(
    database: Database, analyze: Analyze, query: str, field: str, words: str
) -> None:
    with pytest.raises(TableveilError, match=words) as raised:
        analyze(replace(OF_QUERY, source_query=query, quasi_identifiers=("age",)))
    assert {fault.field for fault in raised.value.faults} == {field}
    if "1000" not in query:
        with pytest.raises(TableveilError, match=words):
            Drafts(database).draft(NO_TABLE, Control(), query)


def test_a_column_that_the_query_lacks_is_named(analyze: Analyze) -> None:
    with pytest.raises(TableveilError, match="Did you mean 'age'") as raised:
        analyze(replace(OF_QUERY, quasi_identifiers=("agee",)))
    assert [fault.field for fault in raised.value.faults] == ["quasi_identifiers[0]"]


def test_a_draft_of_a_query_is_that_of_its_rows(database: Database, session: Session) -> None:
    of_query = Drafts(database).draft(NO_TABLE, Control(), QUERY)
    of_table = Drafts(database).draft(OF_TABLE.table or NO_TABLE, Control())
    assert (of_query.columns, of_query.remarks, of_query.k) == (of_table.columns, of_table.remarks, of_table.k)
    message = policy_draft_to_proto(of_query)
    document = to_commented_yaml(message)
    assert read_policy(document, "yaml") == (message.policy, [])
    assert document.index("\nsource_query:") < document.index("\nattributes:")
    proposal = message.proposal
    assert (proposal.source_query, proposal.HasField("source")) == (QUERY, False)
    assert (proposal.release.schema, proposal.release.name) == ("main", "query_released")
    policy, faults = policy_from_proto(proposal)
    assert (policy is not None, faults) == (True, [])
    assert session.rows("FROM tableveil.releases") == []


def test_a_missing_table_is_said_alike(database: Database, analyze: Analyze) -> None:
    missing = TableReference("", "main", "peopel")
    with pytest.raises(NotFoundError, match="people") as by_draft:
        Drafts(database).draft(missing, Control())
    with pytest.raises(NotFoundError, match="people") as by_risk:
        analyze(replace(OF_TABLE, table=missing))
    assert by_draft.value.code == by_risk.value.code == "TABLE_NOT_FOUND"
    assert by_draft.value.faults == by_risk.value.faults
