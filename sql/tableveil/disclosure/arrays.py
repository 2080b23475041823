"""The rows of `ROWS` as arrays: all of them where they are few, else those of some classes beside counts of all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tableveil.backend import Session
from tableveil.disclosure.coded_rows import ROWS, CountedRows
from tableveil.privacy.exposure.cells import Codes, Flags, ValuePairs, counted
from tableveil.privacy.exposure.rows import ClassRows
from tableveil.release.columns import RecognizingColumn
from tableveil.risk.unchanged import MOST_CELLS

MANY = 1_000_000
"""Beyond so many values of a column, those that no looked-at class has are counted as one."""

Hashes = NDArray[Any]
"""The values in `ROWS`: codes, or hashes, which have a sign in some warehouses."""

_MIXED = np.uint64(0x9E3779B97F4A7C15)

_MOST_BITS = 20
"""The most bits of a class's number in one key: the others tell nearly all its rows apart. Hashes have more bits."""


@dataclass(frozen=True, eq=False)
class Own:
    """A quasi-identifier's own values in the rows: a code each, of so many `owns`.

    Ordered ones have `positions`, which ascend; the dictionary's codes have them at their `place`.
    """

    codes: Codes
    owns: int
    place: Codes | None
    positions: NDArray[np.float64] | None


@dataclass(eq=False)
class LoadedRows:
    """The rows, their own values and their values of the measured columns.

    `suppressed` marks the class of suppressed records. Where not `all_rows` are here, all are counted in the database.
    """

    session: Session
    rows: ClassRows
    suppressed: Flags
    own: tuple[Own, ...]
    hashed: tuple[Hashes, ...]
    counted: CountedRows
    all_rows: bool
    _different: dict[int, Hashes] = field(default_factory=dict)
    _codes: dict[int, Codes] = field(default_factory=dict)

    def values(self, i: int) -> tuple[Codes, int]:
        """The codes of a column's values in the rows, and their number."""
        if i not in self._codes:
            different = self.different(i)
            self._codes[i] = np.searchsorted(different, self.hashed[i]).astype(np.int64)
        return self._codes[i], len(self.different(i))

    def different(self, i: int) -> Hashes:
        """The value in `ROWS` that each code of a column stands for."""
        if i not in self._different:
            if self.all_rows:
                self._different[i], self._codes[i] = _coded(self.hashed[i])
            else:
                self._different[i] = np.unique(np.concatenate([self._grouped(0, i)["v"], self.hashed[i]]))
        return self._different[i]

    def cells(self, j: int, i: int) -> ValuePairs:
        """How often all records have an own value together with a value."""
        own, (codes, values) = self.own[j], self.values(i)
        if self.all_rows:
            return counted(own.codes, codes, self.rows.records, own.owns, values)
        grouped = self._grouped(j, i)
        mine = grouped["q"].astype(np.int64)
        mine = mine if own.place is None else own.place[mine]
        value = np.searchsorted(self.different(i), grouped["v"])
        return counted(mine, value, grouped["n"].astype(np.int64), own.owns, values)

    def _grouped(self, j: int, i: int) -> dict[str, NDArray[Any]]:
        name, value, join = f"v{i}", f"v{i}", ""
        if self._many[i]:
            zero = "0::BIGINT" if self.hashed[i].dtype == np.int64 else "0::UBIGINT"
            value, join = f"coalesce(here, {zero})", f"LEFT JOIN held_values ON here = {name}"
        with self.session.relation("held_values", pa.table({"here": np.unique(self.hashed[i])})):
            return self.session.arrays(
                f"SELECT q{j} AS q, {value} AS v, {self.counted.records} AS n FROM {ROWS} {join} GROUP BY ALL"
            )

    @cached_property
    def _many(self) -> list[bool]:
        names = [f"approx_count_distinct(v{i})" for i, _ in enumerate(self.hashed)]
        numbers = self.session.row(f"SELECT {', '.join(names)} FROM {ROWS}")
        return [number > MANY for number in numbers]


def load(
    session: Session, counted_rows: CountedRows, identifiers: Sequence[RecognizingColumn], pool: bool
) -> LoadedRows:
    """Reads the rows. With a `pool`, suppressed records are a class that is looked at."""
    values = [f"v{i}" for i, _ in enumerate(counted_rows.codes)]
    names = [*(f"q{j}" for j, _ in enumerate(identifiers)), *values]
    most = MOST_CELLS // len(names)
    where, share = "", 1
    if counted_rows.rows > most:
        where, share = _part(session, most, pool)
    selected = ", ".join(("class", *names))
    people = ", w" if counted_rows.people else ""
    records = ", n" if counted_rows.records != "count(*)" else ""
    arrays = session.arrays(f"SELECT {selected}{people}{records} FROM {ROWS} {where}")
    order = _order(arrays)
    arrays = {name: array[order] for name, array in arrays.items()}
    begins = np.ones(len(order), np.bool_)
    begins[1:] = arrays["class"][1:] != arrays["class"][:-1]
    weights = arrays["n"].astype(np.int64) if "n" in arrays else None
    if share > 1:
        weights = np.full(len(begins), share) if weights is None else weights * share
    owners = np.unique(arrays["w"], return_inverse=True)[1].astype(np.int64) if "w" in arrays else None
    return LoadedRows(
        session,
        ClassRows(np.cumsum(begins) - 1, weights, owners),
        arrays["class"][begins] == 0,
        tuple(_own(released, arrays[f"q{j}"]) for j, released in enumerate(identifiers)),
        tuple(arrays[name] for name in values),
        counted_rows,
        not where,
    )


def _part(session: Session, most: int, pool: bool) -> tuple[str, int]:
    """The condition for the rows of some classes, whose numbers are random, and the share of these rows.

    The first class is always looked at, however large it is.
    """
    shown = "TRUE" if pool else "class > 0"
    last, first_size = session.row(
        "SELECT max(class), min_by(rows, class) FROM (SELECT class, count(*) AS rows, "
        f"sum(count(*)) OVER (ORDER BY class) AS upto FROM {ROWS} WHERE {shown} GROUP BY class "
        f"QUALIFY upto <= {most} OR upto = rows)"
    )
    share = (int(first_size) - 1) // most + 1
    return f"WHERE {shown} AND class <= {last}" + (f" AND rowid % {share} = 0" if share > 1 else ""), share


def _order(arrays: dict[str, NDArray[Any]]) -> NDArray[np.intp]:
    """By class, and within one by numbers that do not depend on the order of the rows, but for accidents."""
    mixed = np.zeros(len(arrays["class"]), np.uint64)
    for array in arrays.values():
        mixed = (mixed ^ array.astype(np.uint64)) * _MIXED
        mixed ^= mixed >> np.uint64(29)
    bits = np.uint64(int(arrays["class"].max(initial=1)).bit_length())
    if bits > _MOST_BITS:
        order: NDArray[np.intp] = np.lexsort((mixed, arrays["class"]))
    else:
        # One key of both takes half the time of two.
        by_class = arrays["class"].astype(np.uint64) << (np.uint64(64) - bits)
        order = np.argsort(by_class | mixed >> bits, kind="stable")
    return order


def _coded(hashes: Hashes) -> tuple[Hashes, Codes]:
    """The different ones, which ascend, and the place of each; Arrow looks them up, where numpy would sort them all."""
    encoded = pa.array(hashes).dictionary_encode()
    different = encoded.dictionary.to_numpy()
    order = np.argsort(different)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return different[order], place[encoded.indices.to_numpy()]


def _own(released: RecognizingColumn, codes: NDArray[Any]) -> Own:
    own = codes.astype(np.int64)
    if released.positions is None:
        return Own(own, released.distinct, None, None)
    positions, place = np.unique(released.positions, return_inverse=True)
    return Own(place[own].astype(np.int64), len(positions), place.astype(np.int64), positions)
