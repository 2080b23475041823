"""Statements over a real server: they do what methods do, for whom those do it, and leave the same trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tableveil.client import Client
from tableveil.errors import DeniedError, InvalidError
from tableveil.v1 import access_pb2
from tests.e2e import samples
from tests.e2e.commands import Outcome, tableveil
from tests.e2e.process import Serve

ROLES = {
    "steward": [access_pb2.ACCESS_ROLE_STEWARD],
    "analyst": [access_pb2.ACCESS_ROLE_ANALYST],
    "auditor": [access_pb2.ACCESS_ROLE_AUDITOR],
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
