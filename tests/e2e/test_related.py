"""People and their events as one release over a real server: made, approved, replaced, published, taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from tableveil.client import Client, ExportFormat
from tableveil.errors import ConflictError, InvalidError
from tableveil.v1 import access_pb2, dry_run_service_pb2, release_service_pb2, report_service_pb2
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, ServerProcess

ROLES = {
    "steward": [access_pb2.ACCESS_ROLE_STEWARD, access_pb2.ACCESS_ROLE_OPERATOR],
    "approver": [access_pb2.ACCESS_ROLE_APPROVER],
}
TABLES = """
CREATE SCHEMA open;
CREATE MACRO any_of(list, text) AS list[1 + (hash(text) % len(list))::INTEGER];
CREATE TABLE patients AS SELECT i AS pid, 1940 + (hash('born ' || i) % 60)::INTEGER AS born,
  any_of(['f', 'm'], 'sex ' || i) AS sex FROM range(400) r(i);
CREATE TABLE visits AS SELECT p * 10 + j AS visit, p AS pid, DATE '2023-01-01' + (hash(p || ' ' || j) % 730)::INTEGER
  AS began, any_of(['eye', 'surgery', 'medicine'], p || ' ward ' || j) AS ward FROM range(400) r(p), range(5) s(j)
  WHERE j <= p % 4;
CREATE TABLE labs AS SELECT p AS pid, any_of(['K', 'HB'], p || ' lab ' || j) AS code FROM range(400) r(p), range(2) s(j)
  WHERE p % 5 > 0;
"""
POLICY = """
tables:
  people: {table: patients, key: pid}
  events:
    - {table: visits}
    - {name: lab, table: labs}
  rows_limit: 0.5
attributes:
  - {column: pid, role: IDENTIFYING}
  - {column: born, role: QUASI_IDENTIFIER, hierarchy: {intervals: {minimum: "1900", maximum: "2025", widths: ["25"]}}}
  - {column: sex, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}
  - {table: visits, column: visit, role: IDENTIFYING}
  - {table: visits, column: pid, role: IDENTIFYING}
  - table: visits
    column: began
    role: QUASI_IDENTIFIER
    hierarchy: {dates: {minimum: "2023-01-01", maximum: "2024-12-31", units: [MONTH, YEAR]}}
  - {table: visits, column: ward, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}
  - {table: lab, column: pid, role: IDENTIFYING}
  - {table: lab, column: code, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}
privacy_models:
  - k_anonymity: {k: 5}
  - known_facts: {m: 2}
suppression_limit: 0.1
release: {name: clinic}
"""
OBJECTS = {
    *("clinic", "clinic_classes", "clinic_risk", "clinic_risk_histogram", "clinic_columns", "clinic_labels"),
    *("clinic_about", "clinic_visits", "clinic_visits_columns", "clinic_visits_labels", "clinic_lab"),
    *("clinic_lab_columns", "clinic_lab_labels", "clinic_known_rows"),
}


def policy(**changes: Any) -> str:
    """The policy as YAML, with other parts of its release, or other fields."""
    document = yaml.safe_load(POLICY)
    document["release"] |= changes.pop("release", {})
    return yaml.safe_dump(document | changes, sort_keys=False)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        connection.execute(TABLES)
    (tmp_path / "shelf").mkdir()
    (tmp_path / "backups").mkdir()
    return tmp_path


@pytest.fixture
def server(serve: Serve, place: Path) -> ServerProcess:
    """Releases into main need approval here."""
    shelf, backups = f"shelf=directory:{place / 'shelf'}", str(place / "backups")
    options = ("--needs-approval", "main", "--publish", shelf, "--backup-directory", backups)
    return serve(place / "clinic.duckdb", *options)


@pytest.fixture
def people(server: ServerProcess) -> Iterator[dict[str, Client]]:
    """A client for each person, called like the role."""
    with ExitStack() as opened:
        admin = opened.enter_context(Client(server.address))
        secrets = {name: admin.create_token(name, "test", roles).secret for name, roles in ROLES.items()}
        yield {name: opened.enter_context(Client(server.address, secret)) for name, secret in secrets.items()}


def made(client: Client, place: Path, document: str = POLICY, **options: Any) -> release_service_pb2.Release:
    """The release of a policy in a file."""
    file = place / "policy.yaml"
    file.write_text(document)
    return client.get_release(client.wait(client.submit(file, **options).name).result)


def joined(client: Client, release: str) -> tuple[int, int, int]:
    """The released people, visits, and visits whose key is that of a person."""
    people, visits = client.read_table(release, "clinic"), client.read_table(release, "clinic_visits")
    keys = set(people["pid"].to_pylist())
    assert len(keys) == people.num_rows
    return people.num_rows, visits.num_rows, sum(key in keys for key in visits["pid"].to_pylist())


DECLARED = (
    "ALTER TABLE patients SET PRIVACY (PERSON pid, SENSITIVE born, QUASI_IDENTIFIER sex USING suppression_only())",
    "ALTER TABLE visits SET PRIVACY (PERSON pid, IDENTIFYING (visit, began), QUASI_IDENTIFIER ward USING "
    "suppression_only())",
)
STATEMENT = (
    "EXPLAIN CREATE ANONYMIZED TABLE open.tried PRIVACY (IDENTIFYING born) AS SELECT * FROM patients WITH "
    "(k_anonymity(5), known_facts(2), tables = {events: [{table: 'visits'}], rows_limit: 0.5})"
)


def test_a_proposal_compares_one_and_two_known_facts(server: ServerProcess, place: Path) -> None:
    tables = ("--people", "patients", "--events", "visits", "--events", "labs")
    proposed = tableveil("propose", *tables, "--output", str(place / "draft"), server=server.address)
    assert proposed.exit_code == 0, proposed.stderr
    assert {path.name for path in place.glob("draft*")} == {"draft-m1.yaml", "draft-m2.yaml"}
    told = " ".join(proposed.stdout.split())
    for m in (1, 2):
        assert f"m = {m}: Rows of 'visits' per person: 2.50 in the source" in told
        assert f"m = {m}: Rows of 'labs' per person: 1.60 in the source" in told
    assert "Within 30 days of the event before are" in told
    with Client(server.address) as client:
        assert client.check_policy(place / "draft-m2.yaml") == []


def test_all_tables_are_one_release(people: dict[str, Client], place: Path) -> None:
    steward, approver = people["steward"], people["approver"]
    for statement in DECLARED:
        steward.execute(statement)
    rehearsed = steward.wait(steward.execute(STATEMENT).job.name).result
    foreseen = steward.get_result(dry_run_service_pb2.DryRun, rehearsed).release
    assert [(attribute.column, attribute.table) for attribute in foreseen.policy.attributes] == [
        *(("born", ""), ("pid", ""), ("sex", "")),
        *((name, "visits") for name in ("pid", "visit", "began", "ward")),
    ]
    assert foreseen.policy.tables.people.key == "pid"
    trial = made(steward, place, trial=True)
    assert trial.state == release_service_pb2.RELEASE_STATE_TRIAL
    waiting = steward.promote_release(trial.name)
    assert waiting.state == release_service_pb2.RELEASE_STATE_PENDING
    with pytest.raises(ConflictError):
        steward.read_table(trial.name, "clinic_visits")
    approved = approver.approve_release(trial.name, "agreed")
    assert {item.name for item in approved.objects} == OBJECTS

    number, rows, matched = joined(steward, approved.name)
    assert number == approved.records - approved.suppressed_records
    assert 0 < rows == matched

    exported = place / "given.duckdb"
    steward.export(approved.name, exported, ExportFormat.DUCKDB)
    with duckdb.connect(exported) as connection:
        assert {name for (name,) in connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()} == OBJECTS
        assert connection.sql("SELECT count(*) FROM clinic JOIN clinic_visits USING (pid)").fetchall() == [(rows,)]

    steward.publish_release(approved.name, "shelf")
    steward.wait_until_published(approved.name)
    (published,) = (place / "shelf").iterdir()
    with duckdb.connect(published, read_only=True) as connection:
        assert connection.sql("SELECT count(*) FROM clinic JOIN clinic_lab USING (pid)").fetchall()[0] > (0,)
    assert steward.back_up("monday").path.endswith("monday.duckdb")
    told = steward.get_report(approved.name).content.decode()
    assert "Each row of patients is a different person, by the key pid" in told
    assert all(f">{name}<" in told for name in ("pid", "visits.pid", "visits.ward", "lab.code"))
    public = steward.get_report(approved.name, report_service_pb2.REPORT_AUDIENCE_PUBLIC).content.decode()
    assert "Every row is another person&#39;s" in public
    assert "do not say whose they are" not in public
    assert "up to a number of 2, fit no key" in public

    withdrawn = steward.withdraw_release(approved.name, "a mistake")
    assert withdrawn.state == release_service_pb2.RELEASE_STATE_WITHDRAWN
    assert {listed.table.table for listed in steward.list_tables()} == {"patients", "visits", "labs"}


def test_a_second_release_has_to_replace_the_first(people: dict[str, Client], place: Path) -> None:
    steward, target = people["steward"], {"schema": "open"}
    first = made(steward, place, policy(release=target))
    keys = set(steward.read_table(first.name, "clinic")["pid"].to_pylist())
    elsewhere = policy(release=target | {"name": "other"}, repeat_reason="once more")
    with pytest.raises(InvalidError, match="related tables of people whose related tables") as refused:
        made(steward, place, elsewhere)
    assert refused.value.code == "RELATED_BEFORE"
    tried = made(steward, place, elsewhere, trial=True)
    with pytest.raises(InvalidError, match="related tables of people whose related tables"):
        steward.promote_release(tried.name)
    with pytest.raises(InvalidError, match="related tables of people whose related tables"):
        made(steward, place, policy(release=target | {"if_exists": "REPLACE"}))

    again = made(steward, place, policy(release=target | {"if_exists": "REPLACE"}, repeat_reason="more visits"))

    assert not keys & set(steward.read_table(again.name, "clinic")["pid"].to_pylist())
    assert not steward.get_release(first.name).current
    (told,) = [warning for warning in again.warnings if "keys are re-linked" in warning]
    assert told.endswith("readers who kept a copy know these people's earlier events, too.")

    erased = steward.erase_persons("patients", ["7"])
    assert [release.name for release in erased.releases] == [first.name, again.name]
    assert list(erased.places) == ["tables/main.labs", "tables/main.visits"]
    of_visits = steward.erase_persons("visits", ["8"])
    assert (of_visits.person_column, of_visits.removed_rows) == ("pid", 1)
    assert [release.name for release in of_visits.releases] == [first.name, again.name]
