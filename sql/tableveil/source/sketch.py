"""Keyed samples of a source's values and rows, which recognize people in another table.

A sample keeps the hashes below a threshold, as FracMinHash does (Irber et al. 2022, doi:10.1101/2022.01.11.475838). The
hash alone decides whether a value is kept, so a value that two tables share is in both samples or in neither. So
samples estimate the share of either table in the other, for any sizes. Min-hash instead keeps equally many values of
each table, and few of a small table's values are among the least of a large one.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, expression, parameter, row_hash, sql, text
from tableveil.hierarchy import ValueKind
from tableveil.source import linked
from tableveil.source.model import Column, Source

MOST_VALUES = 2**15
"""The approximate most values of a column, or rows, in a sample; all of them if there are no more."""

ROWS = ""
"""Replaces a column's name: the sample is of whole rows."""

LEVEL_SHIFT = 56
"""The bits below the highest ones of a kept value, which give the largest scale at which it stays in the sample."""

_MOST_FETCHED = 2**22
"""Values of a small table whose hashes are fetched in one statement: 32 MiB."""

_MOST_TOGETHER = 8
"""The most columns that are fetched with the rows: for each, about 2^16 rows are fetched."""

_LEAST_EVEN = 30
"""Fewer values can recur evenly by chance: of 30, with a probability of about 1 in 10^5."""

_MOST_REPEATED = 10
"""Rows are repeated this often at most: values that more records share, such as wards, are no people."""

_DENSE = 0.5

_MOST_AGES = 150
"""More whole numbers without gaps number people, unless they have other numbers of records by chance."""

_EVEN = 0.25
"""The share of the variance by chance that even numbers of records have at most."""

_READ_AS_TEXT = (ValueKind.TEXT, ValueKind.BOOLEAN, ValueKind.TIME, ValueKind.OTHER)

_MOST_RECORDS = 3
"""The rows of a person column are fetched with the rows if people have about 2^3 = 8 records each, or fewer."""

# The sum of the shortened hashes of 2^14 columns fits into 64 bits.
_ROW_SHIFT = 14


@dataclass(frozen=True, slots=True)
class ValueSample:
    """A sample of a column or of the rows: one in 2^scale of the different values, keyed, with numbers of records.

    The highest 8 bits of one of the `values` are the largest scale at which it is still kept, the others a keyed hash.
    `density` is the share of the whole numbers between least and largest that are values; 0 in columns of other kinds.
    `filled` says how densely the values lie among all that there could be near them; None where nobody looked at the
    rows. `cells` has short keyed hashes of the rows of each value, if it may stand for a person: of the first
    `MOST_CELLS` columns of the sketch, 0 for one that is left out.
    """

    column: str
    scale: int
    values: NDArray[np.uint64]
    records: NDArray[np.int64]
    density: float = 0.0
    filled: float | None = None
    cells: NDArray[np.uint16] | None = None


@dataclass(frozen=True, slots=True)
class Sketch:
    """The samples of a source of so many records: of its rows, of each column that varies, and of repeating people."""

    records: int
    samples: tuple[ValueSample, ...]


def estimates(columns: Sequence[Column]) -> list[exp.Expr]:
    """Two aggregates per column: its approximate number of values, and the range of its whole numbers, else 0."""
    range_ = "coalesce(max($value)::DOUBLE - min($value)::DOUBLE + 1, 0)"
    return [
        expression(aggregate, value=column(each.name))
        for each in columns
        # Hashes are counted: NULL is a value as well.
        for aggregate in ("approx_count_distinct(hash($value))", range_ if each.kind is ValueKind.INTEGER else "0")
    ]


def sketch(
    session: Session, source: Source, records: int, estimated: Sequence[float], key: bytes, person: str | None = None
) -> Sketch:
    """The sketch of a source of so many records; `estimated` has its columns' aggregates from `estimates`."""
    secret = hmac.new(key, b"sketch", hashlib.sha256).hexdigest()
    distinct = list(map(int, estimated[::2]))
    keys = linked.keys(source.columns, distinct, records, person)
    reading = _Reading(session, source, records, keys, person, secret)
    if records <= MOST_VALUES and records * len(source.columns) <= _MOST_FETCHED:
        kept = reading.of_few()
    else:
        kept = reading.of_many(distinct)
    spans = dict(zip((each.name for each in source.columns), estimated[1::2], strict=True))
    return Sketch(records, keyed(session, kept, spans, secret))


def with_people(known: Sketch, person_column: str | None) -> Sketch:
    """The sketch with further samples, as if each person had one record: of the person column, and of even ones.

    Somebody may have other numbers of records in another table, which is of the same people nevertheless. If nobody has
    several, the column's sample says so already. Where values recur evenly, rows were repeated: every row may be in a
    table twice.
    """
    samples = [
        replace(sample, records=np.ones_like(sample.records))
        for sample in known.samples
        if (sample.column == person_column and (sample.records > 1).any())
        # Few whole numbers without gaps, such as ages, are those of any people.
        or ((sample.density < _DENSE or _distinct(sample) > _MOST_AGES) and _recur_evenly(sample.records))
    ]
    # The rows of a value are kept once.
    moved = {sample.column for sample in samples}
    first = (replace(each, cells=None) if each.column in moved else each for each in known.samples)
    return Sketch(known.records, (*first, *samples))


def _distinct(sample: ValueSample) -> int:
    return len(sample.values) << sample.scale


def _recur_evenly(records: NDArray[np.int64]) -> bool:
    """Whether values that are nearly unique were repeated: each is in a few records, and chance varies that more.

    The numbers of records of values that recur by chance, as dates of birth do, are those of Poisson's distribution
    that are not 0. Their variance is taken for the mean times the share of the values that recur, by Plackett's
    estimate of the rate (1953, Biometrics 9:485). Where every value recurs, that is the mean: an estimate by the mean
    alone expects less there, and takes rows that stand two to four times for chance.
    """
    if len(records) < _LEAST_EVEN:
        return False
    mean = float(records.mean())
    by_chance = mean * float((records > 1).mean())
    return 1 < mean <= _MOST_REPEATED and float(records.var()) <= by_chance * _EVEN


def hashed(
    session: Session, rows: exp.Expr, columns: Sequence[Column], of_rows: Sequence[str], key: bytes
) -> Mapping[str, ValueSample]:
    """Samples of all values of a few rows, by column, and of the rows if the columns have all those `of_rows`.

    A sketch whose columns are `of_rows` has the same value for each of the rows.
    """
    secret = hmac.new(key, b"sketch", hashlib.sha256).hexdigest()
    hashes = session.arrays(_select(_hashes(columns), rows), [secret])
    by_name = {each.name: hashes[f"h{i}"] for i, each in enumerate(columns)}
    kept = [_counted(name, 0, values) for name, values in by_name.items()]
    if of_rows and by_name.keys() >= set(of_rows):
        kept.append(_of_sum([by_name[name] for name in of_rows[: 2**_ROW_SHIFT]]))
    return {sample.column: sample for sample in keyed(session, kept, {}, secret)}


@dataclass(frozen=True, slots=True)
class Kept:
    """A sample by the database's hashes, before keyed hashes replace them.

    Another engine has its own hashes `decide` which values are kept.
    """

    column: str
    scale: int
    hashes: NDArray[np.uint64]
    records: NDArray[np.int64]
    decide: NDArray[np.uint64] | None = None
    rows: linked.KeyRows | None = None

    @property
    def varies(self) -> bool:
        """Whether records differ: if not, they reveal nothing, and one more column must not change the rows."""
        return self.scale > 0 or len(self.hashes) > 1


@dataclass(frozen=True, slots=True)
class _Reading:
    """The reading of samples of a source of so many records, whose `keys` are kept with their rows."""

    session: Session
    source: Source
    records: int
    keys: Sequence[Column]
    person: str | None
    secret: str

    def of_few(self) -> list[Kept]:
        """One statement fetches all hashes: planning one for each column takes longer than running it."""
        wanted = {
            **_hashes(self.source.columns),
            **{f"n{i}": linked.numbered(each) for i, each in enumerate(self.keys)},
        }
        arrays = self.session.arrays(_select(wanted, self.source.table()), [self.secret])
        hashes = {each.name: arrays[f"h{i}"].astype(np.uint64) for i, each in enumerate(self.source.columns)}
        numbers = {each.name: arrays[f"n{i}"].astype(np.float64) for i, each in enumerate(self.keys)}
        kept = [_counted(name, 0, values) for name, values in hashes.items()]
        kept = [each for each in kept if each.varies]
        cells = {each.column: hashes[each.column] for each in kept[: linked.MOST_CELLS]}
        by_name = {each.name: each for each in self.keys}
        kept = [
            self._with_rows(each, by_name[each.column], linked.KeyRecords(hashes[each.column], numbers, cells))
            if each.column in by_name
            else each
            for each in kept
        ]
        if len(kept) > 1:
            kept.append(_of_sum([hashes[each.column] for each in kept]))
        return kept

    def of_many(self, distinct: Sequence[int]) -> list[Kept]:
        """Columns that tell most records apart are read together with the rows, and the others each by itself."""
        row_scale = scale_of(self.records)
        scales = {each.name: scale_of(values) for each, values in zip(self.source.columns, distinct, strict=True)}
        nearly_unique = [c for c in self.source.columns[: 2**_ROW_SHIFT] if scales[c.name] >= max(1, row_scale - 1)]
        together = {each.name: scales[each.name] for each in nearly_unique[:_MOST_TOGETHER]}
        if self.person is not None and scales.get(self.person, 0) >= max(1, row_scale - _MOST_RECORDS):
            together.setdefault(self.person, scales[self.person])
        alone = (each for each in self.source.columns if each.name not in together)
        kept = {each.name: self._of_column(each, scales[each.name]) for each in alone}
        varying = [each for each in self.source.columns if each.name in together or kept[each.name].varies]
        for each in self._of_rows(varying, together, row_scale):
            kept[each.column] = each
        return [kept[name] for name in (*scales, ROWS) if name in kept and kept[name].varies]

    def _of_column(self, found: Column, scale: int) -> Kept:
        hashed = "SELECT $hash AS h, 1 AS n FROM $rows"
        if not scale:
            # So few values are hashed, instead of all records.
            hashed = (
                "SELECT $hash AS h, n FROM (SELECT $value AS v, count(*) AS n FROM $rows GROUP BY $value) AS grouped"
            )
        kept = f"SELECT h, CAST(sum(n) AS BIGINT) AS n FROM ({hashed}) AS hashed WHERE $below GROUP BY h"
        value, below = plain(found), _below(column("h"), scale)
        hash_ = hash_of(value if scale else column("v"), found)
        arrays = self.session.arrays(
            sql(kept, hash=hash_, value=value, rows=self.source.table(), below=below), [self.secret]
        )
        return Kept(found.name, scale, arrays["h"].astype(np.uint64), arrays["n"].astype(np.int64))

    def _of_rows(self, varying: Sequence[Column], together: Mapping[str, int], row_scale: int) -> Iterator[Kept]:
        """Samples the rows, in one scan and for any order of their columns, and columns by their scales."""
        if not varying:
            return
        keys = [each for each in self.keys if each.name in together]
        hashes = _hashes(varying[: 2**_ROW_SHIFT])
        names = {each.name: name for name, each in zip(hashes, varying, strict=False)}
        parts = [expression(f"$hash >> {_ROW_SHIFT}", hash=column(name)) for name in hashes]
        uniform = expression(f"(($sum) & {2 ** (64 - _ROW_SHIFT) - 1}) * {2**_ROW_SHIFT}", sum=_sum(parts))
        sampled = {names[name]: (name, scale) for name, scale in together.items()} | {"rows": (ROWS, row_scale)}
        beside = [names[each.name] for each in varying[: linked.MOST_CELLS]] if keys else []
        numbers = {f"n{i}": each for i, each in enumerate(keys)}
        wanted: dict[str, exp.Expr] = {name: column(name) for name in dict.fromkeys([*sampled, *beside, *numbers])}
        wanted["rows"] = uniform
        read = hashes | {name: linked.numbered(each) for name, each in numbers.items()}
        hashed = _select(wanted, _select(read, self.source.table()).subquery("hashed", copy=False))
        below = exp.or_(*(_below(column(name), scale) for name, (_, scale) in sampled.items()), copy=False)
        kept = _select({name: column(name) for name in wanted}, hashed.subquery("kept", copy=False))
        arrays = self.session.arrays(kept.where(below, copy=False), [self.secret])
        for name, (of, scale) in sampled.items():
            if of == ROWS and len(varying) == 1:
                continue
            values = arrays[name].astype(np.uint64)
            sample = _counted(of, scale, values)
            if key := next((each for each in keys if each.name == of), None):
                # The rows that other samples keep have only some records of their values.
                whole = values <= np.uint64(_most(scale))
                of_numbers = {each.name: arrays[n][whole].astype(np.float64) for n, each in numbers.items()}
                cells = {
                    each.name: arrays[names[each.name]][whole].astype(np.uint64) for each in varying[: len(beside)]
                }
                sample = self._with_rows(sample, key, linked.KeyRecords(values[whole], of_numbers, cells))
            yield sample

    def _with_rows(self, kept: Kept, key: Column, given: linked.KeyRecords) -> Kept:
        """The sample of a key with its rows, of which all hashes that are kept are given."""
        different = len(kept.hashes) << kept.scale
        of_people = key.name == self.person or _recur_evenly(kept.records)
        compared = of_people or linked.seems_to_identify(different, self.records)
        rows = linked.rows_of(key, given, kept.scale, compared=compared, of_people=of_people)
        return replace(kept, rows=rows)


def _of_sum(hashes: Sequence[NDArray[np.uint64]]) -> Kept:
    """The rows, as the database computes them below: carries beyond 64 bits are dropped, and the sum is uniform."""
    parts = [each >> np.uint64(_ROW_SHIFT) for each in hashes]
    return _counted(ROWS, 0, np.sum(parts, axis=0, dtype=np.uint64) << np.uint64(_ROW_SHIFT))


def keyed(session: Session, kept: Sequence[Kept], spans: Mapping[str, float], secret: str) -> tuple[ValueSample, ...]:
    """DuckDB's hash is not cryptographic; SHA-256 of the secret and the hash is.

    14 digits distinguish the kept ones.
    """
    if not kept:
        return ()
    beside = [each.rows.cells.ravel() for each in kept if each.rows is not None and each.rows.cells is not None]
    hashes = np.unique(np.concatenate([*(each.hashes for each in kept), *beside]))
    digests_query = sql("SELECT i, CAST('0x' || left(sha256($1 || h), 14) AS UBIGINT) AS k FROM kept")
    with session.relation("kept", pa.table({"h": hashes, "i": np.arange(len(hashes))})):
        arrays = session.arrays(digests_query, [secret])
    digests = np.empty(len(hashes), np.uint64)
    digests[arrays["i"]] = arrays["k"].astype(np.uint64)
    thresholds = np.array([_most(scale) for scale in range(64, 0, -1)], np.uint64)
    samples = []
    for each in kept:
        deciding = each.hashes if each.decide is None else each.decide
        levels = (64 - np.searchsorted(thresholds, deciding)).astype(np.uint64) << np.uint64(LEVEL_SHIFT)
        filled, cells = (1.0, None) if each.rows is None else (each.rows.filled, each.rows.cells)
        samples.append(
            ValueSample(
                each.column,
                each.scale,
                levels | digests[np.searchsorted(hashes, each.hashes)],
                each.records,
                _density(each, spans.get(each.column, 0.0)),
                filled,
                None if cells is None else _short(digests[np.searchsorted(hashes, cells)], cells == 0),
            )
        )
    return tuple(samples)


def _short(keyed_cells: NDArray[np.uint64], left_out: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """The ends of keyed hashes, which are enough to compare two rows; 0 is none of them."""
    ends = (keyed_cells & np.uint64(2**16 - 1)).astype(np.uint16)
    return np.where(left_out, np.uint16(0), np.maximum(ends, np.uint16(1)))


def _density(kept: Kept, span: float) -> float:
    if not span:
        return 0.0
    # If only a sample is kept, the number of values is estimated: then possibly gapless numbers count as gapless.
    distinct = float(len(kept.hashes)) * 2.0**kept.scale * (1.03 if kept.scale else 1.0)
    return min(1.0, distinct / span)


def scale_of(distinct: int) -> int:
    """The scale at which so many values make a sample."""
    return max(0, (distinct - 1) // MOST_VALUES).bit_length()


def _most(scale: int) -> int:
    """The largest hash that is kept."""
    most: int = 2 ** (64 - scale) - 1
    return most


def _below(hashed: exp.Expr, scale: int) -> exp.Expr:
    return expression("$hashed <= $most::UBIGINT", hashed=hashed, most=text(str(_most(scale))))


def _sum(parts: Sequence[exp.Expr]) -> exp.Expr:
    """Nested by halves, so that many terms are not nested deeply."""
    if len(parts) == 1:
        return exp.Paren(this=parts[0])
    half = len(parts) // 2
    return exp.Paren(this=exp.Add(this=_sum(parts[:half]), expression=_sum(parts[half:])))


def _select(wanted: Mapping[str, exp.Expr], rows: exp.Expr) -> exp.Select:
    # sqlglot would copy the whole tree at every step, which takes longer than sketching a small table.
    named = (alias(each, name) for name, each in wanted.items())
    return exp.select(*named, copy=False).from_(rows, copy=False)


def _hashes(columns: Sequence[Column]) -> dict[str, exp.Expr]:
    return {f"h{i}": hash_of(plain(each), each) for i, each in enumerate(columns)}


def _counted(name: str, scale: int, hashes: NDArray[np.uint64]) -> Kept:
    """The kept ones of so many rows, each with its number of rows."""
    kept, records = np.unique(hashes[hashes <= np.uint64(_most(scale))], return_counts=True)
    return Kept(name, scale, kept, records.astype(np.int64))


def plain(found: Column) -> exp.Expr:
    """The column's values as `hash_of` reads them."""
    value = column(found.name)
    return cast(value, "VARCHAR") if found.kind in _READ_AS_TEXT and found.type != "VARCHAR" else value


def hash_of(value: exp.Expr, found: Column) -> exp.Expr:
    """A keyed hash of a value that equals that of an equal value of another type, or of one written as text."""
    if found.kind in _READ_AS_TEXT:
        return expression(_TEXT_HASH, value=value)
    if found.kind is ValueKind.INTEGER:
        return expression("hash($1, $value::DOUBLE)", value=value)
    if found.kind in (ValueKind.DECIMAL, ValueKind.FLOAT):
        return expression(f"hash($1, {_ROUNDED.format('$value::DOUBLE')})", value=value)
    if found.kind in (ValueKind.DATE, ValueKind.TIMESTAMP) and found.type != "TIMESTAMP WITH TIME ZONE":
        # A date may be beyond all timestamps: it is NULL then.
        return expression("hash($1, TRY_CAST($value AS TIMESTAMP))", value=value)
    # With a time zone, a cast depends on the session's zone; the hash is that of the time in UTC.
    return row_hash(parameter(1), value)


_ROUNDED = "CASE WHEN {0} = floor({0}) THEN {0} ELSE coalesce(CAST(TRY_CAST({0} AS FLOAT) AS DOUBLE), {0}) END"
"""0.1 is not the same FLOAT and DOUBLE, while whole numbers are known to more digits than a FLOAT has."""

_TIME = "CASE WHEN $value LIKE '____-__-__%' THEN TRY_CAST($value AS TIMESTAMP) END"
# Failing casts take long: most are not tried.
_TEXT_HASH = (
    "CASE WHEN $value < ':' THEN CASE WHEN TRY_CAST($value AS DOUBLE) IS NOT NULL "
    f"THEN hash($1, {_ROUNDED.format('TRY_CAST($value AS DOUBLE)')}) "
    f"WHEN {_TIME} IS NOT NULL THEN hash($1, {_TIME}) ELSE hash($1, $value) END ELSE hash($1, $value) END"
)
