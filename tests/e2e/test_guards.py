"""Guards of releases and loads: a truncated extract takes the place of nothing, however it is asked for."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tableveil.client import Client
from tableveil.errors import GuardedError, NotFoundError
from tableveil.v1 import access_pb2, faults_pb2, policy_pb2
from tableveil.v1.access_service_pb2 import GrantRule
from tests.e2e import samples
from tests.e2e.commands import Outcome, tableveil
from tests.e2e.process import Serve

FEW = f"SELECT * FROM ({samples.PEOPLE}) WHERE id < 100"
HALF = f"SELECT * FROM ({samples.PEOPLE}) WHERE id < 120"
WOMEN = f"SELECT * REPLACE ('F' AS sex) FROM ({samples.PEOPLE})"

Command = Callable[..., Outcome]


@pytest.fixture(scope="module")
def address(serve_all_along: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a server; releases into the schema `judged` need approval."""
    path = tmp_path_factory.mktemp("guards") / "people.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE SCHEMA judged; CREATE SCHEMA shared; CREATE SCHEMA own")
    samples.create(path, people=samples.PEOPLE, few=FEW, half=HALF, women=WOMEN, **{"own.few": FEW})
    return serve_all_along(path, "--needs-approval", "judged").address


@pytest.fixture(scope="module")
def clients(address: str) -> Iterator[dict[str, Client]]:
    """Clients of an administrator, of an approver, and of a steward of less: of the schemas `own` and `shared`."""
    with ExitStack() as opened:
        admin = opened.enter_context(Client(address))
        for schema in ("own", "shared"):
            admin.add_grant(GrantRule(principal="less", role=access_pb2.ACCESS_ROLE_STEWARD, schema=schema))
        roles = {"approver": [access_pb2.ACCESS_ROLE_APPROVER], "less": []}
        secrets = {name: admin.create_token(name, "test", of).secret for name, of in roles.items()}
        yield {"admin": admin, **{n: opened.enter_context(Client(address, s)) for n, s in secrets.items()}}


@pytest.fixture
def command(address: str, tmp_path: Path) -> Command:
    """A command about a policy that releases a table in place of what stands there, and its exit code and faults."""

    def run(name: str, table: str, target: str, *options: str) -> Outcome:
        file = tmp_path / "policy.json"
        file.write_text(json.dumps(document(table, target)))
        return tableveil(name, *options, str(file), server=address)

    return run


def document(table: str, target: str, schema: str = "main", /, **guards: object) -> samples.Document:
    source = dict(zip(("table", "schema"), reversed(table.split(".")), strict=False))
    release = {"schema": schema, "name": target, "if_exists": "REPLACE", "guards": guards}
    policy = samples.policy(repeat_reason="a test", release=release)
    # Nobody looks at these columns.
    unreleased = [samples.attribute(column, "IDENTIFYING") for column in ("zip", "ward")]
    attributes = [one for one in policy["attributes"] if one["column"] not in ("zip", "ward")]
    return {**policy, "attributes": attributes + unreleased, "source": source}


def policy(table: str, target: str, schema: str = "main", /, **guards: object) -> policy_pb2.Policy:
    return samples.message(document(table, target, schema, **guards))


def released(client: Client, *args: str, **guards: object) -> str:
    """The name of a release that is made."""
    return client.wait(client.submit(policy(*args, **guards)).name).result


def guarded(client: Client, *args: str, **guards: object) -> str:
    """The error of a release that is held back."""
    with pytest.raises(GuardedError) as raised:
        released(client, *args, **guards)
    assert raised.value.code == "GUARDED"
    return str(raised.value)


def test_a_truncated_extract(command: Command, clients: dict[str, Client], address: str) -> None:
    assert command("submit", "people", "t", "--wait").exit_code == 0
    rows = clients["admin"].read_table("1", "t")
    for options in (("--request-id", "night"), ("--request-id", "night"), ("--set", "release.guards={}")):
        done = command("submit", "few", "t", "--wait", *options)
        said = " ".join(done.stderr.split())
        assert (done.exit_code, "100 records in the source, against 240 of releases/1" in said) == (10, True), said
    again = tableveil("resubmit", "2", "--wait", server=address)
    assert again.exit_code == 10, again.stderr
    checked = command("check-policy", "few", "t")
    assert (checked.exit_code, "FEWER_RECORDS" in checked.stderr) == (2, True)
    dry = command("submit", "few", "t", "--dry-run", "--wait")
    assert (dry.exit_code, "A release would be refused: release.guards" in " ".join(dry.stdout.split())) == (0, True)
    assert clients["admin"].read_table("1", "t").equals(rows)
    statement = tableveil("sql", "-c", STATEMENT.format(""), server=address)
    assert statement.exit_code == 10, statement.stderr
    off = ", release = {guards: {off: [FEWER_RECORDS, ERASED_COLUMNS]}}"
    done = tableveil("sql", "--json", "-c", STATEMENT.format(off), server=address)
    assert done.exit_code == 0, done.stderr
    shown = tableveil("sql", "-c", "SHOW CREATE ANONYMIZED TABLE t", server=address).stdout
    assert "guards: {off: [FEWER_RECORDS, ERASED_COLUMNS]}" in shown


STATEMENT = (
    "CREATE OR REPLACE ANONYMIZED TABLE t PRIVACY (PERSON id, IDENTIFYING (name, zip, ward), QUASI_IDENTIFIER sex "
    "USING suppression_only(), QUASI_IDENTIFIER age USING intervals(0, 99, widths => [5, 10, 50]), "
    "SENSITIVE (diagnosis)) AS SELECT * FROM few WITH (k_anonymity(4), repeat_reason = 'a test'{})"
)


def test_what_is_compared(clients: dict[str, Client]) -> None:
    admin = clients["admin"]
    # Without a release to replace there is nothing to compare with.
    assert "100 records in the source; expected at least 101" in guarded(admin, "few", "c", minimum_records=101)
    first = released(admin, "people", "c", minimum_records=240)
    assert "against 240" in guarded(admin, "half", "c", maximum_record_change="0.499")
    second = released(admin, "half", "c")
    assert "a change of at most 0.5" in guarded(admin, "people", "c", maximum_record_change="0.5")
    released(admin, "people", "c", maximum_record_change="1", off=["ERASED_COLUMNS"])
    assert admin.get_release(first).records == 2 * admin.get_release(second).records
    # A release that was withdrawn is not replaced.
    third = next(admin.list_releases()).name
    admin.withdraw_release(third, "a test")
    released(admin, "few", "c")


def test_erased_columns(clients: dict[str, Client]) -> None:
    admin = clients["admin"]
    text = guarded(admin, "women", "e", keep_columns=["age", "sex"])
    assert ("'sex', erased" in text, "age" in text) == (True, False)
    shown = admin.get_release(released(admin, "people", "e"))
    assert {one.column: one.distinct_after for one in shown.attributes}["sex"] == 2
    assert f"'sex', erased: it has one label in all released records, and 2 in {shown.name}" in guarded(
        admin, "women", "e"
    )
    erased = released(admin, "women", "e", off=["ERASED_COLUMNS"])
    # It is erased in both.
    assert admin.get_release(released(admin, "women", "e")).name != erased


def test_a_release_that_waits_is_compared_when_it_is_approved(clients: dict[str, Client]) -> None:
    admin, approver = clients["admin"], clients["approver"]
    large, small = (released(admin, table, "a", "judged") for table in ("people", "few"))
    approver.approve_release(large, "agreed")
    with pytest.raises(GuardedError, match=f"against 240 of {large}"):
        approver.approve_release(small, "agreed")
    assert admin.get_release(large).current
    approver.reject_release(small, "truncated")


def test_nothing_is_told_of_a_release_that_is_not_seen(clients: dict[str, Client]) -> None:
    admin, less = clients["admin"], clients["less"]
    held = []
    for table in ("people", "few"):
        released(admin, table, "s", "shared", off=["FEWER_RECORDS", "ERASED_COLUMNS"])
        held.append(guarded(less, "own.few", "s", "shared"))
    assert held[0] == held[1]
    assert ("releases/" in held[0], "you may not see" in held[0]) == (False, True)
    released(less, "own.few", "s", "shared", off=["FEWER_RECORDS", "ERASED_COLUMNS"])
    released(less, "own.few", "s", "shared")


def test_an_empty_extract_replaces_no_rows(clients: dict[str, Client]) -> None:
    admin = clients["admin"]
    rows = pa.table({"id": [1, 2]})
    for request in ("first", "first"):
        admin.load(rows, "loaded", replace=True, request_id=request)
    for _ in range(2):
        with pytest.raises(GuardedError, match="none, in place of the 2 of 'loaded'"):
            admin.load(rows[:0], "loaded", replace=True, request_id="second")
    assert admin.load(rows, "loaded", replace=True, request_id="third").load.removed_rows == 2
    admin.truncate_table("loaded")
    assert admin.load(rows[:0], "loaded", replace=True).load.rows == 0


def test_what_must_be_decided_holds_a_release_back(command: Command, clients: dict[str, Client]) -> None:
    admin = clients["admin"]
    # Half of the people are released once more, in other classes.
    released(admin, "people", "d1")
    before = [release.name for release in admin.list_releases()]
    held = command("submit", "half", "d2", "--fail-on", "decide", "--wait")
    said = " ".join(held.stderr.split())
    assert (held.exit_code, "UNDECIDED" in said, "release.guards.hold_undecided" in said) == (12, True, True), said
    assert "joint classes" in said
    with pytest.raises(NotFoundError):
        admin.describe_table("d2")
    assert [release.name for release in admin.list_releases()] == before
    # Without the guard it is released, and says so.
    name = released(admin, "half", "d2")
    assert faults_pb2.WARNING_RANK_MUST_BE_DECIDED in admin.get_release(name).warning_ranks
