"""The sketches of releases' sources, which recognize people again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pyarrow as pa

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
    columns have one name.
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


_ALL = 2**62
"""More records than any value has."""

_SAMPLES = Table(
    "release_samples",
    ValueSample,
    *("release", "source_records"),
    position=True,
    names={"column": "column_name", "values": None, "records": None},
)


def insert(ledger: Ledger, release: int, sketch: Sketch) -> None:
    """Stores the sketch of a release; call it in the transaction that writes the release."""
    _SAMPLES.insert(ledger, sketch.samples, release, sketch.records)
    with ledger.relation("sampled", _values(sketch)):
        ledger.execute(
            "INSERT INTO tableveil.release_sample_values "
            "SELECT ?, position, value, records FROM sampled ORDER BY position, value",
            [release],
        )


def find(ledger: Ledger, release: int) -> Sketch | None:
    """The sketch of a release, if it has one."""
    samples = _SAMPLES.of(ledger, [release])
    if not samples:
        return None
    values: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for position, *held_value in ledger.rows(
        "SELECT position, value, records FROM tableveil.release_sample_values WHERE release = ? ORDER BY ALL",
        [release],
    ):
        values[position].append((held_value[0], held_value[1]))
    # All samples of a release have the key (release, records).
    (((_, records), stored),) = samples.items()
    return Sketch(
        records,
        tuple(
            replace(
                sample,
                values=np.array([value for value, _ in values[position]], np.uint64),
                records=np.array([count for _, count in values[position]], np.int64),
            )
            for position, sample in enumerate(stored)
        ),
    )


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
    the values that its first one keeps.
    """
    by_name = {name.casefold(): sample for name, sample in samples.items()}
    gone = {name.casefold(): samples[sample] for name, sample in whole.items()}
    query = "SELECT position, column_name FROM tableveil.release_samples WHERE release = ? ORDER BY position"
    first = dict[str, int]()
    for position, name in ledger.rows(query, [release]):
        here = "release = ? AND position = ?"
        if first.setdefault(name, position) != position:
            ledger.execute(
                f"DELETE FROM tableveil.release_sample_values WHERE {here} AND value NOT IN "
                f"(SELECT value FROM tableveil.release_sample_values WHERE {here})",
                [release, position, release, first[name]],
            )
            continue
        sample = gone.get(name.casefold()) or by_name.get(name.casefold())
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


def alike(ledger: Ledger, sketch: Sketch, others: Collection[int]) -> Iterator[Likeness]:
    """The samples of these other releases that have a value in common with one of the sketch.

    Columns are compared with columns, and rows with rows.
    """
    if not others:
        return
    with ledger.relation("sampled", _values(sketch)):
        shared = ledger.rows(
            "SELECT release, theirs.position, sampled.position, records, (value >> ?)::INTEGER AS level, count(*) "
            "FROM tableveil.release_sample_values AS theirs JOIN sampled USING (value, records) "
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
            "SELECT release, position, column_name, scale, density, source_records FROM tableveil.release_samples "
            "WHERE list_contains(?::BIGINT[], release)",
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
        their_column, their_scale, their_density, their_records = samples[release, position]
        if (their_column == ROWS) != (mine.column == ROWS):
            continue
        scale = max(mine.scale, their_scale)
        kept = mine.values >> np.uint64(LEVEL_SHIFT) >= scale
        both = _sizes(scale, [row[3:] for row in rows])
        if both:
            yield Likeness(
                release,
                mine.column,
                scale,
                their_records,
                1 if mine.column == ROWS else columns[release],
                _sizes(scale, theirs[release, position]),
                Counter(mine.records[kept].tolist()),
                both,
                *((0.0, 0.0) if their_column.casefold() == mine.column.casefold() else (their_density, mine.density)),
            )


def _sizes(scale: int, found: Sequence[tuple[int, ...]]) -> Sizes:
    """The sizes of (records, level, values) that are in the sample at a scale."""
    sizes: Sizes = Counter()
    for records, level, values in found:
        if level >= scale:
            sizes[records] += values
    return sizes


def _values(sketch: Sketch) -> pa.Table:
    positions = [np.full(len(sample.values), i, np.int32) for i, sample in enumerate(sketch.samples)]
    return pa.table(
        {
            "position": np.concatenate([*positions, np.empty(0, np.int32)]),
            "value": np.concatenate([*(sample.values for sample in sketch.samples), np.empty(0, np.uint64)]),
            "records": np.concatenate([*(sample.records for sample in sketch.samples), np.empty(0, np.int64)]),
        }
    )
