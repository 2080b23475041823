"""Concatenations: a column's texts that are put together from pieces of two or three quasi-identifiers' texts.

A piece is a whole text, or some of its first or last characters. Only letters and digits are compared, without case, so
that separators do not matter.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from tableveil.privacy.exposure.cells import sampled
from tableveil.privacy.exposure.formulas import Formula, Numbers
from tableveil.risk.unchanged import LEAST_RECORDS, MOST_ADDED, PIECES, RIGHT, TELLING

FIRST_TRIED, TRIED = 40, 2_000

_SPARED = 0.1

Texts = Sequence[str | None]
"""A text per row, None where there is none."""


def plain_text(text: str) -> str:
    """The letters and digits of a text, without case."""
    return "".join(filter(str.isalnum, text.casefold()))


def concatenations_of(value: Texts, own: Sequence[Texts], hidden: Sequence[bool]) -> Iterator[Sequence[int]]:
    """The orders of quasi-identifiers whose pieces may make the values of the first records."""
    tried = [row for row in _some(len(value), TRIED // 4) if len(value[row] or "") > 1][:FIRST_TRIED]
    if len(tried) < LEAST_RECORDS:
        return
    values = [value[row] or "" for row in tried]
    enough = (RIGHT - _SPARED) * len(tried)
    beginning, end = dict[int, list[set[int]]](), dict[int, list[set[int]]]()
    for j, texts in enumerate(own):
        for places, first in ((beginning, True), (end, False)):
            found = _places(values, (_pieces(texts[row]) for row in tried), len(tried) - enough, first=first)
            if found is not None:
                places[j] = found
    for a, b in product(beginning, end):
        together = a != b and sum(bool(x & y) for x, y in zip(beginning[a], end[b], strict=True)) >= enough
        if together and (hidden[a] or hidden[b]):
            yield a, b
            continue
        for c in range(min(len(own), MOST_ADDED)):
            if len({a, b, c}) < 3 or not (hidden[a] or hidden[b] or hidden[c]):
                continue
            between = (
                any(v[s:t] in _pieces(own[c][row]) for s in x for t in y if s < t)
                for row, v, x, y in zip(tried, values, beginning[a], end[b], strict=True)
            )
            if sum(between) >= enough:
                yield a, c, b


def _places(values: Sequence[str], pieces: Iterable[set[str]], without: float, *, first: bool) -> list[set[int]] | None:
    """Where the first or last pieces of texts end or begin in the values; None if more than so many have none."""
    places, none = [], 0
    for text, there in zip(values, pieces, strict=True):
        at = {s for s in range(1, len(text)) if (text[:s] if first else text[s:]) in there}
        places.append(at)
        none += not at
        if none > without:
            return None
    return places


def _some(rows: int, most: int) -> list[int]:
    """Rows in an order of their own, in which no class comes before the others."""
    chosen: list[int] = sampled(4, np.arange(rows), most).tolist()
    return chosen


def _pieces(text: str | None) -> set[str]:
    return {piece(text, length) for length in PIECES} if text else set()


def piece(text: str, length: int | None) -> str:
    """All of a text, its first characters, or, of a negative length, its last ones."""
    return text[length:] if length is not None and length < 0 else text[:length]


def concatenation(value: Texts, own: Sequence[Texts], order: Sequence[int]) -> Formula | None:
    """The formula of pieces, in this order, that gives most of the values; its numbers stand for different texts.

    `numbered` makes the numbers of the values.
    """
    tried = [r for r in _some(len(value), TRIED) if value[r] and all(own[j][r] for j in order)]
    if len(tried) < LEAST_RECORDS:
        return None
    best, right = None, RIGHT * len(tried) - 1
    few = tried[:FIRST_TRIED]
    for lengths in product(PIECES, repeat=len(order)):
        if _right(value, own, order, lengths, few) < (RIGHT - _SPARED) * len(few):
            continue
        number = _right(value, own, order, lengths, tried)
        if number > right:
            best, right = lengths, number
    if best is None:
        return None
    numbers = numbered(value)
    different = {text: number for text, number in zip(value, numbers.tolist(), strict=True) if text is not None}
    put = [_put(own, order, best, row) for row in range(len(value))]
    predicted = np.array([np.nan if text is None else different.get(text, -1) for text in put], np.float64)
    chance = float((np.roll(numbers[tried], 1) == predicted[tried]).mean())
    return Formula(tuple(sorted(order)), predicted, 0.0, 0.0, chance) if chance <= TELLING else None


def numbered(value: Texts) -> Numbers:
    """A number per different text, NaN for None."""
    different = {text: number for number, text in enumerate(sorted({text for text in value if text is not None}))}
    return np.array([np.nan if text is None else different[text] for text in value], np.float64)


def _put(own: Sequence[Texts], order: Sequence[int], lengths: Sequence[int | None], row: int) -> str | None:
    parts = [own[j][row] for j in order]
    if not all(parts):
        return None
    return "".join(piece(part or "", length) for part, length in zip(parts, lengths, strict=True))


def _right(
    value: Texts, own: Sequence[Texts], order: Sequence[int], lengths: Sequence[int | None], rows: Sequence[int]
) -> int:
    return sum(value[row] == _put(own, order, lengths, row) for row in rows)
