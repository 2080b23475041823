"""The sketches of releases' sources, which recognize people again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tableveil.backend import Ledger
from tableveil.source.sketch import LEVEL_SHIFT, ROWS, Sketch, ValueSample
from tableveil.state.mapper import Table

Sizes = Counter[int]
"""The number of values by the number of records that have them."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """An earlier release's sample beside one of a sketch, at the scale of the coarser one.

    `shared` are the values that equally many records have in both, among all in `theirs` and all in `mine`.
    `their_columns` is the number of columns among which the one like `column` was found. The densities are 0 if both
    columns have one name. `values` are shared whatever their numbers of records, which make `pairs` of a record of each
    at the scale; `filled` says how densely both columns' values lie, and is None where nobody looked at rows.
    """

    release: int
    column: str
    scale: int
    their_records: int
    their_columns: int
    theirs: Sizes
    mine: Sizes
    shared: Sizes
    their_density: float = 0.0
    my_density: float = 0.0
    their_column: str = ""
    position: int = 0
    own: int = 0
    values: int = 0
    pairs: int = 0
    filled: tuple[float, float] | None = None


_ALL = 2**62
"""More records than any value has."""

_SAMPLES = Table(
    "release_samples",
    ValueSample,
    *("release", "source_records"),
    position=True,
    names={"column": "column_name", "values": None, "records": None, "cells": None},
)


def insert(ledger: Ledger, release: int, sketch: Sketch) -> None:
    """Stores the sketch of a release; call it in the transaction that writes the release."""
    _SAMPLES.insert(ledger, sketch.samples, release, sketch.records)
    with ledger.relation("sampled", _values(sketch)):
        ledger.execute(
            "INSERT INTO tableveil.release_sample_values (release, position, value, records, cells) "
            "SELECT ?, position, value, records, cells FROM sampled ORDER BY position, value",
            [release],
        )


def find(ledger: Ledger, release: int) -> Sketch | None:
    """The sketch of a release, if it has one."""
    stored = _SAMPLES.keyed(ledger, "release = ?", [release], "ORDER BY position")
    if not stored:
        return None
    # All samples of a release have its number of records.
    ((_, records, _), _), *_ = stored
    arrays = ledger.arrays(
        "SELECT position, value, records, cells FROM tableveil.release_sample_values WHERE release = ? "
        "ORDER BY position, value",
        [release],
    )
    ends = np.searchsorted(arrays["position"], np.arange(len(stored) + 1))
    samples_of = []
    for (_, sample), begin, end in zip(stored, ends, ends[1:], strict=False):
        values, counts = arrays["value"][begin:end].astype(np.uint64), arrays["records"][begin:end].astype(np.int64)
        samples_of.append(replace(sample, values=values, records=counts, cells=_cells(arrays["cells"][begin:end])))
    return Sketch(records, tuple(samples_of))


def _cells(stored: NDArray[np.object_]) -> NDArray[np.uint16] | None:
    """The cells of values, which those without have left out; None if all have none."""
    width = max((len(each) for each in stored if isinstance(each, bytes | bytearray)), default=0)
    if not width:
        return None
    nothing = bytes(width)
    joined = b"".join(bytes(each) if isinstance(each, bytes | bytearray) else nothing for each in stored)
    return np.frombuffer(joined, np.uint16).reshape(len(stored), width // 2)


def forget(ledger: Ledger, release: int) -> None:
    """Deletes the sketch of a release that nobody may see any more; call it in a transaction."""
    _SAMPLES.delete(ledger, release)
    ledger.execute("DELETE FROM tableveil.release_sample_values WHERE release = ?", [release])


def sampled_columns(ledger: Ledger, release: int) -> list[str]:
    """The columns that a release's sketch has, which are those that vary; each once."""
    query = "SELECT column_name FROM tableveil.release_samples WHERE release = ? AND column_name <> ? ORDER BY position"
    return list(dict.fromkeys(name for (name,) in ledger.rows(query, [release, ROWS])))


def subtract(ledger: Ledger, release: int, samples: Mapping[str, ValueSample], whole: Mapping[str, str]) -> None:
    """Takes the records in samples, by column, out of a release's sketch; call it in a transaction.

    Values of the columns `whole`, each with the name of its sample, go whatever their numbers of records. Without a
    sample of the rows, all of the rows' values go. A further sample of a column, as if each value had one record, keeps
    the values that its first one keeps. The rows of a value go with any record of it, and those of all values
    without a sample of the column.
    """
    by_name = {name.casefold(): sample for name, sample in samples.items()}
    gone = {name.casefold(): samples[sample] for name, sample in whole.items()}
    query = "SELECT position, column_name FROM tableveil.release_samples WHERE release = ? ORDER BY position"
    first = dict[str, int]()
    for position, name in ledger.rows(query, [release]):
        here = "release = ? AND position = ?"
        sample = gone.get(name.casefold()) or by_name.get(name.casefold())
        _forget_rows(ledger, release, position, sample)
        if first.setdefault(name, position) != position:
            ledger.execute(
                f"DELETE FROM tableveil.release_sample_values WHERE {here} AND value NOT IN "
                f"(SELECT value FROM tableveil.release_sample_values WHERE {here})",
                [release, position, release, first[name]],
            )
            continue
        if sample is None and name == ROWS:
            ledger.execute(f"DELETE FROM tableveil.release_sample_values WHERE {here}", [release, position])
        elif sample is not None:
            records = sample.records if name.casefold() not in gone else np.full(len(sample.records), _ALL, np.int64)
            with ledger.relation("erased", pa.table({"erased_value": sample.values, "erased_records": records})):
                ledger.execute(
                    "UPDATE tableveil.release_sample_values SET records = records - erased_records FROM erased "
                    f"WHERE value = erased_value AND {here}",
                    [release, position],
                )
            query = f"DELETE FROM tableveil.release_sample_values WHERE {here} AND records <= 0"
            ledger.execute(query, [release, position])


def _forget_rows(ledger: Ledger, release: int, position: int, sample: ValueSample | None) -> None:
    """Deletes the rows of the values of a sample, or of all."""
    values = np.empty(0, np.uint64) if sample is None else sample.values
    with ledger.relation("erased", pa.table({"erased_value": values})):
        among = "" if sample is None else "AND value IN (SELECT erased_value FROM erased)"
        ledger.execute(
            "UPDATE tableveil.release_sample_values SET cells = NULL WHERE cells IS NOT NULL AND release = ? "
            f"AND position = ? {among}",
            [release, position],
        )


def alike(ledger: Ledger, sketch: Sketch, others: Collection[int]) -> Iterator[Likeness]:
    """The samples of these other releases that have a value in common with one of the sketch.

    Columns are compared with columns, and rows with rows.
    """
    if not others:
        return
    with ledger.relation("sampled", _values(sketch, rows=False)):
        shared = ledger.rows(
            "SELECT release, theirs.position, sampled.position, theirs.records, sampled.records, "
            "(value >> ?)::INTEGER AS level, count(*) "
            "FROM tableveil.release_sample_values AS theirs JOIN sampled USING (value) "
            # Written out, the numbers keep DuckDB from reading what it has of other releases.
            f"WHERE release IN ({', '.join(map(str, sorted(others))) or 'NULL'}) GROUP BY ALL ORDER BY ALL",
            [LEVEL_SHIFT],
        )
    releases = sorted({release for release, *_ in shared})
    if not releases:
        return
    samples = {
        (release, position): sample
        for release, position, *sample in ledger.rows(
            "SELECT release, position, column_name, scale, density, filled, source_records "
            "FROM tableveil.release_samples WHERE list_contains(?::BIGINT[], release)",
            [releases],
        )
    }
    columns = Counter(release for (release, _), (column, *_) in samples.items() if column != ROWS)
    theirs: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for release, position, *sample in ledger.rows(
        "SELECT release, position, records, (value >> ?)::INTEGER AS level, count(*) "
        "FROM tableveil.release_sample_values WHERE list_contains(?::BIGINT[], release) GROUP BY ALL",
        [LEVEL_SHIFT, releases],
    ):
        theirs.setdefault((release, position), []).append(tuple(sample))
    for (release, position, own), rows in groupby(shared, key=lambda row: row[:3]):
        mine = sketch.samples[own]
        their_column, their_scale, their_density, their_filled, their_records = samples[release, position]
        if (their_column == ROWS) != (mine.column == ROWS):
            continue
        scale = max(mine.scale, their_scale)
        kept = mine.values >> np.uint64(LEVEL_SHIFT) >= scale
        both = [row[3:] for row in rows if row[5] >= scale]
        if both:
            one_name = their_column.casefold() == mine.column.casefold()
            their_known, my_known = (0.0, 0.0) if one_name else (their_density, mine.density)
            filled = None if their_filled is None or mine.filled is None else (their_filled, mine.filled)
            yield Likeness(
                release,
                mine.column,
                scale,
                their_records,
                1 if mine.column == ROWS else columns[release],
                _sizes(scale, theirs[release, position]),
                Counter(mine.records[kept].tolist()),
                _sizes(scale, [(one, level, values) for one, other, level, values in both if one == other]),
                their_known,
                my_known,
                their_column,
                position,
                own,
                sum(values for *_, values in both),
                sum(one * other * values for one, other, _, values in both),
                filled,
            )


@dataclass(frozen=True, slots=True)
class RowPairs:
    """The rows of values that a sample of a release shares with one of a sketch: their cells, and mine."""

    theirs: NDArray[np.uint16]
    mine: NDArray[np.uint16]

    @property
    def tell_nothing(self) -> bool:
        """Whether all cells follow from the place of the rows."""
        return not (self.theirs.any() and self.mine.any())


MOST_PAIRS = 1024
"""The most rows of two columns that are compared."""


def row_pairs(
    ledger: Ledger, sketch: Sketch, wanted: Collection[tuple[int, int, int]]
) -> dict[tuple[int, int, int], RowPairs]:
    """The rows of shared values of samples, by release, position there, and position here."""
    if not wanted:
        return {}
    names = ("release", "position", "own")
    keys = pa.table({name: [key[i] for key in wanted] for i, name in enumerate(names)})
    with ledger.relation("sampled", _values(sketch)), ledger.relation("wanted_pairs", keys):
        arrays = ledger.arrays(
            "SELECT theirs.release, theirs.position, own, theirs.cells AS theirs, sampled.cells AS mine "
            "FROM tableveil.release_sample_values AS theirs JOIN wanted_pairs AS w USING (release, position) "
            "JOIN sampled ON sampled.position = own AND sampled.value = theirs.value "
            f"WHERE theirs.release IN ({', '.join(sorted({str(release) for release, *_ in wanted}))}) "
            "AND theirs.cells IS NOT NULL AND sampled.cells IS NOT NULL "
            # The highest bits of a value say at which scale it stays.
            "QUALIFY row_number() OVER (PARTITION BY theirs.release, theirs.position, own ORDER BY theirs.value DESC) "
            f"<= {MOST_PAIRS} ORDER BY ALL"
        )
    pairs = {}
    for key in wanted:
        here = np.all([arrays[name] == value for name, value in zip(names, key, strict=True)], axis=0)
        theirs, mine = (_cells(arrays[name][here]) for name in ("theirs", "mine"))
        if theirs is not None and mine is not None:
            pairs[key] = RowPairs(theirs, mine)
    return pairs


@dataclass(frozen=True, slots=True)
class RowsOfKeys:
    """The rows of the sampled values of a key: `cells` are of the first of the table's `columns` that vary."""

    scale: int
    values: NDArray[np.uint64]
    cells: NDArray[np.uint16]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, sketch: Sketch, key: str) -> RowsOfKeys | None:
        """The rows of a sketch; None if nobody kept rows."""
        columns = tuple(sample.column for sample in sketch.samples)
        for sample in sketch.samples:
            if sample.column == key and sample.cells is not None:
                return cls(sample.scale, sample.values, sample.cells, columns)
        return None

    def at(self, scale: int) -> RowsOfKeys:
        """The rows of the values that a sample at the larger scale has."""
        kept = self.values >> np.uint64(LEVEL_SHIFT) >= scale
        return replace(self, scale=scale, values=self.values[kept], cells=self.cells[kept])


def rows_like(ledger: Ledger, mine: RowsOfKeys, releases: Collection[int]) -> dict[int, RowsOfKeys]:
    """Per release, where it kept rows, those of the key that has most of the values of a new table's key.

    Where none has any, they are those of the column in which most values are in one record.
    """
    among = f"release IN ({', '.join(map(str, sorted(releases))) or 'NULL'})"
    with ledger.relation("sampled", pa.table({"value": mine.values})):
        arrays = ledger.arrays(
            "WITH theirs AS (SELECT release, position, value, records, cells FROM tableveil.release_sample_values "
            f"WHERE {among} AND cells IS NOT NULL), likest AS (SELECT release, arg_max(position, likeness) AS position "
            "FROM (SELECT release, position, [count(sampled.value), count_if(records = 1)] AS likeness "
            "FROM theirs LEFT JOIN sampled USING (value) GROUP BY ALL) GROUP BY release) "
            "SELECT release, position, value, cells FROM theirs JOIN likest USING (release, position)"
        )
    query = f"SELECT release, position, column_name, scale FROM tableveil.release_samples WHERE {among} ORDER BY ALL"
    samples = ledger.rows(query)
    found = {}
    for release in sorted(releases):
        here = arrays["release"] == release
        cells = _cells(arrays["cells"][here])
        if cells is not None:
            of_release = [(column, scale) for number, _, column, scale in samples if number == release]
            _, scale = of_release[int(arrays["position"][here][0])]
            columns = tuple(column for column, _ in of_release)
            found[release] = RowsOfKeys(scale, arrays["value"][here].astype(np.uint64), cells, columns)
    return found


def _sizes(scale: int, found: Sequence[tuple[int, ...]]) -> Sizes:
    """The sizes of (records, level, values) that are in the sample at a scale."""
    sizes: Sizes = Counter()
    for records, level, values in found:
        if level >= scale:
            sizes[records] += values
    return sizes


def _values(sketch: Sketch, *, rows: bool = True) -> pa.Table:
    positions = [np.full(len(sample.values), i, np.int32) for i, sample in enumerate(sketch.samples)]
    columns = {
        "position": np.concatenate([*positions, np.empty(0, np.int32)]),
        "value": np.concatenate([*(sample.values for sample in sketch.samples), np.empty(0, np.uint64)]),
        "records": np.concatenate([*(sample.records for sample in sketch.samples), np.empty(0, np.int64)]),
    }
    if rows:
        cells = [each for sample in sketch.samples for each in _stored(sample)]
        columns["cells"] = pa.array(cells, pa.binary())
    return pa.table(columns)


def _stored(sample: ValueSample) -> Sequence[bytes | None]:
    if sample.cells is None:
        return [None] * len(sample.values)
    width, joined = 2 * sample.cells.shape[1], sample.cells.tobytes()
    return [joined[i : i + width] for i in range(0, len(joined), width)]
