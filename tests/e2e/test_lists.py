"""Cells that are lists, and people of few households, on a running server: noticed, decided in YAML or SQL, judged."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve, durable

# Everybody in town a has HIV, besides something else or not; cells are texts with some spaces and cases.
CODES = """
    SELECT 'Q' || i AS patient, ['a', 'b'][1 + i % 2] AS town,
        CASE WHEN i % 2 = 0 THEN ['HIV', 'HIV|J45', 'E11|hiv ', 'F32|HIV', 'HIV|I10', 'HIV|HIV'][1 + i // 2 % 6]
        ELSE [NULL, '', 'HIV', 'I10', 'HIV|J45', 'F32|HIV', 'F32|J45', 'E11'][1 + i // 2 % 8] END AS codes
    FROM range(48) AS numbers(i)
"""


def policy(*models: samples.Document, **options: object) -> samples.Document:
    return samples.policy(
        source="codes",
        person_column="patient",
        attributes=[
            samples.attribute("patient", "IDENTIFYING"),
            samples.attribute("town", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}),
            samples.attribute("codes", "SENSITIVE", **options),
        ],
        privacy_models=[{"k_anonymity": {"k": 5}}, *models],
        suppression_limit="0",
    )


DISTINCT = {"distinct_l_diversity": {"column": "codes", "l": 5}}
BY_ELEMENT = {"probabilistic_l_diversity": {"column": "codes", "l": "1.2"}}


def test_lists_are_decided_and_judged_by_element(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    samples.create(database, codes=CODES)
    server = serve(database)

    def check(document: samples.Document) -> str:
        file = tmp_path / "policy.yaml"
        file.write_text(yaml.safe_dump(document))
        outcome = tableveil("check-policy", str(file), server=server.address)
        return outcome.stdout + outcome.stderr

    undecided = check(policy(DISTINCT))
    assert "must be decided: 6 of 10 different values of 'codes' split by \"|\"" in undecided
    assert 'elements: {delimiter: "|"} if so, or elements: NONE' in undecided
    assert "must be decided" not in check(policy(DISTINCT, elements="NONE"))
    refused = check(policy(DISTINCT, elements={"delimiter": "|"}))
    assert "privacy_models[1].distinct_l_diversity" in refused
    assert "probabilistic_l_diversity or t_closeness" in refused

    file = tmp_path / "policy.yaml"
    check(policy(BY_ELEMENT, {"t_closeness": {"column": "codes", "t": "0.9"}}, elements={"delimiter": "|"}))
    sql = tableveil("document", "convert", str(file), "--to", "sql").stdout
    assert "SENSITIVE codes WITH (elements = {delimiter: '|'})" in sql
    statement = tmp_path / "release.sql"
    statement.write_text(sql)
    outcome = tableveil("sql", "--file", str(statement), server=server.address)
    assert outcome.exit_code == 0, outcome.stderr
    shown = tableveil("show", "1", "--all", server=server.address).stdout
    assert "must be decided" not in shown
    report = tmp_path / "report.html"
    assert tableveil("report", "1", "--output", str(report), server=server.address).exit_code == 0
    assert "no element is in more than one in 1.2" in report.read_text()
    # Readers have the released rows alone.
    public = tmp_path / "public.html"
    asked = ("report", "1", "--audience", "public", "--output", str(public))
    assert tableveil(*asked, server=server.address).exit_code == 0
    assert "t closeness (equal, released rows)" in public.read_text()
    assert "t closeness (equal)" not in public.read_text()
    assert "t closeness (equal)" in report.read_text()
    drafted = tableveil("draft-policy", "codes", server=server.address).stdout
    assert 'split by "|" into elements that recur' in drafted
    assert server.terminate() == 0
    # Both towns together: 33 of 42 people with an illness have HIV, alone or not.
    with durable(database) as connection:
        assert connection.execute("SELECT count(*), min(town) FROM released").fetchone() == (48, "*")
        columns = [name for name, *_ in connection.execute("DESCRIBE released_classes").fetchall()]
        assert not [name for name in columns if "codes" in name]
        about = connection.execute("SELECT value FROM released_about WHERE fact = 'lists'").fetchone()
    assert about == ("models judge each element of codes",)


# Twelve people of two households are alike in region; the others live by one or two.
FAMILIES = """
    SELECT 'm' || i AS member,
        CASE WHEN i < 12 THEN 'H' || (i % 2) WHEN i % 9 > 0 THEN 'H' || (i // 2) END AS household,
        CASE WHEN i < 12 THEN 'N' ELSE ['S', 'W'][1 + i // 4 % 2] END AS region, ['f', 'm'][1 + (i + i // 5) % 2] AS sex
    FROM range(120) AS numbers(i)
"""


def test_households_count_beside_people(serve: Serve, tmp_path: Path) -> None:
    database = tmp_path / "register.duckdb"
    samples.create(database, families=FAMILIES)
    server = serve(database)
    identifying = [samples.attribute(name, "IDENTIFYING") for name in ("member", "household")]
    hierarchy: samples.Document = {"suppression_only": {}}
    labels = [samples.attribute(name, "QUASI_IDENTIFIER", hierarchy=hierarchy) for name in ("region", "sex")]

    def released(name: str, **fields: object) -> tuple[int, str]:
        document = samples.policy(
            source="families",
            target=name,
            person_column="member",
            attributes=[*identifying, *labels],
            privacy_models=[{"k_anonymity": {"k": 5}}],
            repeat_reason="by households, too",
            **fields,
        )
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(document))
        outcome = tableveil("submit", str(file), "--wait", server=server.address)
        return outcome.exit_code, outcome.stdout + outcome.stderr

    code, told = released("alone")
    assert code == 0, told
    code, told = released("together", also_count=["household"])
    assert code == 0, told
    sql = tableveil("document", "convert", str(tmp_path / "together.json"), "--to", "sql").stdout
    assert "also_count = [" in sql
    shown = tableveil("show", "2", "--privacy", server=server.address).stdout
    assert "k anonymity (also count)" in shown
    refused: dict[str, dict[str, Any]] = {
        "also_count[0]": {"also_count": ["hosehold"]},
        "release.left_behind": {"also_count": ["household"], "release": {"name": "left", "left_behind": "REQUIRE"}},
        "also_count": {"also_count": ["household"], "microaggregation": {}},
    }
    for field, fields in refused.items():
        code, told = released("left", **fields)
        assert code != 0
        assert field in told
    assert "# also_count:" in tableveil("draft-policy", "families", server=server.address).stdout
    assert server.terminate() == 0
    found = "SELECT list(DISTINCT region ORDER BY region) FROM"
    with durable(database) as connection:
        regions = [connection.execute(f"{found} {name}").fetchone() for name in ("alone", "together")]
    assert regions == [(["N", "S", "W"],), (["*"],)]
