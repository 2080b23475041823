"""`tableveil endpoint` as an operator runs it: beside a server, with tokens and certificates, stopped and killed."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
import pytest
from adbc_driver_manager import Error
from click.testing import CliRunner

from tableveil.audit import verify
from tableveil.cli.main import cli
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.forked import Command
from tests.e2e.process import SECONDS_TO_STOP, Serve

LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
WAITING_SECONDS = 60.0
MARK = "TABLEVEIL_TEST_PLACE"


@contextmanager
def running(place: Path, server: str, *options: str) -> Iterator[tuple[Command, str]]:
    """An endpoint on an empty directory, and its URI."""
    (place / "published").mkdir(exist_ok=True)
    usual = ("--published", str(place / "published"), "--service", server, "--address", "localhost:0")
    command = Command(
        *("endpoint", *usual, "--audit-file", str(place / "audit.jsonl"), *options),
        log=place / "flight.log",
        environment={MARK: str(place)},
    )
    try:
        yield command, command.stdout.readline().rpartition(" on ")[2].strip()
    finally:
        if command.running:
            command.send_signal(signal.SIGKILL)
            command.wait(SECONDS_TO_STOP)


def ask(uri: str, statement: str, **options: str) -> list[tuple[object, ...]]:
    with flight_sql.connect(uri, db_kwargs=options, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def bearer(token: str) -> dict[str, str]:
    return {"adbc.flight.sql.authorization_header": f"Bearer {token.strip()}"}


def left_over(place: Path) -> list[str]:
    """The processes that an endpoint there started, by a variable of their environment."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={place}".encode() in (directory / "environ").read_bytes().split(b"\0"):
                found.append(directory.name)
        except OSError:
            continue
    return found


def test_tokens_and_a_stop(serve: Serve, tmp_path: Path) -> None:
    server = serve(tmp_path / "clinic.duckdb").address
    token = tmp_path / "endpoint.token"
    token.write_text(tableveil("tokens", "create", "flight", "--role", "endpoint", server=server).stdout)
    token.chmod(0o600)
    analyst = tableveil("tokens", "create", "ann", server=server).stdout
    with running(tmp_path, server, "--token-file", str(token)) as (command, uri):
        assert ask(uri, "SELECT 42", **bearer(analyst)) == [(42,)]
        with pytest.raises(Error, match="UNAUTHENTICATED"):
            ask(uri, "SELECT 42", **bearer("tvl_wrong"))
        command.send_signal(signal.SIGTERM)
        assert command.wait(SECONDS_TO_STOP) == 0
    assert verify([tmp_path / "audit.jsonl"]).faults == ()
    log = (tmp_path / "flight.log").read_text()
    assert "tvl_" not in log
    assert "Traceback" not in log


def test_a_release_from_its_policy_to_an_analyst(serve: Serve, tmp_path: Path) -> None:
    """Released, read by a principal with a grant and by none without, replaced, and withdrawn."""
    samples.create(tmp_path / "clinic.duckdb", people=samples.PEOPLE)
    (tmp_path / "published").mkdir()
    server = serve(tmp_path / "clinic.duckdb", "--publish", f"shelf=directory:{tmp_path / 'published'}").address

    def done(*arguments: str) -> str:
        outcome = tableveil(*arguments, server=server)
        assert outcome.exit_code == 0, outcome.stderr
        return outcome.stdout

    def release(number: int, k: int) -> None:
        target = {"name": "released", "publish": ["shelf"], "if_exists": "REPLACE", "publish_repeat_reason": "a test"}
        models = [{"k_anonymity": {"k": k}}]
        document = samples.policy(release=target, repeat_reason="a test", privacy_models=models)
        (tmp_path / "policy.json").write_text(json.dumps(document))
        done("submit", "--wait", str(tmp_path / "policy.json"))
        # It waits until the release is there.
        done("publish", f"releases/{number}", "--to", "shelf")

    token = tmp_path / "endpoint.token"
    token.write_text(done("tokens", "create", "flight", "--role", "endpoint"))
    token.chmod(0o600)
    ann, bob = (bearer(done("tokens", "create", name)) for name in ("ann", "bob"))
    done("grants", "add", "analyst", "--principal", "ann", "--schema", "main")
    release(1, k=4)
    about = "SELECT value FROM released_about WHERE fact = 'release'"
    with running(tmp_path, server, "--token-file", str(token)) as (_, uri):
        assert ask(uri, about, **ann) == [("1",)]
        ((records, oldest),) = ask(
            uri, "SELECT count(*), (tv_max(age)).high FROM released WHERE age_from >= 40 AND age_to > 0", **ann
        )
        assert isinstance(records, int)
        assert 0 < records < samples.ROWS
        assert oldest == 69
        with pytest.raises(Error, match="TABLE_NOT_FOUND"):
            ask(uri, about, **bob)
        with pytest.raises(Error, match="TABLE_NOT_FOUND") as refused:
            ask(uri, "FROM people", **ann)
        # Errors tell nothing of where the endpoint is installed.
        for told in (".py", "Traceback", str(tmp_path)):
            assert told not in str(refused.value)
        release(2, k=6)
        assert ask(uri, about, **ann) == [("2",)]
        done("withdraw", "releases/2", "--reason", "a mistake")
        done("publish", "releases/2", "--to", "shelf", "--withdraw")
        with pytest.raises(Error, match="RELEASE_WITHDRAWN"):
            ask(uri, about, **ann)
    assert list((tmp_path / "published").iterdir()) == []


def test_certificates(serve: Serve, tmp_path: Path) -> None:
    tls = tmp_path / "tls"
    assert CliRunner().invoke(cli, ["certificates", str(tls), "--client", "etl", "--client", "other"]).exit_code == 0
    own = ("--tls-certificate", str(tls / "server.pem"), "--tls-key", str(tls / "server-key.pem"))
    clients = ("--tls-client-ca", str(tls / "ca.pem"))
    mapped = ("--certificate-principal", "dns:etl=etl")
    server = serve(tmp_path / "clinic.duckdb", *own, *clients, *mapped, "--address", f"unix:{tmp_path}/socket")
    service = f"unix:{tmp_path}/socket"
    assert server.process.running
    trusted = {"adbc.flight.sql.client_option.tls_root_certs": (tls / "ca.pem").read_text()}

    def certified(name: str) -> dict[str, str]:
        return {
            **trusted,
            "adbc.flight.sql.client_option.mtls_cert_chain": (tls / f"{name}.pem").read_text(),
            "adbc.flight.sql.client_option.mtls_private_key": (tls / f"{name}-key.pem").read_text(),
        }

    with running(tmp_path, service, *own, *clients) as (_, uri):
        assert uri.startswith("grpc+tls://")
        assert ask(uri, "SELECT 42", **certified("etl")) == [(42,)]
        with pytest.raises(Error, match="UNAUTHENTICATED"):
            ask(uri, "SELECT 42", **certified("other"))
        with pytest.raises(Error):
            ask(uri, "SELECT 42", **trusted)


def test_a_killed_endpoint_leaves_no_process(serve: Serve, tmp_path: Path) -> None:
    server = serve(tmp_path / "clinic.duckdb").address
    with running(tmp_path, server) as (command, uri):
        connection = flight_sql.connect(uri, db_kwargs=bearer(os.environ["TABLEVEIL_TOKEN"]), autocommit=True)
        with connection, connection.cursor() as cursor:
            cursor.execute(LONG)
        assert left_over(tmp_path)
        command.send_signal(signal.SIGKILL)
        command.wait(SECONDS_TO_STOP)
    deadline = time.monotonic() + WAITING_SECONDS
    while left_over(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # The next one continues the audit, although the last entry has no end.
    with running(tmp_path, server) as (command, uri):
        assert ask(uri, "SELECT 42", **bearer(os.environ["TABLEVEIL_TOKEN"])) == [(42,)]
        command.send_signal(signal.SIGTERM)
        assert command.wait(SECONDS_TO_STOP) == 0
    assert verify([tmp_path / "audit.jsonl"]).faults == ()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--published", "nowhere"], "published"),
        (["--address", "0.0.0.0:0"], "--allow-remote"),
        (["--address", "0.0.0.0:0", "--allow-remote"], "TLS"),
        (["--address", "unix:/tmp/x"], "address"),
        (["--tls-certificate", "x.pem"], "tls_certificate"),
    ],
)
def test_settings_that_cannot_work(
    tmp_path: Path, options: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The command runs in this process: the tracebacks that it hides are shown again afterwards.
    monkeypatch.setattr(sys, "tracebacklimit", 1000, raising=False)
    usual = ["--published", str(tmp_path), "--audit-file", str(tmp_path / "audit.jsonl")]
    result = CliRunner().invoke(cli, ["endpoint", *usual, *options])
    assert result.exit_code == 2
    assert told in result.output
