"""A classifier assessment on a running server: from the command to the page, the tables, and the export."""

from pathlib import Path

import pytest

from tableveil.client import Client, ExportFormat
from tableveil.v1.classification_service_pb2 import ClassificationReport
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, durable


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    samples.create(path, people=samples.PEOPLE)
    return path


@pytest.mark.long
def test_from_command_to_table(serve: Serve, database: Path) -> None:
    server = serve(database)
    page, exported = database.with_name("ward.html"), database.with_name("exported")
    with Client(server.address) as client:
        client.wait(client.submit(samples.message(samples.policy())).name)
        mistyped = tableveil("classify", "1", "--class", "wart", server=server.address)
        assert (mistyped.exit_code, mistyped.stdout) == (2, "")
        assert "Did you mean 'ward'" in mistyped.stderr
        options = ("--class", "ward", "--classifier", "decision-tree", "--folds", "3", "--publish", "--html", str(page))
        outcome = tableveil("classify", "1", *options, server=server.address)
        assert outcome.exit_code == 0, outcome.stderr
        assert outcome.stdout.splitlines()[0] == "classifications/1"
        assert outcome.stdout == tableveil("show", "classifications/1", server=server.address).stdout
        assert "<svg" in page.read_text(encoding="utf-8")
        [listed] = client.list_results(ClassificationReport)
        [comparison] = listed.assessments[0].comparisons
        client.export("1", exported, ExportFormat.PARQUET)
    assert (exported / "released_classification.parquet").exists()
    assert server.terminate() == 0
    with durable(database) as connection:
        accuracy = "SELECT value FROM released_classification WHERE measure = 'anonymized_accuracy'"
        assert connection.execute(accuracy).fetchone() == (comparison.anonymized.accuracy,)
        count = "SELECT count(*) FROM tableveil.classification_measures WHERE classification = 1"
        assert connection.execute(count).fetchone() == (3,)
