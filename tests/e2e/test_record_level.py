"""A release at the record level on a running server: asked for, shown, exported, and queried by its owner."""

import json
from pathlib import Path

import duckdb

from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, durable

GAME = {"publisher_benefit": "100", "publisher_loss": "400", "adversary_gain": "400", "adversary_cost": "60"}

EVERYONE = f"SELECT age, zip, sex FROM ({samples.PEOPLE}), range(3) UNION ALL SELECT age + 1, zip, sex FROM people"


def test_from_policy_to_levels(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    samples.create(database, people=samples.PEOPLE, everyone=EVERYONE)
    document = samples.policy(
        privacy_models=[{"profitability": {"success": "JOURNALIST"}}],
        quality_model={"publisher_payout": {"success": "JOURNALIST"}},
        game=GAME,
        record_level={},
        population={"table": {"table": "everyone"}},
    )
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(document))
    server = serve(database)
    outcome = tableveil("submit", str(file), "--wait", server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    shown = tableveil("show", "1", "--all", server=server.address).stdout
    assert "Levels are mixed: 'age'" in shown
    assert "Levels of the released records" in shown
    assert "publisher payout (journalist who knows the method)" in shown
    assert "levels that pay most" in tableveil("show", "1", "--explain", server=server.address).stdout
    [document] = tableveil("show", "1", "--json", server=server.address).documents
    attributes = document["release"]["attributes"]
    exported = tmp_path / "out.duckdb"
    assert tableveil("export", "1", "--output", str(exported), server=server.address).exit_code == 0
    assert server.terminate() == 0
    with durable(database) as connection:
        levels = connection.execute(
            "SELECT column_name, unnest(levels) FROM tableveil.release_attributes ORDER BY position"
        ).fetchall()
    for attribute in attributes:
        told = [(one.get("level", 0), int(one["records"])) for one in attribute["levels"]]
        assert told == [tuple(level) for column, level in levels if column == attribute["column"]]
        assert sum(records for _, records in told) == samples.ROWS
    assert any(len(attribute["levels"]) > 1 for attribute in attributes)
    with duckdb.connect(exported, read_only=True) as connection:
        rows = connection.execute("SELECT count(*), count(DISTINCT length(age)) FROM released").fetchone()
        classes = connection.execute("SELECT sum(class_size) FROM released_classes").fetchone()
    assert rows is not None
    assert rows[0] == samples.ROWS
    # Ages as they are and by intervals, in one column.
    assert rows[1] > 1
    assert classes == (samples.ROWS,)
