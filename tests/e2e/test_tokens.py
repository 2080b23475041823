"""Tokens from the first one to the last: found, given, revoked, of another server, lost, and never in a log."""

import json
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from tableveil.cli.main import cli
from tableveil.client import Client
from tableveil.errors import DeniedError, InvalidError, NotFoundError, TableveilError, UnauthenticatedError
from tableveil.identity.secret import new_secret, token_file
from tableveil.v1 import access_pb2
from tableveil.v1.audit_service_pb2 import AUDIT_EVENT_OFFLINE
from tests.authenticated import TOKEN
from tests.e2e import samples
from tests.e2e.process import Serve, ServerProcess
from tests.e2e.test_running import database, long, searching

__all__ = ["database"]

SOON = 60.0
"""Seconds in which a stream ends on a busy machine; on an idle one it takes two."""


@pytest.fixture
def server(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerProcess:
    path = tmp_path / "people.duckdb"
    samples.create(path, people=samples.PEOPLE)
    monkeypatch.delenv("TABLEVEIL_TOKEN")
    monkeypatch.chdir(tmp_path)
    return serve(path)


def run(server: ServerProcess, *arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli, arguments, env={"TABLEVEIL_SERVER": server.address})
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def test_where_a_client_finds_its_token(server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = token_file(server.database)
    assert "people" in run(server, "tables")
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    assert "UNAUTHENTICATED" in run(server, "tables", code=9)
    assert "people.duckdb" in run(server, "doctor", "--database", str(server.database))
    assert "people" in run(server, "tables", "--token-file", str(beside))
    with monkeypatch.context() as environment:
        environment.setenv("TABLEVEIL_TOKEN_FILE", str(beside))
        assert "people" in run(server, "tables")
        environment.setenv("TABLEVEIL_TOKEN", new_secret())
        assert "UNAUTHENTICATED" in run(server, "tables", code=9)
        assert "people" in run(server, "tables", "--token-file", str(beside))
        environment.setenv("TABLEVEIL_TOKEN", f" {TOKEN}\n")
        assert "people" in run(server, "tables")
    with Client(server.address, TOKEN) as client:
        assert list(client.list_tables())
    demo = away / "tableveil-demo"
    demo.mkdir()
    copied = demo / beside.name
    copied.write_bytes(beside.read_bytes())
    copied.chmod(0o644)
    assert "UNAUTHENTICATED" in run(server, "tables", code=9), "others might read it"
    copied.chmod(0o600)
    assert "people" in run(server, "tables")
    second = demo / ".other.duckdb.token"
    second.write_bytes(beside.read_bytes())
    second.chmod(0o600)
    assert "UNAUTHENTICATED" in run(server, "tables", code=9), "whose is it?"


def test_a_token_that_is_none_is_not_sent(server: ServerProcess, tmp_path: Path) -> None:
    file = tmp_path / "mine"
    for text in ("", TOKEN[:-1], f"{TOKEN} {TOKEN}", "tvl_\u00fc", f"{TOKEN}\n{TOKEN}"):
        file.write_text(text)
        with pytest.raises(InvalidError) as raised:
            Client(server.address, token_file=file)
        assert "tvl_" not in str(raised.value)
        if text:
            with pytest.raises(InvalidError):
                Client(server.address, text)
    with pytest.raises(NotFoundError):
        Client(server.address, token_file=tmp_path / "none")
    with Client(server.address) as client:
        client.check_health(ready=True)


def test_a_socket_file_asks_for_a_token_as_well(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.duckdb"
    samples.create(path, people=samples.PEOPLE)
    serve(path, "--address", f"unix:{tmp_path}/socket")
    with Client(f"unix:{tmp_path}/socket", new_secret()) as stranger, pytest.raises(UnauthenticatedError):
        list(stranger.list_tables())
    with Client(f"unix:{tmp_path}/socket", TOKEN) as client:
        assert list(client.list_tables())


def test_no_command_takes_the_token_itself() -> None:
    shown = CliRunner().invoke(cli, ["tables", "--help"]).stdout
    assert "--token-file" in shown
    assert CliRunner().invoke(cli, ["tables", "--token", TOKEN]).exit_code == 2


def test_a_life_of_a_token(server: ServerProcess, serve: Serve, tmp_path: Path) -> None:
    created = ("tokens", "create", "etl", "--label", "airflow", "--role", "steward", "--days", "7")
    secret = run(server, *created).strip()
    with Client(server.address, secret) as etl:
        assert [info.table.table for info in etl.list_tables()] == ["people"]
        with pytest.raises(DeniedError) as raised:
            list(etl.list_tokens())
        assert raised.value.faults[0].expected == "admin on the whole server"
    listed = json.loads(run(server, "tokens", "list", "--json"))["tokens"]
    assert [(token["principal"], token["label"], token["roles"]) for token in listed] == [
        ("etl", "airflow", ["ACCESS_ROLE_STEWARD"]),
        (
            "admin",
            "first",
            [f"ACCESS_ROLE_{role}" for role in ("ADMIN", "ANALYST", "APPROVER", "AUDITOR", "ENDPOINT", "OPERATOR")]
            + ["ACCESS_ROLE_STEWARD"],
        ),
    ]
    assert all(token["last_use_time"] for token in listed)
    assert "etl" in run(server, "tokens", "list")
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "other.duckdb"
    samples.create(other, people=samples.PEOPLE)
    with Client(serve(other).address, secret) as stranger, pytest.raises(UnauthenticatedError):
        list(stranger.list_tables())
    assert "revoked" in run(server, "tokens", "revoke", "tokens/2")
    with Client(server.address, secret) as etl, pytest.raises(UnauthenticatedError):
        list(etl.list_tables())
    assert "revoked" in run(server, "tokens", "list")
    # Neither the log nor the database knows a token.
    server.terminate()
    for file in (server.log_file, server.database, server.database.with_name(f"{server.database.name}.wal")):
        assert not file.exists() or b"tvl_" not in file.read_bytes()


def test_a_lost_token(server: ServerProcess, serve: Serve) -> None:
    create = ("tokens", "create", "admin", "--label", "again", "--database", str(server.database))
    assert "DATABASE_LOCKED" in run(server, *create, code=7), "it is served"
    server.terminate()
    token_file(server.database).unlink()
    secret = run(server, *create).strip()
    again = serve(server.database)
    with Client(again.address, secret) as client:
        assert [token.label for token in client.list_tokens()] == ["again", "first"]
        assert set(client.create_token("x", "y").roles) == set()
        entries = client.list_audit_entries()
        again_made, first_made = [entry.note for entry in entries if entry.event == AUDIT_EVENT_OFFLINE]
        assert first_made.startswith("serve: a token of admin with admin, analyst, approver, auditor, ")
        assert again_made.startswith("tokens create: a token of admin with admin, ")
    assert not token_file(server.database).exists(), "there is no second first one"


def test_a_stream_ends_with_its_token(serve: Serve, database: Path) -> None:
    server = serve(database)
    with Client(server.address) as admin:
        roles = [access_pb2.ACCESS_ROLE_STEWARD]
        made = admin.create_token("admin", "a", roles)
        job = searching(admin, long())
        ended: list[TableveilError] = []

        def watch() -> None:
            with Client(server.address, made.secret) as second:
                try:
                    for _ in second.watch_job(job.name):
                        seen.set()
                except TableveilError as error:
                    ended.append(error)

        seen = threading.Event()
        watcher = threading.Thread(target=watch)
        watcher.start()
        assert seen.wait(SOON)
        admin.revoke_token(made.name)
        watcher.join(SOON)
        assert [type(error) for error in ended] == [UnauthenticatedError]
        admin.cancel_job(job.name)
