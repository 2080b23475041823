"""Columns released as they are must not give away what the labels of a quasi-identifier hide."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InvalidError, Rank
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules.dates import Dates, DateUnit
from tableveil.policy import AttributePolicy, DistinctLDiversity, KAnonymity, Policy, Role, TableReference
from tableveil.state.releases import Release
from tests.service.jobs.plain import plain_target

Run = Callable[..., Release]

TOWNS = InlineLevels(tuple((f"t{i}", f"county {i // 4}", f"land {i // 8}", "*") for i in range(16)))

QUARTERS = Dates("2024-01-01", "2024-12-31", (DateUnit.QUARTER, DateUnit.YEAR))

POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("town", Role.QUASI_IDENTIFIER, TOWNS, minimum_level=1, maximum_level=1),
        AttributePolicy("note", Role.INSENSITIVE),
    ),
    person_column=None,
    privacy_models=(KAnonymity(2),),
    release=plain_target("main", "released"),
)


def fill(session: Session, *notes: str) -> None:
    """160 people in 16 towns; notes are expressions over the person's number i and the town's t."""
    columns = ", ".join(f"{note} AS note{i or ''}" for i, note in enumerate(notes))
    session.execute(
        f"CREATE TABLE people AS SELECT 't' || t AS town, {columns} FROM (SELECT i, i % 16 AS t FROM range(160) r(i))"
    )


DETERMINING = (
    # The town; less; nearly always; and if there is anything, now and then or mostly not.
    "'mayor of ' || t",
    "'town hall ' || t || ' room ' || (i // 16) % 2",
    "CASE WHEN i < 148 THEN 'mayor of ' || t ELSE 'none' END",
    "CASE WHEN i < 148 THEN 'mayor of ' || t END",
    "CASE WHEN i < 80 THEN 'mayor of ' || t END",
)
HARMLESS = (
    # Too rarely the town; what is released anyway, and coarser; one value, independent ones, none.
    "CASE WHEN i < 130 THEN 'mayor of ' || t ELSE 'none' END",
    "'county ' || t // 4",
    "'land ' || t // 8",
    "'same'",
    "'room ' || i // 16",
    "NULL::VARCHAR",
)


def test_columns_that_determine_what_is_hidden(database: Database, session: Session, run: Run) -> None:
    town, note = POLICY.attributes
    fill(session, *DETERMINING, *HARMLESS)
    notes = [replace(note, column=f"note{i or ''}") for i in range(len(DETERMINING) + len(HARMLESS))]
    with pytest.raises(InvalidError) as raised:
        run(database, replace(POLICY, attributes=(town, *notes)))
    assert raised.value.code == "COLUMN_DISCLOSES"
    faults = raised.value.faults
    assert [fault.field for fault in faults] == [f"attributes[{i + 1}].role" for i in range(len(DETERMINING))]
    for fault, found in zip(faults, notes, strict=False):
        assert f"'{found.column}', which determines 'town' more finely than its released level 1" in fault.found
    assert session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'released'") == []
    run(database, replace(POLICY, attributes=(town, *notes[len(DETERMINING) :]), default_role=Role.IDENTIFYING))


def test_levels_that_hide_nothing_more_are_looked_through(database: Database, session: Session, run: Run) -> None:
    """At the level below the released one the groups may be the same: what matters is the level that tells more."""
    fill(session, "'mayor of ' || t")
    towns = InlineLevels(tuple((row[0], row[1], row[1], "*") for row in TOWNS.rows))
    town = replace(POLICY.attributes[0], hierarchy=towns, minimum_level=2, maximum_level=2)
    with pytest.raises(InvalidError) as raised:
        run(database, replace(POLICY, attributes=(town, POLICY.attributes[1])))
    assert raised.value.code == "COLUMN_DISCLOSES"


def test_columns_of_other_roles_and_acknowledged_ones(database: Database, session: Session, run: Run) -> None:
    """A sensitive column is refused as well; an acknowledged one is to be decided, whatever its role."""
    fill(session, *["'mayor of ' || t"] * 4)
    town = POLICY.attributes[0]
    sensitive = replace(
        POLICY, attributes=(town, AttributePolicy("note", Role.SENSITIVE)), default_role=Role.IDENTIFYING
    )
    diverse = replace(sensitive, privacy_models=(*POLICY.privacy_models, DistinctLDiversity("note", 2)))
    # Without its column, the model would be refused next.
    for policy, way in ((sensitive, ""), (diverse, f" without privacy_models[{len(POLICY.privacy_models)}]")):
        with pytest.raises(InvalidError) as raised:
            run(database, policy)
        (fault,) = raised.value.faults
        assert (raised.value.code, fault.field) == ("COLUMN_DISCLOSES", "attributes[1].role")
        assert fault.hint.startswith(f"Make it IDENTIFYING{way}, or a QUASI_IDENTIFIER with the levels of 'town'")
    others = (
        AttributePolicy("note", Role.SENSITIVE, acknowledged=True),
        AttributePolicy("note1", Role.IDENTIFYING),
        AttributePolicy("note2", Role.INSENSITIVE, acknowledged=True),
        AttributePolicy("note3", Role.IDENTIFYING),
    )
    release = run(database, replace(POLICY, attributes=(town, *others)))
    told = [w for w in release.warnings if "more finely" in w]
    assert [warning.rank for warning in told] == [Rank.MUST_BE_DECIDED] * 2
    assert "'note'," in told[0]
    assert "'note2'," in told[1]


FRENCH = ["janvier", "février", "mars", "avril", "mai", "juin", "juillet"]
DISGUISES = {
    "text": "strftime(day, '%d/%m/%Y')",
    "days": "day - DATE '2020-01-01'",
    "code": "hash(day) % 1000003",
    "hash": "md5(day::VARCHAR)",
    "base64": "base64(day::VARCHAR::BLOB)",
    "minute": "day::TIMESTAMP + INTERVAL (i * 7919 % 1440) MINUTE",
    "second": "day::TIMESTAMP + INTERVAL (i * 7919 % 86400) SECOND",
    "written": "strftime(day::TIMESTAMP + INTERVAL (i * 7919 % 86400) SECOND, '%d/%m/%Y %H:%M:%S')",
    "suffix": "strftime(day, '%y%m%d') || chr((97 + i % 3)::INTEGER)",
    "French": f"day(day) || ' ' || {FRENCH}[month(day)] || ' ' || year(day)",
    "within": "lpad((hash(i) % 100)::VARCHAR, 2, '0') || strftime(day, '%d%m%y') || lpad((i % 900)::VARCHAR, 3, '0')",
    "digits": "((1 + hash(i) % 90)::VARCHAR || strftime(day, '%d%m%y') || 10 + hash(i + 1) % 90)::BIGINT",
    "between": "i % 9 || strftime(day, '%d') || hash(i) % 1000 || strftime(day, '%m%y')",
    "around": "hash(i) % 900 || '|' || day || '|' || hash(i + 1) % 900",
}
HARMLESS_ONES = {
    **{"number": "hash(i) % 1000003", "account": "hash(i) % 10000000000", "IBAN": "'DE' || hash(i)"},
    **{"amount": "round(exp(hash(i) % 1000 / 100), 2)", "ward": "hash(i) % 40"},
}


@pytest.mark.parametrize("role", [Role.SENSITIVE, Role.INSENSITIVE])
def test_disguises_of_a_hidden_date(database: Database, session: Session, run: Run, role: Role) -> None:
    columns = ", ".join(f"{value} AS {name}" for name, value in (DISGUISES | HARMLESS_ONES).items())
    session.execute(
        f"CREATE TABLE people AS SELECT 'K' || i AS nr, day, {columns} FROM (SELECT i, "
        "DATE '2024-01-01' + (hash(i, 1) % 180)::INTEGER AS day FROM range(2000) r(i)) ORDER BY hash(nr)"
    )
    day = AttributePolicy("day", Role.QUASI_IDENTIFIER, QUARTERS, minimum_level=1)
    policy = replace(POLICY, person_column="nr", default_role=Role.IDENTIFYING, privacy_models=(KAnonymity(5),))
    # Columns that are nearly unique are refused for that, unless they are acknowledged.
    copies, harmless = (
        [AttributePolicy(name, role, acknowledged=True) for name in names] for names in (DISGUISES, HARMLESS_ONES)
    )
    release = run(database, replace(policy, attributes=(day, *copies, *harmless)))
    told = [warning for warning in release.warnings if "determines 'day' more finely" in warning]
    assert len(told) == len(DISGUISES)
    for warning, name in zip(told, DISGUISES, strict=True):
        assert f"A reader who sees a row's '{name}' knows more of 'day' than the label tells" in warning
        assert warning.rank is Rank.MUST_BE_DECIDED
    plain, other = AttributePolicy("text", role), plain_target("main", "other")
    with pytest.raises(InvalidError, match="which determines 'day' more finely than its released level"):
        run(database, replace(policy, attributes=(day, plain), repeat_reason="a test", release=other))


def test_released_values_hide_nothing(database: Database, session: Session, run: Run) -> None:
    fill(session, "'mayor of ' || t")
    town = replace(POLICY.attributes[0], minimum_level=0, maximum_level=0)
    run(database, replace(POLICY, attributes=(town, POLICY.attributes[1])))


def test_a_column_of_the_default_role(database: Database, session: Session, run: Run) -> None:
    """Nobody listed it: the field to change is the default."""
    fill(session, "'mayor of ' || t")
    policy = replace(POLICY, attributes=POLICY.attributes[:1], default_role=Role.INSENSITIVE)
    with pytest.raises(InvalidError) as raised:
        run(database, policy)
    assert [fault.field for fault in raised.value.faults] == ["default_role"]


def test_a_single_class_of_one_value_is_not_none(database: Database, session: Session, run: Run) -> None:
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT i // 2 AS zip, if(i < 2, 'flu', 'flu ' || i % 2) AS illness "
        "FROM range(400) r(i)"
    )
    zips = InlineLevels(tuple((str(number), "*") for number in range(200)))
    attributes = (
        AttributePolicy("zip", Role.QUASI_IDENTIFIER, zips, maximum_level=0),
        AttributePolicy("illness", Role.SENSITIVE),
    )
    release = run(database, replace(POLICY, attributes=attributes, privacy_models=(KAnonymity(2),)))
    (warning,) = (one for one in release.warnings if "by their labels" not in one)
    assert warning.rank is Rank.MUST_BE_DECIDED
    assert "learns the value of 'illness' in 1 of 200 classes, which have one value each (2 records)" in warning
    assert "distinct_l_diversity: {column: illness, l: 2}. In these classes it suppresses 2 records in all" in warning
    decided = replace(
        POLICY,
        attributes=attributes,
        privacy_models=(KAnonymity(2), DistinctLDiversity("illness", 2)),
        suppression_limit=Decimal("0.01"),
        repeat_reason="a test",
        release=plain_target("main", "decided"),
    )
    assert run(database, decided).suppressed_records == 2, "as the warning says"


def test_a_column_of_several_values_in_each_class_is_a_note(database: Database, session: Session, run: Run) -> None:
    session.execute("CREATE OR REPLACE TABLE people AS SELECT i // 4 AS zip, i % 2 AS illness FROM range(400) r(i)")
    zips = InlineLevels(tuple((str(number), "*") for number in range(200)))
    attributes = (
        AttributePolicy("zip", Role.QUASI_IDENTIFIER, zips, maximum_level=0),
        AttributePolicy("illness", Role.SENSITIVE),
    )
    policy = replace(POLICY, attributes=attributes, privacy_models=(KAnonymity(2),))
    (warning,) = (one for one in run(database, policy).warnings if "by their labels" not in one)
    assert warning.rank is Rank.NOTE
    assert "No class has one value of it alone" in warning
    assert "this release meets it" in warning
    met = replace(policy, privacy_models=(KAnonymity(2), DistinctLDiversity("illness", 2)), repeat_reason="a test")
    assert run(database, replace(met, release=plain_target("main", "met"))).suppressed_records == 0
