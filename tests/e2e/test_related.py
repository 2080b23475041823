"""People and their events as one release over a real server: made, approved, replaced, published, taken back."""

import html
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from adbc_driver_manager import Error
from click.testing import CliRunner
from starlette.testclient import TestClient

from tableveil.cli.main import cli
from tableveil.client import Client, ExportFormat
from tableveil.console.app import make_app
from tableveil.console.sessions import Sessions
from tableveil.console.settings import ConsoleSettings
from tableveil.errors import ConflictError, InvalidError, NotFoundError
from tableveil.v1 import access_pb2, dry_run_service_pb2, release_service_pb2, report_service_pb2
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, ServerProcess
from tests.e2e.test_endpoint import ask, bearer, running
from tests.postgresql import Cluster

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
ATTRIBUTES: list[dict[str, Any]] = yaml.safe_load(POLICY)["attributes"]
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


def test_a_proposal_compares_one_and_two_known_facts(serve: Serve, place: Path) -> None:
    with duckdb.connect(place / "clinic.duckdb") as connection:
        connection.execute("INSERT INTO labs VALUES (4711, 'K')")
        connection.execute('CREATE TABLE "all of them" AS FROM patients')
    server = serve(place / "clinic.duckdb")
    tables = ("--people", "patients", "--events", "visits", "--events", "labs")
    proposed = tableveil("propose", *tables, "--output", str(place / "draft"), server=server.address)
    assert proposed.exit_code == 0, proposed.stderr
    assert {path.stem for path in place.glob("draft*.yaml")} == {"draft-1", "draft-2"}
    told = " ".join(proposed.stdout.split())
    for facts in ("one known fact", "two known facts"):
        (about,) = re.findall(rf"full domain, {facts}, k = 5 (To somebody who knows .*? are left out: 1\.)", told)
        assert "Rows of 'visits' per person: 2.50 in the source" in about
        assert "Rows of 'labs' per person: 1.60 in the source" in about
        assert "Within 30 days of the event before are" in about
        assert "After first events with the 3 commonest labels of 'visits.ward', " in about
        assert "rows of events are not released (" in about
    assert "To be decided Nobody has said who gets the release" in told
    with Client(server.address) as client:
        assert client.check_policy(place / "draft-1.yaml") == []
    corrected = ("--leave-out", "visits.visit", "--role", "visits.ward=SENSITIVE", "--rows-limit", "0.3")
    again = (*tables, *corrected, "--readers", "contract", "--output", str(place / "draft"), "--overwrite")
    assert "Recommended is full domain, two known facts, with k = 5" in tableveil(
        "propose", *again, server=server.address
    ).stdout.replace("\n", " ")
    written = yaml.safe_load((place / "draft-1.yaml").read_text())
    assert written["tables"]["rows_limit"] == "0.3"
    roles = {(one.get("table", ""), one["column"]): one["role"] for one in written["attributes"]}
    assert (roles["visits", "visit"], roles["visits", "ward"]) == ("IDENTIFYING", "SENSITIVE")
    with Client(server.address) as client:
        (warning,) = (one for one in client.checked(place / "draft-1.yaml").warnings if "of events" in one)
    assert warning.startswith("No privacy model names these sensitive columns of events: 'visits.ward'.")
    mistyped = tableveil("propose", *tables, "--leave-out", "visit.ward", server=server.address)
    assert "leave_out found 'visit.ward'" in " ".join(mistyped.stderr.split())
    assert "Did you mean 'visits.ward'?" in " ".join(mistyped.stderr.split())
    other = tableveil("propose", *tables, "--key", "pid", "--key", "labs.pids", server=server.address)
    assert "event_keys[0] found 'pids' expected a column of 'labs'" in " ".join(other.stderr.split())
    blank = tableveil("propose", "--people", "all of them", "--events", "labs", "--key", "no", server=server.address)
    assert "key found 'no' expected a column of 'all of them'" in " ".join(blank.stderr.split())
    twice = tableveil("propose", *tables, "--key", "pid", "--key", "visit.pid", server=server.address)
    assert "key found 'pid' and 'visit.pid' expected one key of the people" in " ".join(twice.stderr.split())
    assert "Others are visits.COLUMN or labs.COLUMN." in " ".join(twice.stderr.split())
    alone = tableveil("propose", *tables, "--recurs", server=server.address)
    assert "recurs found a statement on one table expected none, with --people" in " ".join(alone.stderr.split())


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
    assert not any("Nobody counted how many keys" in warning for warning in again.warnings)

    coarser = [each | {"minimum_level": 2} if each["column"] == "born" else each for each in ATTRIBUTES]
    replaced = target | {"if_exists": "REPLACE", "guards": {"off": ["ERASED_COLUMNS"]}}
    replacing = {"release": replaced, "repeat_reason": "fewer years"}
    third = made(steward, place, policy(attributes=coarser, **replacing))
    (uncounted,) = [warning for warning in third.warnings if "Nobody counted how many keys" in warning]
    assert f"to keys of {again.name} by 'born'" in uncounted
    steward.withdraw_release(third.name, "a mistake")
    replacing = {"release": target | {"if_exists": "REPLACE"}, "repeat_reason": "the mistake is mended"}
    fourth = made(steward, place, policy(**replacing))
    (uncounted,) = [warning for warning in fourth.warnings if "Nobody counted how many keys" in warning]
    assert f"to keys of {third.name} whose rows are gone" in uncounted

    every = [first.name, again.name, third.name, fourth.name]
    of_visits = steward.erase_persons("visits", ["8"])
    assert (of_visits.person_column, of_visits.removed_rows) == ("pid", 1)
    assert [release.name for release in of_visits.releases] == every
    erased = steward.erase_persons("patients", ["7"])
    assert [release.name for release in erased.releases] == every
    assert list(erased.places) == ["tables/main.labs", "tables/main.visits"]


@contextmanager
def browsing(server: str) -> Iterator[Callable[[str], TestClient]]:
    """Browsers of a console in front of the server, each signed in by a token."""
    with ExitStack() as opened:
        sessions = Sessions()
        opened.callback(sessions.close)
        app = make_app(ConsoleSettings(server), sessions)

        def browse(token: str) -> TestClient:
            browser = TestClient(app, base_url="https://console.test")
            assert browser.post("/sign-in", data={"token": token, "next": "/releases"}).status_code == 200
            return browser

        yield browse


def words(browser: TestClient, path: str) -> str:
    """The text of a page, with each tag as a bar."""
    return html.unescape(re.sub(r"(\s*<[^>]+>\s*)+", "|", browser.get(path).text))


def test_a_browser_and_the_endpoint_have_all_tables_once_they_are_approved(
    server: ServerProcess, people: dict[str, Client], place: Path
) -> None:
    with Client(server.address) as admin:
        analyst, flight, approver = (
            admin.create_token(name, "test", roles).secret
            for name, roles in (
                ("analyst", []),
                ("flight", [access_pb2.ACCESS_ROLE_ENDPOINT]),
                ("second", [access_pb2.ACCESS_ROLE_APPROVER]),
            )
        )
    tableveil("grants", "add", "analyst", "--principal", "analyst", "--schema", "main", server=server.address)
    token = place / "endpoint.token"
    token.write_text(flight)
    token.chmod(0o600)
    (place / "published").symlink_to(place / "shelf")
    name = made(people["steward"], place, policy(release={"publish": ["shelf"]})).name
    with (
        running(place, server.address, "--token-file", str(token)) as (_, uri),
        browsing(server.address) as browse,
        Client(server.address, analyst) as reader,
    ):
        ann, judge = browse(analyst), browse(approver)
        waiting = words(judge, f"/{name}")
        assert all(f"|main.{each}|" in waiting for each in OBJECTS)
        assert ann.get(f"/{name}").status_code == 404
        for each in ("clinic", "clinic_visits", "clinic_known_rows"):
            with pytest.raises(NotFoundError):
                reader.read_table(name, each)
            with pytest.raises(Error, match="TABLE_NOT_FOUND"):
                ask(uri, f"FROM {each}", **bearer(analyst))
        (secret,) = set(re.findall(r'name="csrf" value="([^"]+)"', judge.get(f"/{name}").text))
        assert judge.post(f"/{name}/approve", data={"csrf": secret, "note": "agreed"}).status_code == 200

        people["steward"].wait_until_published(name)
        assert {listed for (listed,) in ask(uri, "SHOW TABLES", **bearer(analyst))} == OBJECTS
        comments = "SELECT column_name, description FROM clinic_lab_columns ORDER BY position"
        assert str(ask(uri, comments, **bearer(analyst))[0][1]).startswith("The random key of a person")
        page = re.sub(r"<[/a-z]*br[^>]*>|<wbr */?>", " ", ann.get(f"/{name}/questions").text)
        asked = [re.sub("<[^>]+>", " ", each) for each in re.findall(r'(?s)<pre tabindex="0">(.*?)</pre>', page)]
        joined = [html.unescape(each) for each in asked if "LEFT JOIN" in each and "people_with_any" in each]
        rows = {each: reader.read_table(name, each).num_rows for each in ("clinic", "clinic_visits", "clinic_lab")}
        totals = [ask(uri, each, **bearer(analyst)) for each in joined]
        assert [sum(int(str(row[-3])) for row in found) for found in totals] == [
            rows["clinic_visits"],
            rows["clinic_lab"],
        ]
        assert [sum(int(str(row[-1])) for row in found) for found in totals] == [rows["clinic"]] * 2
        missing = next(html.unescape(each) for each in asked if "removed_rows" in each)
        assert {"removed_rows visits", "removed_rows lab"} < {row[0] for row in ask(uri, missing, **bearer(analyst))}

        public, owner = words(ann, f"/{name}/report"), words(judge, f"/{name}/report")
        for told in (public, owner):
            assert "|visits.began|quasi-identifier|generalized to level" in told
            assert "|lab.code|quasi-identifier|" in told
            assert "K; HB" in told or "HB; K" in told
        for key in ("pid", "visits.pid", "lab.pid"):
            assert f"|{key}|identifying|replaced by a fresh key in pid|" in owner
        assert "|visits.visit|identifying|not released|" in owner
        assert f"clinic_visits has {rows['clinic_visits']} rows, clinic_lab has {rows['clinic_lab']} rows" in owner
        assert "400 records of clinic.main.patients;" in owner
    with Client(server.address) as admin:
        warnings = admin.get_release(name).ranked_warnings
    (of_two_fields,) = (each.text for each in warnings if not each.field)
    assert "needs if_exists: REPLACE in release, for this name, and a repeat_reason; and" in of_two_fields


def test_a_restored_database_has_all_tables_and_knows_the_later_release(serve: Serve, place: Path) -> None:
    server = serve(place / "clinic.duckdb", "--backup-directory", str(place / "backups"))
    with Client(server.address) as client:
        first = made(client, place)
        rows = {name: client.read_table(first.name, name).num_rows for name in OBJECTS}
        backup = client.back_up("monday").path
        again = policy(release={"if_exists": "REPLACE"}, repeat_reason="more visits")
        later = made(client, place, again).name
        newer = client.back_up("tuesday").path
    server.terminate()
    restored = place / "restored" / "clinic.duckdb"
    restored.parent.mkdir()
    command = ["restore", backup, "--database", str(restored), "--ledger", newer]
    assert CliRunner().invoke(cli, command).exit_code == 0
    token = CliRunner().invoke(cli, ["tokens", "create", "admin", "--database", str(restored)]).stdout.strip()
    with Client(serve(restored).address, token) as client:
        client.confirm_restored([])
        assert {name: client.read_table(first.name, name).num_rows for name in OBJECTS} == rows
        assert client.get_release(later).state == release_service_pb2.RELEASE_STATE_WITHDRAWN
        with pytest.raises(InvalidError, match="related tables of people whose related tables"):
            made(client, place, policy(release={"name": "other"}, repeat_reason="once more"))
        assert made(client, place, again).current


def test_a_warehouse_has_all_tables(serve: Serve, place: Path, postgresql: Cluster) -> None:
    """PostgreSQL holds names of up to 63 bytes: a policy whose events have longer ones is refused by their field."""
    url, publish = postgresql.new_database(), {"publish": ["warehouse"]}
    long = "w" * 64
    with duckdb.connect(place / "clinic.duckdb") as connection:
        connection.execute(f"CREATE TABLE stays AS SELECT pid, ward AS {long} FROM visits")
    of_stays = [{"column": "born"}, {"column": "sex"}]
    roles = [{"table": "stays", "column": long, "role": "QUASI_IDENTIFIER", "hierarchy": {"suppression_only": {}}}]
    hidden = [each | {"role": "QUASI_IDENTIFIER", "hierarchy": {"suppression_only": {}}} for each in of_stays]
    tables = {"people": {"table": "patients", "key": "pid"}, "events": [{"table": "stays"}]}
    document = policy(release=publish, tables=tables, attributes=[*hidden, *roles], default_role="IDENTIFYING")
    (place / "long.yaml").write_text(document)
    server = serve(place / "clinic.duckdb", "--publish", f"warehouse={url}")
    described = (
        "SELECT table_name, obj_description(('public.' || table_name)::regclass) "
        "FROM information_schema.tables WHERE table_schema = 'public' AND table_name LIKE 'clinic%'"
    )
    with Client(server.address) as client:
        release = made(client, place, policy(release=publish))
        client.wait_until_published(release.name)
        rows = client.read_table(release.name, "clinic_visits").num_rows
        comments = dict(postgresql.rows(url, described))
        assert comments.keys() == OBJECTS
        assert all(comments.values())
        assert postgresql.rows(url, "SELECT count(*) FROM clinic JOIN clinic_visits USING (pid)") == [(rows,)]

        fields = {fault.field for fault in client.check_policy(place / "long.yaml")}
        assert "attributes[2].column" in fields
        client.withdraw_release(release.name, "a mistake")
    done = tableveil("publish", release.name, "--to", "warehouse", "--withdraw", server=server.address)
    assert done.exit_code == 0, done.stderr
    assert postgresql.rows(url, described) == []
