"""A release by microaggregation on a running server: asked for, followed, shown, exported, and queried by its owner."""

import json
from pathlib import Path

import duckdb

from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, durable

ROWS = 400

PATIENTS = f"""
    SELECT i AS id, 20 + (i * 37) % 60 AS age, CASE WHEN i % 50 > 0 THEN 1000 + (i * i) % 977 * 1.5 END AS income,
        DATE '2024-01-01' + ((i * 53) % 300)::INTEGER AS admitted, ['low', 'middle', 'high'][1 + i % 3] AS risk,
        lpad(((i * 31) % 90)::VARCHAR, 5, '0') AS zip, (i * 7919) % 1009 AS charge
    FROM range({ROWS}) AS numbers(i)
"""

AGGREGATED = [
    samples.attribute("id", "IDENTIFYING"),
    samples.attribute("age", "QUASI_IDENTIFIER", aggregation={"function": "INTERVAL", "grid": "5"}),
    samples.attribute("income", "QUASI_IDENTIFIER", aggregation={}, nulls="SUPPRESS", weight=2),
    samples.attribute("admitted", "QUASI_IDENTIFIER", aggregation={"function": "MEDIAN"}),
    samples.attribute(
        "risk", "QUASI_IDENTIFIER", order={"values": ["low", "middle", "high"]}, aggregation={"scale": "ORDINAL"}
    ),
    samples.attribute(
        "zip",
        "QUASI_IDENTIFIER",
        hierarchy={"redaction": {"length": 5, "alphabet_size": 10}},
        aggregation={"scale": "NOMINAL", "function": "COMMON_LABEL"},
    ),
    samples.attribute("charge", "SENSITIVE", acknowledged=True),
]


def test_from_policy_to_clusters(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    samples.create(database, patients=PATIENTS)
    document = samples.policy(
        source="patients",
        attributes=AGGREGATED,
        privacy_models=[
            {"k_anonymity": {"k": 4}},
            {"t_closeness": {"column": "charge", "t": "0.15", "distance": "ORDERED"}},
        ],
        microaggregation={"closeness": "T_CLOSENESS_FIRST"},
    )
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(document))
    server = serve(database)
    outcome = tableveil("submit", str(file), "--wait", server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    shown = tableveil("show", "1", "--all", server=server.address).stdout
    assert "squared error, as a share of that of a single cluster" in shown
    assert "interval, rounded to multiples of 5" in shown
    assert "t-closeness first" in shown
    assert "transformations" not in shown
    assert "clusters take its place" in tableveil("show", "1", "--explain", server=server.address).stdout
    [document] = tableveil("show", "1", "--json", server=server.address).documents
    release = document["release"]
    assert release["suppressed_records"] == str(ROWS // 50)
    assert [attribute["aggregation"] for attribute in release["attributes"]] == [
        "interval, rounded to multiples of 5",
        "mean",
        "median",
        "median",
        "common label",
    ]
    # Frontiers search a lattice; risks are those of the released values.
    outcome = tableveil("frontier", str(file), server=server.address)
    assert outcome.exit_code != 0
    assert "microaggregation" in outcome.stderr
    outcome = tableveil("risk", "releases/1", server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    exported = tmp_path / "out.duckdb"
    assert tableveil("export", "1", "--output", str(exported), server=server.address).exit_code == 0
    assert server.terminate() == 0
    with duckdb.connect(exported, read_only=True) as connection:
        rows = connection.execute("SELECT count(*), sum(income) FROM released").fetchone()
        smallest = connection.execute("SELECT min(class_size) FROM released_classes").fetchone()
    with durable(database) as connection:
        source = connection.execute("SELECT count(income), sum(income) FROM patients").fetchone()
        losses = connection.execute(
            "SELECT aggregation, loss FROM tableveil.release_attributes ORDER BY position"
        ).fetchall()
    assert rows is not None
    assert source is not None
    assert smallest is not None
    assert smallest[0] >= 4
    # The mean of means is the mean.
    assert rows[0] == source[0] == ROWS - ROWS // 50
    assert abs(rows[1] - float(source[1])) < 1e-6 * rows[1]
    assert losses == [(attribute["aggregation"], attribute["loss"]) for attribute in release["attributes"]]
