"""The source's records and the released rows as small numbers: read once, for all columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tableveil.backend import Session

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Hashed:
    """A column of hashes: a `code` per record, and the hash of each code."""

    code: Codes
    hashes: NDArray[np.uint64]

    @property
    def number(self) -> int:
        """How many different hashes there are."""
        return len(self.hashes)

    def coded(self, others: NDArray[np.uint64]) -> Codes:
        """The codes of other rows' hashes; hashes that no record has share the next code."""
        positions = pc.fill_null(pc.index_in(pa.array(others), value_set=pa.array(self.hashes)), self.number)
        codes: Codes = positions.to_numpy().astype(np.int64)
        return codes


@dataclass(frozen=True, eq=False)
class Records:
    """The source's records, each of which occurs some `times`.

    `classes` has their place among those of `HeldRows`, -1 if it is none of these. They have own values, whose labels
    are `labels` by code, and what is hidden least `finer`, and values of the columns. `people` numbers whose they are,
    if some have several. `numbers` has those of `x<j>` and `y<i>`, NaN where there is none. By their `place`, no class
    comes first.
    """

    classes: Codes
    times: Codes
    own: tuple[Hashed, ...]
    labels: tuple[Codes, ...]
    finer: tuple[Codes, ...]
    values: tuple[Hashed, ...]
    people: Codes | None
    numbers: Mapping[str, NDArray[np.float64]]
    place: NDArray[np.uint64]

    def people_of(self, keys: Codes, number: int) -> tuple[Codes, Codes]:
        """The different keys, which are below the number, and how many people have each."""
        if self.people is None:
            return tally(keys, None if self._once else self.times, number)
        persons = int(self.people.max(initial=0)) + 1
        once = np.unique(keys * persons + self.people) // persons
        return tally(once, None, number)

    @cached_property
    def _once(self) -> bool:
        return bool((self.times == 1).all())


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Released rows by class, from 0: the codes of their values, and how many they are, or whose each is.

    `classes` ascends; `numbers` are the classes' own.
    """

    numbers: Codes
    classes: Codes
    rows: Codes
    values: tuple[Codes, ...]
    _counted: dict[int, tuple[Codes, Codes, Codes]] = field(default_factory=dict)

    def of(self, i: int) -> tuple[Codes, Codes, Codes]:
        """How often each class has each value of a column: classes, which ascend, values, and rows."""
        if i not in self._counted:
            values = int(self.values[i].max(initial=0)) + 1
            keys, rows = tally(self.classes * values + self.values[i], self.rows, len(self.numbers) * values)
            self._counted[i] = keys // values, keys % values, rows
        return self._counted[i]


def read_rows(
    session: Session, of: tuple[str, str, str], identifiers: int, columns: int, *, numbers: bool, people: bool = False
) -> tuple[Records, HeldRows]:
    """Reads the queries `of` records, of their own values, and of released rows, without rows if that is empty.

    `numbers` if the records have them, and `people` if these say whose they are.
    """
    own, values = [f"o{j}" for j in range(identifiers)], [f"v{i}" for i in range(columns)]
    columns_of_numbers = [f"y{i}" for i in range(columns) if numbers]
    shown = "".join(f", coalesce({name}, 'nan'::DOUBLE) AS {name}" for name in columns_of_numbers)
    whose, hashes = ", w" if people else "", ", ".join((*own, *values))
    read = session.arrays(f"SELECT class, n, {hashes}{whose}{shown}, hash({hashes}) AS mixed FROM ({of[0]})")
    of_values = tuple(_hashed(read[name]) for name in values)
    nothing = {name: np.zeros(0, np.int64) for name in ("class", "n")} | {v: np.zeros(0, np.uint64) for v in values}
    arrays = session.arrays(f"SELECT class, n, {', '.join(values)} FROM ({of[2]})") if of[2] else nothing
    held = held_rows(arrays, of_values)
    of_own = tuple(_hashed(read[name]) for name in own)
    place = np.minimum(np.searchsorted(held.numbers, read["class"]), max(len(held.numbers) - 1, 0))
    there = held.numbers[place] == read["class"] if len(held.numbers) else np.zeros(len(place), np.bool_)
    details = list(_details(session.arrays(f"{of[1]} ORDER BY j, o"), of_own))
    of_records = {name: read[name] for name in columns_of_numbers}
    if numbers:
        of_records |= {f"x{j}": details[j]["x"][of_own[j].code] for j in range(identifiers)}
    records = Records(
        np.where(there, place, -1),
        read["n"].astype(np.int64),
        of_own,
        tuple(_ranks(each["l"]) for each in details),
        tuple(_ranks(each["g"]) for each in details),
        of_values,
        _hashed(read["w"]).code if people else None,
        of_records,
        read["mixed"],
    )
    return records, held


def held_rows(arrays: Mapping[str, NDArray[Any]], values: Sequence[Hashed]) -> HeldRows:
    """Rows of a `class`, `n` of each, with hashes `v<i>`."""
    order = np.argsort(arrays["class"], kind="stable")
    ordered = arrays["class"][order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    codes = tuple(hashed.coded(arrays[f"v{i}"])[order] for i, hashed in enumerate(values))
    return HeldRows(ordered[begins].astype(np.int64), np.cumsum(begins) - 1, arrays["n"][order].astype(np.int64), codes)


def tally(keys: Codes, times: Codes | None, number: int) -> tuple[Codes, Codes]:
    """The different keys, which ascend are below the number, and how often they occur: some `times` each, or once."""
    # Sums of whole numbers below 2^53 are exact.
    if number <= max(1 << 14, 4 * len(keys)):
        counts = np.bincount(keys, weights=times, minlength=number)
        different = np.flatnonzero(counts > 0)
        return different, counts[different].astype(np.int64)
    order = slice(None) if times is None else np.argsort(keys)
    ordered = np.sort(keys) if times is None else keys[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    if times is None or not len(first):
        return ordered[first], np.diff(first, append=len(keys))
    return ordered[first], np.add.reduceat(times[order], first)


def spans(first: Codes, number: Codes) -> tuple[Codes, Codes]:
    """The positions `first`, `first + 1`, … of spans of these numbers of rows, and for each the place of its span."""
    span = np.repeat(np.arange(len(number)), number)
    return np.arange(len(span)) - (np.cumsum(number) - number)[span] + first[span], span


def _hashed(hashes: NDArray[Any]) -> Hashed:
    encoded = pa.array(hashes).dictionary_encode()
    return Hashed(encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_numpy())


def _details(read: Mapping[str, NDArray[Any]], own: Sequence[Hashed]) -> Iterator[dict[str, NDArray[Any]]]:
    """The details of each quasi-identifier's own values, by code; they are read in the order of hashes."""
    for j, hashed in enumerate(own):
        here = slice(*np.searchsorted(read["j"], [j, j + 1]))
        place = np.searchsorted(read["o"][here], hashed.hashes)
        yield {name: read[name][here][place] for name in "lgx"}


def _ranks(hashes: NDArray[Any]) -> Codes:
    codes: Codes = np.unique(hashes, return_inverse=True)[1].astype(np.int64)
    return codes
