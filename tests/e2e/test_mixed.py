"""A release with generalized and aggregated columns on a running server: asked for, shown, and queried by its owner."""

import json
from pathlib import Path

from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, durable

ROWS = 600

PATIENTS = f"""
    SELECT i AS id, 20 + (i * 37) % 60 AS age, CASE WHEN i % 50 > 0 THEN 1000 + (i * i) % 977 * 1.5 END AS income,
        (i * 31) % 90 AS zip, (i * 7919) % 4 AS illness
    FROM range({ROWS}) AS numbers(i)
"""

MIXED = [
    samples.attribute("id", "IDENTIFYING"),
    samples.attribute("income", "QUASI_IDENTIFIER", aggregation={"top_coding": "2000"}, nulls="SUPPRESS"),
    samples.attribute(
        "zip", "QUASI_IDENTIFIER", hierarchy={"intervals": {"minimum": "0", "maximum": "89", "widths": ["3", "9"]}}
    ),
    samples.attribute("age", "QUASI_IDENTIFIER", aggregation={"function": "INTERVAL", "grid": "5"}),
    samples.attribute("illness", "SENSITIVE"),
]


def test_from_policy_to_classes(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    samples.create(database, patients=PATIENTS)
    document = samples.policy(source="patients", attributes=MIXED, suppression_limit="0.05")
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(document))
    server = serve(database)
    outcome = tableveil("submit", str(file), "--wait", server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    shown = tableveil("show", "1", server=server.address).stdout
    assert "level or aggregate" in shown
    assert "mean, up to 2000" in shown
    assert "interval, rounded to multiples of 5" in shown
    assert "0 of 0" not in shown
    assert "optimal" in shown
    # Only what is generalized has levels.
    explained = tableveil("show", "1", "--explain", server=server.address).stdout
    assert "zip" in explained
    assert "income" not in explained
    assert tableveil("frontier", str(file), "--k", "2,4", server=server.address).exit_code == 0
    assert server.terminate() == 0
    with durable(database) as connection:
        rows = connection.execute(
            "SELECT count(*), count(DISTINCT (zip, age, income)), count(DISTINCT zip) FROM released"
        ).fetchone()
        lowest = connection.execute("SELECT min(class_size) FROM released_classes").fetchone()
        kept = connection.execute("SELECT avg(least(income, 2000)) FROM patients WHERE income IS NOT NULL").fetchone()
        released = connection.execute("SELECT avg(income) FROM released").fetchone()
    assert rows is not None
    assert rows[0] == ROWS - ROWS // 50
    assert rows[1] == rows[2]
    assert lowest is not None
    assert lowest[0] >= 4
    # Means of classes have the mean of all.
    assert kept is not None
    assert released is not None
    assert abs(kept[0] - released[0]) < 1e-6
