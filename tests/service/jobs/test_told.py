"""Facts that a release tells if it is asked to: how many records of each label were suppressed."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.answers import MACROS
from tableveil.backend import Database, Session
from tableveil.errors import InternalError, InvalidError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.rules import Intervals
from tableveil.policy import (
    AttributePolicy,
    DistinctLDiversity,
    KAnonymity,
    NullHandling,
    Policy,
    ReleaseTarget,
    Role,
    SuppressedRecords,
    TableReference,
)
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.validate import validate_policy
from tableveil.privacy.told_suppression import Told
from tableveil.release import suppressed
from tableveil.state.releases import Release
from tests.once import once

Run = Callable[..., Release]
SEXES = InlineLevels(tuple((sex, "*") for sex in "FMX"))
POLICY = Policy(
    source=TableReference("", "main", "people"),
    attributes=(
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SEXES, maximum_level=0),
        AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "104", ("10",), top_coding="80"), 1, 1),
        AttributePolicy("diagnosis", Role.SENSITIVE, acknowledged=True),
    ),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "told", suppressed_by=("sex", "age")),
    suppression_limit=Decimal(1),
)


def table(session: Session, **sexes: int) -> None:
    """People of sex X have eight ages, so few of each that none is released; the others have two ages."""
    parts = [
        f"SELECT '{sex}' AS sex, {'10 * (i % 8)' if sex in 'XY' else '20 + 10 * (i % 2)'} AS age, 'd' AS diagnosis "
        f"FROM range({count}) AS r(i)"
        for sex, count in sexes.items()
    ]
    session.execute(f"CREATE OR REPLACE TABLE people AS {' UNION ALL '.join(parts)}")


def told(session: Session) -> dict[str, str]:
    rows = session.rows("SELECT fact, value FROM told_about WHERE fact LIKE 'suppressed_by%' OR fact LIKE '%records'")
    return {fact.removeprefix("suppressed_by "): value for fact, value in rows}


def test_what_is_gone_is_told(database: Database, session: Session, run: Run) -> None:
    table(session, M=40, F=42, X=30)
    run(database, POLICY)
    assert told(session) == {
        **{"source_records": "112", "records": "82", "suppressed_records": "30"},
        **{"sex = F": "0", "sex = M": "0", "sex = X": "30"},
        # Eight ages have 3 or 4 each, which nearly follows from 30.
        **{"age": "not told"},
    }


def test_numbers_that_follow_from_others_are_not_told(database: Database, session: Session, run: Run) -> None:
    table(session, M=40, F=42, X=4)
    run(database, POLICY)
    assert told(session)["sex"] == "not told"


@pytest.mark.parametrize(
    "false", once([[0, 0, 4], [0, 0, Told.FEWER], [0, 0, 5], [0, Told.NOTHING, Told.FEWER], [Told.NOTHING, 0, 4]], 2)
)
def test_numbers_that_do_not_hold_fail_the_verification(
    database: Database, session: Session, run: Run, monkeypatch: pytest.MonkeyPatch, false: list[int]
) -> None:
    table(session, M=40, F=42, X=4)
    monkeypatch.setattr(suppressed, "told_suppression", lambda *_: tuple(false))
    with pytest.raises(InternalError, match="suppressed records by sex"):
        run(database, replace(POLICY, release=replace(POLICY.release, suppressed_by=("sex",))))


def test_people_are_told_of_once(database: Database, session: Session, run: Run) -> None:
    table(session, M=40, F=42, X=30)
    run(database, POLICY, document='{"release": {"suppressed_by": ["sex"]}}')
    again = replace(POLICY, release=replace(POLICY.release, name="again"), repeat_reason="a reason")
    with pytest.raises(InvalidError, match="of whom releases/1 told it"):
        run(database, again)
    run(database, replace(again, release=replace(again.release, suppressed_by=())))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"release": replace(POLICY.release, suppressed_by=("diagnosis",))}, "release.suppressed_by[0]"),
        ({"release": replace(POLICY.release, suppressed_by=("sex", "sex"))}, "release.suppressed_by[1]"),
        ({"release": replace(POLICY.release, label_columns=False)}, "release.suppressed_by"),
        ({"privacy_models": (KAnonymity(2),)}, "release.suppressed_by"),
        ({"privacy_models": (KAnonymity(5), DistinctLDiversity("diagnosis", 2))}, "privacy_models[1]"),
        ({"methods": (LocalRecoding(),)}, "release.suppressed_by"),
        ({"suppressed_records": SuppressedRecords.KEEP, "marker_column": "marked"}, "suppressed_records.handling"),
        (
            {"attributes": (replace(POLICY.attributes[0], nulls=NullHandling.SUPPRESS), *POLICY.attributes[1:])},
            "attributes[0].nulls",
        ),
    ],
)
def test_whatever_would_tell_more_is_refused(changes: dict[str, Any], field: str) -> None:
    assert validate_policy(POLICY) == []
    assert field in [fault.field for fault in validate_policy(replace(POLICY, **changes))]


@pytest.mark.parametrize("type_", once(["INTEGER", "DOUBLE", "DECIMAL(6,2)"]))
def test_closed_ends_have_the_bounds_that_are_declared(
    database: Database, session: Session, run: Run, type_: str
) -> None:
    """The greatest value of all counts as one under the last label."""
    ages = "SELECT 'F' AS sex, (CASE WHEN i = 0 THEN 104 ELSE i % 104 END)::{} AS age, 'd' AS diagnosis"
    session.execute(f"CREATE OR REPLACE TABLE people AS {ages.format(type_)} FROM range(1040) AS r(i)")
    rule = Intervals("0", "104", ("10",), bottom_coding="10", top_coding="80")
    attributes = (POLICY.attributes[0], replace(POLICY.attributes[1], hierarchy=rule), POLICY.attributes[2])
    target = ReleaseTarget("main", "closed", close_open_ends=True)
    policy = replace(POLICY, attributes=attributes, release=target)
    run(database, policy)
    ends = {
        label: (low, high, included)
        for label, low, high, included in session.rows(
            "SELECT label, number_from, number_to, to_included FROM closed_labels WHERE column_name = 'age'"
        )
    }
    assert ends[">= 80"] == (80, 104, True)
    assert ends["< 10"] == (0, 9 if type_ == "INTEGER" else 10, type_ == "INTEGER")
    for macro in MACROS:
        session.execute(macro.created())
    counted = "SELECT tv_count_between(age, age_from, age_to, 104, NULL) FROM closed"
    assert session.value(counted)["possible"] == session.value("SELECT count(*) FROM closed WHERE age = '>= 80'")
    open_ends = "SELECT (tv_mean(age, age_from, age_to)).open_ends FROM closed"
    assert session.value(open_ends) == 0
    session.execute("UPDATE people SET age = 105 WHERE age = 7")
    with pytest.raises(InvalidError, match=r"'?age'? has 1 different values beyond 0 to 104"):
        run(database, replace(policy, release=replace(target, name="other"), repeat_reason="a reason"))


def test_ends_are_closed_where_there_are_some() -> None:
    open_ = replace(POLICY, release=ReleaseTarget("main", "closed", close_open_ends=True))
    assert validate_policy(open_) == []
    ages = replace(POLICY.attributes[1], hierarchy=Intervals("0", "104", ("10",)))
    closed = replace(open_, attributes=(POLICY.attributes[0], ages, POLICY.attributes[2]))
    assert [fault.field for fault in validate_policy(closed)] == ["release.close_open_ends"]
