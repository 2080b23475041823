"""A table of people, and a policy for it without faults."""

import json
from pathlib import Path
from typing import Any

import duckdb

from tableveil.document import read_policy
from tableveil.v1 import policy_pb2

Document = dict[str, Any]
"""A policy as it stands in a JSON file."""

ROWS = 240

# Few enough different ages, places and sexes that classes of 4 need some generalization.
PEOPLE = f"""
    SELECT i AS id, 'Person ' || i AS name, 20 + (i * 7) % 50 AS age, lpad(((i * 37) % 90)::VARCHAR, 5, '0') AS zip,
        CASE i % 2 WHEN 0 THEN 'F' ELSE 'M' END AS sex, ['A01', 'B02', 'C03', 'D04'][1 + (i * i) % 4] AS diagnosis,
        ['east', 'west'][1 + (i * 13) % 7 % 2] AS ward
    FROM range({ROWS}) AS numbers(i)
"""


def create(database: Path, **tables: str) -> None:
    """A database with tables of these names, each made by its query."""
    with duckdb.connect(database) as connection:
        for name, query in tables.items():
            connection.execute(f"CREATE TABLE {name} AS {query}")


def attribute(column: str, role: str, **options: object) -> Document:
    """One column in a policy."""
    return {"column": column, "role": role, **options}


def policy(source: str = "people", target: str = "released", **fields: object) -> Document:
    """A valid policy; `fields` replace others at its top."""
    return {
        "source": {"table": source},
        "person_column": "id",
        "attributes": [
            attribute("id", "IDENTIFYING"),
            attribute("name", "IDENTIFYING"),
            attribute(
                "age",
                "QUASI_IDENTIFIER",
                hierarchy={"intervals": {"minimum": "0", "maximum": "99", "widths": ["5", "10", "50"]}},
            ),
            attribute("zip", "QUASI_IDENTIFIER", hierarchy={"redaction": {"length": 5, "alphabet_size": 10}}),
            attribute("sex", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}),
            attribute("diagnosis", "SENSITIVE"),
            attribute("ward", "INSENSITIVE", acknowledged=True),
        ],
        "privacy_models": [{"k_anonymity": {"k": 4}}],
        "suppression_limit": "0.05",
        "release": {"name": target},
        **fields,
    }


def message(document: Document) -> policy_pb2.Policy:
    """The message of a document that reads without faults."""
    policy, faults = read_policy(json.dumps(document), "json")
    assert not faults
    return policy


def wide(columns: int, rows: int = 2_000) -> str:
    """The query for a table of yes-and-no columns: each doubles the lattice, and hardly any can be excluded.

    Its people are none of `PEOPLE`.
    """
    answers = ", ".join(f"(hash(i, {j}) % 100 < {10 + 4 * j})::INT AS q{j}" for j in range(columns))
    return f"SELECT {ROWS} + i AS id, {answers} FROM range({rows}) AS numbers(i)"


def wide_policy(columns: int, source: str = "wide", target: str = "released", **fields: object) -> Document:
    """A valid policy for it. With 24 columns, the search takes minutes."""
    hierarchy: Document = {"suppression_only": {}}
    answers = [attribute(f"q{j}", "QUASI_IDENTIFIER", hierarchy=hierarchy) for j in range(columns)]
    return policy(source, target, attributes=[attribute("id", "IDENTIFYING"), *answers], **fields)
