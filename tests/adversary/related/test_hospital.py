"""Patients, visits and labs of a hospital through a server: exact values are refused, the rest is released together."""

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from tableveil.client import Client
from tableveil.document import read_policy
from tableveil.errors import InvalidError
from tableveil.server import ServeSettings, TableveilServer
from tests.adversary.related.attack import few, released

K, M, PATIENTS = 5, 2, 120
QI, HIDDEN = {"role": "QUASI_IDENTIFIER"}, {"role": "IDENTIFYING"}
DAYS = {"intervals": {"minimum": "0", "maximum": "799", "boundaries": [{"values": ["1", "31", "91"]}]}}
ALL: dict[str, Any] = {"suppression_only": {}}


def test_a_hospital_releases_patients_visits_and_labs_without_exact_values(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    _fill(path)
    server = TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=2))
    try:
        with Client(server.address) as client:
            with pytest.raises(InvalidError, match="alone by the values in all their rows") as refused:
                _release(client, {"role": "SENSITIVE"})
            assert refused.value.faults[0].field == "attributes[11].role"
            name = _release(client, HIDDEN)
            tables = {part: client.read_table(name, f"clinic{part}") for part in ("", "_visits", "_labs")}
    finally:
        server.close()
    people = {row["nr"]: (row["born"], row["sex"]) for row in tables[""].to_pylist()}
    assert len(people) == PATIENTS
    columns = {"_visits": ("start", "until"), "_labs": ("taken", "code")}
    rows = [
        (row["nr"], (part, *(row[column] for column in names)))
        for part, names in columns.items()
        for row in tables[part].to_pylist()
    ]
    found = released(people, rows)
    assert few(found, K, M) == []
    assert Counter(part for _, (part, *_) in rows).keys() == columns.keys()
    assert set(tables["_labs"].column_names).isdisjoint({"value", "lab_nr", "patient"})


def _fill(path: Path) -> None:
    chance = Random(1)
    visits, labs = list[str](), list[str]()
    for nr in range(PATIENTS):
        for _ in range(chance.choice([1, 1, 2, 3])):
            start, stay = chance.randrange(400), chance.choice([0, 1, 3])
            ward = chance.choice(["eye", "surgery", "medicine"])
            day = f"DATE '2023-01-01' + {start}"
            visits.append(f"({len(visits)}, {nr}, {day}, {day} + {stay}, '{ward}')")
            labs += [
                f"({len(labs) + i}, {nr}, {day} + {stay}, '{code}', {chance.randrange(20, 90)})"
                for i, code in enumerate(("K", "HB"))
            ]
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE patients AS SELECT i AS nr, 1940 + (hash(i) % 60)::INTEGER AS born, "
            f"if(hash(i, 1) % 2 = 0, 'f', 'm') AS sex FROM range({PATIENTS}) AS p(i)"
        )
        connection.execute(
            f"CREATE TABLE visits AS FROM (VALUES {', '.join(visits)}) AS v(visit_nr, patient, start, until, ward)"
        )
        connection.execute(
            f"CREATE TABLE labs AS FROM (VALUES {', '.join(labs)}) AS v(lab_nr, patient, taken, code, value)"
        )


def _release(client: Client, value: dict[str, Any]) -> str:
    """The name of the release, with the labs' values in that role."""
    born = {"intervals": {"minimum": "1900", "maximum": "2025", "widths": ["20", "60"]}}
    attributes = [
        {"column": "nr", **HIDDEN},
        {"column": "born", **QI, "hierarchy": born},
        {"column": "sex", **QI, "hierarchy": ALL},
        {"table": "visits", "column": "visit_nr", **HIDDEN},
        {"table": "visits", "column": "patient", **HIDDEN},
        {"table": "visits", "column": "start", **QI, "hierarchy": DAYS},
        {"table": "visits", "column": "until", **QI, "hierarchy": DAYS},
        {"table": "visits", "column": "ward", "role": "SENSITIVE"},
        {"table": "labs", "column": "lab_nr", **HIDDEN},
        {"table": "labs", "column": "patient", **HIDDEN},
        {"table": "labs", "column": "code", **QI, "hierarchy": ALL},
        {"table": "labs", "column": "value", **value},
        {"table": "labs", "column": "taken", **QI, "hierarchy": DAYS},
    ]
    document = {
        "tables": {
            "people": {"table": "patients", "key": "nr"},
            "events": [{"table": "visits", "person": "patient"}, {"table": "labs", "person": "patient"}],
            "rows_limit": "0.9",
            "relative_time": {"anchor": "FIRST_EVENT"},
        },
        "attributes": attributes,
        "privacy_models": [{"k_anonymity": {"k": K}}, {"known_facts": {"m": M}}],
        "suppression_limit": "0.1",
        "release": {"name": "clinic"},
    }
    policy, faults = read_policy(json.dumps(document), "json")
    assert not faults
    return client.wait(client.submit(policy).name).result
