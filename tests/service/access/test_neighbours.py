"""Two tables of which one has a person more, and equal drawn rows: nothing that anybody sees or keeps tells them apart.

Everything but the rows that are drawn would break the promise of differential privacy (docs/explanations/
differential_privacy.md): logs, reports, accounts, rows of jobs, answers and errors.
"""

import io
import itertools
import logging
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from tableveil.cli.account import account
from tableveil.differential_privacy import Drops
from tableveil.pipelines import differential_privacy as pipeline
from tests.service.access import test_hidden
from tests.service.access.house import Fields, House, prepare, served, submitted
from tests.service.access.twins import Asked, outcome, settle

PEOPLE = "SELECT i AS id, 25 AS age, 'a' AS ward FROM range(50) r(i)"
NEIGHBOURS = {
    "nobody more": ("", [8]),
    "one more in a class": ("UNION ALL SELECT 1000, 27, 'a'", [9]),
    "one alone with values of their own": ("UNION ALL SELECT 1000, 212, 'Z'", [8, 9]),
    "one more in a class, of which a row more is drawn": ("UNION ALL SELECT 1000, 27, 'a'", [8]),
}
"""With the rows that are removed from each class: 42 rows of one class are left, and 43 of the last table."""

_TIMES = {"seconds", "phase_seconds", "call", "peer"}
"""Columns of the state."""

_READS = ("a job", "a job watched", "a release", "an object")
_REPORTS = [
    {"name": "releases/1", "audience": f"REPORT_AUDIENCE_{audience}", "format": f"REPORT_FORMAT_{form}"}
    for audience in ("OWNER", "PUBLIC")
    for form in ("HTML", "TEXT")
]
_TIME = re.compile(
    r"127\.0\.0\.1:\d+|0x[0-9a-f]+|"
    r"\d+(\.\d+)? (ms|s|min|h)\b|\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?|[0-9a-f]{16,64}|entry \d+"
)


def policy(**options: object) -> Fields:
    """A policy for the neighbours."""
    return {
        "source": {"schema": "ward_a", "table": "people"},
        "person_column": "id",
        "attributes": [
            {"column": "id", "role": "ROLE_IDENTIFYING"},
            {
                "column": "age",
                "role": "ROLE_QUASI_IDENTIFIER",
                "hierarchy": {"intervals": {"minimum": "20", "maximum": "60", "widths": ["10", "20"]}},
            },
            {"column": "ward", "role": "ROLE_QUASI_IDENTIFIER", "hierarchy": {"suppression_only": {}}},
        ],
        "privacy_models": [{"k_anonymity": {"k": 2}}],
        "release": {"schema": "ward_a", "name": "released"},
        "differential_privacy": {"epsilon": "1", "delta": "0.01", **options},
        "repeat_reason": "a test",
    }


def facts(
    place: Path, more: str, document: Fields, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[tuple[str, str]]:
    """Everything that is answered, shown, logged and kept, without times."""
    with duckdb.connect(place / "clinic.duckdb") as connection:
        connection.execute(f"CREATE TABLE ward_a.people AS {PEOPLE} {more}")
    caplog.clear()
    with served(place) as house:
        admin = house.clients["admin"]
        admin.set_privacy_budget("patients", ["ward_a.people"], epsilon="2", delta="0.05")
        yield "checked", str(house.ask("ann", "JobService/CheckPolicy", policy=document))
        job = submitted(house, "ann", "JobService/SubmitJob", policy=document)
        assert job.result == "releases/1", job.failure
        settle(house)
        yield from answers(house)
        yield "the account", _plain_account(house)
        with monkeypatch.context() as patched:
            patched.setattr(pipeline, "covers", lambda *_: False)
            again = {**document, "release": {"schema": "ward_a", "name": "again"}}
            failed = submitted(house, "ann", "JobService/SubmitJob", policy=again)
        assert failed.failure.code == "DRAW_FAILED"
        yield "a job that fails", _TIME.sub("TIME", str(failed.failure))
    for record in caplog.records:
        yield f"log {record.name} {_TIME.sub('TIME', record.getMessage())}", ""
    with duckdb.connect(place / "clinic.duckdb", read_only=True) as connection:
        yield from kept(connection)


def answers(house: House) -> Iterator[tuple[str, str]]:
    """The answers of calls that read to an owner, an analyst and an admin."""
    calls = [test_hidden.by_number(1)[how] for how in _READS]
    calls += [("ReportService/GetReport", fields) for fields in _REPORTS]
    calls += [(f"{name}/List{name.removesuffix('Service')}s", {}) for name in ("JobService", "ReleaseService")]
    for who in ("ann", "eve", "admin"):
        for method, fields in calls:
            yield f"{who} {method} {fields}", _TIME.sub("TIME", str(outcome(house, Asked(who, method, fields))))


def _plain_account(house: House) -> str:
    console = Console(record=True, width=120, file=io.StringIO())
    console.print(account(house.clients["ann"].get_release("releases/1"), everything=True))
    return _TIME.sub("TIME", console.export_text())


def kept(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str]]:
    """The rows of the server's own tables, and of all released ones, without times and names by chance."""
    tables = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE table_name <> 'people' ORDER BY ALL"
    ).fetchall()
    for schema, name in tables:
        cursor = connection.execute(f'FROM "{schema}"."{name}"')
        shown = [
            i
            for i, (column, kind, *_) in enumerate(cursor.description)
            if not str(kind).startswith("TIMESTAMP") and column not in _TIMES
        ]
        rows = [repr([row[i] for i in shown]) for row in cursor.fetchall()]
        # How often the state says something, such as how far a job is, follows from times.
        yield f"{schema}.{name}", _TIME.sub("TIME", "\n".join(sorted(set(rows) if schema == "tableveil" else rows)))


@pytest.mark.long
def test_nothing_tells_neighbours_apart_but_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(pipeline, "draw_transformation", lambda *_: (1, 0))
    (tmp_path / "any").mkdir()
    prepare(tmp_path / "any")
    seen = {}
    for i, (called, (more, removed)) in enumerate(NEIGHBOURS.items()):
        place = shutil.copytree(tmp_path / "any", tmp_path / str(i))
        left = itertools.cycle(removed)
        monkeypatch.setattr(Drops, "draw", lambda self, below, left=left: next(left))
        seen[called] = set(facts(place, more, policy(search_epsilon="0.1"), monkeypatch, caplog))
    first, *others, other_rows = seen.values()
    assert any("[20, 29]" in text for _, text in first)
    for shown in others:
        assert shown - first == first - shown == set()
    told = {where.partition(" releases/")[0] for where, _ in other_rows - first}
    assert {"the account", "ward_a.released", "tableveil.releases"} <= told
    assert not any(where.startswith("log ") for where in told)
