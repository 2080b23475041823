"""The verification's counts for hierarchies equal those for the search, though they are computed in other ways."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.dictionary import build_dictionary
from tableveil.dictionary.values import CodedAttribute
from tableveil.game import InformationLoss
from tableveil.hierarchy import Combination, HierarchyDefinition, InlineLevels, RuleHierarchy, StoredLevels
from tableveil.hierarchy.rules import (
    RULES,
    Dates,
    DateUnit,
    Group,
    Grouping,
    GroupingLevel,
    Intervals,
    MaskFrom,
    OrderBased,
    PadAt,
    Redaction,
    RuleTraits,
    SuppressionOnly,
    TimesOfDay,
)
from tableveil.policy import AttributePolicy, KAnonymity, NullHandling, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import resolve_source
from tableveil.state import hierarchies
from tableveil.verification.domains import count_losses
from tableveil.verification.written import ClassColumns, Labels, Written
from tests.inserted import insert
from tests.once import once

TOWNS = (("Oslo", "Norway", "*"), ("Bergen", "Norway", "*"), ("Rome", "Italy", "*"))
CITIES = Grouping(
    (
        GroupingLevel(
            (Group("Norway", ("Oslo", "Bergen")), Group("Italy", ("Rome",)), Group("Malta", ("Valletta",))), "?"
        ),
        GroupingLevel((Group("South", ("Italy", "Malta")),), "elsewhere"),
    )
)
YES_OR_NO = Grouping((GroupingLevel((Group("no", ("false",)), Group("yes", ("true",)))),))
BY_MONTH = (DateUnit.MONTH, DateUnit.QUARTER, DateUnit.YEAR, DateUnit.DECADE)


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


CASES: list[tuple[str, tuple[Any, ...], HierarchyDefinition]] = [
    ("INTEGER", (0, 7, 18, 64, 65, 99, 120, None), Intervals("0", "99", ("5", "20"), "18", "65")),
    ("INTEGER", (-7, 0, 12), Intervals("-10", "12", ("4",))),
    ("INTEGER", (17, 18, 89, 90, 95, None), Intervals("0", "110", (), top_coding="90")),
    ("DATE", ("2019-12-31", "2020-02-29", "2021-01-01"), Intervals("2019-12-25", "2021-03-04", ("7", "28"))),
    ("DATE", ("0001-01-01", "0009-02-28", "0024-12-30", None), Dates("0001-01-01", "0025-06-15", BY_MONTH)),
    ("TIMESTAMP", ("2020-02-29 23:59", "2024-12-30 00:00"), Dates("2020-02-01", "2025-01-02", (DateUnit.DAY,))),
    ("DATE", ("2020-12-31", "2021-01-03", "2024-12-30"), Dates("2020-12-30", "2024-12-31", (DateUnit.WEEK,))),
    ("VARCHAR", ("12345", "12", "*", None), Redaction(5, 10)),
    ("VARCHAR", ("12345", "12"), Redaction(7, 36, MaskFrom.LEFT, 3)),
    ("VARCHAR", ("x", "y", "z", "z", None), SuppressionOnly()),
    ("VARCHAR", (None, None), SuppressionOnly()),
    ("INTEGER", (0, 17, 18, 64, 90, None), Intervals("0", "99", boundaries=(("18", "40", "65"), ("65",)))),
    ("DATE", ("2020-01-01", "2020-03-01"), Intervals("2020-01-01", "2020-12-31", boundaries=(("2020-03-01",),))),
    ("VARCHAR", ("2014-03-12", "2014-03", "2014", None), Redaction(10, 2, padding="-", masked=(3, 6))),
    ("VARCHAR", ("12", "X1", None), Redaction(3, alphabet="12X", mask="#", padding="1", pad_at=PadAt.LEFT)),
    ("VARCHAR", ("Oslo", "Rome", "Lyon", "Nice", None), CITIES),
    ("VARCHAR", ("Oslo", "Rome"), CITIES),
    ("VARCHAR", ("a", "c", "e", None), OrderBased(tuple("abcdefg"), (2, 2))),
    ("BOOLEAN", (True, False, None), YES_OR_NO),
    ("INTEGER", (-1, 5, 17, 99, None), Combination((("-1", "?"), ("-2",)), Intervals("0", "99", ("10", "50")))),
    ("VARCHAR", ("n/a", "12345", "x"), Combination((("n/a", "no", "few", "none"),), Redaction(5, 36, step=3))),
    ("VARCHAR", ("Lyon", "Rome", "Nice"), Combination((("Lyon", "FR"), ("Nice", "FR")), SuppressionOnly())),
    ("VARCHAR", ("Lyon", "Rome", "Nice", "Pau"), Combination((("Lyon", "France", "*"),), CITIES)),
    ("VARCHAR", ("Lyon", "c", "g"), Combination((("Lyon", "x", "y", "z"),), OrderBased(tuple("abcdefg"), (2, 2)))),
    ("VARCHAR", ("Oslo", "Rome", None), InlineLevels(TOWNS)),
    ("VARCHAR", ("Oslo", "Rome", "Rome"), StoredLevels("towns@home", 1)),
]
"""Types of columns, with values and their hierarchies."""


@pytest.mark.parametrize("nulls", once([NullHandling.VALUE, NullHandling.SUPPRESS]))
@pytest.mark.parametrize(("type_", "values", "hierarchy"), CASES)
def test_losses_are_those_of_the_search(
    session: Session, type_: str, values: Sequence[Any], hierarchy: HierarchyDefinition, nulls: NullHandling
) -> None:
    session.execute(f"CREATE OR REPLACE TABLE t (q {type_})")
    insert(session, "t", ((value,) for value in values))
    attribute = AttributePolicy("q", Role.QUASI_IDENTIFIER, hierarchy, nulls=nulls)
    policy = Policy(
        TableReference("", "main", "t"), (attribute,), None, (KAnonymity(2),), ReleaseTarget("main", "released")
    )
    source, _, faults = resolve_source(session, policy)
    assert source is not None, faults
    reference = ""
    if isinstance(hierarchy, StoredLevels):
        reference = hierarchies.create(session.ledger, hierarchy.name, TOWNS).reference
        hierarchy = InlineLevels(TOWNS)
    assert isinstance(hierarchy, InlineLevels | RuleHierarchy)
    dictionary, found = build_dictionary(session, source, CodedAttribute(attribute, hierarchy, reference, 0, ""))
    assert dictionary is not None, found
    columns = ("value", *(f"l{level}" for level in range(1, dictionary.levels.top + 1)))
    labels = Labels("q", dictionary.table_name, columns, hierarchy=reference)
    engine = InformationLoss([dictionary.levels])
    try:
        for level, column in enumerate(columns):
            group = dictionary.group_name(level)
            classes = f"(SELECT DISTINCT {group} AS found, {column} AS q0 FROM {dictionary.table_name})"
            count_losses(session, policy, written(session, labels), classes, "losses", [str(level)])
            counted = session.arrays("SELECT found, loss FROM losses ORDER BY found")
            session.execute("DROP TABLE losses")
            assert counted["loss"] == pytest.approx(engine.at([level], [counted["found"]]), abs=1e-12)
        assert set(counted["loss"].tolist()) <= {0.0, 1.0}
    finally:
        session.execute(f"DROP TABLE {dictionary.table_name}")


def test_every_rule_that_is_counted_is_tried_here() -> None:
    """Times of day have widths, which no game counts."""
    tried = {type(hierarchy) for _, _, hierarchy in CASES}
    assert RULES.keys() - tried == {TimesOfDay}, "verification/domains.py must count these rules, and CASES have one"


def test_the_verification_knows_the_order_of_every_rule() -> None:
    """Ranks are computed anew: a rule with an order of its own needs its case in verification/labels.py."""
    (declares_none,) = (field.default for field in fields(RuleTraits) if field.name == "places")
    assert {kind for kind, traits in RULES.items() if traits.places is not declares_none} == {OrderBased}
    assert {kind for kind, traits in RULES.items() if not traits.natural} == {Redaction}


def written(session: Session, labels: Labels) -> Written:
    """A release of which only the labels matter."""
    catalog = session.value("SELECT current_database()")
    source, nowhere = (catalog, "main", "t"), ("", "", "")
    names = ClassColumns("class_id", "class_size", "risk", ())
    return Written(0, source, "", nowhere, nowhere, nowhere, nowhere, 0, (), (), (labels,), (), names)


def test_a_label_that_the_hierarchy_does_not_have(session: Session) -> None:
    session.execute("CREATE OR REPLACE TABLE t AS SELECT 'Oslo' AS q")
    attribute = AttributePolicy("q", Role.QUASI_IDENTIFIER, InlineLevels(TOWNS))
    policy = Policy(
        TableReference("", "main", "t"), (attribute,), None, (KAnonymity(2),), ReleaseTarget("main", "released")
    )
    labels = Labels("q", "t", ("q", "l1", "l2"))
    classes = "(SELECT unnest(['Norway', 'Sweden']) AS q0)"
    count_losses(session, policy, written(session, labels), classes, "losses", ["1"])
    assert session.rows("SELECT q0, round(loss, 6) FROM losses ORDER BY q0") == [("Norway", 0.63093), ("Sweden", None)]
    session.execute("DROP TABLE losses")
