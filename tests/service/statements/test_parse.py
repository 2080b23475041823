"""Statements say what policies say; what is almost a statement is refused with its place."""

import pytest

from tableveil.document import read_policy
from tableveil.errors import Fault, InvalidError
from tableveil.statements import parse
from tableveil.statements.statement import (
    CreateAnonymized,
    CreateSchema,
    Decide,
    GrantStatement,
    Promote,
    Refresh,
    SetSchemaRule,
    ShowReleases,
    StatementTarget,
    Withdraw,
)
from tableveil.statements.tokens import MOST_CHARACTERS
from tableveil.v1 import access_pb2, policy_pb2
from tableveil.v1.access_service_pb2 import GrantRule

STATEMENT = """
-- The discharges of a year.
CREATE ANONYMIZED TABLE main.discharges_released
  PRIVACY (PERSON patient_id, IDENTIFYING (name),
    QUASI_IDENTIFIER age USING intervals(0, 105, widths => [5, 10, 20, 40], top_coding => 90) LEVELS 1 TO 4,
    QUASI_IDENTIFIER "zip code" USING redaction(length => 5, alphabet => '0123456789')
      WITH (weight = 2.5, nulls = ERROR),
    SENSITIVE (diagnosis, charge), OTHERS INSENSITIVE)
AS SELECT * FROM hospital.discharges
WITH (k_anonymity(5), entropy_l_diversity(diagnosis, 3), /* rounded */ suppression_limit = 0.05,
  loss(aggregate => maximum), search = {levels: {age: 1, "zip code": 2}}, policy = $$
    risk_thresholds: [0.1, 0.2]
    release: {if_exists: REPLACE}
  $$);
"""

POLICY = """
source: {schema: hospital, table: discharges}
person_column: patient_id
attributes:
  - {column: patient_id, role: IDENTIFYING}
  - {column: name, role: IDENTIFYING}
  - column: age
    role: QUASI_IDENTIFIER
    hierarchy: {intervals: {minimum: 0, maximum: 105, widths: [5, 10, 20, 40], top_coding: 90}}
    minimum_level: 1
    maximum_level: 4
  - column: zip code
    role: QUASI_IDENTIFIER
    hierarchy: {redaction: {length: 5, alphabet: "0123456789"}}
    weight: 2.5
    nulls: ERROR
  - {column: diagnosis, role: SENSITIVE}
  - {column: charge, role: SENSITIVE}
default_role: INSENSITIVE
privacy_models:
  - k_anonymity: {k: 5}
  - entropy_l_diversity: {column: diagnosis, l: 3}
suppression_limit: 0.05
quality_model: {loss: {aggregate: MAXIMUM}}
search: {levels: {age: 1, zip code: 2}}
risk_thresholds: [0.1, 0.2]
release: {schema: main, name: discharges_released, if_exists: REPLACE}
"""


def policy_of(text: str) -> policy_pb2.Policy:
    statement = parse(text)
    assert isinstance(statement, CreateAnonymized)
    return statement.policy


def faults_of(text: str) -> tuple[Fault, ...]:
    with pytest.raises(InvalidError) as raised:
        parse(text)
    assert raised.value.code == "STATEMENT_INVALID"
    return raised.value.faults


def test_a_statement_says_what_a_policy_says() -> None:
    expected, faults = read_policy(POLICY, "yaml")
    assert not faults
    assert policy_of(STATEMENT) == expected
    dry = parse(STATEMENT.replace("CREATE", "explain create"))
    assert isinstance(dry, CreateAnonymized)
    assert (dry.policy, dry.dry_run, dry.trial) == (expected, True, False)
    tried = parse(STATEMENT.replace("ANONYMIZED TABLE", "ANONYMIZED TRIAL"))
    assert isinstance(tried, CreateAnonymized)
    assert (tried.policy, tried.dry_run, tried.trial) == (expected, False, True)
    viewed = parse(STATEMENT.replace("ANONYMIZED TABLE", "anonymized trial view"))
    assert isinstance(viewed, CreateAnonymized)
    assert (viewed.policy.release.kind, viewed.trial) == (policy_pb2.RELEASE_KIND_VIEW, True)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM t", {"source": policy_pb2.TableReference(table="t")}),
        ("FROM t", {"source_query": "FROM t"}),
        ("FROM a.b.c", {"source": policy_pb2.TableReference(catalog="a", schema="b", table="c")}),
        ("FROM a.b.c AS d", {"source_query": "FROM a.b.c AS d"}),
        (
            'select * from "a""b"."Überweisung".日本',
            {"source": policy_pb2.TableReference(catalog='a"b', schema="Überweisung", table="日本")},
        ),
        ("SELECT * FROM t AS u", {"source_query": "SELECT * FROM t AS u"}),
        ("SELECT a, 'with (' FROM t -- WITH (", {"source_query": "SELECT a, 'with (' FROM t -- WITH ("}),
        (
            "WITH u AS (SELECT * FROM t WHERE (a) IN (1)) SELECT * FROM u",
            {"source_query": "WITH u AS (SELECT * FROM t WHERE (a) IN (1)) SELECT * FROM u"},
        ),
        ("SELECT $$ WITH ( $$ FROM t", {"source_query": "SELECT $$ WITH ( $$ FROM t"}),
    ],
)
@pytest.mark.parametrize("behind", ["", "\nWITH (k_anonymity(5))", ";"])
def test_the_source_is_a_table_or_the_text_of_a_query(query: str, expected: dict[str, object], behind: str) -> None:
    if behind == ";" and "--" in query:
        behind = "\n;"
    policy = policy_of(f"CREATE OR REPLACE ANONYMIZED VIEW r AS {query}{behind}")
    release = policy_pb2.ReleaseTarget(
        name="r", kind=policy_pb2.RELEASE_KIND_VIEW, if_exists=policy_pb2.IF_EXISTS_REPLACE
    )
    models = list(policy.privacy_models)
    assert policy == policy_pb2.Policy(release=release, privacy_models=models, **expected)  # type: ignore[arg-type]
    assert len(models) == behind.count("k_anonymity")


def test_everything_else_that_a_policy_says_has_a_form() -> None:
    text = """CREATE ANONYMIZED TABLE r PRIVACY (ROWS ARE PEOPLE,
        QUASI_IDENTIFIER a USING grouping([{groups: [{label: 'low', members: [1, -2]}], others: high}]),
        QUASI_IDENTIFIER b USING combination(rows => [['x', y, '*']], rest => inline([[p, q]])),
        QUASI_IDENTIFIER c WITH (aggregation = {function: MEDIAN}, acknowledged = true))
        AS SELECT * FROM t WITH (population = {table: {table: p}, size: 1000}, t_closeness("s t", 0.2, ORDERED))"""
    expected, faults = read_policy(
        """
        source: {table: t}
        rows_are_people: true
        attributes:
          - column: a
            role: QUASI_IDENTIFIER
            hierarchy: {grouping: {levels: [{groups: [{label: low, members: ["1", "-2"]}], others: high}]}}
          - column: b
            role: QUASI_IDENTIFIER
            hierarchy: {combination: {rows: [[x, "y", "*"]], rest: {inline: {rows: [[p, q]]}}}}
          - {column: c, role: QUASI_IDENTIFIER, aggregation: {function: MEDIAN}, acknowledged: true}
        privacy_models: [{t_closeness: {column: s t, t: 0.2, distance: ORDERED}}]
        population: {table: {table: p}, size: 1000}
        release: {name: r}
        """,
        "yaml",
    )
    assert not faults
    assert policy_of(text) == expected


BEGIN = "CREATE ANONYMIZED TABLE r "
ALL = f"{BEGIN}AS SELECT * FROM t WITH "

ALMOST = {
    "": ("line 1, column 1", "the end of the statement", "CREATE"),
    " ; ": ("line 1, column 2", "the end of the statement", "CREATE"),
    "SELECT * FROM t": ("line 1, column 1", "a query", "a statement about releases"),
    '"CREATE" ANONYMIZED TABLE r': ("line 1, column 1", "'\"CREATE\"'", "CREATE"),
    "CREATE TABLE r AS SELECT 1": ("line 1, column 8", "'TABLE'", "OR REPLACE or ANONYMIZED"),
    "CREATE ANONYMIZED\n  INDEX r": ("line 2, column 3", "'INDEX'", "TABLE or VIEW"),
    BEGIN: ("line 1, column 26", "the end", "PRIVACY or AS"),
    f"{BEGIN}AS": ("line 1, column 29", "the end", "a SELECT"),
    f"{BEGIN}AS DELETE FROM t": ("line 1, column 30", "'DELETE'", "a SELECT"),
    f"{BEGIN}AS SELECT 1; SELECT 2": ("line 1, column 40", "'SELECT'", "the end of the statement"),
    f"{BEGIN}WITH (k_anonymity(5)) AS SELECT 1": ("line 1, column 27", "'WITH'", "PRIVACY or AS"),
    f"{BEGIN}AS SELECT * FROM t PRIVACY (PERSON p)": ("line 1, column 46", "'PRIVACY'", "before AS"),
    f"{ALL}(k_anonymity(5)) WITH (k_anonymity(5))": ("line 1, column 68", "'WITH'", "the end of the statement"),
    f"{ALL}(k_anonimity(5))": ("line 1, column 52", "'k_anonimity'", "one of k_anonymity, k_map"),
    f"{ALL}(k_anonymity 5)": ("line 1, column 64", "'5'", "("),
    f"{ALL}(k_anonymity(5, 6))": ("line 1, column 67", "'6'", "one of the names k"),
    f"{ALL}(t_closeness(t => 0.1, d))": ("line 1, column 74", "'d'", "one of the names column, t, distance"),
    f"{ALL}(k_anonymity(five))": ("line 1, column 64 (privacy_models[0].k_anonymity.k)", "'five'", "a whole number"),
    f"{ALL}(k_anonymity(k => 5, k => 6))": ("line 1, column 72", "more than once", "once"),
    f"{ALL}(k_anonymity(l => 5))": ("line 1, column 64", "an unknown field", "one of the fields k"),
    f"{ALL}(suppression_limt = 0.1)": ("line 1, column 52 (suppression_limt)", "an unknown field", "suppression_limit"),
    f"{ALL}(loss(), entropy())": ("line 1, column 60 (quality_model.entropy)", "entropy beside loss", "only one"),
    f"{ALL}(search = 5)": ("line 1, column 52 (search)", "'5'", "a mapping"),
    f"{ALL}(suppression_limit = [1])": ("line 1, column 52 (suppression_limit)", "a list", "a single value"),
    f"{ALL}(k_anonymity(5),\n suppression_limit = 0.1,\n suppression_limit = 0.2)": (
        "line 3, column 2 (suppression_limit)",
        "the field more than once",
        "each field once",
    ),
    f"{ALL}(k_anonymity(5), policy = $$ privacy_models: [] $$)": (
        "line 1, column 68 (privacy_models)",
        "the field more than once",
        "each field once",
    ),
    f"{ALL}(k_anonymity(5), policy = $$ a: [ $$)": ("line 1, column 68", "YAML with", "YAML"),
    f"{ALL}(k_anonymity(5), policy = $$ x $$)": ("line 1, column 68", "only a text", "a policy's fields"),
    f"{ALL}(k_anonymity(5),)": ("line 1, column 67", "')'", "one of"),
    f"{ALL}(k_anonymity(5)": ("line 1, column 66", "the end", ") or ,"),
    f"{BEGIN}PRIVACY (PERSON a, PERSON b)": ("line 1, column 46", "once more", "each kind once"),
    f"{BEGIN}PRIVACY (OTHERS SENSITIVE, OTHERS SENSITIVE)": ("line 1, column 54", "once more", "each kind once"),
    f"{BEGIN}PRIVACY (PERSON a, ROWS ARE PEOPLE) AS SELECT 1": (
        "line 1, column 46 (rows_are_people)",
        "rows_are_people beside person_column",
        "only one",
    ),
    f"{BEGIN}PRIVACY (QUASI age)": ("line 1, column 36", "'QUASI'", "QUASI_IDENTIFIER"),
    f"{BEGIN}PRIVACY (SENSITIVE ())": ("line 1, column 47", "')'", "a column"),
    f"{BEGIN}PRIVACY (SENSITIVE 'diagnosis')": ("line 1, column 46", "''diagnosis''", "a column"),
    f"{BEGIN}PRIVACY (QUASI_IDENTIFIER a USING interval(0, 1))": (
        "line 1, column 61",
        "'interval'",
        "one of inline, stored",
    ),
    f"{BEGIN}PRIVACY (QUASI_IDENTIFIER a LEVELS 1 TO 2 USING dates())": ("line 1, column 69", "'USING'", "WITH or )"),
    f"{BEGIN}PRIVACY (QUASI_IDENTIFIER a LEVELS one TO 2) AS SELECT 1": (
        "line 1, column 62 (attributes[0].minimum_level)",
        "'one'",
        "a whole number",
    ),
    "CREATE ANONYMIZED TABLE a.b.c AS SELECT 1": ("line 1, column 29", "3 names", "at most schema.name"),
    f"{BEGIN}AS SELECT 'abc": ("line 1, column 37", "without an end", "its end"),
    f'{BEGIN}AS SELECT "abc': ("line 1, column 37", "without an end", "its end"),
    f"{BEGIN}AS SELECT /* abc": ("line 1, column 37", "without an end", "its end"),
    f"{BEGIN}AS SELECT $$ abc": ("line 1, column 37", "without an end", "its end"),
    "REFRESH ANONYMIZED TABLE a.b.c": ("line 1, column 30", "3 names", "at most schema.table"),
    "REFRESH TABLE r": ("line 1, column 9", "'TABLE'", "ANONYMIZED"),
    "REFRESH ANONYMIZED TABLE r BECAUSE older": ("line 1, column 36", "'older'", "a reason in quotes"),
    "DROP ANONYMIZED TABLE r": ("line 1, column 24", "the end", ". or BECAUSE"),
    "APPROVE RELEASE 7": ("line 1, column 18", "the end", "BECAUSE"),
    "APPROVE RELEASE seven": ("line 1, column 17", "'seven'", "a whole number"),
    "APPROVE RELEASE 7 BECAUSE 'a' BECAUSE 'b'": ("line 1, column 31", "'BECAUSE'", "the end of the statement"),
    "REJECT RELEASE 7": ("line 1, column 17", "the end", "BECAUSE"),
    "GRANT SELECT ON TABLE r TO GROUP g": ("line 1, column 17", "'TABLE'", "ANONYMIZED"),
    "GRANT INSERT ON ANONYMIZED TABLE r TO g": ("line 1, column 7", "'INSERT'", "SELECT"),
    "GRANT SELECT ON ANONYMIZED TABLE r FROM g": ("line 1, column 36", "'FROM'", ". or TO"),
    "REVOKE SELECT ON ANONYMIZED TABLE r FROM GROUP": ("line 1, column 47", "the end", "a group"),
    "SHOW RELAESES": ("line 1, column 6", "'RELAESES'", "RELEASES"),
    "SHOW RELEASES LIMIT -1": ("line 1, column 21", "'-'", "a whole number"),
    "SHOW RELEASES LIMIT 99999999999999999999": ("line 1, column 21", "'9", "a whole number"),
}


@pytest.mark.parametrize("text", ALMOST, ids=range(len(ALMOST)))
def test_what_is_almost_a_statement_is_refused_with_its_place(text: str) -> None:
    place, found, expected = ALMOST[text]
    (fault,) = faults_of(text)
    assert fault.field.startswith(place)
    assert found in fault.found
    assert expected in fault.expected


def test_a_name_that_is_nearly_right_is_proposed() -> None:
    (fault,) = faults_of(f"{ALL}(k_anonimity(5))")
    assert fault.hint == "Did you mean 'k_anonymity'?"


def test_queries_are_led_to_rows() -> None:
    """The nearest statement to SELECT is REJECT."""
    (fault,) = faults_of("SELECT * FROM t")
    assert "`tableveil export`" in fault.hint


def test_all_faults_of_a_policy_are_told_at_once() -> None:
    places = [fault.field for fault in faults_of(f"{ALL}(k_anonymity(five),\nk_map(six), bogus = 1)")]
    assert places == [
        "line 2, column 13 (bogus)",
        "line 1, column 64 (privacy_models[0].k_anonymity.k)",
        "line 2, column 7 (privacy_models[1].k_map.k)",
    ]


@pytest.mark.parametrize("bracket", ["[", "{a: ", "combination(rest => "])
def test_deep_nesting_is_refused(bracket: str) -> None:
    using = bracket if bracket.startswith("c") else f"grouping({bracket}"
    (fault,) = faults_of(f"{BEGIN}PRIVACY (QUASI_IDENTIFIER a USING {using}{bracket * 2000}")
    assert fault.found == "more than 64 levels of nesting"


def test_the_brackets_of_a_query_are_left_to_those_who_read_it() -> None:
    query = f"SELECT {'(' * 10_000}1{')' * 10_000}"
    assert policy_of(f"{BEGIN}AS {query} WITH (k_anonymity(2))").source_query == query


def test_long_statements_are_refused_before_they_are_read() -> None:
    (fault,) = faults_of(f"{ALL}(k_anonymity({'5, ' * 350_000}))")
    assert (fault.field, fault.expected) == ("statement", f"at most {MOST_CHARACTERS:,}")


def test_the_number_of_shown_releases_may_be_said() -> None:
    assert parse("show releases limit 3;") == ShowReleases(3)
    assert parse("\ufeffSHOW RELEASES") == ShowReleases(0)


def test_the_other_statements() -> None:
    reference = policy_pb2.TableReference(schema="Über", table="r")
    target = StatementTarget(reference, "line 1, column 26")
    assert parse('refresh anonymized table "Über".r') == Refresh(target, "")
    assert parse('refresh anonymized table "Über".r because $$ it\'s new $$;') == Refresh(target, " it's new ")
    dropped = Withdraw(StatementTarget(reference, "line 1, column 22"), "old")
    assert parse("drop anonymized view \"Über\".r because 'old'") == dropped
    assert parse("APPROVE RELEASE 7 BECAUSE 'agreed'") == Decide("releases/7", True, "agreed")
    assert parse("PROMOTE RELEASE 7") == Promote("releases/7", "")
    others = ("releases/1", "releases/5")
    assert parse("promote release 7 other people (1, 5)") == Promote("releases/7", "", others)
    assert parse("PROMOTE RELEASE 7 OTHER PEOPLE (1, 5) BECAUSE 'x'") == Promote("releases/7", "x", others)
    assert parse("promote release 7 BECAUSE 'k'") == Promote("releases/7", "k")
    assert parse('CREATE SCHEMA "Fälle 2026"') == CreateSchema("Fälle 2026")
    assert parse('alter schema "Fälle 2026" set joint_k = TRUE;') == SetSchemaRule("Fälle 2026", joint_k=True)
    assert parse("ALTER SCHEMA ward SET JOINT_K = false") == SetSchemaRule("ward", joint_k=False)
    assert parse("REJECT RELEASE 7 BECAUSE 'k'") == Decide("releases/7", False, "k")
    rule = GrantRule(role=access_pb2.ACCESS_ROLE_ANALYST, schema="main", table="r", group="group")
    assert parse("GRANT SELECT ON ANONYMIZED TABLE r TO GROUP group") == GrantStatement(rule, taken=False)
    rule.principal = "oidc:ann"
    assert parse('REVOKE SELECT ON ANONYMIZED TABLE r FROM "oidc:ann"') == GrantStatement(rule, taken=True)


def test_a_release_in_a_warehouse_is_not_named_with_it() -> None:
    (fault,) = faults_of("CREATE ANONYMIZED TABLE lake.clinic.released AS SELECT * FROM lake.clinic.visits")
    assert "its source's database or warehouse" in fault.hint
