"""Concatenations: a column's texts that are put together from pieces of two or three quasi-identifiers' texts.

A piece is a whole text, or some of its first or last characters. Only letters and digits are compared, without case, so
that separators do not matter.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from tableveil.privacy.exposure.cells import sampled
from tableveil.privacy.exposure.formulas import ByFormula
from tableveil.privacy.exposure.rows import ClassRows
from tableveil.risk.unchanged import LEAST_RECORDS, MOST_ADDED, PIECES, RIGHT, TELLING

FIRST_TRIED, TRIED = 40, 2_000

_SPARED = 0.1

_MISSING = "\0"
"""Stands for a text that is not there: no plain text has it."""

Texts = Callable[[int], str | None]
"""The text of a row, None where there is none."""

Piece = tuple[int, int | None]
"""The quasi-identifier, and how many of its first characters, or, negative, of its last ones; None for all."""


def plain_text(text: str) -> str:
    """The letters and digits of a text, without case."""
    return "".join(filter(str.isalnum, text.casefold()))


def concatenations(rows: ClassRows, value: Texts, own: Sequence[Texts], hidden: Sequence[bool]) -> Iterator[ByFormula]:
    """The formulas of pieces that give most of the values: their numbers stand for texts."""
    some = sampled(4, np.arange(len(rows)), TRIED // 4).tolist()
    few = [row for row in some if len(value(row) or "") > 1][:FIRST_TRIED]
    if len(few) < LEAST_RECORDS:
        return
    first = [[text(row) or _MISSING for row in few] for text in own]
    for pieces in _passing([value(row) or "" for row in few], first, hidden):
        formula = _concatenated(rows, value, own, pieces)
        if formula is not None:
            yield formula


def _passing(
    values: Sequence[str], own: Sequence[Sequence[str]], hidden: Sequence[bool]
) -> Iterable[list[tuple[Piece, ...]]]:
    """The pieces that make nearly all of a few values, by the order of their quasi-identifiers."""
    orders, enough = defaultdict[tuple[int, ...], list[tuple[Piece, ...]]](list), (RIGHT - _SPARED) * len(values)
    cuts = [(length, _cut(length)) for length in PIECES]
    texts = {(j, length): [text[cut] for text in each] for j, each in enumerate(own) for length, cut in cuts}
    begins, ends = (
        [piece for piece, of in texts.items() if sum(map(fits, values, of)) >= enough]
        for fits in (str.startswith, str.endswith)
    )
    for first, last in product(begins, ends):
        between = [(piece,) for piece in texts if piece[0] < MOST_ADDED and piece[0] not in (first[0], last[0])]
        for middle in ((), *between) if first[0] != last[0] else ():
            pieces = (first, *middle, last)
            order = tuple(j for j, _ in pieces)
            put = map("".join, zip(*(texts[piece] for piece in pieces), strict=True))
            if any(hidden[j] for j in order) and sum(map(str.__eq__, values, put)) >= enough:
                orders[order].append(pieces)
    return orders.values()


def _concatenated(
    rows: ClassRows, value: Texts, own: Sequence[Texts], possible: Sequence[tuple[Piece, ...]]
) -> ByFormula | None:
    """The formula of those of the possible pieces that give most values, if these are enough, and tell something."""
    order = [j for j, _ in possible[0]]
    some = sampled(4, np.arange(len(rows)), TRIED).tolist()
    tried = [row for row in some if value(row) and all(own[j](row) for j in order)]
    if len(tried) < LEAST_RECORDS:
        return None
    right = [sum(value(row) == _put(own, pieces, row) for row in tried) for pieces in possible]
    if max(right) <= RIGHT * len(tried) - 1:
        return None
    best = possible[right.index(max(right))]
    texts, put = [value(row) for row in range(len(rows))], (_put(own, best, row) for row in range(len(rows)))
    codes = {text: number for number, text in enumerate(sorted({text for text in texts if text is not None}))}
    numbers = np.array([np.nan if text is None else codes[text] for text in texts], np.float64)
    predicted = np.array([np.nan if _MISSING in text else codes.get(text, -1) for text in put], np.float64)
    chance = float((np.roll(numbers[tried], 1) == predicted[tried]).mean())
    return ByFormula(rows, numbers, tuple(sorted(order)), predicted, 0.0, 0.0, chance) if chance <= TELLING else None


def _cut(length: int | None) -> slice:
    return slice(length, None) if length is not None and length < 0 else slice(length)


def _put(own: Sequence[Texts], pieces: Sequence[Piece], row: int) -> str:
    return "".join((own[j](row) or _MISSING)[_cut(length)] for j, length in pieces)
