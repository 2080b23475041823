"""Migrations: a fresh database, one that is up to date, and one that a newer Tableveil wrote."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.errors import InvalidError
from tableveil.privacy.guarantees import Guarantee
from tableveil.risk import ClassSizes
from tableveil.state import releases
from tableveil.state.migrate import fingerprint_key, migrate, migrations
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.release_explanations import Explanation, Neighbour, Rejection


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Session]:
    database = Database(Settings(tmp_path / "fresh.duckdb"))
    with database.session() as session:
        yield session
    database.close()


def tables(session: Session) -> list[tuple[str, str]]:
    return session.rows("SELECT table_name, sql FROM duckdb_tables() WHERE schema_name = 'tableveil' ORDER BY 1")


def test_numbers_count_from_1_without_gaps() -> None:
    assert [migration.number for migration in migrations()] == list(range(1, len(migrations()) + 1))


def test_fresh_database_is_brought_up_to_date(fresh: Session) -> None:
    migrate(fresh)
    applied = fresh.rows("SELECT number, name FROM tableveil.migrations ORDER BY number")
    assert applied == [(migration.number, migration.name) for migration in migrations()]
    assert {"jobs", "job_events", "job_outcomes", "releases", "hierarchies"} <= {name for name, _ in tables(fresh)}


def test_migrating_twice_changes_nothing(fresh: Session) -> None:
    migrate(fresh)
    before, key = tables(fresh), fingerprint_key(fresh)
    migrate(fresh)
    assert (tables(fresh), fingerprint_key(fresh)) == (before, key)
    assert fresh.value("SELECT count(*) FROM tableveil.migrations") == len(migrations())


def test_each_database_has_a_key_of_its_own(fresh: Session, session: Session) -> None:
    migrate(fresh)
    assert len(fingerprint_key(fresh)) == 32
    assert fingerprint_key(fresh) != fingerprint_key(session)


def test_newer_database_is_refused_and_left_alone(fresh: Session) -> None:
    migrate(fresh)
    newer = len(migrations()) + 1
    fresh.execute("INSERT INTO tableveil.migrations VALUES (?, 'of_the_future', now()::TIMESTAMP)", [newer])
    before = tables(fresh)
    with pytest.raises(InvalidError) as raised:
        migrate(fresh)
    assert raised.value.code == "DATABASE_TOO_NEW"
    assert "upgrade this one" in str(raised.value)
    assert tables(fresh) == before


def test_users_tables_are_left_alone(fresh: Session) -> None:
    fresh.execute("CREATE TABLE jobs AS SELECT 1 AS mine")
    migrate(fresh)
    assert fresh.rows("SELECT * FROM main.jobs") == [(1,)]


VERSION_1 = """
INSERT INTO tableveil.releases BY NAME SELECT 7 AS number, 3 AS job, TIMESTAMP '2026-01-02' AS created_at,
    'db' AS source_catalog, 'main' AS source_schema, 't' AS source_table, 'abcd' AS source_fingerprint,
    'main' AS target_schema, 'released' AS target_name, 'TABLE' AS kind, '' AS repeat_reason, 100 AS records,
    5 AS suppressed_records, 9 AS classes, 0.5 AS score, true AS optimal, 0.5 AS lower_bound, '12' AS lattice_size,
    8 AS checked, MAP {'loss': '4'} AS pruned, 'numpy' AS counter, 0.25 AS search_seconds, 2.5 AS seconds,
    MAP {'searching': 0.25} AS phase_seconds, MAP {'tableveil': '0.1.0'} AS versions,
    ['careful']::VARCHAR[] AS warnings, '{}' AS policy;
INSERT INTO tableveil.release_objects VALUES (7, 'released', 'ROWS', 95);
INSERT INTO tableveil.release_attributes VALUES (7, 0, 'age', 1, 3, 0.5, 80, 8, 'a rule');
INSERT INTO tableveil.release_runners_up VALUES (7, 1, [2], 0.75, 1);
INSERT INTO tableveil.release_risks
    SELECT 7, stage, measure, NULL, 1 FROM (VALUES ('before'), ('after')) AS stages(stage), (VALUES ('records'),
    ('classes'), ('highest_risk'), ('average_risk'), ('lowest_risk'), ('unique_records')) AS measures(measure);
"""


def test_a_release_of_version_1_is_read_as_what_it_was(fresh: Session) -> None:
    first = migrations()[0]
    fresh.execute("CREATE SCHEMA tableveil")
    fresh.execute("CREATE TABLE tableveil.migrations (number INTEGER PRIMARY KEY, name VARCHAR, applied_at TIMESTAMP)")
    fresh.execute(first.text)
    fresh.execute("INSERT INTO tableveil.migrations VALUES (1, ?, now()::TIMESTAMP)", [first.name])
    fresh.execute(VERSION_1)
    migrate(fresh)
    release = releases.find(fresh, 7)
    assert release is not None
    assert (release.score, release.quality_model, release.warnings) == (0.5, "loss", ("careful",))
    proof = release.proof
    assert (proof.strategy, proof.counting) == ("exact", "")
    assert proof.searched is not None
    assert (proof.searched.checked, proof.searched.counted, proof.searched.best_seconds) == (8, 8, None)
    assert release.attributes == (AttributeResult("age", 1, 3, 0.5, 80, 8, "a rule", None),)
    assert release.explanation is None
    assert release.guarantees == ()
    # The old table takes new releases.
    number = 8
    item = Neighbour((), 0, None, 3, 1, 2, 0, 0.5, (Rejection("5-anonymity", 1, 2, 1, 2, False),))
    below = Neighbour(("a", "b"), -1, 0, 9, 8, 7, 6, None, ())
    new = replace(
        release,
        number=number,
        job=4,
        proof=replace(
            proof,
            searched=replace(proof.searched, counted=11, best_seconds=0.0),
            counting="all in numpy",
            strategy="anytime",
        ),
        attributes=(replace(release.attributes[0], part=2.0),),
        quality_model="height, sum",
        explanation=Explanation(item, (below,), complete=False),
        guarantees=(
            Guarantee("k_anonymity", "", "k", 1.0, 5.0),
            Guarantee("delta_disclosure", "illness", "delta", math.inf, None),
        ),
    )
    sizes = ClassSizes(np.array([1], np.int64), np.array([1], np.int64))
    releases.insert(fresh, new, sizes, sizes)
    assert releases.find(fresh, number) == new
    # Lists do without what only one release shows.
    assert [(found.number, found.guarantees) for found in releases.page(fresh, None, 2)] == [(8, ()), (7, ())]
