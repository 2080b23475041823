"""Whether a database that a server wrote is whole: its ledger, its jobs, its public objects, and its source agree."""

import json
from typing import Any

import duckdb


def check_whole(connection: duckdb.DuckDBPyConnection, sources: set[str]) -> None:
    """Asserts that releases, outcomes and objects match one for one, and that there is nothing else in `main`.

    Every current release is k-anonymous and accounts for all records, as this code counts them.
    """

    def rows(query: str, *parameters: object) -> list[tuple[object, ...]]:
        return connection.execute(query, parameters).fetchall()

    assert not rows("FROM tableveil.jobs ANTI JOIN tableveil.job_outcomes ON number = job")
    releases = rows("SELECT job, number FROM tableveil.releases ORDER BY ALL")
    succeeded = rows("SELECT job, result FROM tableveil.job_outcomes WHERE state = 'SUCCEEDED' ORDER BY ALL")
    assert releases == succeeded
    assert not rows("FROM tableveil.job_outcomes WHERE (state = 'SUCCEEDED') <> (result IS NOT NULL)")
    numbers = {number for _, number in releases}
    for evidence in ("objects", "attributes", "risks"):
        assert {n for (n,) in rows(f"SELECT DISTINCT release FROM tableveil.release_{evidence}")} == numbers

    current = "(SELECT max(number) FROM tableveil.releases GROUP BY target_name)"
    objects = rows(f"SELECT name, row_count FROM tableveil.release_objects WHERE release IN {current}")
    there = rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'")
    there += rows("SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal")
    assert {name for (name,) in there} == sources | {name for name, _ in objects}
    for name, row_count in objects:
        assert rows(f'SELECT count(*) FROM "{name}"') == [(row_count,)]
    views = rows(f"SELECT 'snapshot_' || number FROM tableveil.releases WHERE kind = 'VIEW' AND number IN {current}")
    snapshots = rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'snapshot%'")
    assert sorted(snapshots) == sorted(views)

    for name, policy, records, suppressed in connection.execute(
        f"SELECT target_name, policy, records, suppressed_records FROM tableveil.releases WHERE number IN {current}"
    ).fetchall():
        k, labels = promise(json.loads(policy))
        sizes = f'SELECT count(*) AS n FROM "{name}" GROUP BY {labels}'
        ((smallest, total),) = connection.execute(f"SELECT min(n), sum(n) FROM ({sizes})").fetchall()
        assert smallest >= k
        assert total + suppressed == records


def promise(policy: dict[str, Any]) -> tuple[int, str]:
    """The k of a policy, and its quasi-identifiers as in a GROUP BY."""
    columns = [a["column"] for a in policy["attributes"] if a["role"].endswith("QUASI_IDENTIFIER")]
    return policy["privacy_models"][0]["k_anonymity"]["k"], ", ".join(f'"{column}"' for column in columns)


def digest(connection: duckdb.DuckDBPyConnection, table: str) -> tuple[object, ...] | None:
    """A short digest of a table: it changes with any row."""
    query = f"SELECT count(*), sum(hash(rows)), any_value(typeof(rows)) FROM {table} AS rows"
    return connection.execute(query).fetchone()
