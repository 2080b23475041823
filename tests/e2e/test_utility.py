"""Utility reports on a running server: from the command to the page and the tables."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tableveil.client import Client
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, durable


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    samples.create(path, people=samples.PEOPLE)
    return path


@pytest.mark.long
def test_from_command_to_page_and_tables(serve: Serve, database: Path) -> None:
    server = serve(database)
    with Client(server.address) as client:
        release = client.get_release(client.wait(client.submit(samples.message(samples.policy())).name).result)
    page = database.with_name("utility.html")
    outcome = tableveil("utility", release.name, "--html", str(page), server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout.splitlines()[0] == "utilityReports/1 of releases/1: before → after"
    assert outcome.stdout == tableveil("show", "utilityReports/1", server=server.address).stdout
    assert "Person" not in page.read_text(encoding="utf-8")
    ElementTree.fromstring(page.read_text(encoding="utf-8").split("\n", 1)[1])
    missing = tableveil("utility", "7", server=server.address)
    assert (missing.exit_code, missing.stdout) == (8, "")
    assert server.terminate() == 0
    with durable(database) as connection:
        kept = release.records - release.suppressed_records
        found = connection.execute(
            "SELECT c->>'column', (c->>'$.after.records')::BIGINT, (c->>'$.after.mean')::DOUBLE FROM "
            "(SELECT unnest(json_extract(document, '$.columns[*]')) AS c FROM tableveil.utility_reports)"
        ).fetchall()
        assert [(name, records) for name, records, _ in found] == [
            (name, kept) for name in ("age", "zip", "sex", "diagnosis", "ward")
        ]
        assert 20 < found[0][2] < 70
