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
from tableveil.privacy.exposure.determined import Hidden
from tableveil.privacy.exposure.pairs import OwnValues
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
class LoadedRows:
    """The rows, their own values and their values of the measured columns.

    `places` has the code in the rows of each of a dictionary's codes: ordered own values that share a place are one.
    `suppressed` marks the class of suppressed records. Where not `all_rows` are here, all are counted in the database.
    """

    session: Session
    rows: ClassRows
    suppressed: Flags
    own: tuple[OwnValues, ...]
    places: tuple[Codes, ...]
    hashed: tuple[Hashes, ...]
    counted: CountedRows
    all_rows: bool
    _coded: dict[int, tuple[Hashes, Codes]] = field(default_factory=dict)

    def coded(self, i: int) -> tuple[Hashes, Codes]:
        """The values in `ROWS` that the codes of a column stand for, which ascend, and the codes of the rows."""
        if i not in self._coded:
            # Arrow looks values up, where numpy would sort them all.
            encoded = pa.array(self.hashed[i]).dictionary_encode()
            different = encoded.dictionary.to_numpy()
            elsewhere = [] if self.all_rows else [self._grouped(0, i)["v"]]
            every = np.unique(np.concatenate([different, *elsewhere]))
            self._coded[i] = every, np.searchsorted(every, different)[encoded.indices.to_numpy()]
        return self._coded[i]

    def cells(self, j: int, i: int) -> ValuePairs:
        """How often all records have an own value together with a value."""
        own, (different, codes) = self.own[j], self.coded(i)
        if self.all_rows:
            return counted(own.codes, codes, self.rows.records, len(own.label), len(different))
        grouped = self._grouped(j, i)
        mine, value = self.places[j][grouped["q"]], np.searchsorted(different, grouped["v"])
        return counted(mine, value, grouped["n"].astype(np.int64), len(own.label), len(different))

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
    most = MOST_CELLS // (len(identifiers) + len(counted_rows.codes))
    where, share = _part(session, most, pool) if counted_rows.rows > most else ("", 1)
    arrays = session.arrays(f"SELECT {', '.join(counted_rows.names)} FROM {counted_rows.source} {where}")
    order = _order(arrays)
    arrays = {name: array[order] for name, array in arrays.items()}
    begins = np.ones(len(order), np.bool_)
    begins[1:] = arrays["class"][1:] != arrays["class"][:-1]
    weights = arrays["n"].astype(np.int64) if "n" in arrays else None
    if share > 1:
        weights = np.full(len(begins), share) if weights is None else weights * share
    own = [_own(released, arrays[f"q{j}"], pool=pool) for j, released in enumerate(identifiers)]
    owners = np.unique(arrays["w"], return_inverse=True)[1].astype(np.int64) if "w" in arrays else None
    return LoadedRows(
        session,
        ClassRows(np.cumsum(begins) - 1, weights, owners),
        arrays["class"][begins] == 0,
        tuple(values for values, _ in own),
        tuple(places for _, places in own),
        tuple(arrays[f"v{i}"] for i, _ in enumerate(counted_rows.codes)),
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
    mixed, shifted = (np.zeros(len(arrays["class"]), np.uint64) for _ in range(2))
    for array in arrays.values():
        np.bitwise_xor(mixed, array, out=mixed, dtype=np.uint64, casting="unsafe")
        mixed *= _MIXED
        mixed ^= np.right_shift(mixed, np.uint64(29), out=shifted)
    bits, places = (np.uint64(int(most).bit_length()) for most in (arrays["class"].max(initial=1), len(mixed)))
    if bits > _MOST_BITS:
        order: NDArray[np.intp] = np.lexsort((mixed, arrays["class"]))
        return order
    # To sort one key of all, the places of the rows as well, takes a quarter of the time.
    mixed >>= bits + places
    mixed <<= places
    mixed |= arrays["class"].astype(np.uint64) << (np.uint64(64) - bits)
    mixed |= np.arange(len(mixed), dtype=np.uint64)
    mixed.sort()
    mixed &= (np.uint64(1) << places) - np.uint64(1)
    return mixed.view(np.intp)


def _own(released: RecognizingColumn, codes: NDArray[Any], *, pool: bool) -> tuple[OwnValues, Codes]:
    """Own values, and their codes; they have one label where records have none, as in a pool at the top."""
    shown, positions, places = released.at_top() if pool else released, None, np.arange(released.distinct)
    if released.positions is not None:
        positions, places = np.unique(released.positions, return_inverse=True)
        codes = places[codes]
    one_label, finer = np.zeros(released.distinct if positions is None else len(positions), np.int64), None
    if shown.hides:
        hidden = (shown.finer, shown.groups) if positions is None else (np.arange(len(positions)), one_label)
        finer = Hidden.of(*hidden)
    label = one_label if pool or positions is not None else released.groups
    return OwnValues(codes, label, pool or released.hides, positions, finer), places
