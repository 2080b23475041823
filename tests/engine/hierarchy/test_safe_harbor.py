"""Safe Harbor's hierarchies, held against the words of 45 CFR 164.514(b)(2)(i), and faults of their input."""

import datetime
import itertools
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import (
    SAFE_HARBOR_LEVEL,
    InlineLevels,
    SafeHarborAge,
    SafeHarborDate,
    SafeHarborHierarchy,
    SafeHarborZip,
    ValueKind,
    attribute_levels,
    check_levels,
    label_values,
)
from tableveil.hierarchy.safe_harbor import age_levels, check_dates, check_kind, date_levels, zip_levels

FIELD = "attributes[1].hierarchy.safe_harbor_zip"
DATES = "attributes[1].hierarchy.safe_harbor_date"


def zips(*people: tuple[str | None, int | None]) -> dict[str, tuple[str, ...]]:
    levels, faults = zip_levels(people, FIELD)
    assert levels is not None, faults
    assert not faults
    return {row[0]: row[1:] for row in levels.rows}


def by_value(levels: InlineLevels) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in levels.rows}


# --- ZIP codes ------------------------------------------------------------------------------------------------------


def test_three_digits_need_more_than_20000_people() -> None:
    found = zips(("02138", 12_000), ("02139", 8_000), ("02215", 20_000), ("02216", 1), ("10001", 20_001))
    assert found == {
        "02138": ("000", "000", "000", "*"),
        "02139": ("000", "000", "000", "*"),
        "02215": ("022", "02", "0", "*"),
        "02216": ("022", "02", "0", "*"),
        "10001": ("100", "10", "1", "*"),
    }


def test_what_begins_with_000_is_among_the_small_areas_whoever_lives_there() -> None:
    assert zips(("00010", 1_000_000), ("00501", 20_001), ("00601", 5)) == {
        "00010": ("000", "000", "000", "*"),
        "00501": ("005", "00", "0", "*"),
        "00601": ("000", "000", "000", "*"),
    }


@given(
    st.dictionaries(
        st.sampled_from(["".join(digits) for digits in itertools.product("012", "01", "0123", "05", "7")]),
        st.sampled_from([0, 1, 9_999, 10_000, 20_000, 20_001]),
        min_size=1,
    )
)
def test_zip_codes_are_labelled_by_the_rule_and_nest(people: dict[str, int]) -> None:
    levels, faults = zip_levels(list(people.items()), FIELD)
    assert levels is not None, faults
    assert check_levels(levels.rows, FIELD) == []
    for code, three, *_ in levels.rows:
        area = sum(number for other, number in people.items() if other.startswith(code[:3]))
        assert three == (code[:3] if area > 20_000 and code[:3] != "000" else "000")
    for level in (1, 2, 3):
        under: dict[str, int] = defaultdict(int)
        for row in levels.rows:
            under[row[level]] += people[row[0]]
        assert all(label == "000" or number > 20_000 for label, number in under.items())


@pytest.mark.parametrize(
    ("people", "field", "found"),
    [
        ([], "population", "no rows"),
        ([("2139", 5), ("10001", 5)], "zip_column", "1 of 2 rows are not of five digits"),
        ([("02139-1234", 5)], "zip_column", "1 of 1 rows are not of five digits"),
        ([("٠٢١٣٩", 5)], "zip_column", "1 of 1 rows are not of five digits"),
        ([("02139\n", 5)], "zip_column", "1 of 1 rows are not of five digits"),
        ([(None, 5), ("10001", 5), (None, 5)], "zip_column", "2 of 3 rows are not of five digits"),
        ([("10001", 5), ("10001", 6)], "zip_column", "1 ZIP codes in several rows"),
        ([("10001", None)], "population_column", "1 of 1 rows without a number"),
        ([("10001", 0), ("10002", -1)], "population_column", "1 of 2 rows without a number"),
    ],
)
def test_faults_of_the_table_of_people(people: list[tuple[str | None, int | None]], field: str, found: str) -> None:
    levels, faults = zip_levels(people, FIELD)
    assert levels is None
    assert [(fault.field, fault.found) for fault in faults] == [(f"{FIELD}.{field}", found)]


def test_a_zip_code_that_was_a_number_is_told_what_to_do() -> None:
    _, (fault,) = zip_levels([("2139", 5)], FIELD)
    assert "leading zeros" in fault.hint


def test_all_faults_at_once() -> None:
    _, faults = zip_levels([("2139", None), ("10001", 1), ("10001", 1)], FIELD)
    assert [fault.field.removeprefix(f"{FIELD}.") for fault in faults] == [
        "zip_column",
        "zip_column",
        "population_column",
    ]


# --- ages -----------------------------------------------------------------------------------------------------------


def test_ages_over_89_are_together_at_every_level() -> None:
    found = by_value(age_levels())
    assert found["7"] == ("7", "[5, 9]", "[0, 9]", "[0, 19]", "[0, 39]", "*")
    assert found["40"] == ("40", "[40, 44]", "[40, 49]", "[40, 59]", "[40, 79]", "*")
    assert found["89"] == ("89", "[85, 89]", "[80, 89]", "[80, 89]", "[80, 89]", "*")
    assert found["90"] == found["91"] == found["130"] == ("90+",) * 5 + ("*",)
    assert set(found) == {str(age) for age in range(131)}


def test_ages_nest_and_each_range_holds_what_it_says() -> None:
    rows = age_levels().rows
    assert check_levels(rows, FIELD) == []
    for level in range(2, 6):
        for label in {row[level] for row in rows} - {"90+"}:
            first, last = map(int, label.strip("[]").split(", "))
            assert [row[0] for row in rows if row[level] == label] == [str(age) for age in range(first, last + 1)]


def test_ages_of_a_column_are_found_by_their_text() -> None:
    labelled = label_values(age_levels(), ValueKind.INTEGER, [-1, 34, 90, 131], ["-1", "34", "90", "131"])
    assert labelled.covered.tolist() == [False, True, True, False]
    levels = attribute_levels(label_values(age_levels(), ValueKind.INTEGER, [34, 90], ["34", "90"]), False)
    assert levels.domain_size == 131
    assert levels.leaves[SAFE_HARBOR_LEVEL].tolist() == [1, 41]


# --- dates ----------------------------------------------------------------------------------------------------------


def test_dates_become_years_and_decades() -> None:
    found = by_value(date_levels(SafeHarborDate("2019-12-31", "2020-03-01")))
    assert len(found) == 62
    assert found["2019-12-31"] == ("2019", "2010s", "*")
    assert found["2020-01-01"] == found["2020-02-29"] == ("2020", "2020s", "*")


@pytest.mark.parametrize("as_of", ["2026-01-01", "2026-12-31"])
def test_years_of_birth_that_tell_an_age_over_89_are_together(as_of: str) -> None:
    found = by_value(date_levels(SafeHarborDate("1900-01-01", "2026-12-31", as_of)))
    assert found["1936-12-31"] == found["1936-01-01"] == found["1900-01-01"] == ("1936 or before",) * 2 + ("*",)
    assert found["1937-01-01"] == ("1937", "1930s", "*")
    assert found["2026-11-21"] == ("2026", "2020s", "*")


@given(
    st.dates(datetime.date(1, 1, 1), datetime.date(9990, 1, 1)),
    st.integers(0, 1500),
    st.none() | st.dates(datetime.date(80, 1, 1), datetime.date(9999, 12, 31)),
)
def test_dates_are_labelled_by_the_rule_and_nest(first: datetime.date, days: int, as_of: datetime.date | None) -> None:
    last = first + datetime.timedelta(days=days)
    rule = SafeHarborDate(first.isoformat(), last.isoformat(), as_of.isoformat() if as_of else "")
    assert check_dates(rule, DATES) == []
    rows = date_levels(rule).rows
    assert check_levels(rows, DATES) == []
    assert len(rows) == days + 1
    for text, year, decade, top in rows:
        day = datetime.date.fromisoformat(text)
        # People who turn 90 in that year were born 90 years earlier.
        old = as_of is not None and as_of.year - day.year >= 90
        assert year.endswith("or before") == old
        assert top == "*"
        if not old:
            assert (int(year), decade) == (day.year, f"{year[:3]}0s")


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        (SafeHarborDate("2024-02-30", "x", "2026"), ["minimum", "maximum", "birth_as_of"]),
        (SafeHarborDate("", ""), ["minimum", "maximum"]),
        (SafeHarborDate("2024-01-02", "2024-01-01"), ["maximum"]),
        (SafeHarborDate("2024-01-01", "2024-01-01"), []),
        (SafeHarborDate("1600-01-01", "1999-12-31"), []),
        (SafeHarborDate("1600-01-01", "2000-01-01"), ["maximum"]),
    ],
)
def test_faults_of_a_range_of_days(rule: SafeHarborDate, fields: list[str]) -> None:
    assert [fault.field for fault in check_dates(rule, DATES)] == [f"{DATES}.{field}" for field in fields]


# --- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("definition", "fitting"),
    [
        (SafeHarborZip("", "main", "people"), {ValueKind.TEXT}),
        (SafeHarborAge(), {ValueKind.INTEGER, ValueKind.TEXT}),
        (SafeHarborDate("2024-01-01", "2024-12-31"), {ValueKind.DATE, ValueKind.TEXT}),
    ],
)
def test_kinds_of_columns(definition: SafeHarborHierarchy, fitting: set[ValueKind]) -> None:
    assert {kind for kind in ValueKind if not check_kind(definition, "attributes[1].hierarchy", kind)} == fitting
    (fault,) = check_kind(definition, "attributes[1].hierarchy", ValueKind.TIMESTAMP)
    assert fault.field.startswith("attributes[1].hierarchy.safe_harbor_")
