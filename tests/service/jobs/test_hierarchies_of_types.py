"""Every rule on columns of every type it fits, through a whole job: the labels that are written, and what has none."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tableveil.backend import Database, Session
from tableveil.errors import InvalidError
from tableveil.hierarchy import Combination, RuleHierarchy
from tableveil.hierarchy.rules import (
    Dates,
    DateUnit,
    DayPart,
    Group,
    Grouping,
    GroupingLevel,
    Intervals,
    OrderBased,
    OrderLabels,
    PadAt,
    Redaction,
    SuppressionOnly,
    TimeLevel,
    TimesOfDay,
)
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, TableReference
from tableveil.state.releases import Release
from tests.inserted import insert

Run = Callable[..., Release]

TENS = Intervals("-20", "99", ("10", "40"))
QUARTERS = Intervals("0", "4", ("0.25", "1"))
LAST_DAY = "2019-12-31 23:59:59.999"
DAYS = Dates("2019-12-01", "2020-12-31", (DateUnit.DAY, DateUnit.YEAR))
MONTHS = Dates("2019-12-01", "2020-12-31", (DateUnit.MONTH,))
SHIFTS = Intervals("2019-12-31", "2020-01-02", ("12 hours",))
HOURS = TimesOfDay((TimeLevel("1 hour"), TimeLevel(parts=(DayPart("06:00", "day"), DayPart("22:00", "night")))))
NIGHT = TimesOfDay((TimeLevel(parts=(DayPart("06:00"), DayPart("22:00"))),))
ANSWERS = Grouping((GroupingLevel((Group("yes", ("true",)),), "no"),))
LETTERS = OrderBased(("low", "middle", "high"), (2,), OrderLabels.SET)
DIGITS = "0123456789"
UUIDS = ("11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222")


@dataclass(frozen=True)
class Case:
    """A column's type, two of its values, the rule, and the labels at level 1."""

    type: str
    values: tuple[str, str]
    rule: RuleHierarchy
    labels: tuple[str, str]


CASES = [
    *(Case(type_, ("-7", "34"), TENS, ("[-10, -1]", "[30, 39]")) for type_ in ("TINYINT", "SMALLINT", "INTEGER")),
    Case(
        "BIGINT", ("2139", "94301"), Redaction(5, alphabet=DIGITS, padding="0", pad_at=PadAt.LEFT), ("0213*", "9430*")
    ),
    *(
        Case(type_, ("0", "34"), TENS, ("[0, 9]", "[30, 39]"))
        for type_ in ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
    ),
    Case(
        "HUGEINT",
        ("-170141183460469231731687303715884105727", "99"),
        Intervals("0", "99", ("10",), "18"),
        ("< 18", "[90, 99]"),
    ),
    Case(
        "UHUGEINT",
        ("340282366920938463463374607431768211455", "7"),
        Intervals("0", "99", ("10",), top_coding="90"),
        (">= 90", "[0, 9]"),
    ),
    Case("INTEGER", ("-1", "17"), Combination((("-1", "unknown"),), TENS), ("unknown", "[10, 19]")),
    Case("DECIMAL(38,10)", ("0.2499999999", "4"), QUARTERS, ("[0, 0.25)", "[3.75, 4]")),
    Case("FLOAT", ("-0.0", "1.5"), QUARTERS, ("[0, 0.25)", "[1.5, 1.75)")),
    Case("DOUBLE", ("-1", "1e300"), Intervals("0", "9", (), "0.5", "8", (("2", "5"),)), ("< 0.5", ">= 8")),
    Case(
        "DATE",
        ("2020-02-29", "2020-12-31"),
        Intervals("2020-01-01", "2020-12-31", boundaries=(("2020-03-01",),)),
        ("[2020-01-01, 2020-02-29]", "[2020-03-01, 2020-12-31]"),
    ),
    *(
        Case(type_, (LAST_DAY, "2020-01-01"), DAYS, ("2019-12-31", "2020-01-01"))
        for type_ in ("TIMESTAMP", "TIMESTAMP_MS")
    ),
    Case("TIMESTAMP_NS", ("2019-12-31 23:59:59.999999999", "2020-01-01"), DAYS, ("2019-12-31", "2020-01-01")),
    Case(
        "TIMESTAMP_NS",
        ("2019-12-31 23:59:59.999999999", "2020-01-01"),
        SHIFTS,
        ("[2019-12-31T12:00:00, 2020-01-01T00:00:00)", "[2020-01-01T00:00:00, 2020-01-01T12:00:00)"),
    ),
    Case(
        "TIMESTAMP_S",
        ("2020-01-01 11:59:59", "2020-01-02"),
        SHIFTS,
        ("[2020-01-01T00:00:00, 2020-01-01T12:00:00)", "[2020-01-01T12:00:00, 2020-01-02T00:00:00]"),
    ),
    Case(
        "TIMESTAMPTZ", ("2020-01-01 01:30:00+02", "2020-01-01 06:00:00Z"), HOURS, ("[23:00, 24:00)", "[06:00, 07:00)")
    ),
    Case("TIME", ("23:59:59.999999", "06:00"), NIGHT, ("[22:00, 06:00)", "[06:00, 22:00)")),
    Case("TIME_NS", ("05:59:59.999999999", "00:00"), HOURS, ("[05:00, 06:00)", "[00:00, 01:00)")),
    Case("BOOLEAN", ("true", "false"), ANSWERS, ("yes", "no")),
    Case("BOOLEAN", ("true", "false"), SuppressionOnly(), ("*", "*")),
    Case("VARCHAR", ("é1", "ab'c\""), Redaction(5, 26, mask="#"), ("é1###", "ab'c#")),
    Case("VARCHAR", ("Rome", "n/a"), Combination((("n/a", "none"),), SuppressionOnly()), ("Rome", "none")),
    Case("ENUM('low', 'middle', 'high')", ("middle", "high"), LETTERS, ("{low, middle}", "high")),
    Case(
        "JSON",
        ('{"a": 1}', "[]"),
        Grouping((GroupingLevel((Group("empty", ("[]",)),), "filled"),)),
        ("filled", "empty"),
    ),
    Case("UUID", UUIDS, Grouping((GroupingLevel((Group("ones", UUIDS[:1]),), "others"),)), ("ones", "others")),
    Case("BLOB", (r"\xAA", "a"), Grouping((GroupingLevel((Group("byte", (r"\xAA",)),), "text"),)), ("byte", "text")),
    Case("TIMETZ", ("01:00:00+02", "01:00:00+00"), SuppressionOnly(), ("*", "*")),
]


@pytest.fixture(scope="module")
def database(shared_database: Database) -> Database:
    return shared_database


def policy(table: str, rules: list[RuleHierarchy]) -> Policy:
    """All columns at level 1."""
    attributes = (AttributePolicy(f"c{i}", Role.QUASI_IDENTIFIER, rule, 1, 1) for i, rule in enumerate(rules))
    target = ReleaseTarget("main", f"{table}_out")
    return Policy(TableReference("", "main", table), tuple(attributes), None, (KAnonymity(2),), target)


def make(session: Session, table: str, types: list[str], rows: list[tuple[str, ...]]) -> None:
    columns = ", ".join(f"c{i} {type_}" for i, type_ in enumerate(types))
    session.execute(f"CREATE TABLE {table} ({columns})")
    insert(session, table, rows)


def test_the_labels_of_every_type(database: Database, session: Session, run: Run) -> None:
    rows = [tuple(case.values[i] for case in CASES) for i in (0, 1)]
    make(session, "typed", [case.type for case in CASES], rows * 2)
    run(database, policy("typed", [case.rule for case in CASES]))
    written = session.rows(f"SELECT {', '.join(f'c{i}' for i in range(len(CASES)))} FROM typed_out")
    assert len(written) == 4
    found = {tuple(row[: len(CASES)]) for row in written}
    assert found == {tuple(case.labels[i] for case in CASES) for i in (0, 1)}


def test_values_that_no_label_stands_for(database: Database, session: Session, run: Run) -> None:
    strange: list[tuple[str, str, RuleHierarchy]] = [
        ("FLOAT", "nan", QUARTERS),
        ("DOUBLE", "inf", Intervals("0", "9", ("1",), top_coding="8")),
        ("DATE", "infinity", MONTHS),
        ("DATE", "-infinity", Intervals("2020-01-01", "2020-12-31", ("7",), "2020-02-01")),
        ("TIMESTAMP", "infinity", HOURS),
        ("TIMESTAMP", "290000-01-01", DAYS),
        ("TIMESTAMPTZ", "-infinity", SHIFTS),
        ("TIME", "24:00:00", HOURS),
        ("INTEGER", "-5", Redaction(5, alphabet=DIGITS, padding="0", pad_at=PadAt.LEFT)),
        ("VARCHAR", "12a", Redaction(5, alphabet=DIGITS)),
        ("VARCHAR", "none", Combination((("n/a", "none"),), SuppressionOnly())),
        ("BOOLEAN", "false", Grouping((GroupingLevel((Group("yes", ("true",)), Group("?", ("unknown",)))),))),
    ]
    make(session, "strange", [type_ for type_, _, _ in strange], [tuple(value for _, value, _ in strange)] * 2)
    with pytest.raises(InvalidError) as error:
        run(database, policy("strange", [rule for _, _, rule in strange]))
    assert [fault.field for fault in error.value.faults] == [f"attributes[{i}].hierarchy" for i in range(len(strange))]
    assert all(fault.found.startswith("1 value") for fault in error.value.faults)
