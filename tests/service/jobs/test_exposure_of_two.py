"""Values that follow of columns from two quasi-identifiers together, and for minorities from one."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from importlib import import_module
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tableveil.backend import Database, Session
from tableveil.disclosure.check import Measured
from tableveil.errors import InternalError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Dates, DateUnit
from tableveil.policy import (
    Aggregate,
    AttributePolicy,
    DistinctLDiversity,
    KAnonymity,
    LossModel,
    Policy,
    Role,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.state.releases import Release
from tests.once import once
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]

DAYS = 30
POLICY = Policy(
    source=TableReference("", "main", "stays"),
    attributes=(),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=plain_target("main", "released"),
    default_role=Role.IDENTIFYING,
    suppression_limit=Decimal(1),
)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture(autouse=True)
def clean(session: Session) -> Iterator[None]:
    yield
    session.execute("DROP TABLE IF EXISTS stays; DROP TABLE IF EXISTS released; DELETE FROM tableveil.releases")
    for (name,) in session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal"):
        session.execute(f'DROP TABLE IF EXISTS "{name}"')
    session.execute("DELETE FROM tableveil.release_sample_values")


def create(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    frame = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    with session.relation("given", frame):
        session.execute("CREATE OR REPLACE TABLE stays AS FROM given")


def hidden(session: Session, *names: str) -> list[AttributePolicy]:
    found = []
    for name in names:
        values = [str(value) for (value,) in session.rows(f"SELECT DISTINCT {name} FROM stays ORDER BY 1")]
        levels = InlineLevels(tuple((value, "*") for value in values))
        found.append(AttributePolicy(name, Role.QUASI_IDENTIFIER, levels, minimum_level=1))
    return found


def kept(session: Session, name: str) -> AttributePolicy:
    (attribute,) = hidden(session, name)
    return replace(attribute, minimum_level=0, maximum_level=0)


def asked(attributes: Sequence[AttributePolicy], value: str, **changes: Any) -> Policy:
    column = AttributePolicy(value, Role.INSENSITIVE)
    return replace(POLICY, attributes=(*attributes, column), repeat_reason="a test", **changes)


def left(run: Run, database: Database, policy: Policy) -> str:
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    assert raised.value.code == "COLUMN_DISCLOSES"
    (fault,) = raised.value.faults
    return fault.found


def stays(seed: int = 1, number: int = 6_000) -> list[dict[str, Any]]:
    """Every day has many stays of each length, so that neither day by itself tells of the length."""
    chance, found = Random(seed), []
    for _ in range(number):
        admitted = date(2026, 1, 1) + timedelta(chance.randrange(DAYS))
        length = chance.randrange(DAYS)
        found.append(
            {
                "admitted": admitted,
                "discharged": date(2026, 1, 1) + timedelta((admitted.day + length) % DAYS),
                "ward": chance.randrange(80),
                "length": length,
            }
        )
    return found


@pytest.mark.parametrize("local", once([False, True]))
def test_the_difference_of_two_dates_is_known_to_who_knows_both(
    database: Database, session: Session, run: Run, local: bool
) -> None:
    rows = stays()
    for row in rows:
        row["discharged"] = row["admitted"] + timedelta(row["length"])
    create(session, rows)
    attributes = [*hidden(session, "admitted", "discharged"), kept(session, "ward")]
    changes: dict[str, Any] = {}
    if local:
        attributes = [replace(one, minimum_level=0, maximum_level=1) for one in attributes]
        changes = {"methods": (LocalRecoding(),), "quality_model": LossModel(Aggregate.ARITHMETIC_MEAN)}
    found = left(run, database, asked(attributes, "length", **changes))
    assert found.startswith("INSENSITIVE for 'length', which follows from ")
    if not local:
        classes = Counter((row["ward"], row["length"]) for row in rows)
        few = sum(number for number in classes.values() if number < 5)
        assert f"'admitted' and 'discharged': who knows them has {few:,} of 6,000 rows among fewer than 5" in found


def test_what_two_determine_without_a_formula_is_known_too(database: Database, session: Session, run: Run) -> None:
    """Each day has all lengths: only a pair of days has few, as each pair occurs several times."""
    create(session, stays())
    attributes = [*hidden(session, "admitted", "discharged"), kept(session, "ward")]
    found = left(run, database, asked(attributes, "length"))
    assert "which follows from 'admitted' and 'discharged'" in found


def test_a_difference_is_known_beside_a_released_date(database: Database, session: Session, run: Run) -> None:
    rows = stays()
    create(session, rows)
    attributes = [kept(session, "admitted"), *hidden(session, "discharged")]
    found = left(run, database, asked(attributes, "length"))
    assert "which follows from 'admitted' and 'discharged'" in found


def test_dates_that_are_never_filled_together_have_no_difference(
    database: Database, session: Session, run: Run
) -> None:
    """A person has a day of death or one of the last contact, as in cohorts: no row has both."""
    rows = stays(number=60)
    for number, row in enumerate(rows):
        row["admitted" if number % 2 else "discharged"] = None
    create(session, rows)
    attributes = []
    for name in ("admitted", "discharged"):
        years = Dates("2026-01-01", "2026-12-31", (DateUnit.MONTH, DateUnit.YEAR))
        attributes.append(AttributePolicy(name, Role.QUASI_IDENTIFIER, years))
    sensitive = AttributePolicy("ward", Role.SENSITIVE)
    models = (KAnonymity(5), DistinctLDiversity("ward", 2))
    release = run(database, replace(POLICY, attributes=(*attributes, sensitive), privacy_models=models))
    assert release.records - release.suppressed_records >= 5


def test_independent_columns_pass(database: Database, session: Session, run: Run) -> None:
    rows = stays()
    chance = Random(2)
    for row in rows:
        row["length"] = chance.randrange(6)
    create(session, rows)
    attributes = [*hidden(session, "admitted", "discharged"), kept(session, "ward")]
    release = run(database, asked(attributes, "length"))
    assert not any(one.knows for one in release.exposures)


@pytest.mark.parametrize("form", once(["%d.%m.%Y", "%m/%d/%Y"]))
def test_dates_are_read_however_they_are_written(database: Database, session: Session, run: Run, form: str) -> None:
    """Hundreds of days of stays over years: hardly two have both dates, so that only a formula tells."""
    chance, rows = Random(3), []
    for _ in range(3_000):
        came, days = date(2018, 1, 1) + timedelta(chance.randrange(2_190)), chance.randrange(700)
        texts = {"came": f"{came:{form}}", "went": f"{came + timedelta(days):{form}}"}
        rows.append({**texts, "ward": chance.randrange(150), "stay": days // 100})
    create(session, rows)
    found = left(run, database, asked([*hidden(session, "came", "went"), kept(session, "ward")], "stay"))
    assert "which follows from 'came'" in found


def test_what_one_quasi_identifier_explains_is_no_finding_on_a_pair(
    database: Database, session: Session, run: Run
) -> None:
    """A day of admission tells of the day of discharge as much in each ward, although few in a ward share a day."""
    shown_together(session, "length", "day(admitted) + length")
    held = session.rows("SELECT ward, day(admitted), beside FROM stays")
    of_ward: dict[int, list[int]] = {}
    for ward, _, late in held:
        of_ward.setdefault(ward, []).append(late)
    least = min(sum(day <= late < day + DAYS for late in of_ward[ward]) for ward, day, _ in held)
    release = run(database, asked([*hidden(session, "admitted"), kept(session, "ward")], "beside"))
    assert least >= 5
    assert not any(one.knows for one in release.exposures)


@pytest.mark.parametrize(
    "formula", once(["discharged - admitted", "hash(admitted, discharged) % 8", "admitted + discharged"])
)
def test_the_verification_counts_pairs_again(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, formula: str
) -> None:
    rows = stays()
    create(session, rows)
    days = formula.replace("discharged", "day(discharged)").replace("admitted", "day(admitted)")
    session.execute(f"CREATE OR REPLACE TABLE stays AS SELECT * REPLACE (({days})::BIGINT AS length) FROM stays")
    monkeypatch.setattr(import_module("tableveil.lifecycle.publish"), "check_exposure", lambda *_: Measured((), ()))
    attributes = [*hidden(session, "admitted", "discharged"), kept(session, "ward")]
    with pytest.raises(InternalError, match=r"unchanged columns leave [1-4] rows of a class"):
        run(database, asked(attributes, "length"))


def shown_together(session: Session, value: str, beside: str) -> None:
    """Stays of a day of admission each, with two columns that depend on it only together."""
    create(session, stays())
    columns = f"({value}) AS length, ({beside}) AS beside"
    session.execute(f"CREATE OR REPLACE TABLE stays AS SELECT * EXCLUDE (length), {columns} FROM stays")


@pytest.mark.parametrize("role", [Role.INSENSITIVE, Role.SENSITIVE])
def test_two_columns_may_give_a_quasi_identifier_together(
    database: Database, session: Session, run: Run, role: Role
) -> None:
    """The day of admission of a person finds the one row of the ward that left so many days later."""
    shown_together(session, "length", "admitted + length::INTEGER")
    attributes = [*hidden(session, "admitted"), kept(session, "ward")]
    wanted = asked([*attributes, AttributePolicy("beside", role)], "length")
    found = left(run, database, wanted)
    if role is Role.SENSITIVE:
        assert found.startswith("SENSITIVE for 'beside' beside 'length', which follows from 'admitted'")
    else:
        assert found.startswith("INSENSITIVE for 'beside' beside 'length', which follows from 'admitted'")
        assert run(database, asked(attributes, "length")).suppressed_records == 0


@pytest.mark.parametrize(
    ("value", "beside"),
    once(
        [
            ("length", "admitted + length::INTEGER"),
            ("2000 + length - day(admitted)", "2000 + length"),
            ("0.1 * (day(admitted) + 10) * (1 + length)", "1 + length"),
            ("length + day(admitted)", "length"),
        ],
        2,
        several=True,
    ),
)
def test_the_verification_counts_what_two_columns_give_again(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, value: str, beside: str
) -> None:
    shown_together(session, value, beside)
    monkeypatch.setattr(import_module("tableveil.lifecycle.publish"), "check_exposure", lambda *_: Measured((), ()))
    attributes = [*hidden(session, "admitted"), kept(session, "ward"), AttributePolicy("beside", Role.INSENSITIVE)]
    with pytest.raises(InternalError, match=r"unchanged columns leave [1-4] rows of a class"):
        run(database, asked(attributes, "length"))


@pytest.mark.parametrize("hiding", once([("admitted",), ("admitted", "discharged")]))
def test_a_value_that_may_be_missing_fits_everybody(
    database: Database, session: Session, run: Run, hiding: tuple[str, ...]
) -> None:
    """The days do not tell whether the stay was written down: the verification agrees."""
    noted = "if(hash(length, ward, admitted) % 3 = 0, length, NULL)"
    shown_together(session, noted, "admitted + length::INTEGER")
    session.execute("CREATE OR REPLACE TABLE stays AS SELECT * REPLACE (beside AS discharged) FROM stays")
    attributes = [*hidden(session, *hiding), kept(session, "ward")]
    if len(hiding) == 1:
        attributes.append(AttributePolicy("beside", Role.INSENSITIVE))
    release = run(database, asked(attributes, "length"))
    assert not any(one.knows for one in release.exposures)


def towns(seed: int) -> list[dict[str, Any]]:
    """300 towns whose codes have nothing to do with them, and 20 of three people who share a code."""
    chance = Random(seed)
    rows = [
        {"town": town, "area": chance.randrange(400), "code": chance.randrange(12)}
        for town in range(300)
        for _ in range(40)
    ]
    for town in range(300, 320):
        code = chance.randrange(12)
        rows += [{"town": town, "area": chance.randrange(400), "code": code} for _ in range(3)]
    return rows


def test_a_minority_is_judged_by_itself(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(session, towns(1))
    policy = asked([*hidden(session, "town"), kept(session, "area")], "code")
    assert "which follows from 'town'" in left(run, database, policy)
    monkeypatch.setattr(import_module("tableveil.lifecycle.publish"), "check_exposure", lambda *_: Measured((), ()))
    with pytest.raises(InternalError, match="unchanged columns leave 1 rows of a class"):
        run(database, policy)


def test_towns_of_one_person_that_share_a_code_are_refused(database: Database, session: Session, run: Run) -> None:
    chance = Random(4)
    alone = [{"town": town, "area": chance.randrange(400), "code": 7} for town in range(320, 380)]
    create(session, [*towns(1)[: 300 * 40], *alone])
    policy = asked([*hidden(session, "town"), kept(session, "area")], "code")
    assert "which follows from 'town'" in left(run, database, policy)


@pytest.mark.long
def test_towns_of_a_few_people_without_a_common_code_pass(database: Database, session: Session, run: Run) -> None:
    rows, chance = towns(2), Random(3)
    create(session, [{**row, "code": chance.randrange(12)} for row in rows])
    run(database, asked([*hidden(session, "town"), kept(session, "area")], "code"))
