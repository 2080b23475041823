"""Walks the operator's guide by its own commands: certificates, tokens, backups, and what is done at 3 a.m."""

import re
import shlex
from pathlib import Path

import pytest

from tests.e2e.forked import Command
from tests.e2e.process import Serve
from tests.e2e.snippets import ROOT

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs" / "guides" / "operator.md").read_text(encoding="utf-8")
COMMANDS = {
    re.sub(r" +# .*", "", command).replace("\\\n", " ")
    for command in re.findall(r"^tableveil (?:.*\\\n)*.*$", PAGE, re.MULTILINE)
}
BACKUPS, HOST = "/var/backups/tableveil", "clinic.example"
TLS = ("--tls-certificate", "tls/server.pem", "--tls-key", "tls/server-key.pem")


def test_the_operators_guide(serve: Serve, tmp_path: Path) -> None:
    database, backups = tmp_path / "clinic.duckdb", tmp_path / "backups"
    backups.mkdir()
    environment = {"TABLEVEIL_TOKEN": ""}

    def say(command: str) -> str:
        """The output of a command of the page, with paths and the address of this test."""
        assert command in COMMANDS
        here = command.replace(BACKUPS, str(backups)).replace(f"{HOST}:50651", environment.get("TABLEVEIL_SERVER", ""))
        words = shlex.split(here.replace(HOST, "localhost").partition(" > ")[0])
        code, said = Command(*words[1:], directory=tmp_path, environment=environment).ended()
        assert code == 0, (command, said)
        return said

    say("tableveil certificates tls --host clinic.example --client etl")
    assert f"tableveil serve --database clinic.duckdb {' '.join(TLS)}" in COMMANDS
    options = [str(tmp_path / word) if word.startswith("tls/") else word for word in TLS]
    server = serve(database, *options, "--backup-directory", str(backups))
    environment["TABLEVEIL_SERVER"] = f"localhost:{server.address.rpartition(':')[2]}"
    say("tableveil jobs --server clinic.example:50651 --ca-certificate tls/ca.pem")
    environment["TABLEVEIL_CA_CERTIFICATE"] = str(tmp_path / "tls" / "ca.pem")
    assert say("tableveil tokens create airflow --label nightly --role steward --days 30 > airflow.token")
    say("tableveil backup before-upgrade")
    say("tableveil backup --keep 14")
    assert len([*backups.glob("*.duckdb")]) == 2

    server.terminate()
    say("tableveil restore /var/backups/tableveil/before-upgrade.duckdb --database restored.duckdb")
    assert "mv clinic.duckdb broken.duckdb && mv restored.duckdb clinic.duckdb" in PAGE
    database.rename(tmp_path / "broken.duckdb")
    (tmp_path / "restored.duckdb").rename(database)
    said = say("tableveil tokens create admin --database clinic.duckdb > admin.token")
    (token,) = (line for line in said.splitlines() if " " not in line)
    server = serve(database, *options)
    environment |= {"TABLEVEIL_SERVER": f"localhost:{server.address.rpartition(':')[2]}", "TABLEVEIL_TOKEN": token}
    listed = next(line for line in say("tableveil tokens list").splitlines() if "nightly" in line)
    assert "suspended" in listed
    assert "tableveil tokens confirm tokens/5 tokens/6" in COMMANDS
    confirm = Command("tokens", "confirm", listed.split()[0], directory=tmp_path, environment=environment)
    assert confirm.ended()[0] == 0
    listed = next(line for line in say("tableveil tokens list").splitlines() if "nightly" in line)
    assert "suspended" not in listed
    say("tableveil grants confirm")
