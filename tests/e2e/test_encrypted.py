"""TLS as an operator and a user have it: certificates made, a server started with them, and commands that reach it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tableveil.cli.main import cli
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    directory = tmp_path / "tls"
    assert CliRunner().invoke(cli, ["certificates", str(directory), "--client", "etl"]).exit_code == 0
    return directory


def test_a_server_with_certificates(serve: Serve, tmp_path: Path, certificates: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"""
        tls_certificate = "{certificates}/server.pem"
        tls_key = "{certificates}/server-key.pem"
        tls_client_ca = "{certificates}/ca.pem"
        certificate_principal = ["dns:etl=etl"]
        metrics_address = "127.0.0.1:0"
        log_format = "json"
    """)
    server = serve(tmp_path / "clinic.duckdb", "--config", str(config))
    names = {"--ca-certificate": "ca.pem", "--client-certificate": "etl.pem", "--client-key": "etl-key.pem"}
    options = [text for option, name in names.items() for text in (option, str(certificates / name))]
    assert tableveil("health", "--ready", *options, server=server.address).exit_code == 0
    # A renewed certificate is taken up.
    assert CliRunner().invoke(cli, ["certificates", str(certificates)]).exit_code == 0
    assert tableveil("jobs", *options, server=server.address).exit_code == 0
    for known, hint in ((2, "--client-certificate"), (0, "--ca-certificate")):
        refused = tableveil("jobs", *options[:known], server=server.address)
        assert refused.exit_code == 5
        assert hint in refused.stderr
    assert server.terminate() == 0
    messages = [json.loads(line)["message"] for line in server.log_file.read_text().splitlines()]
    assert any("renewed certificate" in message for message in messages)


def test_a_key_that_others_may_read(tmp_path: Path, certificates: Path) -> None:
    key = certificates / "server-key.pem"
    key.chmod(0o644)
    options = ["--database", str(tmp_path / "x.duckdb"), "--tls-certificate", str(certificates / "server.pem")]
    result = CliRunner().invoke(cli, ["serve", *options, "--tls-key", str(key)])
    assert result.exit_code == 2
    assert "tls_key" in result.output
    assert "chmod" in result.output
