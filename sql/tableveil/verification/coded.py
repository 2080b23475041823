"""The source's records and the released rows as small numbers: read once, for all columns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class OwnCodes:
    """A quasi-identifier's own values: a `code` per record; per code its `label`, what is hidden least, and `numbers`.

    A number is NaN where there is none.
    """

    code: Codes
    label: Codes
    finer: Codes
    numbers: Numbers

    @property
    def number(self) -> int:
        """How many codes there are."""
        return len(self.label)


@dataclass(frozen=True, eq=False)
class ValueCodes:
    """A column's values: a `code` per record, and of each code the hash, and the number: NaN where there is none."""

    code: Codes
    hashes: NDArray[np.uint64]
    numbers: Numbers

    @classmethod
    def of(cls, hashes: NDArray[Any], numbers: Numbers | None = None) -> Self:
        """By the hash of each record's value, and its number."""
        code, different = encoded(hashes)
        of_codes = np.full(len(different) + 1, np.nan)
        if numbers is not None:
            of_codes[code] = numbers
        return cls(code, different, of_codes)

    @property
    def number(self) -> int:
        """How many codes there are, with the one of all values that no record has."""
        return len(self.hashes) + 1


@dataclass(frozen=True, eq=False)
class Records:
    """The source's records, each of which occurs some `times`, or once.

    `classes` has their place among those of `HeldRows`, -1 if it is none of these. `people` numbers whose they are, if
    some have several. By their `place`, no class comes first.
    """

    classes: Codes
    times: Codes | None
    own: Sequence[OwnCodes]
    values: Sequence[ValueCodes]
    people: Codes | None
    place: NDArray[np.uint64]

    def people_of(self, keys: Codes, number: int) -> tuple[Codes, Codes]:
        """The different keys, which are below the number, and how many people have each."""
        if self.people is None:
            return tally(keys, self.times, number)
        persons = int(self.people.max(initial=0)) + 1
        return tally(np.unique(keys * persons + self.people) // persons, None, number)

    @cached_property
    def counts(self) -> tuple[list[Codes], list[Codes]]:
        """How many records have each own value, and each value."""
        own = [totals(each.code, self.times, each.number) for each in self.own]
        return own, [totals(each.code, self.times, each.number) for each in self.values]


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Released rows by class, from 0: the codes of their values, how many they are, and whose, if that is known.

    `classes` ascends; `numbers` are the classes' own.
    """

    numbers: Codes
    classes: Codes
    rows: Codes
    values: Sequence[Codes]
    people: Codes

    @classmethod
    def of(cls, numbers: Codes, arrays: Mapping[str, NDArray[Any]], values: Sequence[ValueCodes]) -> Self:
        """By the `class` of rows, hashes `v<i>` and `w` of the person, and `n`, the number of each, if not one."""
        order = np.argsort(arrays["class"])
        codes = [places_in(column.hashes, arrays[f"v{i}"], column.number - 1)[order] for i, column in enumerate(values)]
        rows = arrays["n"][order].astype(np.int64) if "n" in arrays else np.ones(len(order), np.int64)
        people = ranks(arrays["w"][order]) if "w" in arrays else np.zeros(len(order), np.int64)
        return cls(numbers, np.searchsorted(numbers, arrays["class"][order]), rows, codes, people)

    @cached_property
    def sizes(self) -> Codes:
        """The rows of each class."""
        return totals(self.classes, self.rows, len(self.numbers))

    def by_value(self, i: int) -> tuple[Codes, Codes, Codes]:
        """How often each class has each value of a column: classes, which ascend, values, and rows."""
        values = int(self.values[i].max(initial=0)) + 1
        keys, rows = tally(self.classes * values + self.values[i], self.rows, len(self.numbers) * values)
        return keys // values, keys % values, rows


Held = Callable[[], HeldRows]
"""The released rows are read when a rule asks for them: few rules hold."""


def totals(codes: Codes, times: Codes | None, number: int) -> Codes:
    """How often each code occurs: some `times` each, or once."""
    # Sums of whole numbers below 2^53 are exact.
    return np.bincount(codes, weights=times, minlength=number).astype(np.int64, copy=False)


def tally(keys: Codes, times: Codes | None, number: int) -> tuple[Codes, Codes]:
    """The different keys, which ascend below the number, and how often they occur: some `times` each, or once."""
    if number <= max(1 << 14, 4 * len(keys)):
        counts = totals(keys, times, number)
        different = np.flatnonzero(counts)
        return different, counts[different]
    order = slice(None) if times is None else np.argsort(keys)
    ordered = np.sort(keys) if times is None else keys[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    if times is None or not len(first):
        return ordered[first], np.diff(first, append=len(keys))
    return ordered[first], np.add.reduceat(times[order], first)


def places_in(known: NDArray[Any], wanted: NDArray[Any], none: int) -> Codes:
    """The place of each wanted one among the known ones, or `none`."""
    places: Codes = pc.fill_null(pc.index_in(pa.array(wanted), value_set=pa.array(known)), none).to_numpy()
    return places.astype(np.int64)


def encoded(hashes: NDArray[Any]) -> tuple[Codes, NDArray[np.uint64]]:
    """A code for each hash, and the hash of each code."""
    # Arrow looks hashes up, where numpy would sort them.
    coded = pa.array(hashes).dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary.to_numpy()


def mixed(hashes: Iterable[NDArray[Any]]) -> NDArray[np.uint64]:
    """One hash of all that stand beside each other."""
    first, *others = hashes
    together = first.view(np.uint64).copy()
    for each in others:
        together *= _ODD
        together += each.view(np.uint64)
    return together


def looked_up(keys: Codes, numbers: Codes, wanted: Codes) -> Codes:
    """The numbers of wanted keys among those that ascend, 0 where there are none."""
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, numbers[place], 0)


def spans(of: Codes, wanted: Codes) -> tuple[Codes, Codes]:
    """Where each wanted one stands in numbers that ascend, and for each such position the place of the wanted one."""
    first = np.searchsorted(of, wanted)
    number = np.searchsorted(of, wanted, side="right") - first
    span = np.repeat(np.arange(len(number)), number)
    return np.arange(len(span)) - (np.cumsum(number) - number)[span] + first[span], span


def ranks(hashes: NDArray[Any]) -> Codes:
    """A number from 0 per different one."""
    codes: Codes = np.unique(hashes, return_inverse=True)[1].astype(np.int64)
    return codes
