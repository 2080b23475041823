"""Generates the demo's table of hospital discharges: seeded, of any size, in bounded memory.

A patient is drawn backwards: the diagnosis first, then an age, a sex and a day that fit it, then a home, an ethnicity
that fits the home, and a name; the stay follows from diagnosis and age, the charge from the stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray
from sqlglot import exp

from tableveil.demo import hospital
from tableveil.errors import InvalidError

CHUNK_ROWS = 1 << 16
MAXIMUM_ROWS = 100_000_000

NULL_ETHNICITY = 0.01
NULL_ZIP_CODE = 0.003
NULL_CHARGE = 0.005
SEX_X = 0.002

SCHEMA = pa.schema(
    [
        ("patient_id", pa.string()),
        ("name", pa.string()),
        ("age", pa.int32()),
        ("sex", pa.string()),
        ("zip_code", pa.string()),
        ("county", pa.string()),
        ("admission_date", pa.date32()),
        ("ethnicity", pa.string()),
        ("diagnosis", pa.string()),
        ("length_of_stay", pa.int32()),
        ("charge", pa.decimal128(12, 2)),
    ]
)

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WeightedChoice:
    """A weighted choice among the columns of a matrix, given a row: the rows' cumulative shares, end to end."""

    cumulative: NDArray[np.float64]
    columns: int

    @classmethod
    def of(cls, weights: ArrayLike) -> WeightedChoice:
        """The choice by `weights`, which need not sum to 1; a vector is a matrix of one row."""
        matrix = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        shares = matrix.cumsum(axis=1)
        return cls((shares / shares[:, -1:] + np.arange(len(matrix))[:, None]).ravel(), matrix.shape[1])

    def draw(self, rng: np.random.Generator, given: Integers) -> Integers:
        """One column for each row number in `given`."""
        # With 24 bits, so that adding the row's number neither rounds nor reaches the next row.
        uniform = rng.random(len(given), dtype=np.float32)
        return np.searchsorted(self.cumulative, given + uniform, side="right") - given * self.columns


def _calendar() -> NDArray[np.float64]:
    """Weights of the days for ordinary and for winter diagnoses: weekends are quiet, January is busy."""
    numbers = np.arange((hospital.LAST_DAY - hospital.FIRST_DAY).days + 1)
    weekday = np.array([1.12, 1.10, 1.05, 1.04, 1.03, 0.84, 0.82])[(numbers + hospital.FIRST_DAY.weekday()) % 7]
    season = np.cos(2 * np.pi * (numbers - 15) / 365.25)
    return np.stack([weekday * (1 + 0.05 * season), weekday * (1 + 0.75 * season)])


def _first_names() -> NDArray[np.float64]:
    """Weights of all first names, F before M, for each sex."""
    female, male = ([1 / (rank + 5) for rank in range(len(names))] for names in hospital.FIRST_NAMES.values())
    return np.array([female + [0.0] * len(male), [0.0] * len(female) + male, female + male])


def _surnames() -> NDArray[np.float64]:
    """Weights of all surnames for each ethnicity; about a tenth of its people have any other."""
    usual = np.zeros((len(hospital.ETHNICITIES), len(hospital.SURNAMES)))
    for row, ethnicity in zip(usual, hospital.ETHNICITIES, strict=True):
        for rank, name in enumerate(ethnicity.surnames):
            row[hospital.SURNAMES.index(name)] = 1 / (rank + 8)
    usual /= usual.sum(axis=1, keepdims=True)
    return 0.9 * usual + 0.1 / len(hospital.SURNAMES)


_FIRST_NAME_TEXTS = pa.array([name for names in hospital.FIRST_NAMES.values() for name in names])
_SURNAME_TEXTS = pa.array(hospital.SURNAMES)
_INITIAL_TEXTS = pa.array([f"{letter}." for letter in "ABCDEFGHIJKLMNOPRSTVWYZ"])
_SEX_TEXTS = pa.array(hospital.SEXES)
_ZIP_CODE_TEXTS = pa.array([zip_code.code for zip_code in hospital.ZIP_CODES])
_COUNTY_TEXTS = pa.array([county.name for county in hospital.COUNTIES])
_ETHNICITY_TEXTS = pa.array([ethnicity.name for ethnicity in hospital.ETHNICITIES])
_DIAGNOSIS_TEXTS = pa.array([diagnosis.code for diagnosis in hospital.DIAGNOSES])
_FOUR_DIGITS = pa.array([f"{number:04}" for number in range(10_000)])

_COUNTY_OF_ZIP_CODE = np.array([zip_code.county for zip_code in hospital.ZIP_CODES])
_DIVERSITY = np.array([[county.diversity] for county in hospital.COUNTIES])
_YOUNGEST = np.array([diagnosis.youngest for diagnosis in hospital.DIAGNOSES], dtype=np.int64)
_COMMONEST = np.array([diagnosis.commonest for diagnosis in hospital.DIAGNOSES], dtype=np.int64)
_OLDEST = np.array([diagnosis.oldest for diagnosis in hospital.DIAGNOSES], dtype=np.int64)
_FEMALE = np.array([diagnosis.female for diagnosis in hospital.DIAGNOSES], dtype=np.float64)
_DAYS = np.array([diagnosis.days for diagnosis in hospital.DIAGNOSES], dtype=np.float64)
_RATE = np.array([diagnosis.rate for diagnosis in hospital.DIAGNOSES], dtype=np.float64)
_WINTER = np.array([diagnosis.winter for diagnosis in hospital.DIAGNOSES], dtype=np.int64)

_DIAGNOSIS = WeightedChoice.of([diagnosis.frequency for diagnosis in hospital.DIAGNOSES])
_ZIP_CODE = WeightedChoice.of([zip_code.population for zip_code in hospital.ZIP_CODES])
_ETHNICITY = WeightedChoice.of(
    (1 - _DIVERSITY) * [e.rural for e in hospital.ETHNICITIES]
    + _DIVERSITY * [e.metropolitan for e in hospital.ETHNICITIES]
)
_MIXED = SEX_X * ((_FEMALE > 0) & (_FEMALE < 1))
_SEX = WeightedChoice.of(np.stack([_FEMALE * (1 - _MIXED), (1 - _FEMALE) * (1 - _MIXED), _MIXED], axis=1))
_DAY = WeightedChoice.of(_calendar())
_FIRST_NAME = WeightedChoice.of(_first_names())
_SURNAME = WeightedChoice.of(_surnames())


def batches(rows: int, seed: int) -> Iterator[pa.RecordBatch]:
    """The table's first `rows` rows for `seed`, in batches; a longer table begins with a shorter one's rows.

    Raises:
        InvalidError: If `rows` is not between 0 and `MAXIMUM_ROWS`, or `seed` is negative.
    """
    if not 0 <= rows <= MAXIMUM_ROWS:
        raise InvalidError.of("DEMO_ROWS", "rows", str(rows), f"0 to {MAXIMUM_ROWS}")
    if seed < 0:
        raise InvalidError.of("DEMO_SEED", "seed", str(seed), "0 or more")
    return (_chunk(start, seed).slice(0, rows - start) for start in range(0, rows, CHUNK_ROWS))


def create_discharges(connection: duckdb.DuckDBPyConnection, table: str, rows: int, seed: int) -> None:
    """Creates `table`, a name that may be qualified and quoted as in SQL, and streams the rows into it."""
    reader = pa.RecordBatchReader.from_batches(SCHEMA, batches(rows, seed))
    connection.from_arrow(reader).create(exp.to_table(table, dialect="duckdb").sql("duckdb", identify=True))


def create_zip_codes(connection: duckdb.DuckDBPyConnection) -> None:
    """Creates the table `zip_codes`: each one's people, which Safe Harbor asks for."""
    people = pa.array([round(1000 * zip_code.population) for zip_code in hospital.ZIP_CODES])
    connection.from_arrow(pa.table({"zip": _ZIP_CODE_TEXTS, "population": people})).create("zip_codes")


def _chunk(start: int, seed: int) -> pa.RecordBatch:
    """The `CHUNK_ROWS` rows from row `start` on; they depend only on `start` and `seed`."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(start,)))
    anyone = np.zeros(CHUNK_ROWS, dtype=np.int64)

    diagnosis = _DIAGNOSIS.draw(rng, anyone)
    age = _ages(rng, diagnosis)
    sex = _SEX.draw(rng, diagnosis)
    day = _DAY.draw(rng, _WINTER[diagnosis])
    zip_code = _ZIP_CODE.draw(rng, anyone)
    county = _COUNTY_OF_ZIP_CODE[zip_code]
    ethnicity = _ETHNICITY.draw(rng, county)
    first_name = _FIRST_NAME.draw(rng, sex)
    initial = rng.integers(len(_INITIAL_TEXTS), size=CHUNK_ROWS)
    surname = _SURNAME.draw(rng, ethnicity)
    stay = _stays(rng, diagnosis, age)
    cents = _charges(rng, diagnosis, stay)
    no_zip_code = _some(rng, NULL_ZIP_CODE)
    no_ethnicity = _some(rng, NULL_ETHNICITY)
    no_charge = _some(rng, NULL_CHARGE)

    name = (_texts(_FIRST_NAME_TEXTS, first_name), _texts(_INITIAL_TEXTS, initial), _texts(_SURNAME_TEXTS, surname))
    return pa.record_batch(
        [
            _patient_ids(start, seed),
            pc.binary_join_element_wise(*name, " "),
            pa.array(age, pa.int32()),
            _texts(_SEX_TEXTS, sex),
            _texts(_ZIP_CODE_TEXTS, zip_code, no_zip_code),
            _texts(_COUNTY_TEXTS, county, no_zip_code),
            pa.array(np.datetime64(hospital.FIRST_DAY) + day, pa.date32()),
            _texts(_ETHNICITY_TEXTS, ethnicity, no_ethnicity),
            _texts(_DIAGNOSIS_TEXTS, diagnosis),
            pa.array(stay, pa.int32()),
            # The integers are cents: the same bits with two decimals.
            pa.array(cents, mask=no_charge).cast(pa.decimal128(19, 0)).view(pa.decimal128(12, 2)),
        ],
        SCHEMA,
    )


def _ages(rng: np.random.Generator, diagnosis: Integers) -> Integers:
    """Years, triangular between the diagnosis' youngest and oldest patients."""
    oldest = _OLDEST[diagnosis]
    years = rng.triangular(_YOUNGEST[diagnosis], _COMMONEST[diagnosis], oldest + 1).astype(np.int64)
    return np.minimum(years, oldest)


def _stays(rng: np.random.Generator, diagnosis: Integers, age: Integers) -> Integers:
    """Whole days, log-normal, a fifth longer for each 25 years above 40."""
    days = _DAYS[diagnosis] * (1 + 0.008 * (age - 40)) * rng.lognormal(0.0, 0.55, CHUNK_ROWS)
    return np.minimum(days, hospital.LONGEST_STAY).astype(np.int64)


def _charges(rng: np.random.Generator, diagnosis: Integers, stay: Integers) -> Integers:
    """Cents, log-normal; the day of arrival costs, too."""
    dollars = _RATE[diagnosis] * (stay + 1) * rng.lognormal(0.0, 0.4, CHUNK_ROWS)
    return (100 * dollars).astype(np.int64)


def _patient_ids(start: int, seed: int) -> pa.Array:
    """P and eight digits: the row's number times a unit modulo 10^8, so unique and scattered."""
    number = (np.arange(start, start + CHUNK_ROWS) * 61_803_399 + seed % MAXIMUM_ROWS) % MAXIMUM_ROWS
    halves = (_texts(_FOUR_DIGITS, half) for half in np.divmod(number, 10_000))
    return pc.binary_join_element_wise("P", *halves, "")


def _some(rng: np.random.Generator, share: float) -> NDArray[np.bool_]:
    """A mask that is true for about `share` of a chunk's rows."""
    return rng.random(CHUNK_ROWS, dtype=np.float32) < share


def _texts(texts: pa.Array, index: Integers, missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """The indexed texts, NULL where `missing`."""
    return texts.take(pa.array(index, mask=missing))
