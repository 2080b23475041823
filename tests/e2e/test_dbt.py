"""The dbt example, run by dbt on published releases; skipped where there is no dbt. `make test-dbt` brings one."""

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest

from tableveil.demo import create_discharges
from tests.e2e.commands import tableveil
from tests.e2e.process import Serve
from tests.postgresql import Cluster

EXAMPLE = Path(__file__).parents[2] / "examples" / "dbt"

pytestmark = [pytest.mark.long, pytest.mark.skipif(shutil.which("dbt") is None, reason="dbt is not installed")]


def dbt(target: str, into: Path, *command: str, **environment: str) -> None:
    """Runs dbt in its own environment; all that it writes goes `into` a directory."""
    done = subprocess.run(
        ["dbt", "--no-send-anonymous-usage-stats", *command, "--target", target, "--project-dir", str(EXAMPLE),
         "--profiles-dir", str(EXAMPLE), "--target-path", str(into / "target"), "--log-path", str(into / "logs")],
        env={**os.environ, **environment},
        cwd=into,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_dbt_builds_on_postgresql_and_on_the_file(serve: Serve, postgresql: Cluster, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        create_discharges(connection, "discharges", 100_000, 7)
    (tmp_path / "shelf").mkdir()
    url = postgresql.new_database()
    postgresql.rows(url, "CREATE SCHEMA released")
    targets = (f"warehouse={url}&schema=released", f"shelf=directory:{tmp_path / 'shelf'}")
    server = serve(tmp_path / "clinic.duckdb", *(option for target in targets for option in ("--publish", target)))

    def released(number: int) -> None:
        done = tableveil("submit", "--wait", str(EXAMPLE / "policy.yaml"), server=server.address)
        assert done.exit_code == 0, done.stderr
        for target in ("warehouse", "shelf"):
            reason = ("--repeat-reason", "a test")
            there = tableveil("publish", f"releases/{number}", "--to", target, *reason, server=server.address)
            assert there.exit_code == 0, there.stderr

    released(1)
    database = urlsplit(url).path.strip("/")
    where = {"PGHOST": str(postgresql.directory), "PGUSER": "postgres", "PGDATABASE": database}
    files = {"RELEASE": str(tmp_path / "shelf" / "releases-1.duckdb"), "ANALYSIS": str(tmp_path / "analysis.duckdb")}
    for target, environment in (("postgres", where), ("duckdb", files)):
        dbt(target, tmp_path, "build", **environment)
        dbt(target, tmp_path, "source", "freshness", **environment)
    # Rows without a code are a class of their own once they are five.
    assert postgresql.rows(url, "SELECT count(*) FROM released.discharges_released WHERE zip_code IS NULL")[0][0] >= 5
    counted = "SELECT sum(records)::bigint FROM analysis.diagnoses_by_age"
    before = postgresql.rows(url, counted)
    with duckdb.connect() as reader:
        reader.execute(f"ATTACH '{files['RELEASE']}' AS release (READ_ONLY)")
        reader.execute(f"ATTACH '{files['ANALYSIS']}' AS own")
        assert reader.execute("SELECT sum(records)::BIGINT FROM own.analysis.diagnoses_by_age").fetchall() == before

    # The view of dbt survives the next release, and reads it.
    loaded = tmp_path / "new.parquet"
    with duckdb.connect() as maker:
        create_discharges(maker, "discharges", 110_000, 8)
        maker.execute(f"COPY discharges TO '{loaded}'")
    done = tableveil("load", str(loaded), "discharges", "--replace", server=server.address)
    assert done.exit_code == 0, done.stderr
    released(2)
    (after,) = postgresql.rows(url, counted)
    assert after > before[0]
    assert after == postgresql.rows(url, "SELECT count(*) FROM released.discharges_released")[0]
