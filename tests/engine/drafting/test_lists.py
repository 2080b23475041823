"""Cells that look like lists are seen, whatever stands between their elements; texts and amounts are not."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import pytest

from tableveil.drafting.lists import seen_lists
from tableveil.policy import Elements

CODES = ("E11", "HIV", "J45", "I10", "F32", "C50")


def cells(joined: Callable[[Sequence[str]], str], lists: float, seed: int = 1) -> Counter[str]:
    """As many cells as a small table has, of which a share are lists."""
    chance = Random(seed)
    return Counter(
        joined(chance.sample(CODES, chance.choice([2, 3]))) if chance.random() < lists else chance.choice(CODES)
        for _ in range(400)
    )


@pytest.mark.parametrize("delimiter", ["|", ";", ", ", "", ",", "/", "+", "&", "#", "~", "^", ":", " ", "\n", "\t"])
def test_lists_are_seen(delimiter: str) -> None:
    found = cells(delimiter.join if delimiter else json.dumps, 0.3)
    seen = seen_lists(found)
    assert seen is not None
    assert seen.elements == Elements(delimiter)
    split = [json.loads(cell) if cell.startswith("[") else cell.split(delimiter or "\0") for cell in found]
    assert (seen.lists, seen.values) == (sum(len(parts) > 1 for parts in split), len(found))
    having = Counter(part for parts, n in zip(split, found.values(), strict=True) for part in parts for _ in range(n))
    assert seen.largest == pytest.approx(max(having.values()) / found.total())
    assert f"{seen.lists:,} of {seen.values:,} different values of 'codes'" in seen.told("codes")


@pytest.mark.parametrize(("written", "delimiter"), [(str, ", "), (lambda cell: f"{{{','.join(cell)}}}", ",")])
def test_brackets_and_quotes_are_of_no_element(written: Callable[[Sequence[str]], str], delimiter: str) -> None:
    seen = seen_lists(Counter({written(["HIV", "E11"]): 5, written(["J45", "HIV"]): 4, written(["E11"]): 1}))
    assert seen is not None
    assert seen.elements == Elements(delimiter)
    assert seen.largest == 0.9


@pytest.mark.parametrize("delimiter", [",", "/", "+", "&"])
def test_second_elements_of_their_own_are_seen(delimiter: str) -> None:
    """A first illness stands alone where no second one is; whole numbers are those of amounts, as in 2,5."""
    illnesses = [f"A{n % 9}{delimiter}B{n % 7}" for n in range(90)] + [f"A{n % 9}" for n in range(200)]
    seen = seen_lists(Counter(illnesses))
    assert seen is not None
    assert (seen.elements, seen.lists, seen.values) == (Elements(delimiter), 63, 72)
    amounts = [f"{30 + n % 9}{delimiter}{n % 7}" for n in range(90)] + [f"{30 + n % 9}" for n in range(200)]
    assert seen_lists(Counter(amounts)) is None


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["E11"],
        list(CODES),
        [f"{n // 10},{n % 10}" for n in range(200)],
        [f"note {n}; seen on day {7 * n}, in room {n}" for n in range(200)],
        ["", "|", ";", ", ", "[]", "[", "null", '{"a": 1}', "é|"],
        [f"row {n}" for n in range(400)] + ["row 1|row 2"],
        [f"{95 + n % 80}/{55 + n % 61}" for n in range(400)],
        [f"{1 + n % 28:02}/{1 + n % 12:02}/{1990 + n % 31}" for n in range(400)],
        [f"{last},{first}" for last in ("Smith", "Jones", "Lee") for first in ("Ann", "Bob", "Kim", "Lee")],
        ["acute pain", "pain", "chronic pain", "lung cancer", "cancer of lung", "asthma", "acute asthma"],
        [f"{hour}:{minute:02}" for hour in range(24) for minute in (0, 9, 12, 15)] + ["1:02:12", "2:15:09"],
        ["A+", "A-", "B+", "0+", "AB+", "R&D", "n/a", "mild"],
    ],
)
def test_other_values_are_none(values: list[str]) -> None:
    assert seen_lists(Counter(values)) is None


def test_names_look_like_lists_and_are_for_their_owner_to_decide() -> None:
    names = [f"{last}, {first}" for last in ("Smith", "Jones", "Wood") for first in ("Ann", "Bob", "Cid")]
    seen = seen_lists(Counter(names))
    assert seen is not None
    assert seen.answer == 'elements: {delimiter: ", "} if so, or elements: NONE'


def test_one_record_in_twenty_is_enough_where_values_are_many() -> None:
    many = Counter({f"X{n}": 1 for n in range(950)}) + Counter({"X1|X2": 60})
    assert seen_lists(many) is not None
    few = Counter({f"X{n}": 1 for n in range(950)}) + Counter({"X1|X2": 40})
    assert seen_lists(few) is None
