"""A database with many releases and tables, of which some releases wait for an approver, and one large table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
from google.protobuf.message import Message

from tableveil.client import Client
from tableveil.document import read_policy
from tableveil.v1 import dry_run_service_pb2, policy_pb2, proposal_service_pb2, worksheet_service_pb2

LARGE = "many"
"""The table of the job that runs beside the visitors."""

_WAITING = 100
"""One in so many releases waits for an approver; their tables are not there."""

STANDING = 50
"""So many of the first copies have tables, too: each visitor reads a release that nobody else does."""

_ROWS, _COLUMNS = 500_000, 12

_OWN = {"releases": ("number", "job"), "jobs": ("number",)}
_LEFT_OUT = {"release_samples", "release_sample_values", "release_persons", "release_erased_persons"}
"""By these, people are recognized: each copy would be compared with the job's."""

_POLICY = """
source: {schema: main, table: people}
attributes:
  - {column: age, role: QUASI_IDENTIFIER, hierarchy: {intervals: {minimum: "0", maximum: "104", widths: ["5", "20"]}}}
  - {column: zip, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}
  - {column: illness, role: SENSITIVE}
rows_are_people: true
privacy_models: [{k_anonymity: {k: 5}}]
suppression_limit: "0.1"
release: {schema: main, name: released}
"""


def job_policy(search_seconds: int) -> str:
    """A policy over the large table, whose search ends by the time that it is given; then rows are written."""
    rule = 'intervals: {minimum: "0", maximum: "64", widths: ["2", "4", "8", "16", "32"]}'
    columns = [
        f"  - {{column: c{number}, role: QUASI_IDENTIFIER, hierarchy: {{{rule}}}}}" for number in range(_COLUMNS)
    ]
    return "\n".join(
        (
            f"source: {{schema: main, table: {LARGE}}}",
            "attributes:",
            *columns,
            "rows_are_people: true",
            "privacy_models: [{k_anonymity: {k: 5}}]",
            'suppression_limit: "0.05"',
            f'search: {{time_limit_seconds: "{search_seconds}"}}',
            "release: {schema: main, name: beside}",
        )
    )


def build(database: Path, releases: int, tables: int) -> None:
    """A release that is made, and copies of its rows in the ledger; other tables are small."""
    with duckdb.connect(database) as connection:
        row = "20 + i % 60 AS age, lpad((i * 7 % 90)::VARCHAR, 5, '0') AS zip, 'illness ' || i % 5 AS illness"
        connection.execute(f"CREATE TABLE people AS SELECT {row} FROM range(2000) r(i)")
        # Two numbers in 64 are multiplied, so that values are neither even nor of one another.
        drawn = ", ".join(
            f"(hash(i, {number}) % 8 * (hash(i, {number}, 1) % 8))::INTEGER AS c{number}" for number in range(_COLUMNS)
        )
        connection.execute(f"CREATE TABLE {LARGE} AS SELECT {drawn} FROM range({_ROWS}) r(i)")
    policy = database.with_name("policy.yaml")
    policy.write_text(_POLICY, encoding="utf-8")
    words = [sys.executable, "-m", "tableveil.cli", "run", str(policy), "--database", str(database)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    with duckdb.connect(database) as connection:
        for number in range(tables):
            connection.execute(f"CREATE TABLE table_{number} AS SELECT {number} AS id")
        _copy(connection, releases)


def decided(client: Client) -> str:
    """Keeps a worksheet of the small table with policies that were tried, a dry run, and a release that waits.

    Returns:
        The release's name; the server lets releases wait.
    """
    people = policy_pb2.TableReference(schema="main", table="people")
    asked = proposal_service_pb2.ProposalRequest(table=people, time_limit_seconds="4", rows_are_people=True)
    tried = _done(client, proposal_service_pb2.SubmitProposalRequest(proposal=asked))
    policy, faults = read_policy(_POLICY.replace("name: released", "name: waiting"), "yaml")
    assert not faults
    policy.repeat_reason = "A benchmark"
    _done(client, dry_run_service_pb2.SubmitDryRunRequest(policy=policy))
    client.create_worksheet(worksheet_service_pb2.Worksheet(table=people, policy=policy, proposal=tried))
    return client.wait(client.submit(policy).name).result


def _done(client: Client, request: Message) -> str:
    """The result of a job."""
    job = client.submit_analysis(request)
    for change in client.watch_job(job.name):
        job.CopyFrom(change)
    assert job.result, job.failure
    return job.result


def _copy(connection: duckdb.DuckDBPyConnection, releases: int) -> None:
    names = [
        name
        for (name,) in connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'tableveil' "
            "AND (table_name LIKE 'release%' "
            "OR table_name LIKE 'job%' OR table_name IN ('guarantees', 'sensitive_distributions'))"
        ).fetchall()
    ]
    for name in sorted(set(names) - _LEFT_OUT):
        columns = [row[0] for row in connection.execute(f"DESCRIBE tableveil.{name}").fetchall()]
        keys = _OWN.get(name, tuple(key for key in ("release", "job") if key in columns))
        if not keys:
            continue
        moved = ", ".join(f"t.{key} + moved_by AS {key}" for key in keys)
        if name == "releases":
            moved += f", target_name || '_' || moved_by AS target_name, moved_by % {_WAITING} = 0 AS needs_approval"
        if name == "release_risk_histograms":
            # No chart is that of another release.
            moved += ", classes + moved_by % 97 AS classes"
        if name == "release_objects":
            moved += ", name || '_' || moved_by AS name"
        if name == "job_outcomes":
            moved += ", result + moved_by AS result"
        connection.execute(
            f"INSERT INTO tableveil.{name} SELECT t.* REPLACE ({moved}) FROM tableveil.{name} t, "
            f"range(1, {releases}) r(moved_by)"
        )
    for name, kind in connection.execute(
        "SELECT name, kind FROM tableveil.release_objects WHERE release = 1"
    ).fetchall():
        what = "VIEW" if kind == "VIEW" else "TABLE"
        for moved_by in range(1, STANDING + 1):
            connection.execute(f"CREATE {what} main.{name}_{moved_by} AS FROM main.{name}")
    # Without them the server would look for the rows of each copy while it is measured.
    connection.execute(
        "INSERT INTO tableveil.row_checksums SELECT number, 'none' FROM tableveil.releases "
        "WHERE number NOT IN (SELECT release FROM tableveil.row_checksums)"
    )
    for sequence in ("release_numbers", "job_numbers"):
        connection.execute(f"SELECT max(nextval('tableveil.{sequence}')) FROM range({releases})")
