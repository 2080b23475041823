"""How columns spread before and after."""

from collections.abc import Callable

import numpy as np
import pytest

from tableveil.backend import Session
from tableveil.hierarchy import ValueKind
from tableveil.usefulness import QUANTILES, ColumnSpread
from tableveil.utility import Compared, Sides, spreads

Make = Callable[..., Sides]


def bins(spread: ColumnSpread) -> dict[str | None, int]:
    return {bin_.label: bin_.records for bin_ in spread.bins}


def test_numbers_are_measured_and_counted_in_the_same_bins(session: Session, sides: Make) -> None:
    compared = Compared("x", ValueKind.INTEGER, "DOUBLE", True)
    made = sides("SELECT i AS x FROM range(100) AS t(i)", "SELECT i // 10 * 10 + 4.5 AS x FROM range(100) AS t(i)")
    before, after = spreads(session, made, compared)
    assert (before.records, before.missing, before.distinct) == (100, 0, 100)
    assert before.mean == 49.5
    assert before.variance == pytest.approx(np.var(np.arange(100)))
    assert before.quantiles == pytest.approx(np.quantile(np.arange(100), QUANTILES))
    assert list(bins(before)) == list(bins(after)) == [f"[{i}, {i + 10})" for i in range(0, 100, 10)]
    assert set(bins(before).values()) == set(bins(after).values()) == {10}
    assert (after.distinct, after.mean) == (10, 49.5)


def test_labels_stand_for_the_middle_of_their_interval(session: Session, sides: Make) -> None:
    compared = Compared("x", ValueKind.INTEGER, "VARCHAR", True)
    labels = "CASE WHEN i < 50 THEN '[0, 49]' WHEN i < 90 THEN '[50, 89]' ELSE '*' END"
    made = sides("SELECT i AS x FROM range(100) AS t(i)", f"SELECT {labels} AS x FROM range(100) AS t(i)")
    before, after = spreads(session, made, compared)
    assert list(bins(after)) == [*bins(before), None]
    # Evenly over each interval: five tens of ages below 50, four from 50 to 89, none above.
    assert [bin_.records for bin_ in after.bins] == [10] * 9 + [0, 10]
    assert (after.records, after.missing, after.distinct) == (100, 10, 3)
    stood_for = np.repeat([24.5, 69.5], [50, 40])
    assert after.mean == pytest.approx(stood_for.mean())
    assert after.variance == pytest.approx(stood_for.var())
    assert after.quantiles == pytest.approx(np.quantile(stood_for, QUANTILES))


def test_labels_are_spread_over_the_intervals_of_the_source(session: Session, sides: Make) -> None:
    compared = Compared("x", ValueKind.DATE, "VARCHAR", True)
    dates = "SELECT DATE '2024-01-01' + i::INTEGER AS x FROM range(366) AS t(i)"
    labels = "SELECT '2024-Q' || (1 + i // 92) AS x FROM range(366) AS t(i) UNION ALL SELECT '>= 2024-12-31'"
    before, after = spreads(session, sides(dates, labels), compared)
    assert list(bins(before)) == list(bins(after))
    assert sum(bins(after).values()) == 367
    assert all(abs(bins(after)[label] - records) <= 3 for label, records in bins(before).items())


def test_categories_keep_their_order_and_the_rest_is_one(session: Session, sides: Make) -> None:
    compared = Compared("x", ValueKind.TEXT, "VARCHAR", False)
    rows = "SELECT chr(97 + i) AS x FROM (SELECT i::INTEGER AS i, unnest(range(30 - i)) FROM range(26) AS t(i))"
    made = sides(f"{rows} UNION ALL SELECT NULL", f"{rows} WHERE i <> 1")
    before, after = spreads(session, made, compared)
    assert (before.missing, before.distinct, after.distinct) == (1, 26, 25)
    assert list(bins(before)) == [*map(chr, range(97, 117)), "(others)", None]
    assert sum(bins(before).values()) == before.records
    assert sum(bins(after).values()) == after.records
    assert list(bins(after)) == ["a", *map(chr, range(99, 118)), "(others)"]


def test_a_star_is_a_category_like_any_other_where_nothing_is_generalized(session: Session, sides: Make) -> None:
    made = sides("SELECT '*' AS x", "SELECT '*' AS x")
    before, after = spreads(session, made, Compared("x", ValueKind.TEXT, "VARCHAR", False))
    assert bins(before) == bins(after) == {"*": 1}


def test_a_star_of_a_generalized_column_tells_nothing(session: Session, sides: Make) -> None:
    made = sides("SELECT '*' AS x", "SELECT '*' AS x")
    before, after = spreads(session, made, Compared("x", ValueKind.TEXT, "VARCHAR", True))
    assert (bins(before), bins(after)) == ({"*": 1}, {None: 1})
    assert (after.missing, after.distinct) == (1, 1), "one label, as in the account of the release"


def test_dates_are_shown_as_dates(session: Session, sides: Make) -> None:
    rows = "SELECT DATE '2020-01-01' + i::INTEGER AS x FROM range(366) AS t(i)"
    before, after = spreads(session, sides(rows, rows), Compared("x", ValueKind.DATE, "DATE", False))
    assert before == after
    assert before.bins[0].label is not None
    assert before.bins[0].label.startswith("from 20")
    assert sum(bins(before).values()) == 366


def test_marked_rows_are_not_released(session: Session, sides: Make) -> None:
    made = sides("SELECT 1 AS x", "SELECT 1 AS x, false AS gone UNION ALL SELECT NULL, true", "gone")
    _, after = spreads(session, made, Compared("x", ValueKind.INTEGER, "INTEGER", True))
    assert (after.records, after.missing) == (1, 0)


@pytest.mark.parametrize(
    "values",
    ["(1e308), (-1e308), (1e300)", "(1e-308), (3e-308)", "(5e-324)", "(1e15), (1e15 + 1)", "(0.0), (-0.0)", "(7.0)"],
)
def test_extreme_numbers_fit(session: Session, sides: Make, values: str) -> None:
    rows = f"SELECT x::DOUBLE AS x FROM (VALUES {values}) AS t(x)"
    before, after = spreads(session, sides(rows, rows), Compared("x", ValueKind.FLOAT, "DOUBLE", False))
    assert before == after
    assert sum(bin_.records for bin_ in before.bins) == before.records
    assert before.mean is not None


def test_what_is_no_number_is_missing(session: Session, sides: Make) -> None:
    rows = "SELECT unnest([1.0, 'nan'::DOUBLE, 'inf'::DOUBLE, NULL]) AS x"
    before, _ = spreads(session, sides(rows, rows), Compared("x", ValueKind.FLOAT, "DOUBLE", False))
    assert (before.records, before.missing, before.mean) == (4, 3, 1.0)


@pytest.mark.parametrize("kind", [ValueKind.FLOAT, ValueKind.DATE, ValueKind.TEXT])
def test_an_empty_release(session: Session, sides: Make, kind: ValueKind) -> None:
    type_ = {ValueKind.FLOAT: "DOUBLE", ValueKind.DATE: "DATE", ValueKind.TEXT: "VARCHAR"}[kind]
    made = sides(f"SELECT NULL::{type_} AS x", f"SELECT NULL::{type_} AS x WHERE false")
    before, after = spreads(session, made, Compared("x", kind, type_, False))
    assert (before.records, before.missing, bins(before)) == (1, 1, {None: 1})
    assert (after.records, after.bins) == (0, ())


def test_hostile_names(session: Session, sides: Make) -> None:
    name = 'a "rows" 🎈; x'
    quoted = name.replace('"', '""')
    made = sides(f'SELECT 1 AS "{quoted}"', f'SELECT 1 AS "{quoted}"')
    before, _ = spreads(session, made, Compared(name, ValueKind.INTEGER, "INTEGER", False))
    assert before.mean == 1
