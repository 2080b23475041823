"""Proposed hierarchies: sound, covering all values, and without the ends of the range."""

import datetime
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.drafting import (
    PARTIAL_DATES,
    PARTIAL_DATES_BACKWARDS,
    PERIODS,
    PERIODS_BACKWARDS,
    ColumnFacts,
    Meaning,
    meaning_of,
    propose_hierarchy,
)
from tableveil.hierarchy import HierarchyDefinition, ValueKind, check_rule, label_values
from tableveil.hierarchy.rules import Dates, DateUnit, Intervals, LossRange, Redaction, SuppressionOnly

INTEGER, DECIMAL, FLOAT, DATE, TEXT = (
    ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT, ValueKind.DATE, ValueKind.TEXT,
)  # fmt: skip


def column(kind: ValueKind, values: Sequence[Any], name: str = "x") -> ColumnFacts:
    """The facts of a column that has each of the values once."""
    texts = [str(value) for value in values]
    ranged = kind is not TEXT and values
    lengths = [len(text) for text in texts]
    return ColumnFacts(
        name, kind.value, kind, len(values), 0, len(set(values)), True,
        shortest=min(lengths, default=None),
        longest=max(lengths, default=None),
        minimum=str(min(values)) if ranged else None,
        maximum=str(max(values)) if ranged else None,
        digits=bool(texts) and all(text.isascii() and text.isdigit() for text in texts),
    )  # fmt: skip


COLUMNS = st.one_of(
    st.tuples(st.just(INTEGER), st.lists(st.integers(-(2**127), 2**127 - 1), max_size=30)),
    st.tuples(st.just(INTEGER), st.lists(st.integers(-300, 300), max_size=40)),
    st.tuples(st.just(DECIMAL), st.lists(st.decimals(-(10**9), 10**9, places=4), max_size=30)),
    st.tuples(st.just(FLOAT), st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30)),
    st.tuples(st.just(FLOAT), st.lists(st.floats(-1, 1), max_size=30)),
    st.tuples(st.just(DATE), st.lists(st.dates(), max_size=30)),
    st.tuples(st.just(TEXT), st.lists(st.text("0123456789", min_size=5, max_size=5), max_size=30)),
    st.tuples(st.just(TEXT), st.lists(st.text(max_size=8), max_size=30)),
)


@given(COLUMNS, st.sampled_from([None, *Meaning]))
def test_a_proposal_is_sound_and_covers_all_values(drawn: tuple[ValueKind, list[Any]], meaning: Meaning | None) -> None:
    kind, values = drawn
    facts = column(kind, values)
    rule = propose_hierarchy(facts, meaning).hierarchy
    assert check_rule(rule, "", kind) == []  # only rules are proposed
    distinct = list(dict.fromkeys(values))
    labelled = label_values(rule, kind, distinct, [str(value) for value in distinct])
    assert labelled.covered.all()


@given(st.lists(st.decimals(-(10**6), 10**6, places=3), min_size=11, unique=True))
def test_bounds_have_room_and_are_multiples_of_the_finest_width(values: list[Decimal]) -> None:
    rule = propose_hierarchy(column(DECIMAL, values), None).hierarchy
    assert isinstance(rule, Intervals)
    finest = Decimal(rule.widths[0])
    room = (max(values) - min(values)) / 10
    assert 0 <= min(values) - Decimal(rule.minimum) < finest + room
    assert 0 <= Decimal(rule.maximum) - max(values) - room < finest
    assert Decimal(rule.minimum) % finest == Decimal(rule.maximum) % finest == 0
    assert finest.normalize().as_tuple().digits in {(1,), (2,), (5,)}
    assert (Decimal(rule.maximum) - Decimal(rule.minimum)) / finest <= 28
    assert rule.loss_range is not None
    assert Decimal(rule.minimum) <= Decimal(rule.loss_range.minimum) <= min(values)
    assert max(values) <= Decimal(rule.loss_range.maximum) <= Decimal(rule.maximum)
    assert Decimal(rule.loss_range.maximum) - max(values) < finest


def test_a_single_value_far_outside_is_none_of_the_loss_range() -> None:
    facts = replace(column(INTEGER, [*range(20, 60), 99_000]), low="20", high="59")
    rule = propose_hierarchy(facts, None).hierarchy
    assert isinstance(rule, Intervals)
    assert rule.loss_range is not None
    assert Decimal(rule.loss_range.maximum) < 10_000 < 99_000 <= Decimal(rule.maximum)
    dated = column(DATE, days("1900-01-01", "2024-02-03", "2024-05-01", "2024-06-01"))
    dated = replace(dated, low="2024-02-03", high="2024-06-01")
    born = propose_hierarchy(dated, Meaning.BIRTH).hierarchy
    assert isinstance(born, Dates)
    assert (born.loss_range, born.loss_days) == (LossRange("2023-10-01", "2024-06-30"), 0)
    found = propose_hierarchy(dated, Meaning.DATE).hierarchy
    assert isinstance(found, Dates)
    assert (found.loss_range, found.loss_days) == (None, 274)


@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2200, 1, 1)), st.integers(1, 90))
def test_next_months_days_cost_what_this_months_cost(first: datetime.date, span: int) -> None:
    """Visits go on, so that the days of the next month lie outside of those that a draft was made from."""
    month = [first + datetime.timedelta(days=day) for day in (0, span // 2, span)]
    rule = propose_hierarchy(column(DATE, month), Meaning.DATE).hierarchy
    assert isinstance(rule, Dates)
    later = [day + datetime.timedelta(days=31) for day in month]
    found = label_values(rule, DATE, later, [str(day) for day in later])
    assert found.covered.all()
    assert found.loss is not None
    assert not found.loss.outside.any()
    assert found.loss.domain_size <= span + 62


AGES = Intervals("0", "120", ("5", "10", "20", "40"), "", "90")
BORN = Intervals("1920", "2014", ("5", "10", "20", "40"), loss_range=LossRange("1930", "2009"))


def days(*texts: str) -> list[datetime.date]:
    return [datetime.date.fromisoformat(text) for text in texts]


@pytest.mark.parametrize(
    ("facts", "meaning", "expected"),
    [
        (column(INTEGER, range(17, 81)), Meaning.AGE, replace(AGES, loss_range=LossRange("15", "84"))),
        (column(INTEGER, range(17, 91)), Meaning.AGE, replace(AGES, loss_range=LossRange("15", "94"))),
        (column(INTEGER, range(1, 52)), None, Intervals("0", "59", ("5", "10", "20"), loss_range=LossRange("0", "54"))),
        (column(INTEGER, range(1931, 2007)), Meaning.BIRTH, BORN),
        (column(INTEGER, range(2101, 99000, 7)), Meaning.POSTAL_CODE,
         Intervals("0", "99999", ("10", "100", "1000", "10000"))),
        (column(INTEGER, range(4)), None, SuppressionOnly()),
        (column(INTEGER, [1067, 10115]), Meaning.POSTAL_CODE, Intervals("0", "99999", ("10", "100", "1000", "10000"))),
        (column(TEXT, ["01067", "10115"], "PLZ"), Meaning.POSTAL_CODE, Redaction(5, 10)),
        (column(TEXT, ["01067", "10115"]), None, SuppressionOnly()),
        (column(TEXT, ["01067"], "PLZ"), Meaning.POSTAL_CODE, SuppressionOnly()),
        (column(DATE, days("2021-03-04", "2023-05-06")), Meaning.DATE,
         Dates("2021-01-01", "2024-12-31", (DateUnit.MONTH, DateUnit.QUARTER, DateUnit.YEAR), loss_days=822)),
        (column(DATE, days("1921-03-04", "2003-05-06")), Meaning.BIRTH,
         Dates("1920-01-01", "2004-12-31", (DateUnit.MONTH, DateUnit.YEAR, DateUnit.DECADE),
               LossRange("1921-03-01", "2003-05-31"))),
        (column(TEXT, [f"{i:05}" for i in range(50)]), None, Redaction(5, 10)),
        (column(TEXT, [f"AB{i:02}" for i in range(50)]), Meaning.POSTAL_CODE, Redaction(4, 36)),
        (column(TEXT, [f"AB{i:02}" for i in range(50)]), None, SuppressionOnly()),
        (replace(column(FLOAT, range(50)), maximum="inf"), None, SuppressionOnly()),
        (replace(column(DATE, range(50)), minimum="0044-03-15 (BC)"), None, SuppressionOnly()),
        (column(INTEGER, []), Meaning.AGE, SuppressionOnly()),
    ],
)  # fmt: skip
def test_what_is_proposed(facts: ColumnFacts, meaning: Meaning | None, expected: HierarchyDefinition) -> None:
    assert propose_hierarchy(facts, meaning).hierarchy == expected


def test_a_stopgap_asks_for_a_hierarchy() -> None:
    found = propose_hierarchy(column(TEXT, [f"AB{i:02}" for i in range(50)]), None)
    assert "write a hierarchy" in found.reason


def test_partial_dates_are_grouped_by_month_and_year() -> None:
    values = ["2014-03-12", "2014-03", "2014", "2015-01-31"]
    proposal = propose_hierarchy(replace(column(TEXT, values, "onset"), date_format=PARTIAL_DATES), None)
    labels = label_values(proposal.hierarchy, TEXT, values, values).labels
    assert [*labels[0]] == ["2014-03***", "2014-03***", "2014---***", "2015-01***"]
    assert [*labels[1]] == ["2014******"] * 3 + ["2015******"]
    assert len(labels) == 3, "no label says less than a year"


def test_partial_times_and_dates_whose_year_is_last_are_so_as_well() -> None:
    values = ["2014-03-12T10:30", "2014-03"]
    proposal = propose_hierarchy(replace(column(TEXT, values, "onset"), date_format=PARTIAL_DATES), None)
    labels = label_values(proposal.hierarchy, TEXT, values, values).labels
    assert [level[0] for level in labels[:3]] == ["2014-03-12******", "2014-03*********", "2014************"]
    assert labels[1][1] == labels[1][0]
    values = ["12.03.2014", "03.2014", "2014"]
    proposal = propose_hierarchy(replace(column(TEXT, values, "onset"), date_format=PARTIAL_DATES_BACKWARDS), None)
    labels = label_values(proposal.hierarchy, TEXT, values, values).labels
    assert [*labels[0]] == ["***03.2014", "***03.2014", "***---2014"]
    assert [*labels[1]] == ["******2014"] * 3


@pytest.mark.parametrize(
    ("written", "values", "labels"),
    [
        (PERIODS, ["2014-W05", "2014-W6", "2014"], ["2014****"] * 3),
        (PERIODS_BACKWARDS, ["Q1 2014", "Q4 2015"], ["***2014", "***2015"]),
    ],
)
def test_parts_of_years_are_grouped_by_year(written: str, values: list[str], labels: list[str]) -> None:
    proposal = propose_hierarchy(replace(column(TEXT, values, "onset"), date_format=written), None)
    found = label_values(proposal.hierarchy, TEXT, values, values).labels
    assert ([*found[0]], len(found)) == (labels, 2), "no label says less than a year"


def test_text_that_is_dates_points_to_what_makes_dates_of_it() -> None:
    facts = replace(column(TEXT, ["31.12.2024", "01.02.2024"], "born"), date_format="%d.%m.%Y")
    proposal = propose_hierarchy(facts, None)
    assert "strptime(born, '%d.%m.%Y')::DATE" in proposal.reason
    labels = label_values(proposal.hierarchy, TEXT, ["31.12.2024"], ["31.12.2024"]).labels
    assert [level[0] for level in labels] == ["***12.2024", "******2024", "*"]
    facts = replace(column(TEXT, ["12/31/2024", "02/01/2024"], "born"), date_format="%m/%d/%Y")
    assert propose_hierarchy(facts, None).hierarchy == SuppressionOnly(), "the month is not beside the year"


@pytest.mark.parametrize(
    ("name", "least", "nests"), [("OCCP", "1000", True), ("industry", "17", False), ("fips", "10001", True)]
)
def test_numbers_that_are_codes_are_no_intervals(name: str, least: str, nests: bool) -> None:
    facts = ColumnFacts(
        name,
        "BIGINT",
        ValueKind.INTEGER,
        900,
        0,
        60,
        minimum=least,
        maximum=str(9 * 10 ** (len(least) - 1) if nests else 990),
    )
    hierarchy = propose_hierarchy(facts, meaning_of(name)).hierarchy
    if nests:
        assert isinstance(hierarchy, Intervals)
        assert hierarchy.widths == tuple(str(10**place) for place in range(1, len(least)))
    else:
        assert hierarchy == SuppressionOnly()
