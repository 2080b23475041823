"""Cells that look like lists: which delimiter stands between their elements, and how often."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tableveil.errors import shortened
from tableveil.policy import AROUND_ELEMENTS, Elements

_DELIMITERS = ("|", ";", ", ", "\n", "\t")
_ALSO_IN_OTHERS = (",", "/", "+", "&", "#", "~", "^", ":", " ")
"""Delimiters that dates, amounts and names have as well: elements of lists also stand alone, or at several places."""

_LEAST_SHARE = 0.05
"""From this share of the values, or of the records, that are lists, a column seems to have lists."""

_RECURRING = 0.5
"""A split value is a list if this share of its elements occur in other values too: parts of texts recur less."""


_MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class SeenLists:
    """A column whose cells look like lists.

    Attributes:
        elements: How the policy would say so.
        lists: How many of the different values that were looked at are lists.
        values: The different values that were looked at.
        largest: The share of the records with a value that have the most frequent element.
    """

    elements: Elements
    lists: int
    values: int
    largest: float

    def told(self, column: str) -> str:
        """A sentence about the column of that name."""
        how = f'by "{self.elements.delimiter}"' if self.elements.delimiter else "as JSON arrays"
        looked = f"{self.lists:,} of {self.values:,} different values"
        return f"{looked} of {shortened(column)} split {how} into elements that recur, so that cells seem to be lists"

    @property
    def answer(self) -> str:
        """How a policy says that cells are lists, and that they are none."""
        delimiter = f'{{delimiter: "{self.elements.delimiter}"}}' if self.elements.delimiter else "{}"
        return f"elements: {delimiter} if so, or elements: NONE"


def seen_lists(records: Mapping[str, int]) -> SeenLists | None:
    """The lists among different values with so many records each; None if hardly any value is one."""
    ways: list[tuple[Elements, Callable[[str], list[str]]]] = [(Elements(), _members)]
    ways += [(Elements(delimiter), _splitting(delimiter)) for delimiter in (*_DELIMITERS, *_ALSO_IN_OTHERS)]
    seen = [found for elements, split in ways if (found := _seen(records, elements, split)) is not None]
    return max(seen, key=lambda one: one.lists, default=None)


def _seen(records: Mapping[str, int], elements: Elements, split: Callable[[str], list[str]]) -> SeenLists | None:
    parts = {value: split(value) for value in records}
    if all(len(each) < 2 for each in parts.values()):
        return None
    if elements.delimiter in _ALSO_IN_OTHERS and not _exchange(elements.delimiter, parts.values()):
        return None
    occurring = Counter(element for each in parts.values() for element in set(each))
    lists = {
        value
        for value, each in parts.items()
        if len(each) > 1 and sum(occurring[element] > 1 for element in each) >= _RECURRING * len(each)
    }
    all_records = sum(records.values())
    if len(lists) < _LEAST_SHARE * len(records) and sum(records[v] for v in lists) < _LEAST_SHARE * all_records:
        return None
    having: Counter[str] = Counter()
    for value, each in parts.items():
        having.update(dict.fromkeys(each, records[value]))
    return SeenLists(elements, len(lists), len(records), max(having.values()) / all_records)


def _exchange(delimiter: str, cells: Iterable[Sequence[str]]) -> bool:
    """Whether some cells have more elements than others, of which most stand at several places, or in most lists alone.

    Texts and times are none, and neither do parts of amounts stand alone.
    """
    lengths, places, alone, lists = set[int](), defaultdict[str, set[int]](set), set[str](), list[Sequence[str]]()
    for cell in cells:
        lengths.add(len(cell))
        if len(cell) > 1:
            lists.append(cell)
        else:
            alone.update(cell)
        for place, element in enumerate(cell):
            places[element].add(place)
    most = _RECURRING * len(places)
    words = delimiter == " " and sum(map(_has_digit, places)) < most
    amounts = sum(map(str.isdigit, places)) >= most
    if len(lengths) < 2 or words or (delimiter == ":" and amounts):
        return False
    beside = 0 if amounts or delimiter in " :" else sum(not alone.isdisjoint(cell) for cell in lists)
    return sum(len(each) > 1 for each in places.values()) >= most or beside >= _MOSTLY * len(lists)


def _has_digit(element: str) -> bool:
    return any(map(str.isdigit, element))


def _splitting(delimiter: str) -> Callable[[str], list[str]]:
    return lambda value: _folded(part.strip(AROUND_ELEMENTS) for part in value.split(delimiter))


def _members(value: str) -> list[str]:
    """The members of a JSON array, or the text itself."""
    if not (value.lstrip().startswith("[") and value.rstrip().endswith("]")):
        return _folded([value])
    try:
        members = json.loads(value)
    except (ValueError, RecursionError):
        return _folded([value])
    return _folded(str(member) for member in members if member is not None)


def _folded(parts: Iterable[str]) -> list[str]:
    return [folded for part in parts if (folded := part.strip().casefold())]
