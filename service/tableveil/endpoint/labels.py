"""The labels of a release's column: which values each stands for, and which labels stand for some value both."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

ANY = "*"
"""The label that stands for any value, and the sign that stands for any character of a masked code."""

_TIMES = ("DATE", "TIMESTAMP")
_OPEN = ("DOUBLE", "TIMESTAMP")
_MOST_PAIRS = 4_000_000


class UnknownTextError(Exception):
    """A text that only the query itself computes."""


class Part(Enum):
    """The part that a column has beside the labels that it belongs to, or an answer of a function of labels."""

    LABEL = "label"
    LOW = "from"
    HIGH = "to"
    RANK = "rank"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class ReleaseTable:
    """A table of a release."""

    release: int
    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A column of labels; `bounds` is the type of the two columns of bounds beside it, if there are any.

    `levels` are the levels of its labels that the release tells; labels of level 0 are values.
    """

    table: ReleaseTable
    name: str
    bounds: str = ""
    levels: tuple[int, ...] = ()

    @property
    def of_time(self) -> bool:
        """Whether its bounds are times."""
        return self.bounds in _TIMES

    def beside(self, part: Part) -> str:
        """The name of a column beside it."""
        return f"{self.name}_{part.value}"


End = tuple[Any, int]
"""A value, and -1 if only those below it count, else 0. Days are the points of time at which they begin."""


@dataclass(frozen=True, slots=True)
class Label:
    """A label, and the ends of its values."""

    text: str
    rank: int
    low: End = (-inf, 0)
    high: End = (inf, 0)


class ReleasedLabels:
    """The labels of one column, in the order of their ranks."""

    def __init__(self, column: LabelColumn, labels: Iterable[tuple[Any, ...]]) -> None:
        """Takes the text, the rank and the bounds of each."""
        self.column = column
        self.by_text = {text: self._label(text, rank, *ends) for text, rank, *ends in labels}

    def _label(self, text: str, rank: int, low: Any = None, high: Any = None) -> Label:
        least, greatest = (datetime.min, datetime.max) if self.column.of_time else (-inf, inf)
        # Other than whole numbers and days, the upper end is no value of a label, unless it says so.
        is_open = self.column.bounds in _OPEN and None is not high != low and not text.endswith("]")
        ends = least if low is None else _point(low), greatest if high is None else _point(high)
        return Label(text, rank, (ends[0], 0), (ends[1], -is_open))

    @cached_property
    def is_masked(self) -> bool:
        """Whether they are codes in which a star stands for any character."""
        return not self.column.bounds and any(ANY in text and text != ANY for text in self.by_text)

    @cached_property
    def is_untold(self) -> bool:
        """Whether nothing tells which of them hold which others: groups that somebody listed, of several levels."""
        return not self.column.bounds and not self.is_masked and len(self._levels) > 1

    @property
    def _levels(self) -> tuple[int, ...]:
        """The levels of labels other than the one for any value, which is the last level of its hierarchy."""
        return self.column.levels[:-1] if ANY in self.by_text and self.column.levels[1:] else self.column.levels

    @property
    def are_values(self) -> bool:
        """Whether each label other than the one for any value is a value."""
        return self._levels in ((), (0,)) and not self.is_masked and not self.column.bounds

    @cached_property
    def is_ordered(self) -> bool:
        """Whether their texts have the order of their ranks, and none stands for numbers or times."""
        texts = [text for text in self.by_text if text != ANY]
        return not self.column.bounds and texts == sorted(texts)

    @cached_property
    def are_apart(self) -> bool:
        """Whether no value is under two of them."""
        if ANY in self.by_text or self.is_untold:
            return len(self.by_text) < 2
        if self.is_masked:
            # Codes with as many stars as all others hold each other only if they are the same.
            return len({text.count(ANY) for text in self.by_text}) == 1
        labels = sorted(self.by_text.values(), key=lambda label: label.low)
        return not self.column.bounds or not any(self.overlap(one, other) for one, other in pairwise(labels))

    def overlap(self, one: Label, other: Label) -> bool:
        """Whether some value may be under both."""
        if ANY in (one.text, other.text) or one is other or self.is_untold:
            return True
        if self.is_masked:
            signs = zip(one.text, other.text, strict=False)
            return len(one.text) == len(other.text) and all(ANY in (a, b) or a == b for a, b in signs)
        return bool(self.column.bounds) and max(one.low, other.low) <= min(one.high, other.high)

    def on_both_sides(self, operator: str, text: str) -> int:
        """How many labels have values of which a comparison is true, and others; all that it is no value for."""
        if (value := self._value(text)) is None:
            return len(self.by_text)
        limit = (value, 1 if operator in (">", "<=") else 0)
        return sum(label.low < limit <= label.high for label in self.by_text.values())

    def _value(self, text: str) -> Any:
        """The value of a column with bounds that a text means; None for none."""
        try:
            return _point(datetime.fromisoformat(text)) if self.column.of_time else float(text)
        except ValueError:
            return None

    def holding(self, text: str) -> list[str] | None:
        """The labels under which a value may be that is none of them; None if its text tells nothing."""
        labels = self.by_text.values()
        if self.column.bounds:
            value = self._value(text)
            held = [label.text for label in labels if value is not None and label.low <= (value, 0) <= label.high]
            return None if value is None else held
        if self.is_masked:
            return [label.text for label in labels if self.overlap(label, Label(text, 0))]
        return [label.text for label in labels if label.text == ANY] if self.are_values else None

    def left_out(self, asked: Collection[str]) -> list[str]:
        """The labels that share values with those asked for, and are not among them, by the narrowest of these."""
        named = [self.by_text[text] for text in asked if text in self.by_text and text != ANY]
        others = [label for label in self.by_text.values() if label.text not in asked]
        if not named or self.are_apart or not others:
            return []
        if self.is_untold:
            return [label.text for label in others if label.text == ANY or len(named) == 1]
        if len(named) * len(self.by_text) > _MOST_PAIRS:
            return [label.text for label in others]
        narrow = [label for label in named if not any(self._is_within(other, label) for other in named)]
        return [label.text for label in others if any(self.overlap(label, one) for one in narrow)]

    def _is_within(self, one: Label, other: Label) -> bool:
        """Whether a label holds another one, and more."""
        if self.is_masked:
            return self.overlap(one, other) and one.text.count(ANY) < other.text.count(ANY)
        return other.low <= one.low and one.high <= other.high and (one.low, one.high) != (other.low, other.high)


def _point(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else value
