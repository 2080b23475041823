"""The labels of a release's column: which values each stands for, and which labels stand for some value both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

ANY = "*"
"""The label that stands for any value, and the sign that stands for any character of a masked code."""

_WHOLE = ("BIGINT", "DATE")
_TIMES = ("DATE", "TIMESTAMP")
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


@dataclass(frozen=True)
class Label:
    """A label; a bound that it does not have is None."""

    text: str
    rank: int
    low: Any = None
    high: Any = None


class Look(Protocol):
    """Looks into the tables that a statement names."""

    @property
    def columns(self) -> Callable[[ReleaseTable], Mapping[str, tuple[Part, LabelColumn] | None]]:
        """The columns of a table, each with the labels that it belongs to, if any."""

    @property
    def estimates(self) -> Callable[[ReleaseTable], Mapping[str, LabelColumn]]:
        """The columns of an estimated table that have numbers or times, with the labels that they are drawn under."""

    @property
    def values(self) -> Callable[[ReleaseTable, str, int], Sequence[str]]:
        """At most so many different values of a column as texts, labels by their rank; without NULL."""

    @property
    def labels(self) -> Callable[[LabelColumn], ReleasedLabels]:
        """The labels of a column."""

    def bind(self, parameters: int, names: Sequence[str]) -> None:
        """Takes the values of so many parameters, if these are bound already; `names` are theirs if they have any."""

    def texts(self, constant: str, names: Collection[str]) -> Sequence[str] | None:
        """The texts that a constant expression gives, a list's each; None if its parameters are not bound yet.

        Raises:
            UnknownTextError: it has no value.
        """

    def matching(self, condition: str, texts: Sequence[str], names: Collection[str]) -> Sequence[str] | None:
        """The ones among some texts, each called `label`, that meet a condition of constants."""


class ReleasedLabels:
    """The labels of one column, in the order of their ranks."""

    def __init__(self, column: LabelColumn, labels: Iterable[Label]) -> None:
        self.column = column
        self.by_text = {label.text: label for label in labels}

    @cached_property
    def is_masked(self) -> bool:
        """Whether they are codes in which a star stands for any character."""
        codes = [text for text in self.by_text if text != ANY]
        return not self.column.bounds and any(ANY in text for text in codes)

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

    @property
    def are_plain(self) -> bool:
        """Whether they are values in the order of their texts."""
        return self.are_values and self.is_ordered and ANY not in self.by_text

    @cached_property
    def are_apart(self) -> bool:
        """Whether no value is under two of them."""
        labels = list(self.by_text.values())
        if len(labels) < 2:
            return True
        if ANY in self.by_text or self.is_untold:
            return False
        if not self.column.bounds:
            # Codes with as many stars as all others hold each other only if they are the same.
            return not self.is_masked or len({text.count(ANY) for text in self.by_text}) == 1
        ends = sorted(labels, key=lambda label: (label.low is not None, label.low or 0))
        return not any(self.overlap(one, other) for one, other in pairwise(ends))

    def overlap(self, one: Label, other: Label) -> bool:
        """Whether some value may be under both."""
        if ANY in (one.text, other.text) or one is other:
            return True
        if self.column.bounds:
            low = max((label.low for label in (one, other) if label.low is not None), default=None)
            high = min((label.high for label in (one, other) if label.high is not None), default=None)
            if low is None or high is None or low < high:
                return True
            return bool(low == high) and all(self._includes(label, high) for label in (one, other))
        if self.is_masked:
            return len(one.text) == len(other.text) and all(
                ANY in (a, b) or a == b for a, b in zip(one.text, other.text, strict=True)
            )
        return self.is_untold

    def _includes(self, label: Label, value: Any) -> bool:
        above = label.low is None or label.low <= value
        if label.high is None or value < label.high:
            return bool(above)
        # Other than whole numbers and days, the upper end is no value of a label, unless it says so.
        closed = self.column.bounds in _WHOLE or label.low == label.high or label.text.endswith("]")
        return bool(above) and value == label.high and closed

    def on_both_sides(self, operator: str, text: str) -> int:
        """How many labels have values of which a comparison is true, and others; all that it is no value for."""
        if (limit := self._value(text)) is None:
            return len(self.by_text)
        strict = operator in (">", "<=")

        def is_on_one_side(label: Label) -> bool:
            low, high = label.low, label.high
            above = low is not None and (low > limit if strict else low >= limit)
            below = high is not None and (
                high < limit or (high == limit and (strict or not self._includes(label, limit)))
            )
            return above or below or (low is not None and low == high)

        return sum(not is_on_one_side(label) for label in self.by_text.values())

    def _value(self, text: str) -> Any:
        """The value of a column with bounds that a text means; None for none."""
        try:
            return _time(datetime.fromisoformat(text)) if self.column.of_time else float(text)
        except ValueError:
            return None

    def holding(self, text: str) -> list[str] | None:
        """The labels under which a value may be that is none of them; None if its text tells nothing."""
        if self.column.bounds:
            value = self._value(text)
            return (
                None
                if value is None
                else [label.text for label in self.by_text.values() if self._includes(label, value)]
            )
        if self.is_masked:
            code = Label(text, 0)
            return [label.text for label in self.by_text.values() if self.overlap(label, code)]
        return [text for text in self.by_text if text == ANY] if self.are_values else None

    def left_out(self, asked: Collection[str]) -> list[str]:
        """The labels that share values with those asked for, and are not among them, by the narrowest of these."""
        named = [self.by_text[text] for text in asked if text in self.by_text and text != ANY]
        if not named or self.are_apart or set(self.by_text) <= set(asked):
            return []
        if self.is_untold:
            is_chosen = len(named) > 1
            return [text for text in self.by_text if text not in asked and (text == ANY or not is_chosen)]
        if len(named) * len(self.by_text) > _MOST_PAIRS:
            return [text for text in self.by_text if text not in asked]
        narrow = [label for label in named if not any(self._is_within(other, label) for other in named)]
        return [
            label.text
            for label in self.by_text.values()
            if label.text not in asked and any(self.overlap(label, one) for one in narrow)
        ]

    def _is_within(self, one: Label, other: Label) -> bool:
        """Whether a label holds another one, and more."""
        if not self.overlap(one, other) or (one.low, one.high, one.text.count(ANY)) == (
            *(other.low, other.high, other.text.count(ANY)),
        ):
            return False
        if self.is_masked:
            return one.text.count(ANY) < other.text.count(ANY)
        below = other.low is None or (one.low is not None and one.low >= other.low)
        above = other.high is None or (one.high is not None and one.high <= other.high)
        return below and above


def _time(value: date | datetime) -> datetime:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def comparable(bound: Any) -> Any:
    """A bound as it is compared with others: days as the points of time at which they begin."""
    return _time(bound) if isinstance(bound, date) else bound
