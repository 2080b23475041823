"""Columns that tell more of a quasi-identifier than its labels do: who sees a value knows what the label hides.

Two people with one value agree in what is hidden; or people with neighbouring values do, as of times on one day. It is
no finding that people under one label agree anyway, nor is a value that nobody shares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.privacy.exposure.cells import Codes, ValuePairs, counted, ranked, sampled, telling, totals
from tableveil.risk.unchanged import RIGHT, SHARED

LOOKED_AT = 1 << 16
"""The rows that show whether neighbours agree."""

_SPLIT, MOST_TOKENS, SPLIT_ROWS = re.compile(r"[\W_]+"), 6, 1 << 14

LEAST_DIGITS, MOST_DIGITS, MOST_CHARACTERS, PLACED = 10**5, 19, 40, 1 << 12
"""Digits of a date may stand within numbers from the first on; so many rows show where."""


@dataclass(frozen=True, eq=False)
class ValueReadings:
    """A column's values by their codes: which are `there`, their numbers (NaN where there is none), and their texts.

    Only columns of texts have `texts`.
    """

    there: NDArray[np.bool_]
    numbers: NDArray[np.float64]
    texts: NDArray[np.object_] | None


@dataclass(frozen=True, eq=False)
class Hidden:
    """The detail that a label hides: per own value its group, which is finer, and per group the label."""

    group: Codes
    label: Codes

    @classmethod
    def of(cls, finer: Codes, labels: Codes) -> Hidden:
        """By the finer groups and the labels of own values."""
        group, number = ranked(labels, finer)
        label = np.zeros(number, np.int64)
        label[group] = labels
        return cls(group, label)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often records with equal values agree in what is hidden, or such with `neighbouring` values."""

    share: float
    neighbouring: bool


def seen_in(cells: ValuePairs, hidden: Hidden, there: NDArray[np.bool_]) -> ValuePairs | None:
    """Pairs of values and groups, by the own values with which records have values; None if too few can agree.

    Records are people.
    """
    size, of_group = cells.of_value[there], totals(hidden.group, cells.of_own, len(hidden.label))
    shared = size[size >= 2]
    # No more can agree with one than there are in the largest group.
    if (shared * np.minimum((of_group.max(initial=1) - 1) / (shared - 1), 1)).sum() < (RIGHT - 1e-9) * shared.sum():
        return None
    at = there[cells.value]
    return counted(cells.value[at], hidden.group[cells.own[at]], cells.records[at], cells.values, len(hidden.label))


def agree_where_equal(seen: ValuePairs | None, hidden: Hidden) -> Agreement | None:
    """Whether people with equal values agree, if enough share theirs."""
    if seen is None:
        return None
    size = seen.of_own[seen.own]
    records, others = seen.records[size >= 2].astype(np.float64), size[size >= 2] - 1
    tried = float(records.sum())
    if tried < SHARED * float(seen.records.sum()):
        return None
    right = float((records * (records - 1) / others).sum()) / max(tried, 1.0)
    different = tried - int((seen.of_own >= 2).sum())
    of_group = totals(seen.value, seen.records, len(hidden.label))
    return Agreement(right, False) if telling(right, _by_chance(of_group, hidden.label), different) else None


def agree_where_near(along: Codes, hidden: Hidden) -> Agreement | None:
    """Whether neighbours agree, whose groups are in an order of values of their own; each group needs one border."""
    of_group = np.bincount(along, minlength=len(hidden.label))
    possible = len(along) - int((of_group > 0).sum())
    if possible <= 0:
        return None
    agreed = int((along[1:] == along[:-1]).sum())
    chance = min(_by_chance(of_group, hidden.label) * len(along) / possible, 1.0)
    share = Agreement(agreed / (len(along) - 1), True)
    return share if telling(agreed / possible, chance, possible) else None


def _by_chance(of_group: NDArray[np.int64], label: Codes) -> float:
    """How often two records under one label agree."""
    of_label = np.bincount(label, weights=of_group)[label]
    alone = of_label <= 1
    pairs = np.where(alone, 0.0, of_group * (of_group - 1) / np.maximum(of_label - 1, 1))
    return float(pairs.sum()) / max(float(of_group[~alone].sum()), 1.0)


def orders_of(read: ValueReadings) -> Iterator[Codes]:
    """The orders in which neighbours may agree: of numbers and times, of texts, and of texts from their ends."""
    if np.isfinite(read.numbers[read.there]).all():
        yield np.unique(read.numbers, return_inverse=True)[1].astype(np.int64)
    for texts in () if read.texts is None else (read.texts.tolist(), [text[::-1] for text in read.texts]):
        yield np.argsort(np.argsort(np.array(texts, np.object_), kind="stable"))


def parts_of(texts: Sequence[str]) -> Iterator[Codes]:
    """Values by parts of their texts: each run of words between separators that not all have as their first or last."""
    split = [_SPLIT.split(text)[:MOST_TOKENS] for text in texts]
    longest = max(map(len, split), default=0)
    for begin in range(longest):
        for end in range(begin + 1, longest + 1):
            if end - begin < longest:
                yield np.unique(["\0".join(words[begin:end]) for words in split], return_inverse=True)[1].astype(
                    np.int64
                )


def _characters(read: ValueReadings, values: Codes) -> NDArray[np.int64] | None:
    """The characters of values at each place from the first and from the last one; of whole numbers, the digits."""
    if read.texts is not None:
        texts = np.array([text[::step][:MOST_CHARACTERS] for text in read.texts[values] for step in (1, -1)])
        return np.asarray(texts.view(np.uint32).reshape(len(values), -1), np.int64)
    numbers = np.abs(read.numbers[values])
    if LEAST_DIGITS <= numbers.max() < 2.0**63 and (numbers % 1 == 0).all():
        return np.asarray(numbers.astype(np.int64)[:, None] // 10 ** np.arange(MOST_DIGITS) % 10)
    return None


def _by_places(characters: NDArray[np.int64], of: Hidden, group: Codes) -> Agreement | None:
    """Whether people agree who have the same characters where those of a group do, as in a date within a number."""
    first = np.argsort(group[:PLACED], kind="stable")
    mine, shown = group[first], characters[first]
    same = mine[1:] == mine[:-1]
    if not same.any():
        return None
    steady = (shown[1:] == shown[:-1])[same].mean(0) >= RIGHT
    steady &= (shown != shown[0]).any(0)
    if not steady.any():
        return None
    part, number = ranked(*characters[:, steady].T)
    pairs = counted(part, group, None, number, len(of.label))
    return agree_where_equal(pairs, of) or agree_where_near(group[np.argsort(part, kind="stable")], of)


def determined_by(
    read: ValueReadings,
    value: Codes,
    one_each: Codes,
    seen: Sequence[ValuePairs | None],
    hidden: Sequence[Hidden],
    own: Sequence[Codes],
) -> list[Agreement | None]:
    """How a column tells of each quasi-identifier.

    `seen` has the values with which all people are seen. In the rows here, of which `one_each` are one of each person,
    `value` has the codes of a column, and `own` those of own values.
    """
    found = [agree_where_equal(each, of) for each, of in zip(seen, hidden, strict=True)]
    # Rows are in an order of their own: those with equal values would follow it.
    at = sampled(6, one_each if read.there.all() else one_each[read.there[value[one_each]]], LOOKED_AT)
    if all(found) or not len(at):
        return found
    for order in orders_of(read):
        # Numbers of two bytes are sorted in a fraction of the time.
        along = at[np.argsort(order.astype(np.min_scalar_type(len(order)))[value[at]], kind="stable")]
        for j, of in enumerate(hidden):
            found[j] = found[j] or agree_where_near(of.group[own[j][along]], of)
    if read.texts is not None and not all(found):
        at = at[:SPLIT_ROWS]
        texts, place = np.unique(value[at], return_inverse=True)
        for part in parts_of(read.texts[texts].tolist()):
            for j, of in enumerate(hidden):
                pairs = counted(part[place], of.group[own[j][at]], None, int(part.max()) + 1, len(of.label))
                found[j] = found[j] or agree_where_equal(pairs, of)
    at = at[:SPLIT_ROWS]
    if not all(found) and (characters := _characters(read, value[at])) is not None:
        for j, of in enumerate(hidden):
            found[j] = found[j] or _by_places(characters, of, of.group[own[j][at]])
    return found
