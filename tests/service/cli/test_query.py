"""The command `query` at an endpoint."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.main import cli
from tableveil.serving.tls import TlsFiles
from tests.service.endpoint.published import DISCHARGES, KnownReaders, publish, serving
from tests.service.tls.authorities import Authority


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("query")
    (place / "published").mkdir()
    publish(place / "published", 1, "main", {"discharges": DISCHARGES})
    return place


def asked(address: str, statement: str, *options: str, token: str = "ann", authorities: str = "") -> Result:
    environment = {"TABLEVEIL_TOKEN": token, "TABLEVEIL_CA_CERTIFICATE": authorities}
    return CliRunner().invoke(cli, ["query", statement, "--endpoint", address, *options], env=environment)


def test_rows_and_errors(place: Path) -> None:
    readers = KnownReaders(ann={1})
    with serving(place, readers) as endpoint:
        address = endpoint.uri.partition("://")[2]
        found = asked(address, "SELECT ward, count(*) AS n, NULL AS x FROM discharges GROUP BY ward ORDER BY ward")
        assert found.exit_code == 0, found.output
        assert [line.split("│")[1:4] for line in found.stdout.splitlines() if "ward 1" in line] == [
            [" ward 1 ", " 20 ", " NULL "]
        ]
        lines = asked(address, "SELECT day, charge AS c FROM discharges ORDER BY day LIMIT 2", "--json").stdout
        assert [json.loads(line) for line in lines.splitlines()][1] == {"day": "2024-01-02", "c": 1.5}
        cut = asked(address, "SELECT i FROM range(300) r(i)", "--limit", "5")
        assert "The first 5 rows" in cut.stderr
        wrong = asked(address, "FROM nothing")
        assert wrong.exit_code == ExitCode.NOT_FOUND
        assert "nothing" in wrong.stderr
        assert "TABLE_NOT_FOUND" in wrong.stderr
        assert asked(address, "DROP TABLE discharges").exit_code == ExitCode.INVALID
        assert asked(address, "SELECT 1", token="eve").exit_code == ExitCode.REFUSED
    gone = asked(address, "SELECT 1")
    assert gone.exit_code == ExitCode.UNREACHABLE, gone.output


@pytest.mark.long
def test_authorities_are_found_where_other_commands_find_them(place: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.server("localhost", "127.0.0.1")
    with serving(place, KnownReaders(ann={1}), tls=TlsFiles(files.certificate, files.key)) as endpoint:
        address = endpoint.uri.partition("://")[2]
        statement, named = "SELECT count(*) AS n FROM discharges", str(authority.certificate)
        assert asked(address, statement, "--json", "--ca-certificate", named).exit_code == 0
        found = asked(address, statement, "--json", authorities=named)
        assert found.exit_code == 0, found.output
        assert asked(address, statement).exit_code == ExitCode.UNREACHABLE
        missing = asked(address, statement, authorities=str(tmp_path / "nowhere.pem"))
        assert missing.exit_code == ExitCode.INVALID
        assert "ca_certificate" in missing.stderr
