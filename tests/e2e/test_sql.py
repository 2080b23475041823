"""Statements over a real server: they do what methods do, for whom those do it, and leave the same trace."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import ConflictError, DeniedError, InvalidError, NotFoundError
from tableveil.statements import parse
from tableveil.statements.statement import CreateAnonymized
from tableveil.v1 import access_pb2, access_service_pb2, policy_pb2
from tests.e2e import samples
from tests.e2e.commands import Outcome, tableveil
from tests.e2e.process import Serve

ROLES = {
    "steward": [access_pb2.ACCESS_ROLE_STEWARD],
    "analyst": [access_pb2.ACCESS_ROLE_ANALYST],
    "auditor": [access_pb2.ACCESS_ROLE_AUDITOR],
    "reader": [],
    "stranger": [],
}

PRIVACY = """(PERSON id, IDENTIFYING (name), QUASI_IDENTIFIER age USING intervals(0, 99, widths => [5, 10, 50]),
    QUASI_IDENTIFIER zip USING redaction(length => 5, alphabet_size => 10),
    QUASI_IDENTIFIER sex USING suppression_only(), SENSITIVE diagnosis, INSENSITIVE ward WITH (acknowledged = true))"""
OPTIONS = "WITH (k_anonymity(4), suppression_limit = 0.05, repeat_reason = 'a test')"


def create(name: str, privacy: str = PRIVACY, options: str = OPTIONS) -> str:
    return f"CREATE ANONYMIZED TABLE main.{name}\n  PRIVACY {privacy}\n  AS SELECT * FROM people {options};"


@dataclass(frozen=True)
class Clinic:
    """A server, and a client for each person, called like the role."""

    address: str
    admin: Client
    people: dict[str, Client]

    def sql(self, *arguments: str) -> Outcome:
        return tableveil("sql", *arguments, server=self.address)

    def calls(self, **wanted: str) -> list[tuple[str, str, str]]:
        """Principal, method and code of the calls in the audit that have ended, oldest first."""
        entries = [entry for entry in self.admin.list_audit_entries(**wanted) if entry.code]  # type: ignore[arg-type]
        return [(entry.principal, entry.method.rpartition("/")[2], entry.code) for entry in entries][::-1]


@pytest.fixture(scope="module")
def clinic(serve_all_along: Serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    path = tmp_path_factory.mktemp("sql") / "clinic.duckdb"
    samples.create(
        path,
        **dict.fromkeys(("people", "declared", "drafted", "growing", "risky", "roles"), samples.PEOPLE),
        strangers=f"SELECT * REPLACE (-id AS id, age + 11 AS age, 'c' || ward AS ward) FROM ({samples.PEOPLE})",
    )
    server = serve_all_along(path)
    with ExitStack() as opened:
        admin = opened.enter_context(Client(server.address))
        secrets = {name: admin.create_token(name, "test", roles).secret for name, roles in ROLES.items()}
        admin.add_grant(
            access_service_pb2.GrantRule(
                principal="stranger", role=access_pb2.ACCESS_ROLE_STEWARD, schema="main", table="growing"
            )
        )
        people = {name: opened.enter_context(Client(server.address, secret)) for name, secret in secrets.items()}
        yield Clinic(server.address, admin, people)


def test_a_statement_makes_the_release_of_its_policy(clinic: Clinic) -> None:
    steward = clinic.people["steward"]
    job = steward.execute(create("by_statement"), "nightly").job
    release = steward.get_release(steward.wait(job.name).result)
    expected = steward.submit(samples.message(samples.policy(target="by_policy", repeat_reason="a test")))
    by_policy = steward.get_release(steward.wait(expected.name).result)
    assert [found.level for found in release.attributes] == [found.level for found in by_policy.attributes]
    assert steward.execute(create("by_statement"), "nightly").job.name == job.name
    listed = steward.execute("SHOW RELEASES LIMIT 2").releases
    assert [found.name for found in listed.releases] == [by_policy.name, release.name]


def test_explain_releases_nothing(clinic: Clinic) -> None:
    told = clinic.sql("-c", f"EXPLAIN {create('explained')}")
    assert told.exit_code == 0, told.stderr
    assert "nothing was released" in told.stdout
    assert "explained" not in clinic.sql("-c", "SHOW RELEASES").stdout


def test_a_file_of_statements_stops_at_the_first_that_fails(clinic: Clinic, tmp_path: Path) -> None:
    file = tmp_path / "nightly.sql"
    file.write_text(
        f"-- every night\n{create('of_file')}\nSHOW RELEASES;\nSHOW TABELS; SHOW RELEASES", encoding="utf-8"
    )
    told = clinic.sql("-f", str(file), "--json")
    assert told.exit_code == 2
    *changes, release, listed, failed = told.documents
    assert [list(change) for change in changes] == [["job"]] * len(changes)
    assert release["release"]["target"]["name"] == "of_file"
    assert listed["releases"][0]["name"] == release["release"]["name"]
    (fault,) = failed["failure"]["faults"]
    assert (fault["field"], fault["found"]) == ("line 8, column 6", "'TABELS'")


def test_faults_that_the_database_finds_have_places_too(clinic: Clinic) -> None:
    with pytest.raises(InvalidError) as raised:
        clinic.people["steward"].execute(create("faulty", PRIVACY.replace("sex", "sexx").replace("diagnosis", "ag")))
    places = {fault.field.partition(" (")[0]: fault.found for fault in raised.value.faults}
    assert set(places) >= {"line 4, column 22", "line 4, column 63"}


@pytest.mark.parametrize(
    ("statement", "method", "who"),
    [(create("denied"), "SubmitJob", "analyst"), (f"EXPLAIN {create('denied')}", "SubmitDryRun", "auditor")],
)
def test_a_statement_is_no_way_around_the_rights_of_its_method(
    clinic: Clinic, statement: str, method: str, who: str
) -> None:
    with pytest.raises(DeniedError, match=method):
        clinic.people[who].execute(statement)
    assert clinic.calls(principal=who)[-2:] == [
        (who, method, "PERMISSION_DENIED"),
        (who, "ExecuteStatement", "PERMISSION_DENIED"),
    ]


def test_the_calls_of_a_statement_are_in_the_audit_with_what_they_name(clinic: Clinic) -> None:
    clinic.people["steward"].execute(f"EXPLAIN {create('audited')}")
    ended, *_ = clinic.admin.list_audit_entries(principal="steward", method="SubmitDryRun")
    outer, *_ = clinic.admin.list_audit_entries(principal="steward", method="ExecuteStatement")
    assert "main.audited" in ended.resources
    assert ended.job
    assert ended.correlation == outer.correlation
    assert not outer.resources


REFRESHED = "REFRESH ANONYMIZED TABLE refreshed"


def test_a_release_is_refreshed_and_withdrawn_by_its_name(clinic: Clinic) -> None:
    steward = clinic.people["steward"]
    first = steward.wait(
        steward.execute(create("refreshed", options="WITH (k_anonymity(4), repeat_reason = 'one')")).job.name
    )
    again = steward.wait(steward.execute('refresh anonymized table main."REFRESHED"').job.name)
    release = steward.get_release(again.result)
    shown = clinic.sql("-c", "SHOW CREATE ANONYMIZED TABLE refreshed").stdout
    assert "QUASI_IDENTIFIER zip USING redaction(length => 5, alphabet_size => 10)" in shown
    statement = parse(shown)
    assert isinstance(statement, CreateAnonymized)
    assert statement.policy == release.policy
    assert release.policy.repeat_reason == "one"
    assert not steward.get_release(first.result).current
    why = steward.wait(steward.execute(f"{REFRESHED} BECAUSE 'a new month'").job.name).result
    assert steward.get_release(why).policy.repeat_reason == "a new month"
    withdrawn = steward.execute("DROP ANONYMIZED TABLE refreshed BECAUSE 'wrong month'").release
    assert (withdrawn.name, withdrawn.withdraw_reason) == (why, "wrong month")
    with pytest.raises(NotFoundError) as raised:
        steward.execute(REFRESHED)
    assert raised.value.faults[0].field == "line 1, column 26"


def test_a_refresh_invents_no_reason(clinic: Clinic) -> None:
    steward = clinic.people["steward"]
    wanted = create("unreasoned", options="WITH (k_anonymity(4), suppression_limit = 0.05)")
    first = steward.wait(steward.execute(wanted.replace("FROM people", "FROM strangers")).job.name)
    refused = clinic.sql("-c", "REFRESH ANONYMIZED TABLE unreasoned")
    assert (refused.exit_code, "REPEATED_RELEASE" in refused.stderr) == (2, True), refused.stderr
    assert steward.get_release(first.result).current
    again = clinic.sql("-c", "REFRESH ANONYMIZED TABLE unreasoned BECAUSE 'wards moved'")
    assert again.exit_code == 0, again.stderr


def test_grants_are_given_and_taken(clinic: Clinic) -> None:
    steward, analyst = clinic.people["steward"], clinic.people["reader"]
    job = steward.wait(steward.execute(create("granted")).job.name)
    with pytest.raises(DeniedError):
        analyst.get_release(job.result)
    with pytest.raises(DeniedError, match="AddGrant"):
        steward.execute("GRANT SELECT ON ANONYMIZED TABLE granted TO reader")
    told = clinic.sql("-c", "GRANT SELECT ON ANONYMIZED TABLE main.granted TO reader")
    assert told.stdout.endswith("reader is analyst of main.granted.\n")
    assert analyst.get_release(job.result).name == job.result
    assert analyst.execute("SHOW RELEASES").releases.releases[0].name == job.result
    told = clinic.sql("-c", "REVOKE SELECT ON ANONYMIZED TABLE GRANTED FROM reader", "--json")
    assert told.documents[0]["removed_grant"]["rule"]["principal"] == "reader"
    with pytest.raises(DeniedError):
        analyst.get_release(job.result)
    assert clinic.sql("-c", "REVOKE SELECT ON ANONYMIZED TABLE granted FROM GROUP reader").exit_code == 8


def test_no_names_are_proposed_that_the_caller_may_not_see(clinic: Clinic) -> None:
    steward, analyst = clinic.people["steward"], clinic.people["reader"]
    steward.wait(steward.execute(create("secret_plans")).job.name)
    clinic.admin.execute("GRANT SELECT ON ANONYMIZED TABLE seldom_seen TO reader")
    for client, hint in ((steward, "Did you mean 'secret_plans'?"), (analyst, "")):
        with pytest.raises((NotFoundError, DeniedError)) as raised:
            client.execute("DROP ANONYMIZED TABLE secret_plan BECAUSE 'it is old'")
        assert raised.value.faults[0].hint == hint


def test_decisions_are_those_of_approvers(clinic: Clinic) -> None:
    for statement in ("APPROVE RELEASE 1 BECAUSE 'agreed'", "REJECT RELEASE 1 BECAUSE 'small classes'"):
        with pytest.raises(DeniedError, match=statement.split()[0].title() + "Release"):
            clinic.people["steward"].execute(statement)
    with pytest.raises(ConflictError):
        clinic.admin.execute("APPROVE RELEASE 1 BECAUSE 'agreed'")


def privacy_of(table: str) -> str:
    return f"ALTER TABLE {table} SET PRIVACY {PRIVACY}"


def test_a_privacy_is_declared_once_for_statements_policies_and_drafts(clinic: Clinic) -> None:
    steward = clinic.people["steward"]
    told = clinic.sql("-c", "SHOW PRIVACY OF declared")
    assert (told.exit_code, "SET PRIVACY" in told.stderr) == (8, True)
    declared = steward.execute(privacy_of("declared")).privacy
    assert (declared.version, declared.declared_by) == (1, "steward")
    assert steward.execute(privacy_of("main.declared")).privacy == declared
    shown = clinic.sql("-c", "SHOW PRIVACY OF declared").stdout
    assert shown.startswith("-- version 1, by steward\nALTER TABLE main.declared SET PRIVACY (\n")
    assert steward.execute(shown).privacy == declared
    job = steward.execute(f"CREATE ANONYMIZED TABLE by_declaration AS SELECT * FROM declared {OPTIONS}").job
    release = steward.get_release(steward.wait(job.name).result)
    assert list(release.policy.attributes) == list(declared.privacy.attributes)
    assert release.policy.person_column == "id"
    policy = samples.message(samples.policy("declared", "omits", repeat_reason="a test"))
    own = samples.message(samples.policy("declared", "own", repeat_reason="a test"))
    del policy.attributes[3:]
    policy.ClearField("person")
    policy.attributes[2].ClearField("role")
    policy.attributes[2].ClearField("hierarchy")
    policy.attributes[2].maximum_level = 1
    own.attributes[2].maximum_level = 1
    assert steward.check_policy(policy) == []
    jobs = [steward.wait(steward.submit(one).name) for one in (policy, own)]
    completed, whole = (steward.get_release(job.result).policy for job in jobs)
    whole.release.name = completed.release.name
    assert completed == whole
    draft = steward.draft_policy(policy_pb2.TableReference(table="declared"))
    assert draft.policy.attributes == declared.privacy.attributes
    assert draft.policy.person_column == "id"
    assert {remark.field.partition("[")[0] for remark in draft.remarks}.isdisjoint({"person_column", "rows_are_people"})
    changed = steward.execute(privacy_of("declared").replace("SENSITIVE diagnosis", "IDENTIFYING (diagnosis)")).privacy
    assert changed.version == 2


def test_a_declared_role_without_a_hierarchy_gets_a_drafted_one(clinic: Clinic) -> None:
    steward = clinic.people["steward"]
    bare = """ALTER TABLE roles SET PRIVACY (PERSON id, QUASI_IDENTIFIER (age, zip, diagnosis), IDENTIFYING (name),
        QUASI_IDENTIFIER sex USING suppression_only(), SENSITIVE ward)"""
    by_name = {one.column: one for one in steward.execute(bare).privacy.privacy.attributes}
    asked = steward.draft_policy(policy_pb2.TableReference(table="people"), ["Diagnosis"]).proposal
    drafted = {one.column: one for one in asked.attributes}
    assert drafted["diagnosis"].role == policy_pb2.ROLE_QUASI_IDENTIFIER
    for name in ("age", "zip", "diagnosis"):
        assert by_name[name].hierarchy == drafted[name].hierarchy
    assert by_name["sex"].hierarchy.HasField("suppression_only")
    other = steward.draft_policy(policy_pb2.TableReference(table="roles"), ["ward"]).proposal.attributes
    assert {one.column: one.role for one in other}["ward"] == policy_pb2.ROLE_QUASI_IDENTIFIER
    with pytest.raises(InvalidError) as raised:
        steward.execute(bare.replace("diagnosis", "diagnosi"))
    assert any(fault.hint == "Did you mean 'diagnosis'?" for fault in raised.value.faults)
    with pytest.raises(NotFoundError):
        steward.execute(bare.replace("roles", "rolls"))
    with pytest.raises(InvalidError) as unknown:
        steward.draft_policy(policy_pb2.TableReference(table="people"), ["sexx"])
    assert [fault.field for fault in unknown.value.faults] == ["quasi_identifiers[0]"]


def test_what_is_declared_must_fit_the_table(clinic: Clinic) -> None:
    with pytest.raises(InvalidError) as raised:
        clinic.people["steward"].execute(privacy_of("people").replace("QUASI_IDENTIFIER sex", "QUASI_IDENTIFIER sexx"))
    faults = {fault.field.partition(" (")[0]: fault for fault in raised.value.faults}
    assert faults["line 3, column 22"].hint == "Did you mean 'sex'?"
    with pytest.raises(DeniedError, match="DeclarePrivacy"):
        clinic.people["analyst"].execute(privacy_of("people"))
    entry = clinic.calls(principal="analyst")[-2]
    assert entry == ("analyst", "DeclarePrivacy", "PERMISSION_DENIED")


def test_faults_of_a_declaration_name_it(clinic: Clinic) -> None:
    steward = clinic.people["steward"]
    steward.execute(privacy_of("growing"))
    statement = "CREATE ANONYMIZED TABLE grown AS SELECT * FROM growing WITH (k_anonymity(4), microaggregation = {})"
    with pytest.raises(InvalidError) as by_statement:
        steward.execute(statement)
    policy = samples.message({**samples.policy("growing", "grown"), "attributes": [], "microaggregation": {}})
    policy.ClearField("suppression_limit")
    with pytest.raises(InvalidError) as by_policy:
        steward.submit(policy)
    for raised in (by_statement, by_policy):
        fields = [fault.field for fault in raised.value.faults]
        assert len([field for field in fields if "privacy of growing, version 1: age" in field]) == 1, fields


def test_the_risks_of_a_table_are_those_of_its_declared_quasi_identifiers(clinic: Clinic) -> None:
    steward = clinic.people["steward"]
    steward.execute(privacy_of("risky"))
    told = clinic.sql("-c", "SHOW RISK OF risky", "--json")
    assert told.documents[-1]["risk_analysis"]["quasi_identifiers"] == ["age", "zip", "sex"]
    guessed = clinic.sql("-c", "SHOW RISK OF people", "--json")
    assert guessed.exit_code == 0
    assert clinic.sql("-c", "SHOW RISK OF nobody").exit_code == 8


def test_a_draft_becomes_a_declaration_once_it_is_decided(clinic: Clinic, tmp_path: Path) -> None:
    file = tmp_path / "privacy.sql"
    told = tableveil("draft-policy", "drafted", "--sql", "--output", str(file), server=clinic.address)
    assert "declare it with `tableveil sql -f" in told.stdout
    undecided = clinic.sql("-f", str(file))
    assert undecided.exit_code == 2
    decided = re.sub(r"^    -- (?=PERSON|[A-Z_]+IFIER)", "    ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    file.write_text(decided, encoding="utf-8")
    declared = clinic.sql("-f", str(file))
    assert declared.stdout.startswith("-- version 1, by admin\nALTER TABLE main.drafted SET PRIVACY ("), declared.stderr
    assert tableveil("draft-policy", "people", "--sql", "--query", str(file), server=clinic.address).exit_code == 2


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {'(' * 4000}1{')' * 4000}",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM tableveil.tokens",
        "SELECT * FROM tableveil.tokens AS t",
        "SELECT getenv('HOME') AS age FROM people",
        "SELECT 1 AS age; DROP TABLE people",
        "WITH a AS (SELECT 1) DELETE FROM people",
        "SELECT * FROM query('SELECT 1')",
    ],
)
def test_a_query_gets_no_further_than_in_a_policy(clinic: Clinic, query: str) -> None:
    with pytest.raises(InvalidError) as raised:
        clinic.people["steward"].execute(f"CREATE ANONYMIZED TABLE r PRIVACY {PRIVACY}\nAS {query}\n{OPTIONS}")
    assert all(fault.field.startswith("line ") for fault in raised.value.faults)
    assert any(fault.field.startswith("line 4, column ") for fault in raised.value.faults)


def test_nobody_uses_or_sees_the_privacy_of_tables_of_others(clinic: Clinic) -> None:
    clinic.people["steward"].execute(privacy_of("risky"))
    with pytest.raises(NotFoundError) as raised:
        clinic.people["stranger"].execute("SHOW PRIVACY OF risky")
    assert raised.value.code == "TABLE_NOT_FOUND"
    assert not raised.value.faults[0].hint

    def refused(table: str) -> list[str]:
        with pytest.raises(InvalidError) as raised:
            clinic.people["stranger"].execute(f"CREATE ANONYMIZED TABLE r AS SELECT * FROM {table} {OPTIONS}")
        return [str(fault) for fault in raised.value.faults]

    # Nothing tells the table from one that is not there.
    assert [text.replace("risky", "ghost") for text in refused("risky")] == refused("ghost")


def test_a_request_id_names_one_job(clinic: Clinic) -> None:
    asked = ("--request-id", "a risk", "--json", "-c", "SHOW RISK OF risky")
    first, again = (clinic.sql(*asked).documents[-1] for _ in range(2))
    assert first == again
    assert clinic.sql("--request-id", "two", "-c", "SHOW RELEASES; SHOW RELEASES").exit_code == 2
