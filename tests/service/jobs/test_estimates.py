"""The estimated table of a release: ordinary SQL on one value per cell, drawn from the release alone."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from sqlglot import exp

from tableveil.backend import Database, Session, read_only
from tableveil.errors import ConflictError, InternalError, InvalidError
from tableveil.estimates import ASSUMPTIONS, Assumption
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals
from tableveil.operate import Level, restore
from tableveil.operate.objects import examine_releases
from tableveil.policy import (
    AttributePolicy,
    IfExists,
    KAnonymity,
    Policy,
    ReleaseKind,
    ReleaseTarget,
    Role,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.validate import validate_policy
from tableveil.release import estimates
from tableveil.release.estimated_matches import MatchedEstimates
from tableveil.release.estimates import EstimatedTables
from tableveil.state.releases import Release
from tests.once import once

Run = Callable[..., Release]
AGES = Intervals("0", "100", ("5", "20"), top_coding="80")
TOWNS = InlineLevels(tuple((f"t{i}", f"region {i % 2}", "*") for i in range(6)))
POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("age", Role.QUASI_IDENTIFIER, AGES),
        AttributePolicy("town", Role.QUASI_IDENTIFIER, TOWNS),
        AttributePolicy("cost", Role.SENSITIVE, acknowledged=True),
    ),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "out", estimates=True),
    suppression_limit=Decimal(0),
)
LOCAL = replace(POLICY, methods=(LocalRecoding(),))
TABLES = ("out_estimated", *(f"out_estimated_{place}" for place in range(2, 6)))
AGE_LABELS = "JOIN out_classes AS c USING (class_id) JOIN out_labels AS l ON l.label = c.age AND column_name = 'age'"


def people(session: Session, age: str = "BIGINT", records: int = 2_000) -> None:
    session.execute(
        f"CREATE OR REPLACE TABLE people AS SELECT (hash(i) % 97)::BIGINT::{age} AS age, "
        "CASE WHEN hash(i, 1) % 4 = 0 THEN 't' || hash(i, 2) % 6 ELSE 't0' END AS town, "
        f"round((hash(i) % 97) * 10 + (hash(i, 3) % 300), 2)::DECIMAL(9,2) AS cost FROM range({records}) AS r(i)"
    )


@pytest.mark.parametrize("policy", [POLICY, LOCAL])
@pytest.mark.parametrize("kind", once([ReleaseKind.TABLE, ReleaseKind.VIEW]))
def test_every_value_lies_in_its_label_and_other_columns_are_as_released(
    database: Database, session: Session, run: Run, policy: Policy, kind: ReleaseKind
) -> None:
    people(session)
    run(database, replace(policy, release=replace(policy.release, kind=kind)))
    for name in TABLES:
        assert session.described(f"FROM {name}") == [
            ("age", "BIGINT"),
            ("town", "VARCHAR"),
            ("cost", "DECIMAL(9,2)"),
            ("class_id", "BIGINT"),
            ("estimated", "BOOLEAN"),
        ]
        outside = f"FROM {name} AS e {AGE_LABELS} WHERE e.age < number_from OR e.age > number_to"
        assert session.value(f"SELECT count(*) {outside}") == 0
        assert session.value(f"SELECT count(*) FROM {name} WHERE estimated") == 2_000
        released = session.rows("SELECT age, town, cost FROM out ORDER BY ALL")
        joined = f"SELECT c.age, c.town, cost FROM {name} JOIN out_classes AS c USING (class_id) ORDER BY ALL"
        assert session.rows(joined) == released
    regions = {f"t{i}": f"region {i % 2}" for i in range(6)}
    pairs = "SELECT DISTINCT e.town, c.town FROM out_estimated AS e JOIN out_classes AS c USING (class_id)"
    for town, label in session.rows(pairs):
        assert label in (town, regions.get(town), "*")


def test_ordinary_questions_are_nearly_right(database: Database, session: Session, run: Run) -> None:
    people(session, records=10_000)
    run(database, LOCAL)
    question = "SELECT avg(age), corr(age, cost), count(*) FILTER (age >= 65) FROM {}"
    mean, relation, old = session.row(question.format("people"))
    estimated = session.row(question.format("out_estimated"))
    assert estimated[0] == pytest.approx(mean, rel=0.03)
    assert estimated[1] == pytest.approx(relation, abs=0.03)
    assert estimated[2] == pytest.approx(old, rel=0.1)


def test_texts_that_the_release_may_hide_are_unknown(database: Database, session: Session, run: Run) -> None:
    people(session)
    session.execute("UPDATE people SET town = 't' || floor(60 * (hash(cost, age) % 1000 / 1000) ** 3)::INT")
    towns = InlineLevels(tuple((f"t{i}", f"region {i % 4}", "*") for i in range(60)))
    age, town, cost = LOCAL.attributes
    run(database, replace(LOCAL, attributes=(age, replace(town, hierarchy=towns), cost)))
    unknown, hidden, labels = session.row(
        "SELECT count(*) FILTER (e.town IS NULL), "
        "(SELECT count(*) FROM people WHERE town NOT IN (SELECT town FROM out)), "
        "count(*) FILTER (e.town IS NULL AND c.town <> '*' AND c.town NOT LIKE 'region%') "
        "FROM out_estimated AS e JOIN out_classes AS c USING (class_id)"
    )
    assert 0 < unknown < 2 * hidden
    assert labels == 0


def test_equal_releases_have_equal_estimates(database: Database, session: Session, run: Run) -> None:
    people(session)
    run(database, LOCAL)
    first = session.rows("FROM out_estimated")
    session.execute("CREATE OR REPLACE TABLE people AS FROM people ORDER BY hash(age, cost)")
    again = replace(LOCAL.release, if_exists=IfExists.REPLACE)
    run(database, replace(LOCAL, release=again, repeat_reason="a reason"))
    assert session.rows("FROM out_estimated") == first


@pytest.mark.parametrize("type_", once(["DECIMAL(6,2)", "TINYINT", "UHUGEINT", "DOUBLE", "FLOAT"]))
def test_numbers_have_the_type_of_the_source(database: Database, session: Session, run: Run, type_: str) -> None:
    people(session, type_)
    run(database, POLICY)
    assert session.described("FROM out_estimated")[0] == ("age", type_)


@pytest.mark.parametrize("type_", once(["DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_NS"]))
def test_days_and_times(database: Database, session: Session, run: Run, type_: str) -> None:
    people(session)
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT ('2024-01-01 10:30:15'::TIMESTAMP + INTERVAL (age) DAY)::"
        f"{type_} AS age, town, cost FROM people"
    )
    dates = replace(
        POLICY.attributes[0],
        hierarchy=Dates("2024-01-01", "2024-12-31", (DateUnit.MONTH, DateUnit.YEAR)),
        minimum_level=1,
    )
    run(database, replace(POLICY, attributes=(dates, *POLICY.attributes[1:])))
    (_, written), *_ = session.described("FROM out_estimated")
    (_, source), *_ = session.described("FROM people")
    assert written == source
    months = "SELECT month(age::TIMESTAMP), count(*) FROM {} GROUP BY 1 ORDER BY 1"
    if session.value("SELECT count(*) FROM out WHERE age = '2024'") == 0:
        assert session.rows(months.format("out_estimated")) == session.rows(months.format("people"))


def test_missing_values_and_columns_without_bounds(database: Database, session: Session, run: Run) -> None:
    people(session)
    session.execute("UPDATE people SET age = NULL WHERE cost < 100")
    missing = session.value("SELECT count(*) FROM people WHERE age IS NULL")
    erased = replace(POLICY.attributes[1], minimum_level=2)
    run(database, replace(POLICY, attributes=(POLICY.attributes[0], erased, POLICY.attributes[2])))
    assert session.value("SELECT count(*) FROM out_estimated WHERE age IS NULL") == missing
    assert session.rows("SELECT DISTINCT town FROM out_estimated") == [("*",)]


@pytest.mark.parametrize("town", [POLICY.attributes[1], AttributePolicy("town", Role.IDENTIFYING)])
def test_a_number_that_is_erased_is_unknown(
    database: Database, session: Session, run: Run, town: AttributePolicy
) -> None:
    people(session)
    top = replace(POLICY.attributes[0], minimum_level=3)
    run(database, replace(POLICY, attributes=(top, town, POLICY.attributes[2])))
    assert session.rows("SELECT DISTINCT age FROM out_estimated") == [(None,)]
    assert session.described("FROM out_estimated")[0] == ("age", "BIGINT")


def test_large_releases_are_read_in_parts(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(session)
    monkeypatch.setattr(estimates, "AT_ONCE", 300)
    monkeypatch.setattr(estimates, "MOST_FITTED", 500)
    run(database, LOCAL)
    released = "SELECT age, town, cost FROM out"
    joined = "SELECT c.age, c.town, cost FROM out_estimated AS e JOIN out_classes AS c USING (class_id)"
    assert session.rows(f"{joined} ORDER BY e.rowid") == session.rows(released)


def test_names_that_tables_of_their_own_might_use(database: Database, session: Session, run: Run) -> None:
    people(session)
    named = 'age, town AS "to""w\'n", cost AS place, 1 AS rowid'
    session.execute(f"CREATE OR REPLACE TABLE people AS SELECT {named} FROM people")
    own = ("age", "to\"w'n", "place")
    attributes = tuple(replace(of, column=name) for of, name in zip(POLICY.attributes, own, strict=True))
    rowid = AttributePolicy("rowid", Role.INSENSITIVE, acknowledged=True)
    run(database, replace(POLICY, attributes=(*attributes, rowid)))
    assert session.value("SELECT count(*) FROM out_estimated WHERE estimated") == 2_000


def test_comments_and_columns_say_how_much_is_estimated(database: Database, session: Session, run: Run) -> None:
    people(session)
    run(database, LOCAL)
    share, width = session.row("SELECT estimated_share, typical_width FROM out_columns WHERE column_name = 'age'")
    assert 0 < share < 1
    assert 5 <= width <= 20
    comments = dict(
        session.rows("SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'out_estimated'")
    )
    assert comments["age"] == f"{round(share * 100)} % of the rows are estimated, half of them within {width:g}."
    assert comments["cost"] is None
    (words,) = session.row("SELECT comment FROM duckdb_tables() WHERE table_name = 'out_estimated'")
    assert "never look one up" in words


@pytest.mark.parametrize(
    "spoil",
    once(
        [
            "UPDATE out_estimated SET age = 99 WHERE age < 50",
            "UPDATE out_estimated_3 SET age = NULL",
            "UPDATE out_estimated SET town = 'region 0'",
            "UPDATE out_estimated_2 SET town = NULL",
            "UPDATE out_estimated_5 SET cost = cost + 1",
            "UPDATE out_estimated SET class_id = class_id + 1",
            "UPDATE out_estimated SET estimated = FALSE",
            "DELETE FROM out_estimated_2 WHERE rowid = (SELECT min(rowid) FROM out_estimated_2)",
            "ALTER TABLE out_estimated_4 DROP COLUMN cost",
        ]
    ),
)
def test_the_verification_finds_what_is_wrong(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    people(session)
    write = EstimatedTables.write

    def spoiled(
        self: EstimatedTables, targets: Sequence[exp.Table], assumptions: Sequence[Assumption] = ASSUMPTIONS
    ) -> None:
        write(self, targets, assumptions)
        if targets[-1].name == TABLES[-1]:
            self._session.execute(spoil)

    monkeypatch.setattr(EstimatedTables, "write", spoiled)
    with pytest.raises(InternalError, match="estimated"):
        run(database, LOCAL)
    assert not session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name LIKE 'out%'")


def test_a_column_that_an_unchanged_one_gives_away_keeps_its_labels(
    database: Database, session: Session, run: Run
) -> None:
    people(session)
    session.execute("ALTER TABLE people ADD COLUMN stay BIGINT DEFAULT 3")
    bands = replace(POLICY.attributes[0], minimum_level=2, maximum_level=2)
    # Nobody would compare an erased column with anything.
    erased = AttributePolicy("stay", Role.QUASI_IDENTIFIER, AGES, minimum_level=3)
    policy = replace(POLICY, attributes=(bands, *POLICY.attributes[1:], erased))
    right = run(database, policy)
    assert any("match in out_estimated is right in" in warning for warning in right.warnings)
    assert session.described("FROM out_estimated")[0] == ("age", "BIGINT")
    session.execute("UPDATE people SET cost = age + (hash(town, age) % 2) / 100")
    run(database, replace(policy, release=replace(POLICY.release, name="follows"), repeat_reason="a reason"))
    assert session.described("FROM follows_estimated")[0] == ("age", "VARCHAR")
    assert session.rows("SELECT DISTINCT age FROM follows_estimated ORDER BY 1") == session.rows(
        "SELECT DISTINCT age FROM follows ORDER BY 1"
    )


@pytest.mark.parametrize(
    ("matches", "lifted"),
    [
        ((0, 0.0, 0.0), False),
        ((1, 1.0, 0.03), False),
        ((92, 0.03, 0.03), False),
        ((92, 0.22, 0.03), True),
        ((1_000, 0.032, 0.03), False),
        ((1_000, 0.034, 0.03), True),
    ],
)
def test_few_matches_speak_against_a_column_if_chance_does_not_explain_them(
    matches: tuple[int, float, float], lifted: bool
) -> None:
    assert MatchedEstimates(*matches).lifted is lifted


def test_backups_hold_the_tables_and_notice_a_changed_one(
    database: Database, session: Session, run: Run, tmp_path: Path
) -> None:
    people(session)
    run(database, POLICY)
    session.execute("CHECKPOINT")
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(database.path, copy)
    restored = tmp_path / "restored.duckdb"
    assert Level.PROBLEM not in {finding.level for finding in restore(copy, restored)}
    with read_only(restored) as back:
        for name in TABLES:
            assert back.rows(f"FROM {name} ORDER BY ALL") == session.rows(f"FROM {name} ORDER BY ALL")
    for name in TABLES:
        session.execute(f"UPDATE {name} SET age = age + 1 WHERE rowid = 0")
    found = [finding.found for finding in examine_releases(session) if finding.level is Level.PROBLEM]
    assert len(found) == len(TABLES)
    assert all("does not hold what was written" in of for of in found)


def test_refusals(database: Database, session: Session, run: Run) -> None:
    def fields(**changes: object) -> list[str]:
        return [fault.field for fault in validate_policy(replace(POLICY, **changes))]  # type: ignore[arg-type]

    assert fields() == []
    assert fields(release=replace(POLICY.release, label_columns=False)) == ["release.estimates"]
    kept = {"suppressed_records": SuppressedRecords.BLANK, "marker_column": "suppressed"}
    assert fields(**kept) == ["suppressed_records.handling"]
    people(session)
    session.execute("CREATE TABLE out_estimated_5 AS SELECT 1 AS a")
    with pytest.raises(ConflictError, match="out_estimated_5"):
        run(database, POLICY)
    session.execute("DROP TABLE out_estimated_5; ALTER TABLE people RENAME cost TO estimated")
    renamed = replace(POLICY.attributes[2], column="estimated")
    with pytest.raises(InvalidError, match="estimated"):
        run(database, replace(POLICY, attributes=(*POLICY.attributes[:2], renamed)))
