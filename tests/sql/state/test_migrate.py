"""Migrations: fresh databases, those of the version before, and those that a newer Tableveil wrote."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.classification.model import Assessment, ClassifierComparison, ClassMeasures, Measures
from tableveil.errors import InvalidError, TableveilError
from tableveil.privacy.exposure.found import Exposure
from tableveil.privacy.guarantees import Guarantee
from tableveil.requests.classification import Classifier
from tableveil.risk import ProsecutorRisk
from tableveil.source.doubtful import DoubtfulValues, DoubtKind
from tableveil.state import migrate as migrate_module
from tableveil.state.classifications import CLASSIFICATIONS
from tableveil.state.dry_runs import DRY_RUNS
from tableveil.state.frontiers import FRONTIERS, Found, Point
from tableveil.state.migrate import SCRIPTS, fingerprint_key, migrate, migrations
from tableveil.state.proposals import PROPOSALS, ColumnLeft, ForecastWay, TriedPolicy
from tableveil.state.release_costs import Alternative, CostPart
from tableveil.state.release_explanations import Explanation, Neighbour, Rejection
from tableveil.state.releases import RELEASES, RunnerUp
from tableveil.state.risk_analyses import RISK_ANALYSES, ComparedRisk, Measure, SubsetRisk
from tableveil.state.utility_reports import UTILITY_REPORTS
from tableveil.usefulness import Association, Bin, ColumnSpread, ColumnUtility, MovedRate, UtilityReport
from tests.sql.state.release_samples import RELEASE, SIZES


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
    migrate(fresh.ledger)
    applied = fresh.rows("SELECT number, name FROM tableveil.migrations ORDER BY number")
    assert applied == [(migration.number, migration.name) for migration in migrations()]
    assert {"jobs", "job_events", "job_outcomes", "releases", "hierarchies"} <= {name for name, _ in tables(fresh)}


def test_migrating_twice_changes_nothing(fresh: Session) -> None:
    migrate(fresh.ledger)
    before, key = tables(fresh), fingerprint_key(fresh.ledger)
    migrate(fresh.ledger)
    assert (tables(fresh), fingerprint_key(fresh.ledger)) == (before, key)
    assert fresh.value("SELECT count(*) FROM tableveil.migrations") == len(migrations())


def test_each_database_has_a_key_of_its_own(fresh: Session, session: Session) -> None:
    migrate(fresh.ledger)
    assert len(fingerprint_key(fresh.ledger)) == 32
    assert fingerprint_key(fresh.ledger) != fingerprint_key(session.ledger)


NOW = len(migrations())


def test_a_script_that_databases_have_seen_does_not_change() -> None:
    """A change of the state is a script of its own: nothing applies a script twice."""
    digest = sha256(migrations()[0].text.encode()).hexdigest()
    assert digest == "db4262d3dbb658125f32cb69aa6960797e2d46f1c80d38e20916c4a8d9a250ac"


@pytest.mark.parametrize("version", range(1, NOW))
def test_a_database_of_each_earlier_version_becomes_the_same(
    fresh: Session, session: Session, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(migrate_module, "migrations", lambda: migrations()[:version])
        migrate(fresh.ledger)
    migrate(fresh.ledger)
    assert tables(fresh) == tables(session)


EARLIER = (
    "7, 3, TIMESTAMP '2026-01-02', 'c', 's', 't', 'f', 'main', 'released', '', 'TABLE', '', false, 9, 1, 3, 0.1, "
    "'loss', true, 0.1, 'exact', 0.2, 'numpy', '', '8', 4, 5, MAP {'loss': '4'}, 0.1, true, 0.5, MAP {}, MAP {}, "
    "?, '{}'"
)
"""An entry of the ledger before figures were in documents."""


def test_texts_of_before_are_told_to_readers_of_all_releases_that_they_name(
    fresh: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(migrate_module, "migrations", lambda: migrations()[:5])
        migrate(fresh.ledger)
    shown = ("careful", "Together with releases/1, releases/12: told apart", "the column releases/" + "9" * 30)
    fresh.execute(f"INSERT INTO tableveil.releases SELECT {EARLIER}", [list(shown)])
    fresh.execute("INSERT INTO tableveil.release_together VALUES (7, 1), (7, 2)")
    migrate(fresh.ledger)
    found = fresh.rows("SELECT job, text, list_sort(releases) FROM tableveil.joint_texts ORDER BY text")
    assert found == [(3, "", [1, 2]), (3, shown[1], [1, 12]), (3, shown[2], [0])]


def test_figures_of_analyses_of_before_are_in_their_documents(fresh: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(migrate_module, "migrations", lambda: migrations()[:21])
        migrate(fresh.ledger)
    analysis = (
        "job, TIMESTAMP '2026-01-02', 'c', 's', 't', 'f', ['a'], 9, 3, NULL, 2, false, 0.5, [], '{}' FROM range(7, 9)"
    )
    fresh.execute(f"INSERT INTO tableveil.risk_analyses SELECT job - 6, {analysis} r(job)")
    for statement in (
        "risk_measures VALUES (1, 1, 'm', 'x', NULL, NULL), (1, 0, 'm', 'é\"', '0.2', 'inf')",
        "risk_measures VALUES (1, 2, 'm', 'y', NULL, 0.1)",
        "attribute_risks VALUES (1, 0, ['a', 'b\"'], 0.1, 1, 3, 2, true)",
        "compared_risks VALUES (1, 1, ['b']), (1, 0, ['a'])",
        "compared_measures VALUES (1, 0, 1, 'm', 'z', NULL, 2), (1, 0, 0, 'sample', 'classes', NULL, 4)",
    ):
        fresh.execute(f"INSERT INTO tableveil.{statement}")
    of_measures = "SELECT * FROM tableveil.risk_measures ORDER BY analysis, position"
    measured = fresh.rows(of_measures)
    migrate(fresh.ledger)
    assert fresh.rows(of_measures) == measured
    first, second = (RISK_ANALYSES.find(fresh.ledger, number) for number in (1, 2))
    assert first is not None
    assert second is not None
    assert [one.value for one in first.measures] == [math.inf, None, 0.1]
    assert first.measures[0] == Measure("m", 'é"', "0.2", math.inf)
    assert first.subsets == (SubsetRisk(("a", 'b"'), 0.1, 1.0, 3, 2, True),)
    classes, other = Measure("sample", "classes", None, 4.0), Measure("m", "z", None, 2.0)
    assert first.compared == (ComparedRisk(("a",), (classes, other)), ComparedRisk(("b",), ()))
    assert (second.measures, second.subsets, second.compared) == ((), (), ())
    RISK_ANALYSES.insert(fresh.ledger, [replace(first, number=3, job=9)])
    assert RISK_ANALYSES.find(fresh.ledger, 3) == replace(first, number=3, job=9)
    assert fresh.rows(of_measures) == [*measured, *((3, *row[1:]) for row in measured)]


def test_points_of_frontiers_of_before_are_in_their_documents(fresh: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(migrate_module, "migrations", lambda: migrations()[:22])
        migrate(fresh.ledger)
    frontier = (
        "job, TIMESTAMP '2026-01-02', 'c', 's', 't', 'f', 9, ['a'], '4', 3, 'numpy', 0.5, 1.5, '{}' FROM range(7, 9)"
    )
    fresh.execute(f"INSERT INTO tableveil.frontiers SELECT job - 6, {frontier} r(job)")
    tiny = "0." + "0" * 43 + "1"
    fresh.execute(
        "INSERT INTO tableveil.frontier_points VALUES "
        f"(1, 2, '{tiny}', 0.1, 3, 4, [1, 0], true, 1e300), (1, 2, '0.10', 0, 0, 1, [], false, 'inf'), "
        "(1, 10, '1', NULL, NULL, NULL, NULL, true, NULL)"
    )
    of_points = "SELECT * FROM tableveil.frontier_points"
    points, types = fresh.rows(of_points), fresh.rows(f"SELECT column_name, column_type FROM (DESCRIBE {of_points})")
    migrate(fresh.ledger)
    assert fresh.rows(of_points) == points
    assert fresh.rows(f"SELECT column_name, column_type FROM (DESCRIBE {of_points})") == types
    first, second = (FRONTIERS.find(fresh.ledger, number) for number in (1, 2))
    assert first is not None
    assert second is not None
    assert first.points == (
        Point(2, Decimal(tiny), Found(0.1, 3, 4, (1, 0)), True, 1e300),
        Point(2, Decimal("0.10"), Found(0.0, 0, 1, ()), False, math.inf),
        Point(10, Decimal(1), None, True, None),
    )
    assert second.points == ()
    FRONTIERS.insert(fresh.ledger, [replace(first, number=3, job=9)])
    assert FRONTIERS.find(fresh.ledger, 3) == replace(first, number=3, job=9)
    assert fresh.rows(of_points) == [*points, *((3, *row[1:]) for row in points)]


VIEWS = (
    *("release_attributes", "release_runners_up", "release_explanations", "release_rejections", "release_costs"),
    *("release_risks", "guarantees", "exposures"),
)


def viewed(session: Session, number: int) -> str:
    """The rows of the views of a release's figures, with the types of their columns."""
    rows = [
        (
            session.rows(f"SELECT * EXCLUDE (release) FROM tableveil.{name} WHERE release = ? ORDER BY ALL", [number]),
            session.rows(f"SELECT column_name, column_type FROM (DESCRIBE tableveil.{name})"),
        )
        for name in VIEWS
    ]
    return repr(rows)


def test_figures_of_releases_and_dry_runs_of_before_are_in_their_documents(
    fresh: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(migrate_module, "migrations", lambda: migrations()[:23])
        migrate(fresh.ledger)
    fresh.execute(f"INSERT INTO tableveil.releases SELECT {EARLIER}", [[]])
    fresh.execute(
        f"INSERT INTO tableveil.releases SELECT {EARLIER.replace('7, 3', '8, 4').replace('true, 0.5', 'NULL, 1')}", [[]]
    )
    fresh.execute(
        "INSERT INTO tableveil.dry_runs BY NAME SELECT * EXCLUDE (target_schema, target_name, warehouse, kind, "
        "repeat_reason, needs_approval, explanation_complete, phase_seconds, versions), 5 AS job, "
        "[]::VARCHAR[] AS refusals "
        "FROM (SELECT * EXCLUDE (job) FROM tableveil.releases WHERE number = 7)"
    )
    attribute = "1, 'age', 1, 2, 0.1, 80, 8, 'a \"rule\"', NULL, [[0, 40], [1, 2]], ''), "
    attribute += "({}, 0, 'é', 0, 0, 'nan', 2, 2, '', 1, [], 'mean'"
    guarantee = "1, 'm', '', 'k', NULL, 3), ({}, 0, 'n', 'é', 't', 'inf', 0.1"
    exposure = "0, ['a'], ['b', 'c'], 1, 2, 3, 4, true"
    for statement in (
        *(f"{name} VALUES (7, {attribute.format(7)})" for name in ("release_attributes", "dry_run_attributes")),
        *(f"{name} VALUES (7, {guarantee.format(7)})" for name in ("guarantees", "dry_run_guarantees")),
        *(f"{name} VALUES (7, {exposure})" for name in ("exposures", "dry_run_exposures")),
        "release_runners_up VALUES (7, 1, [], 0.5, 2), (7, 0, [1, 0], 1e300, 1)",
        "release_explanations VALUES (7, 1, ['a'], -1, 1, 2, 3, 4, 5, NULL), (7, 0, [], 0, NULL, 2, 3, 4, 5, 0.1)",
        "release_rejections VALUES (7, 1, 'k', 1, 2, 3, 4, true), (7, 1, 'l', 5, 6, 7, 8, false)",
        "release_costs VALUES (7, 0, 'age', NULL, 3, 0.1), (7, 1, '', '>= 3', 4, 0.2)",
        "dry_run_alternatives VALUES (7, 0, NULL, '0.10', 0.1, 2)",
        *(
            f"{kind}_risks SELECT {number}, stage, m.* FROM (VALUES ('before'), ('after'){by_size}) s(stage), (VALUES "
            "('records', NULL, 9), ('classes', NULL, 3), ('highest_risk', NULL, 0.5), ('average_risk', NULL, 0.1), "
            "('lowest_risk', NULL, 0.05), ('unique_records', NULL, 1), ('records_above_threshold', '0.00000005', 9), "
            "('records_above_threshold', '0.20', 2)) m"
            for kind, number, by_size in (("release", 7, ", ('after_by_size')"), ("release", 8, ""), ("dry_run", 7, ""))
        ),
    ):
        fresh.execute(f"INSERT INTO tableveil.{statement}")
    rows = viewed(fresh, 7)
    migrate(fresh.ledger)
    assert viewed(fresh, 7) == rows
    release, other = (RELEASES.find(fresh.ledger, number) for number in (7, 8))
    dry_run = DRY_RUNS.find(fresh.ledger, 7)
    assert release is not None
    assert other is not None
    assert dry_run is not None
    risk = ProsecutorRisk(9, 3, 0.5, 0.1, 0.05, 1, ((Decimal("0.00000005"), 9), (Decimal("0.20"), 2)))
    for one in (release, other, dry_run):
        assert (one.risk_before, one.risk_after, one.risk_by_size) == (risk, risk, risk)
    for figures in (release, dry_run):
        assert [one.column for one in figures.attributes] == ["é", "age"]
        assert math.isnan(figures.attributes[0].loss)
        assert figures.attributes[1].levels == ((0, 40), (1, 2))
        assert figures.guarantees == (Guarantee("n", "é", "t", math.inf, 0.1), Guarantee("m", "", "k", None, 3.0))
        assert figures.exposures == (Exposure(("a",), ("b", "c"), 1, 2, 3, 4, True),)
    assert release.proof.searched is not None
    assert release.proof.searched.runners_up == (RunnerUp((1, 0), 1e300, 1), RunnerUp((), 0.5, 2))
    itself = Neighbour((), 0, None, 2, 3, 4, 5, 0.1, ())
    rejected = (Rejection("k", 1, 2, 3, 4, True), Rejection("l", 5, 6, 7, 8, False))
    assert release.explanation == Explanation(itself, (Neighbour(("a",), -1, 1, 2, 3, 4, 5, None, rejected),), True)
    assert release.costs == (CostPart("age", None, 3, 0.1), CostPart("", ">= 3", 4, 0.2))
    assert (other.explanation, other.attributes, other.guarantees, other.costs) == (None, (), (), ())
    assert dry_run.alternatives == (Alternative(None, Decimal("0.10"), 0.1, 2),)
    RELEASES.write(fresh.ledger, replace(release, number=9, job=9), SIZES, SIZES)
    assert viewed(fresh, 9) == rows


def test_figures_of_reports_of_before_are_in_their_documents(fresh: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(migrate_module, "migrations", lambda: migrations()[:24])
        migrate(fresh.ledger)
    left = "0, 'é', 3, 0.1, false, 'inf'"
    for statement in (
        "utility_reports VALUES (1, 3, TIMESTAMP '2026-01-02', 7, [], 0.5, '{}'), "
        "(2, 4, TIMESTAMP '2026-01-02', 7, [], 0.5, '{}')",
        "utility_columns VALUES (1, 0, 'a\"', 'DATE', 'r', 't', NULL, false)",
        "utility_spreads VALUES (1, 0, 'before', 9, 1, 3, 0.1, 'inf', [1, 'inf'::DOUBLE]), "
        "(1, 0, 'after', 8, 0, 1, NULL, NULL, [])",
        "utility_bins VALUES (1, 0, 'before', 1, NULL, 1), (1, 0, 'before', 0, '\"x', 8)",
        "utility_associations VALUES (1, 0, 'a', 'b', 'm', NULL, 0.1)",
        "utility_rates VALUES (1, 0, 'a', NULL, 'b', 'v', 1, 2, 3, 4)",
        "classifications SELECT number, job, created_at, 7, 'c', 's', 't', 'f', 9, 8, 1, 2, '', 0.5, [], '{}' "
        "FROM tableveil.utility_reports",
        "classification_columns VALUES (1, 0, 'a', ['b'], ['x', 'y'], 9, 2)",
        "classification_measures VALUES (1, 0, 0, 'ZERO_R', 'input', 0.1, 0.2, NULL), "
        "(1, 0, 1, 'NAIVE_BAYES', 'input', 0.3, 0.4, NULL), (1, 0, 2, 'NAIVE_BAYES', 'release', 0.5, 0.6, 0.7)",
        "classification_classes VALUES (1, 0, 2, 1, 'y', 0.1, NULL, NULL, [0, 4], [], []), "
        "(1, 0, 2, 0, 'x', NULL, 0.2, 0.3, [5, 0], [0, 1], [0.5, 1])",
        "proposals SELECT number, job, created_at, 'c', 's', 't', 9, [], [], '', '', 0.5, '{}', '' "
        "FROM tableveil.utility_reports",
        "proposal_findings VALUES (1, 0, 'a', 'SENTINEL', 3, 'nullif(a, 9)')",
        "proposal_alternatives VALUES (1, 1, '{}', 'm', 2, NULL, 0, NULL, ['d'], 'f', false), "
        "(1, 0, '{\"a\": \"é\"}', 'n', 3, 0.1, 4, 0.5, [], '', true)",
        f"proposal_columns VALUES (1, 1, {left}), (1, 1, {left.replace('0, ', '1, ', 1)})",
        "proposal_ways VALUES (1, 0, 'w', 2, 5, 6, 20, true, '')",
        f"proposal_way_columns VALUES (1, 0, {left})",
    ):
        fresh.execute(f"INSERT INTO tableveil.{statement}")
    migrate(fresh.ledger)
    report, empty = UTILITY_REPORTS.among(fresh.ledger, [1, 2])
    before_, after = (
        ColumnSpread(9, 1, 3, 0.1, math.inf, (1.0, math.inf), (Bin('"x', 8), Bin(None, 1))),
        ColumnSpread(8, 0, 1, None, None, (), ()),
    )
    assert report.report == UtilityReport(
        (ColumnUtility('a"', "DATE", "r", "t", None, False, before_, after),),
        (Association("a", "b", "m", None, 0.1),),
        (MovedRate("a", None, "b", "v", 1, 2, 3, 4),),
        (),
    )
    assert empty.report == UtilityReport((), (), (), ())
    classification, unassessed = CLASSIFICATIONS.among(fresh.ledger, [1, 2])
    classes = (ClassMeasures("x", None, 0.2, 0.3, ((0.0, 0.5), (1.0, 1.0))), ClassMeasures("y", 0.1, None, None, ()))
    released = Measures(0.5, 0.6, ((5, 0), (0, 4)), classes)
    compared = ClassifierComparison(Classifier.NAIVE_BAYES, Measures(0.3, 0.4, (), ()), released, 0.7)
    baseline = Measures(0.1, 0.2, (), ())
    assessment = Assessment("a", ("b",), ("x", "y"), 9, 2, baseline, (compared,))
    assert (classification.assessments, unassessed.assessments) == ((assessment,), ())
    proposal, bare = PROPOSALS.among(fresh.ledger, [1, 2])
    columns = ColumnLeft("é", 3, 0.1, False, math.inf)
    assert proposal.findings == (DoubtfulValues("a", DoubtKind.SENTINEL, 3, "nullif(a, 9)"),)
    assert proposal.alternatives == (
        TriedPolicy('{"a": "é"}', "n", 3, 0.1, 4, 0.5, (), (), "", True),
        TriedPolicy("{}", "m", 2, None, 0, None, (columns, columns), ("d",), "f", False),
    )
    assert proposal.ways == (ForecastWay("w", 2, 5, 6, 20, True, (columns,), ""),)
    assert (bare.findings, bare.alternatives, bare.ways) == ((), (), ())


@pytest.fixture
def following(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A version of Tableveil that has one script more: the path is the script's."""
    scripts = tmp_path / "migrations"
    scripts.mkdir()
    for one in migrations():
        (scripts / f"{one.number:04}_{one.name}.sql").write_text(one.text, encoding="utf-8")
    script = scripts / f"{NOW + 1:04}_following.sql"
    script.write_text(
        "ALTER TABLE tableveil.releases ADD COLUMN approved_by VARCHAR DEFAULT 'nobody';\n"
        "ALTER TABLE tableveil.releases ALTER COLUMN approved_by SET NOT NULL;\n"
        "CREATE TABLE tableveil.approvals AS SELECT number AS release, created_at FROM tableveil.releases;\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(migrate_module, "SCRIPTS", scripts)
    return script


def test_the_next_version_brings_a_database_of_this_one_up_to_date(
    fresh: Session, following: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert following.exists()
    with monkeypatch.context() as before:
        before.setattr(migrate_module, "SCRIPTS", SCRIPTS)
        migrate(fresh.ledger)
    RELEASES.write(fresh.ledger, RELEASE, SIZES, SIZES)
    key = fingerprint_key(fresh.ledger)
    migrate(fresh.ledger)
    applied = fresh.rows("SELECT number, name FROM tableveil.migrations ORDER BY number")
    assert applied == [(migration.number, migration.name) for migration in migrate_module.migrations()]
    assert applied[-1] == (NOW + 1, "following")
    assert fingerprint_key(fresh.ledger) == key
    assert RELEASES.find(fresh.ledger, RELEASE.number) == RELEASE
    assert fresh.rows("SELECT number, approved_by FROM tableveil.releases") == [(RELEASE.number, "nobody")]
    assert fresh.rows("FROM tableveil.approvals") == [(RELEASE.number, RELEASE.created_at)]
    migrate(fresh.ledger)
    assert fresh.value("SELECT count(*) FROM tableveil.migrations") == NOW + 1


def test_a_migration_that_fails_leaves_the_version_before(fresh: Session, following: Path) -> None:
    following.write_text(following.read_text(encoding="utf-8") + "SELECT nothing;", encoding="utf-8")
    with pytest.raises(TableveilError):
        migrate(fresh.ledger)
    assert fresh.value("SELECT max(number) FROM tableveil.migrations") == NOW
    assert "approvals" not in {name for name, _ in tables(fresh)}


def test_newer_database_is_refused_and_left_alone(fresh: Session) -> None:
    migrate(fresh.ledger)
    newer = len(migrations()) + 1
    fresh.execute("INSERT INTO tableveil.migrations VALUES (?, 'of_the_future', now()::TIMESTAMP)", [newer])
    before = tables(fresh)
    with pytest.raises(InvalidError) as raised:
        migrate(fresh.ledger)
    assert raised.value.code == "DATABASE_TOO_NEW"
    assert "upgrade this one" in str(raised.value)
    assert tables(fresh) == before


def test_users_tables_are_left_alone(fresh: Session) -> None:
    fresh.execute("CREATE TABLE jobs AS SELECT 1 AS mine")
    migrate(fresh.ledger)
    assert fresh.rows("SELECT * FROM main.jobs") == [(1,)]
