"""Statements over a real server: they do what methods do, for whom those do it, and leave the same trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import ConflictError, DeniedError, InvalidError, NotFoundError
from tableveil.statements import parse
from tableveil.statements.statement import CreateAnonymized
from tableveil.v1 import access_pb2
from tests.e2e import samples
from tests.e2e.commands import Outcome, tableveil
from tests.e2e.process import Serve

ROLES = {
    "steward": [access_pb2.ACCESS_ROLE_STEWARD],
    "analyst": [access_pb2.ACCESS_ROLE_ANALYST],
    "auditor": [access_pb2.ACCESS_ROLE_AUDITOR],
    "reader": [],
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
    samples.create(path, people=samples.PEOPLE)
    server = serve_all_along(path)
    with ExitStack() as opened:
        admin = opened.enter_context(Client(server.address))
        secrets = {name: admin.create_token(name, "test", roles).secret for name, roles in ROLES.items()}
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
    for statement in ("APPROVE RELEASE 1", "REJECT RELEASE 1 BECAUSE 'small classes'"):
        with pytest.raises(DeniedError, match=statement.split()[0].title() + "Release"):
            clinic.people["steward"].execute(statement)
    with pytest.raises(ConflictError):
        clinic.admin.execute("APPROVE RELEASE 1 BECAUSE 'agreed'")
