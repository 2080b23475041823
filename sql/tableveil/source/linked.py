"""Samples of values that stand for about one person each: how densely they lie, and the rows that they stand in.

Rows are compared by these: people who recur have a value in common, and other columns of its rows agree. Values that
lie densely, as row numbers do, are in any other table as well, and dates are: they say nothing by themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import column, expression, number
from tableveil.drafting import Meaning, meaning_of
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Column

MOST_CELLS = 24
"""The most columns of which the rows' values are kept, the first ones."""

MOST_KEYS = 4
"""The most columns whose values are kept with their rows, beside the person column."""

LEAST_DIFFERENT = 0.1
"""The share of different values from which a column may stand for people."""

_KEY = 0.5
"""The share of different values from which it is compared by rows, without being said to identify people."""

_DATES = (ValueKind.DATE, ValueKind.TIMESTAMP)
_NUMBERS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.FLOAT)
_DATE_TEXT = r"^\s*[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}"
_IS_DATE = -(2.0**1000)
"""Stands for a text that reads as a date."""

_NEIGHBOURS = 8
"""So many values that follow each other say how densely they lie."""

_MOST_DIGITS = 6
_LARGE_STEP = 60
"""Values by equal steps of at least this, or of no whole number, are an enumeration, such as times."""

_FEWEST_RECURRING = 8
"""Fewer values with several records do not say what follows from a value."""

_TOLD = 0.9
"""The share of these values whose records agree in a column that follows."""

_FEWEST, _WINDOWS, _WINDOW = 4, 16, 128
_REGULAR = 0.25


@dataclass(frozen=True, slots=True)
class KeyRows:
    """The rows of the kept values of a key: `cells` has the hash of each other column; 0 for one that is left out.

    `filled` says how densely the values lie among all that there could be.
    """

    filled: float
    cells: NDArray[np.uint64] | None


def keys(columns: Sequence[Column], distinct: Sequence[int], records: int, person: str | None) -> list[Column]:
    """The columns that may number people, those of most values first; the person column before all."""
    many = [
        (each.name != person, -values, i)
        for i, (each, values) in enumerate(zip(columns, distinct, strict=True))
        if each.name == person or values >= LEAST_DIFFERENT * records
    ]
    return [columns[i] for _, _, i in sorted(many)[: MOST_KEYS + (person is not None)]]


def numbered(found: Column) -> exp.Expr:
    """The values as numbers, for texts that of their digits; NaN if there is none."""
    if found.kind in _NUMBERS:
        return expression("coalesce($value::DOUBLE, 'NaN'::DOUBLE)", value=column(found.name))
    if found.kind is not ValueKind.TEXT:
        return number(0)
    return expression(
        f"coalesce(CASE WHEN regexp_matches($value::VARCHAR, '{_DATE_TEXT}') THEN '{_IS_DATE!r}'::DOUBLE "
        "ELSE TRY_CAST(regexp_replace($value::VARCHAR, '[^0-9]', '', 'g') AS DOUBLE) END, 'NaN'::DOUBLE)",
        value=column(found.name),
    )


@dataclass(frozen=True, slots=True)
class KeyRecords:
    """All records of a key's kept values: the hashes of these, columns as `numbers`, and hashes of other `cells`."""

    hashes: NDArray[np.uint64]
    numbers: Mapping[str, NDArray[np.float64]]
    cells: Mapping[str, NDArray[np.uint64]]


def rows_of(key: Column, given: KeyRecords, scale: int, *, compared: bool, of_people: bool) -> KeyRows:
    """The rows of a key's kept values, in the order of their hashes.

    A value in several records has a cell where these agree. Cells that follow from
    the place among the key's numbers are left out: rows by which two tables are sorted alike, or months that recur in
    a panel, agree though nobody is in both. So are those that follow from the value itself, as a county does from a
    postal code, unless the values are known to be `of_people`.
    """
    hashes, numbers, cells = given.hashes, given.numbers, given.cells
    order = np.argsort(hashes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(hashes[order]) > 0]) if len(hashes) else order
    first = order[starts]
    values = numbers[key.name][first]
    filled = 1.0 if key.kind in _DATES else how_dense(values, scale)
    if not compared or not len(first) or (key.kind in _DATES or np.mean(values == _IS_DATE) > 1 / 2):
        return KeyRows(filled, None)
    kept = np.zeros((len(first), len(cells)), np.uint64)
    places = np.argsort(values, kind="stable") if np.isfinite(values).mean() > 1 / 2 else None
    for i, (name, cell) in enumerate(cells.items()):
        if name != key.name:
            of_value = np.maximum.reduceat(cell[order], starts)
            of_value[of_value != np.minimum.reduceat(cell[order], starts)] = 0
            # Births have no numbers here, as other dates have none, and yet are nobody's place.
            numbered_ = name in numbers and meaning_of(name) is not Meaning.BIRTH
            follows = places is not None and _follows(
                of_value[places], numbers[name][first][places] if numbered_ else None
            )
            if not follows:
                kept[:, i] = of_value
    if not of_people:
        kept[:, _told_by_value(kept[np.diff(np.r_[starts, len(order)]) > 1])] = 0
    return KeyRows(filled, kept)


def _told_by_value(recurring: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """The columns in which records of a value agree: they follow from it, unless most do, as in rows of one person."""
    agree = np.zeros(recurring.shape[1], np.bool_)
    if len(recurring) >= _FEWEST_RECURRING:
        agree = np.mean(recurring > 0, axis=0) >= _TOLD
    compared = int((recurring > 0).any(0).sum())
    return agree & (2 * int(agree.sum()) <= compared)


def seems_to_identify(different: int, records: int) -> bool:
    """Whether rows of a column are compared that nobody says to identify people."""
    return different >= _KEY * records


def how_dense(values: NDArray[np.float64], scale: int) -> float:
    """How many of the values that there could be near these are values: 1 of row numbers and dates, nearly 0 of keys.

    One in 2^scale values is given.
    """
    there = values[np.isfinite(values)]
    if 2 * len(there) <= len(values):
        return 0.0
    if np.mean(there == _IS_DATE) > 1 / 2:
        return 1.0
    distinct = _on_grid(np.unique(there))
    steps = np.diff(distinct)
    if len(steps) < 2 or _are_days(np.unique(there)) or _are_equal(steps):
        return 1.0
    width = min(_NEIGHBOURS, len(steps))
    spans = (distinct[width:] - distinct[:-width]) / 2.0**scale
    # Texts of the same digits are one number.
    alike = len(there) / len(distinct)
    return float(np.mean(np.minimum(1.0, width * alike / np.maximum(spans, 1e-9))))


def _on_grid(distinct: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values as whole numbers, in which round ones are counted by their step: 500, 1,000, 1,500 as 1, 2, 3."""
    for digits in range(_MOST_DIGITS + 1):
        scaled = distinct * 10.0**digits
        whole = np.round(scaled)
        if np.abs(whole).max() < 2**53 and np.allclose(scaled, whole, rtol=1e-12, atol=1e-6):
            whole = np.unique(whole)
            step = int(np.gcd.reduce(whole.astype(np.int64) - int(whole[0]))) or 1
            rounded = 1
            for factor in (2, 5):
                while step % factor == 0:
                    step, rounded = step // factor, rounded * factor
            return np.asarray(whole / rounded, np.float64)
    return np.asarray(distinct * 10.0**_MOST_DIGITS, np.float64)


def _are_days(distinct: NDArray[np.float64]) -> bool:
    """Whether they are written as dates are, such as 20240131, or 202401."""
    if not (distinct == np.floor(distinct)).all():
        return False
    days = distinct if distinct[-1] > 10**7 else distinct * 100 + 1
    years, months, day = days // 10**4, days // 100 % 100, days % 100
    written = (years >= 1800) & (years <= 2100) & (months >= 1) & (months <= 12) & (day >= 1) & (day <= 31)
    return bool(written.mean() > 0.9)


def _are_equal(steps: NDArray[np.float64]) -> bool:
    usual = float(np.median(steps))
    large = usual >= _LARGE_STEP or usual != np.floor(usual)
    return bool(large and np.mean(np.abs(steps - usual) <= usual / 100) > 1 / 2)


def _follows(ordered: NDArray[np.uint64], numbers: NDArray[np.float64] | None) -> bool:
    """Whether values, in the order of the key, follow from the ones before: as in sorted rows, or in cycles."""
    if len(ordered) < _FEWEST:
        return False
    length = min(_WINDOW, len(ordered))
    begins = np.linspace(0, len(ordered) - length, min(_WINDOWS, len(ordered) // length)).astype(int)
    places = begins[:, None] + np.arange(length)
    if numbers is not None:
        # Between two infinite numbers there is no step.
        with np.errstate(invalid="ignore"):
            steps = np.diff(numbers[places], axis=1)
        finite = steps[np.isfinite(steps)]
        if len(finite) and float(np.mean(finite == np.median(finite))) > 1 / 2:
            return True
    different, codes = np.unique(ordered[places], return_inverse=True)
    codes = codes.reshape(places.shape)
    shares = np.bincount(codes.ravel()) / codes.size
    if len(different) == 1:
        # It is one of few blocks.
        return bool(len(ordered) > places.size)
    now, after = codes[:, :-1].ravel(), codes[:, 1:].ravel()
    if _is_far(float(np.mean(now == after)), float(np.sum(shares**2)), len(now)):
        return True
    # One half of the steps says what follows, the other whether it does.
    learned = np.random.default_rng(len(now)).random(len(now)) < 1 / 2
    if learned.all() or not learned.any():
        return False
    follows = now[learned] * len(different) + after[learned]
    pairs, times = np.unique(follows, return_counts=True)
    by_number = np.argsort(times, kind="stable")
    next_one = np.full(len(different), -1)
    next_one[pairs[by_number] // len(different)] = pairs[by_number] % len(different)
    right = float(np.mean(next_one[now[~learned]] == after[~learned]))
    return _is_far(right, float(shares.max()), int((~learned).sum()))


def _is_far(found: float, by_chance: float, number_of: int) -> bool:
    noise = (by_chance * (1 - by_chance) / max(1, number_of)) ** 0.5
    return bool(found > by_chance + _REGULAR * (1 - by_chance) + 1.5 * noise)
