"""Shows that the order of public rows says nothing about the order, or the spelling, of the source's rows."""

import random

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tests.adversary import samples
from tests.adversary.publishing import PublishEach, Published, changed
from tests.once import once

SEEDS = (1, 2)

# Rows of the large table: more than a row group of DuckDB, which a thread processes at a time.
ROWS = 150_000


@pytest.fixture(params=once(samples.FORMS), scope="module")
def permutations(request: pytest.FixtureRequest, publish_each: PublishEach) -> list[Published]:
    """One table's records in two orders."""
    source = samples.patients(kept=300)
    document = changed(samples.policy(), **samples.FORMS[request.param])
    return publish_each([(permuted(source, seed), document) for seed in SEEDS])


def test_permuting_the_source_changes_no_byte(permutations: list[Published]) -> None:
    assert_same(permutations)


@pytest.mark.long
def test_a_large_table_is_as_orderly(publish_each: PublishEach) -> None:
    """More rows than DuckDB processes at once, by several threads, with many equal ones."""
    source = samples.patients(kept=300)
    numbers = pa.array([str(i) for i in range(ROWS)])
    large = pa.concat_tables([source] * (ROWS // 300)).slice(0, ROWS)
    large = large.set_column(0, "id", numbers).set_column(1, "name", numbers)
    document = changed(samples.policy(), suppressed_records=samples.BLANK)
    assert_same(publish_each([(permuted(large, seed), document) for seed in SEEDS]))


def test_all_rows_are_sorted(permutations: list[Published]) -> None:
    published = permutations[0]
    for kind in ("ROWS", "CLASSES", "RISK_HISTOGRAM"):
        table = published.objects[kind]
        marker = ["suppressed"] if "suppressed" in table.column_names else []
        table = table.select(marker + [name for name in table.column_names if name not in marker])
        rows = [tuple((value is None, value) for value in row.values()) for row in table.to_pylist()]
        assert rows == sorted(rows), kind
    # Files have the order that the wire has.
    for file, read in (
        (published.database_file, "SELECT * FROM released"),
        (published.parquet_files["ROWS"], f"SELECT * FROM '{published.parquet_files['ROWS']}'"),
    ):
        with duckdb.connect(file if file == published.database_file else ":memory:") as connection:
            assert connection.sql(read).fetchall() == [tuple(row.values()) for row in published.rows.to_pylist()]


# Values that are equal to the database, or nearly, and yet look different: in sorted rows they might stay in the
# source's order.
LOOKALIKES = {
    "zero": ("DOUBLE", ["0.0::DOUBLE", "-(0.0::DOUBLE)"]),
    "short_zero": ("FLOAT", ["0.0::FLOAT", "-(0.0::FLOAT)"]),
    "nan": ("DOUBLE", ["'NaN'::DOUBLE", "-('NaN'::DOUBLE)"]),
    "time_of_day": ("TIMETZ", ["'12:00:00+00'::TIMETZ", "'14:00:00+02'::TIMETZ"]),
}


@pytest.mark.parametrize("role", once(["QUASI_IDENTIFIER", "SENSITIVE"]))
def test_values_that_only_look_different(publish_each: PublishEach, role: str) -> None:
    # Every NaN has another payload: nobody sees it, but it could mark each record.
    marked = np.arange(122, dtype=np.uint64) + 0x7FF8000000000000
    source = samples.patients(kept=120).append_column("payload", pa.array(marked.view(np.float64)))
    document = samples.policy()
    suppression = {"hierarchy": {"suppression_only": {}}, "maximum_level": 0} if role == "QUASI_IDENTIFIER" else {}
    document["attributes"] += [samples.attribute(column, role, **suppression) for column in (*LOOKALIKES, "payload")]
    # Without the unique column, so that rows tie.
    document["attributes"][5] = samples.attribute("diagnosis", "IDENTIFYING")
    statements = []
    for column, (type_, (one, other)) in LOOKALIKES.items():
        statements += [
            f"ALTER TABLE patients ADD COLUMN {column} {type_}",
            # Where the spelling is the only difference, it would make classes of fewer than K. Each column has its own
            # spelling, or the order of one would hide that of another.
            f"UPDATE patients SET {column} = CASE hash(id || '{column}') % 2 WHEN 0 THEN {one} ELSE {other} END",
        ]
    releases = publish_each([(permuted(source, seed), document) for seed in SEEDS], *statements)
    assert_same(releases)
    payloads = releases[0].rows["payload"].combine_chunks().to_numpy(zero_copy_only=False).view(np.uint64)
    assert set(payloads.tolist()) == {0x7FF8000000000000}
    # The spelling separates no records, in any reader of the export.
    if role == "QUASI_IDENTIFIER":
        rows = releases[0].rows.select(["age", "sex", "city", *LOOKALIKES, "payload"]).to_pylist()
        classes = [repr(row) for row in rows]
        assert min(map(classes.count, classes)) >= samples.K


def permuted(table: pa.Table, seed: int) -> pa.Table:
    positions = list(range(len(table)))
    random.Random(seed).shuffle(positions)
    return table.take(positions)


def assert_same(releases: list[Published]) -> None:
    """Asserts that all public objects of the releases are equal, byte by byte."""
    first, *others = releases
    for other in others:
        for kind, stream in first.streams.items():
            # Each release has a number of its own.
            if kind == "ABOUT":
                continue
            assert other.streams[kind] == stream, kind
            assert other.parquet_files[kind].read_bytes() == first.parquet_files[kind].read_bytes(), kind
        assert in_file(other) == in_file(first)


def in_file(published: Published) -> dict[str, list[tuple[object, ...]]]:
    """All rows of the exported database as texts, in their order."""
    with duckdb.connect(published.database_file, read_only=True) as connection:
        names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        return {
            name: connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {name}").fetchall()
            for name in names
            if not name.endswith("_about")
        }
