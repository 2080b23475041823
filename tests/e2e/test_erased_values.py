"""Erasing a person whose values nobody else has: what is stored of them goes, and the answer names the rest."""

import json
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from tableveil.client import Client
from tableveil.errors import InvalidError, NotFoundError
from tableveil.v1 import policy_pb2, worksheet_service_pb2
from tableveil.v1.policy_pb2 import StoredHierarchy
from tableveil.v1.privacy_service_pb2 import Privacy
from tests.e2e import samples
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve

TOWN = 'Ny-"Ålesund"'
TOWNS = [f"town {i}" for i in range(4)]
PEOPLE = f"""
    SELECT i AS id, 20 + i % 2 AS age, if(i = 7, '{TOWN}', 'town ' || i % 4) AS town,
        if(i = 7, 'rare illness', 'illness ' || i % 5) AS illness
    FROM range(80) r(i)
"""


def policy(target: str, table: str = "people", towns: Sequence[str] = (*TOWNS, TOWN)) -> samples.Document:
    """A policy in which somebody typed all towns."""
    levels = [[town, town[:4], "*"] for town in towns]
    return {
        "source": {"table": table},
        "person_column": "id",
        "attributes": [
            samples.attribute("id", "IDENTIFYING"),
            samples.attribute("age", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}),
            samples.attribute("town", "QUASI_IDENTIFIER", hierarchy={"inline": {"rows": levels}}),
            samples.attribute("illness", "SENSITIVE"),
        ],
        "privacy_models": [{"k_anonymity": {"k": 4}}, {"t_closeness": {"t": 0.9, "column": "illness"}}],
        "suppression_limit": "0.1",
        "search": {"levels": {"age": 0, "town": 0}},
        "release": {"name": target},
        "repeat_reason": "a test",
    }


def declare(client: Client, table: str, towns: Sequence[str]) -> None:
    typed = samples.message(policy("any", table, towns))
    client.declare_privacy(table, Privacy(attributes=typed.attributes, person_column="id"))


def test_what_an_erasure_reaches_and_names(serve: Serve, tmp_path: Path) -> None:
    database, document, persons = tmp_path / "clinic.duckdb", tmp_path / "policy.json", tmp_path / "persons"
    samples.create(database, people=PEOPLE, others=PEOPLE)
    server = serve(database)
    with Client(server.address) as client:
        client.wait(client.submit(samples.message(policy("shown"))).name)
        document.write_text(json.dumps(policy("tried")))
        dry = tableveil("submit", "--dry-run", "--wait", str(document), server=server.address)
        assert dry.exit_code == 0, dry.stderr
        queried = policy("queried") | {"source_query": f"SELECT * FROM people WHERE town <> '{TOWN}'"}
        del queried["source"]
        client.wait(client.submit(samples.message(queried)).name)
        client.create_hierarchy("towns", [(town, "*") for town in (*TOWNS, TOWN)])
        client.create_hierarchy("ages", [("20", "*"), ("21", "*")])
        with_town = samples.message(policy("shown"))
        # The first loses its only row by no erasure, and goes when it is the older one; the second loses a row.
        declare(client, "people", [TOWN])
        declare(client, "people", [*TOWNS, TOWN])
        declare(client, "others", [*TOWNS, TOWN])
        for table, typed in (("people", with_town), ("people", policy_pb2.Policy()), ("others", with_town)):
            made = worksheet_service_pb2.Worksheet(
                table=policy_pb2.TableReference(schema="main", table=table), policy=typed
            )
            client.create_worksheet(made)
        persons.write_text("7\n")
        erased = tableveil("erase", "people", "--persons", str(persons), server=server.address)
        assert erased.exit_code == 0, erased.stderr
        lines = {" ".join(line.split()) for line in erased.stdout.splitlines()}
        assert "worksheets deleted 1" in lines
        assert "values of theirs alone jobs/2: tableveil delete" in lines
        assert "values of theirs alone worksheets/3: tableveil worksheets delete" in lines
        assert "values of theirs alone releases/2: tableveil withdraw, which keeps the policy as evidence" in lines
        assert "values of theirs alone hierarchies/towns@1: tableveil hierarchies forget" in lines
        declared = "privacy of main.others, version 1: ALTER TABLE … SET PRIVACY, which deletes this version"
        assert f"values of theirs alone {declared}" in lines
        assert not any("privacy of main.people" in line for line in lines)
        # The rest of what somebody typed is there, and the policy can be read.
        (attribute,) = [one for one in client.get_release("1").policy.attributes if one.column == "town"]
        assert [row.labels[0] for row in attribute.hierarchy.inline.rows] == TOWNS
        assert client.get_report("1").content
        again = client.get_release("1").policy
        again.release.name = "again"
        assert client.wait(client.submit(again).name).result == "releases/3"
        assert TOWN not in erased.stdout
        assert [sheet.name for sheet in client.list_worksheets()] == ["worksheets/3", "worksheets/2"]
        assert tableveil("delete", "jobs/2", server=server.address).exit_code == 0
        assert tableveil("worksheets", "delete", "worksheets/3", server=server.address).exit_code == 0
        declare(client, "others", TOWNS)
        with pytest.raises(NotFoundError):
            client.describe_privacy("others", 1)
        (attribute,) = [one for one in client.describe_privacy("people").privacy.attributes if one.column == "town"]
        assert [row.labels[0] for row in attribute.hierarchy.inline.rows] == TOWNS
        persons.write_text(f"{TOWN}\nnowhere\n", encoding="utf-8")
        forget = ("hierarchies", "forget", "towns@1", "--values", str(persons), "--request-id", "once")
        for _ in range(2):
            forgotten = tableveil(*forget, server=server.address)
            assert forgotten.stdout == "towns@1: 1 of 5 values removed.\n"
        assert [value for value, _ in client.read_hierarchy(StoredHierarchy(name="towns"))] == TOWNS
        with pytest.raises(InvalidError, match="all 4 values of 'towns@1'") as refused:
            client.forget_hierarchy_rows("towns@1", [*TOWNS, TOWN])
        assert TOWNS[0] not in str(refused.value)
        with pytest.raises(InvalidError, match="NAME@VERSION"):
            client.forget_hierarchy_rows("towns", [TOWN])
        with pytest.raises(InvalidError, match="values"):
            client.forget_hierarchy_rows("towns@1", [])
        with pytest.raises(NotFoundError):
            client.forget_hierarchy_rows("towns@2", [TOWN])
    server.terminate()
    with duckdb.connect(database, read_only=True) as connection:
        tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'tableveil'").fetchall()
        holding = {
            name
            for (name,) in tables
            for (row,) in connection.execute(f"SELECT to_json(r)::VARCHAR FROM tableveil.{name} AS r").fetchall()
            if "lesund" in row or "rare illness" in row
        }
        # The query of a release is evidence, as the answer said.
        assert holding == {"releases", "jobs"}
    assert "lesund" not in server.log_file.read_text(encoding="utf-8")
