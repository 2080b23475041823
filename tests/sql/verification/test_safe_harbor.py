"""The verification of Safe Harbor: what the rule allows passes, and whatever tells more is caught."""

from typing import cast

import pytest

from tableveil.backend import Database, Session
from tableveil.hierarchy import (
    HierarchyDefinition,
    SafeHarborAge,
    SafeHarborDate,
    SafeHarborHierarchy,
    SafeHarborZip,
    StoredLevels,
)
from tableveil.policy import (
    AttributePolicy,
    KAnonymity,
    Policy,
    PrivacyModel,
    ReleaseTarget,
    Role,
    SafeHarbor,
    TableReference,
)
from tableveil.verification.safe_harbor import check_safe_harbor
from tableveil.verification.written import Labels, Written
from tests.inserted import insert

ZIPS = SafeHarborZip("", "main", "the zips", "the code", "people")
AGES = SafeHarborAge()
DATES = SafeHarborDate("1900-01-01", "2026-12-31")
BIRTHS = SafeHarborDate("1900-01-01", "2026-12-31", "2026-11-21")

PEOPLE = {"02138": 15_000, "02139": 5_001, "02215": 20_000, "03601": 7, "00010": 50_000, "10001": 19_000}

FINER = "labels tell more of a ZIP code than three digits"
SMALL = "labels of ZIP codes are of areas that have no more than 20,000 people"
AGE = "labels of ages are neither below 90 nor 90+"
DAY = "labels of dates tell more than the year"
BIRTHDAY = "labels of dates of birth tell more than the year"
OLD = "labels of dates of birth tell an age over 89"


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


class Release:
    """The parts of a release that the check reads: the column's label, and the database of the population."""

    rows = ("test", "main", "released")
    labels = (Labels("other", "", ()), Labels("column", "", ()))


def problems(
    session: Session, hierarchy: HierarchyDefinition, *labels: str | None, model: PrivacyModel | None = None
) -> list[str]:
    """The findings for a release with these labels."""
    policy = Policy(
        source=TableReference("", "main", "people"),
        attributes=(
            AttributePolicy("column", Role.QUASI_IDENTIFIER, hierarchy),
            AttributePolicy("other", Role.QUASI_IDENTIFIER, StoredLevels("other")),
        ),
        person_column=None,
        privacy_models=(model or SafeHarbor(),),
        release=ReleaseTarget("main", "released"),
    )
    session.execute("CREATE OR REPLACE TEMPORARY TABLE judged_classes (q0 VARCHAR, q1 VARCHAR)")
    insert(session, "judged_classes", (("anything", label) for label in labels))
    session.execute('CREATE OR REPLACE TABLE "the zips" ("the code" VARCHAR, people INTEGER)')
    insert(session, '"the zips"', PEOPLE.items())
    return check_safe_harbor(session, policy, cast(Written, Release()))


@pytest.mark.parametrize(
    ("hierarchy", "labels"),
    [
        (ZIPS, ["021", "02", "0", "000", "*", None]),
        (AGES, ["0", "9", "10", "89", "90+", "[85, 89]", "[0, 4]", "[80, 89]", "*", None]),
        (DATES, ["2024", "0001", "2020s", "*", None]),
        (BIRTHS, ["1937", "2026", "1930s", "1936 or before", "*", None]),
    ],
)
def test_what_is_allowed(session: Session, hierarchy: SafeHarborHierarchy, labels: list[str | None]) -> None:
    assert problems(session, hierarchy, *labels) == []


@pytest.mark.parametrize(
    ("hierarchy", "label", "problem"),
    [
        (ZIPS, "0213", FINER),
        (ZIPS, "02139", FINER),
        (ZIPS, "021**", FINER),
        (ZIPS, "", FINER),
        (ZIPS, "022", SMALL),
        (ZIPS, "036", SMALL),
        (ZIPS, "100", SMALL),
        (ZIPS, "10", SMALL),
        (ZIPS, "1", SMALL),
        (ZIPS, "999", SMALL),
        (AGES, "90", AGE),
        (AGES, "101", AGE),
        (AGES, "130", AGE),
        (AGES, "[85, 94]", AGE),
        (AGES, "[90, 94]", AGE),
        (AGES, "91+", AGE),
        (AGES, ">= 90", AGE),
        (AGES, "-1", AGE),
        (DATES, "2024-02-29", DAY),
        (DATES, "2024-02", DAY),
        (DATES, "2024-Q1", DAY),
        (DATES, "1936 or before", DAY),
        (BIRTHS, "1936", OLD),
        (BIRTHS, "1900", OLD),
        (BIRTHS, "1920s", OLD),
        (BIRTHS, "1935 or before", BIRTHDAY),
        (BIRTHS, "1937 or before", BIRTHDAY),
        (BIRTHS, "1937-01-01", BIRTHDAY),
    ],
)
def test_what_tells_more(session: Session, hierarchy: SafeHarborHierarchy, label: str, problem: str) -> None:
    found = problems(session, hierarchy, label, label, "*")
    assert f"1 {problem}" in found
    # Only if the policy asks.
    assert problems(session, hierarchy, label, model=KAnonymity(2)) == []
    # Other hierarchies may say what they like.
    assert problems(session, StoredLevels("other"), label) == []
