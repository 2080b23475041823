"""Shows that the order of public rows says nothing about the order, or the spelling, of the source's rows."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pytest

from tests.adversary import samples
from tests.adversary.publishing import Publish, Published, changed

SEEDS = (1, 2)


@pytest.mark.parametrize("form", samples.FORMS)
def test_permuting_the_source_changes_no_byte(publish: Publish, form: str) -> None:
    source = samples.patients(kept=300)
    document = changed(samples.policy(), **samples.FORMS[form])
    assert_same([publish(permuted(source, seed), document) for seed in SEEDS])


def test_a_large_table_is_as_orderly(publish: Publish) -> None:
    """More rows than DuckDB handles at once, by several threads, with many equal ones."""
    source = samples.patients(kept=300)
    numbers = pa.array([str(i) for i in range(150_000)])
    large = pa.concat_tables([source] * 500).slice(0, 150_000)
    large = large.set_column(0, "id", numbers).set_column(1, "name", numbers)
    document = changed(samples.policy(), suppressed_records=samples.BLANK)
    assert_same([publish(permuted(large, seed), document) for seed in SEEDS])


@pytest.mark.parametrize("form", samples.FORMS)
def test_all_rows_are_sorted(publish: Publish, form: str) -> None:
    source = samples.patients(kept=300)
    published = publish(source, changed(samples.policy(), **samples.FORMS[form]))
    for kind in ("ROWS", "CLASSES", "RISK_HISTOGRAM"):
        table = published.objects[kind]
        marker = ["suppressed"] if "suppressed" in table.column_names else []
        table = table.select(marker + [name for name in table.column_names if name not in marker])
        rows = [tuple((value is None, value) for value in row.values()) for row in table.to_pylist()]
        assert rows == sorted(rows), kind
    # The same order in the files as over the wire.
    for file, read in (
        (published.database_file, "SELECT * FROM released"),
        (published.parquet_files["ROWS"], f"SELECT * FROM '{published.parquet_files['ROWS']}'"),
    ):
        with duckdb.connect(file if file == published.database_file else ":memory:") as connection:
            assert connection.sql(read).fetchall() == [tuple(row.values()) for row in published.rows.to_pylist()]


# Values that are equal to the database, or nearly, and yet look different: sorted, they might stay as in the source.
LOOKALIKES = {
    "zeros of either sign": ("DOUBLE", ["0.0::DOUBLE", "-(0.0::DOUBLE)"]),
    "short zeros of either sign": ("FLOAT", ["0.0::FLOAT", "-(0.0::FLOAT)"]),
    "NaNs of either sign": ("DOUBLE", ["'NaN'::DOUBLE", "-('NaN'::DOUBLE)"]),
    "times of day at the same moment": ("TIMETZ", ["'12:00:00+00'::TIMETZ", "'14:00:00+02'::TIMETZ"]),
}


@pytest.mark.parametrize("lookalike", LOOKALIKES)
@pytest.mark.parametrize("role", ["SENSITIVE", "QUASI_IDENTIFIER"])
def test_values_that_only_look_different(publish: Publish, role: str, lookalike: str) -> None:
    type_, literals = LOOKALIKES[lookalike]
    source = samples.patients(kept=48)
    document = samples.policy()
    suppression = {"hierarchy": {"suppression_only": {}}, "maximum_level": 0} if role == "QUASI_IDENTIFIER" else {}
    document["attributes"].append(samples.attribute("strange", role, **suppression))
    # Without what is unique, so that rows tie.
    document["attributes"][5] = samples.attribute("diagnosis", "IDENTIFYING")
    choice = " ".join(f"WHEN {i} THEN {literal}" for i, literal in enumerate(literals))
    statements = [
        f"ALTER TABLE patients ADD COLUMN strange {type_}",
        # Where the spelling is the only difference, it would make classes of fewer than K.
        f"UPDATE patients SET strange = CASE hash(id) % {len(literals)} {choice} END",
    ]
    releases = [publish(permuted(source, seed), document, *statements) for seed in SEEDS]
    assert_same(releases)
    # Nobody told apart by the spelling, whatever reads the export.
    if role == "QUASI_IDENTIFIER":
        rows = releases[0].rows.select(["age", "sex", "city", "strange"]).to_pylist()
        classes = [repr(row) for row in rows]
        assert min(map(classes.count, classes)) >= samples.K


def permuted(table: pa.Table, seed: int) -> pa.Table:
    positions = list(range(len(table)))
    random.Random(seed).shuffle(positions)
    return table.take(positions)


def assert_same(releases: list[Published]) -> None:
    """All public objects of the releases are the same, to the byte."""
    first, *others = releases
    for other in others:
        for kind, stream in first.streams.items():
            assert other.streams[kind] == stream, kind
            assert other.parquet_files[kind].read_bytes() == first.parquet_files[kind].read_bytes(), kind
        assert in_file(other) == in_file(first)


def in_file(published: Published) -> dict[str, list[tuple[object, ...]]]:
    """All rows of the exported database as texts, in their order."""
    with duckdb.connect(published.database_file, read_only=True) as connection:
        names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        return {name: connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {name}").fetchall() for name in names}
