"""Columns that number people of whom some have several rows are found by the rows; ordinary columns are not."""

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.drafting import Meaning, meaning_of
from tableveil.risk.recurring import Hint, SampledColumn, recurrences
from tests.once import once

Table = Mapping[str, NDArray[np.generic]]

_HINTS = {Meaning.SEX: Hint.SEX, Meaning.BIRTH: Hint.BIRTH, Meaning.AGE: Hint.AGE}


def numbering(table: Table, *, named: bool = True, deciding: set[str] | None = None) -> set[str]:
    """The columns that number people; without names, the meaning of no column is known."""
    columns, names = [], list(table)
    rows = len(table[names[0]])
    mixed = np.random.default_rng(rows).permutation(rows)
    for name, values in table.items():
        _, codes = np.unique(values[mixed], return_inverse=True)
        hashes = (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        numbers = values[mixed].astype(np.float64) if values.dtype.kind in "if" else None
        meaning = meaning_of(name) if named else None
        hint = _HINTS.get(meaning) if meaning is not None else None
        columns.append(SampledColumn(hashes, numbers, hint, deciding is None or name in deciding))
    return {names[one.position] for one in recurrences(columns, [np.arange(rows)] * len(columns))}


def visits(seed: int, people: int, mean: float, places: int, years: int = 0) -> Table:
    """Rows of people who have `mean` on average; ages differ by up to so many years."""
    random = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), 1 + random.poisson(mean - 1, people))
    rows = len(person)
    age, place = random.integers(0, 90, people), random.zipf(1.3, people) % places
    return {
        "x": person * 7919 % 1000003,
        "sex": random.integers(0, 2, people)[person],
        "age": age[person] + random.integers(0, years + 1, rows),
        "place": place[person],
        "insurance": random.integers(0, 3, people)[person],
        "day": random.integers(0, 365, rows),
        "ward": random.integers(0, 12, rows),
        "diagnosis": np.where(random.random(rows) < 0.5, person * 31 % 200, random.integers(0, 200, rows)),
        "row": random.permutation(rows),
    }


def register(seed: int, rows: int = 8000) -> Table:
    """A row for each person, with places, hospitals, dates, codes and names that have properties of their own."""
    random = np.random.default_rng(seed)
    place, hospital, day, code = (random.integers(0, n, rows) for n in (600, 120, 3000, 400))
    occupation = random.integers(0, 300, rows)
    return {
        "sex": random.integers(0, 2, rows),
        "age": random.integers(0, 95, rows),
        "place": place,
        "county": place // 12,
        "state": place // 60,
        "rural": place * 7 % 3 == 0,
        "latitude": random.random(600)[place],
        "hospital": hospital,
        "beds": hospital * 37 % 9,
        "kind": hospital * 13 % 4,
        "admission": day,
        "year": day // 365,
        "weekday": day % 7,
        "code": code,
        "chapter": code // 20,
        "acute": code * 11 % 2,
        "occupation": occupation,
        "industry": occupation // 15,
        "income": np.round(random.lognormal(10, 0.5, rows), -2),
        "surname": random.zipf(1.2, rows) % 5000,
        "weight": np.round(random.gamma(9, 20, rows)),
    }


def households(seed: int) -> Table:
    """Persons, in households with an income and a place; partners are of like age, and mostly of other sexes."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 6, 3000)
    of = np.repeat(np.arange(3000), sizes)
    position = np.concatenate([np.arange(size) for size in sizes])
    head, sex = random.integers(25, 75, 3000)[of], random.integers(0, 2, 3000)[of]
    partner = head + random.integers(-5, 6, len(of))
    child = np.maximum(head - random.integers(20, 40, len(of)), 0)
    return {
        "household": of,
        "sex": np.select([position == 0, position == 1], [sex, 1 - sex], random.integers(0, 2, len(of))),
        "age": np.select([position == 0, position == 1], [head, partner], child),
        "place": random.integers(0, 600, 3000)[of],
        "income": np.round(random.lognormal(10, 0.5, 3000), -2)[of],
        "members": sizes[of],
        "education": random.integers(0, 12, len(of)),
    }


def strata(seed: int) -> Table:
    """Codes of sex, age and region, as surveys have them."""
    random = np.random.default_rng(seed)
    sex, age, region, education = (random.integers(0, n, 8000) for n in (2, 70, 40, 6))
    return {
        "stratum": (sex * 10 + age // 10) * 100 + region,
        "cell": (sex * 100 + age) * 100 + region,
        "profile": ((sex * 100 + age) * 100 + region) * 10 + education,
        "sex": sex,
        "age": age,
        "region": region,
        "education": education,
        "answer": random.integers(0, 5, 8000),
    }


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "table",
    [
        visits(1, 1000, 5, 500),
        visits(2, 1000, 5, 20),
        visits(3, 4000, 2, 10),
        visits(4, 8000, 1.02, 500),
        visits(5, 40, 100, 500),
        visits(6, 1000, 5, 500, years=15),
    ],
)
def test_people_with_several_rows(table: Table, *, named: bool) -> None:
    # Dates say nothing of people.
    assert numbering(table, named=named, deciding=set(table) - {"day"}) == {"x"}


def test_people_with_one_row_each() -> None:
    for seed in range(10):
        assert numbering(visits(seed, 5000, 1, 500)) == set()


@pytest.mark.parametrize("seed", once(range(10), 2))
def test_ordinary_columns(seed: int) -> None:
    for table in (register(seed), households(seed), strata(seed)):
        assert numbering(table) == set(), list(table)
    # Not even without names, if enough is said to differ between people.
    assert numbering(register(seed), named=False) == set()


def test_an_age_that_other_columns_follow_from_numbers_nobody() -> None:
    age = np.arange(200) * 37 % 90
    table = {"age": age, "tariff": age % 5, "sex": age % 3}
    assert numbering(table) == set()
    assert numbering({"x" if name == "age" else name: values for name, values in table.items()}) == {"x"}


def test_a_table_that_was_loaded_in_part_twice() -> None:
    found = {name: np.concatenate([values, values[:100]]) for name, values in register(1).items()}
    number = np.arange(8000)
    assert "number" in numbering({"number": np.concatenate([number, number[:100]]), **found})


def test_a_sample_of_values_judges_like_all_rows() -> None:
    table = visits(7, 1000, 5, 500)
    assert numbering({name: values[np.less(table["x"], 500_000)] for name, values in table.items()}) == {"x"}


def test_few_values_and_few_that_recur_say_nothing() -> None:
    assert numbering(visits(8, 9, 50, 500)) == set()
    table = visits(9, 1000, 1, 500)
    assert numbering({name: np.concatenate([values, values[:4]]) for name, values in table.items()}) == set()
