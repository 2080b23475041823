"""A generated table of visits, with 8 quasi-identifiers, for any number of rows, and its policy.

Values are skewed and depend on each other, as those of people do: occupations depend on the education, marriages on the
age, incomes on the occupation. So combinations of values grow more slowly than the rows.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from benchmarks.discharges import CACHE
from tableveil.convert import policy_from_proto
from tableveil.document import read_policy
from tableveil.policy import Policy

TABLE = "visits"
VERSION = 1
"""Changes with the rows, so that a table of an older generator is not used by mistake."""

K = 5

_ROWS = """
SELECT
    (95 * (0.65 * a + 0.35 * a * b))::INTEGER AS age,
    if(c < 0.51, 'female', 'male') AS sex,
    (10000 + 223 * floor(400 * power(d, 4))::INTEGER)::VARCHAR AS zip_code,
    CASE WHEN a < 0.27 OR e < 0.25 THEN 'single' WHEN e < 0.75 THEN 'married' WHEN e < 0.9 THEN 'divorced'
        ELSE 'widowed' END AS marital_status,
    'E' || lpad(education::VARCHAR, 2, '0') AS education,
    'O' || lpad((4 * education + floor(12 * f * f * f))::INTEGER::VARCHAR, 2, '0') AS occupation,
    'N' || lpad(floor(30 * power(g, 9))::INTEGER::VARCHAR, 2, '0') AS nationality,
    (20 * floor(education * h * h + 3 * f * f))::INTEGER AS income,
    'D' || lpad(floor(200 * i * i)::INTEGER::VARCHAR, 3, '0') AS diagnosis,
    'W' || floor(12 * j)::INTEGER AS wave
FROM (
    SELECT {uniform}, floor(12 * b * (0.4 + 0.6 * c))::INTEGER AS education FROM range({rows}) AS numbers(n)
)
"""

_LISTED: Mapping[str, Sequence[tuple[str, ...]]] = {
    "marital_status": [("single", "alone"), ("married", "married"), ("divorced", "alone"), ("widowed", "alone")],
    "education": [(f"E{i:02}", f"degree {i // 4}") for i in range(12)],
    "occupation": [(f"O{i:02}", f"branch {i // 8}", f"sector {i // 24}") for i in range(56)],
    "nationality": [(f"N{i:02}", f"continent {i // 5}") for i in range(30)],
}

_RULES: Mapping[str, Mapping[str, object]] = {
    "age": {"intervals": {"minimum": "0", "maximum": "100", "widths": ["5", "10", "20", "60"]}},
    "sex": {"suppression_only": {}},
    "zip_code": {"redaction": {"mask_from": "RIGHT", "length": 5, "alphabet_size": 10}},
    "income": {"intervals": {"minimum": "0", "maximum": "320", "widths": ["40", "80", "160"]}},
    **{name: {"inline": {"rows": [{"labels": [*row, "*"]} for row in rows]}} for name, rows in _LISTED.items()},
}


def visits(rows: int) -> Path:
    """A database file that holds the table, made once and kept in `CACHE`. Copy it: jobs write into their database."""
    path = CACHE / f"{TABLE}-{rows}-{VERSION}.duckdb"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        uniform = ", ".join(
            f"hash(16 * n + {salt}) / 18446744073709551616 AS {name}" for salt, name in enumerate("abcdefghij")
        )
        with duckdb.connect(unfinished) as connection:
            connection.execute(f"CREATE TABLE {TABLE} AS {_ROWS.format(uniform=uniform, rows=rows)}")
        unfinished.rename(path)
    return path


def policy() -> Policy:
    """The policy for the table: k-anonymity with at most 5 % of the records suppressed."""
    document = {
        "source": {"schema": "main", "table": TABLE},
        "rows_are_people": True,
        "attributes": [
            *({"column": name, "role": "QUASI_IDENTIFIER", "hierarchy": rule} for name, rule in _RULES.items()),
            {"column": "diagnosis", "role": "SENSITIVE"},
            {"column": "wave", "role": "INSENSITIVE"},
        ],
        "privacy_models": [{"k_anonymity": {"k": K}}],
        "suppression_limit": "0.05",
        "release": {"schema": "main", "name": "visits_released", "kind": "TABLE"},
    }
    message, faults = read_policy(json.dumps(document).encode(), "json")
    found, more = policy_from_proto(message)
    assert found is not None, (faults, more)
    assert not faults + more, (faults, more)
    return found
