"""The columns of wide tables: repeats are found, what is kept stays, and no other set of the size loses much less."""

from typing import Any

import numpy as np
import pytest

from benchmarks.journeys.choices import ROWS, more_than_best, random_table
from tableveil.drafting import choose_columns, choosing, hiding
from tableveil.drafting.choosing import CONSTANT, PART_OF_DATE, REPEATS
from tableveil.hierarchy import ValueKind
from tests.once import once


@pytest.mark.parametrize("seed", once(range(200)))
def test_no_set_of_the_size_loses_much_less(seed: int) -> None:
    assert more_than_best(seed) <= 0.05


def test_a_column_that_matters_gives_way_where_nothing_would_be_left_of_it() -> None:
    chance = np.random.default_rng(8)
    codes = {f"code{j}": chance.integers(0, 9, ROWS) for j in range(7)}
    columns = codes | {f"flag{j}": chance.random(ROWS) < 0.1 for j in range(12)}
    numbers = {name: values.astype(np.float64) for name, values in columns.items()}
    kinds: dict[str, ValueKind | None] = dict.fromkeys(columns, ValueKind.TEXT)
    choice = choose_columns(numbers, kinds, {"code0"}, list(codes), 5)
    levels = [choosing._levels(numbers[name], kinds[name]) for name in choice.chosen]
    hidden = dict(zip(choice.chosen, choosing._recode(levels, 5).hidden, strict=True))
    assert "code0" in hidden
    assert len(hidden) >= choosing.FEWEST_CHOSEN
    assert max(share for name, share in hidden.items() if name != "code0") <= choosing.MOST_HIDDEN


def test_the_year_of_a_date_comes_before_a_column_of_which_nothing_would_be_left() -> None:
    chance = np.random.default_rng(2)
    days = chance.integers(17_532, 18_628, ROWS)
    dates = days.astype("datetime64[D]")
    codes = {f"code{j}": chance.integers(0, 12, ROWS) for j in range(12)}
    first = {f"flag{j}": chance.random(ROWS) < 0.2 for j in range(6)} | {"day": days * 86_400}
    year, month = (dates.astype(f"datetime64[{unit}]").astype(int) for unit in "YM")
    columns = first | codes | {"year": year + 1970, "month": month % 12 + 1}
    kinds = dict.fromkeys(columns, ValueKind.INTEGER) | {"day": ValueKind.DATE}
    choice = choose_columns({n: v.astype(float) for n, v in columns.items()}, kinds, (), list(first), 5)
    assert {*choice.chosen} == {*first, "year"}
    assert {one.column for one in choice.left} == {*codes, "month"}


def test_repeats_and_parts_of_dates_are_left_out() -> None:
    chance = np.random.default_rng(1)
    days = chance.integers(10_000, 18_000, ROWS)
    dates = days.astype("datetime64[D]")
    sex, flag = chance.integers(0, 2, ROWS), np.zeros(ROWS)
    flag[:3] = 1
    columns = {
        "sexn": sex + 7,
        "sex": sex,
        "born": days * 86_400,
        "year": dates.astype("datetime64[Y]").astype(int) + 1970,
        "month": dates.astype("datetime64[M]").astype(int) % 12 + 1,
        "flag": flag,
        "rare": flag,
        "other": chance.integers(0, 2, ROWS),
    }
    kinds = dict.fromkeys(columns, ValueKind.INTEGER) | {"born": ValueKind.DATE}
    choice = choose_columns({n: v.astype(float) for n, v in columns.items()}, kinds, {"rare"}, ["sex", "born"], 5)
    assert {(one.column, one.reason, one.of) for one in choice.left} == {
        ("sexn", REPEATS, "sex"),
        ("year", PART_OF_DATE, "born"),
        ("month", PART_OF_DATE, "born"),
        ("flag", CONSTANT, ""),
    }
    assert choice.chosen == ("sex", "born", "rare", "other")


def test_columns_that_matter_stay_and_the_next_best_are_offered() -> None:
    columns, kinds = random_table(5, 14)
    widest = sorted(columns, key=lambda name: -len(np.unique(columns[name])))[:2]
    choice = choose_columns(columns, kinds, {widest[0]}, [widest[1]], 2)
    assert set(widest) <= set(choice.chosen)
    assert choosing.FEWEST_CHOSEN <= len(choice.chosen) <= choosing.MOST_CHOSEN
    assert {*choice.chosen, *(one.column for one in choice.left)} == set(columns)
    assert 1 <= len(choice.offered) <= 3
    assert not {name for name, _ in choice.offered} & set(choice.chosen)


@pytest.mark.parametrize("values", [[np.nan] * 40, [1.0] * 40, [np.inf, -np.inf, np.nan] * 20, range(40)])
def test_ugly_columns_do_not_stop_the_choice(values: Any) -> None:
    columns = {f"c{j}": np.array(values, np.float64) for j in range(choosing.MOST_CHOSEN + 1)}
    choice = choose_columns(columns, dict.fromkeys(columns, ValueKind.FLOAT), (), (), 5)
    assert {*choice.chosen, *(one.column for one in choice.left)} == set(columns)


def test_a_column_pays_for_another() -> None:
    chance = np.random.default_rng(3)
    columns = {
        "ages": chance.integers(0, 60, ROWS),
        "towns": chance.integers(0, 3, ROWS),
        "sex": chance.integers(0, 2, ROWS),
    }
    numbers = {name: values.astype(np.float64) for name, values in columns.items()}
    kinds: dict[str, ValueKind | None] = {"ages": ValueKind.INTEGER, "towns": ValueKind.TEXT, "sex": ValueKind.TEXT}
    found = hiding(numbers, kinds, "towns", 25)
    assert found is not None
    assert found[1] <= choosing.MOST_HIDDEN
    assert hiding({"sex": numbers["sex"]}, kinds, "sex", 5) is None
