"""Names and texts survive rendering: whatever they hold, DuckDB reads them back as they are."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tableveil.backend import (
    Database,
    alias,
    cast,
    column,
    conjunction,
    create_table,
    drop,
    in_one_spelling,
    number,
    render,
    row_number,
    table,
    text,
)

# No text in a database holds a surrogate, and Arrow's names end at NUL.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMES = TEXTS.filter(lambda name: name and "\0" not in name)


@settings(max_examples=40, deadline=None)
@given(name=NAMES, value=TEXTS)
def test_any_name_and_any_text(shared_database: Database, name: str, value: str) -> None:
    with shared_database.session() as session:
        inner = exp.select(alias(text(value), name)).subquery(name)
        found = session.batches(exp.select(column(name, name)).from_(inner), 10).read_all()
    assert found.column_names == [name]
    assert found.column(0).to_pylist() == [value]


@settings(max_examples=25, deadline=None)
@given(name=NAMES)
def test_any_name_of_a_table(shared_database: Database, name: str) -> None:
    with shared_database.session() as session:
        session.execute(create_table(table(name, "main"), exp.select(alias(number(7), name))))
        try:
            assert session.rows(exp.select(column(name)).from_(table(name, "main"))) == [(7,)]
            assert session.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [name]) == [(1,)]
        finally:
            session.execute(drop("TABLE", table(name, "main")))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (column('a"b', "t"), '"t"."a""b"'),
        (table("t", "s", "c", "x"), '"c"."s"."t" AS "x"'),
        (text("it's"), "'it''s'"),
        (number(-5), "-5"),
        (cast(column("a"), "DECIMAL(10,2)"), 'CAST("a" AS DECIMAL(10, 2))'),
        (conjunction([]), "TRUE"),
        (conjunction([column("a").eq(1)]), '"a" = 1'),
        (row_number([column("a")]), 'ROW_NUMBER() OVER (ORDER BY "a")'),
        (create_table(table("t"), exp.select("1")), 'CREATE TABLE "t" AS SELECT 1'),
        (drop("VIEW", table("t"), if_exists=True), 'DROP VIEW IF EXISTS "t"'),
    ],
)
def test_renders_in_duckdbs_dialect(expression: exp.Expr, expected: str) -> None:
    assert render(expression) == expected


SPELLINGS = {
    "double": ("float64", "uint64", [0x7FF8 << 48, (0xFFF8 << 48) + 0x123, (0x7FF0 << 48) + 1, 0x8000 << 48, 0]),
    "float": ("float32", "uint32", [0x7FC00000, 0xFFC00123, 0x7F800001, 0x80000000, 0]),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_equal_numbers_are_spelled_alike(shared_database: Database, name: str) -> None:
    type_, bits_type, bits = SPELLINGS[name]
    values = np.concatenate([np.array(bits, bits_type).view(type_), np.array([1.5, -np.inf], type_)])
    query = exp.select(alias(in_one_spelling(column("x")), "x")).from_(table("numbers"))
    with shared_database.session() as session, session.relation("numbers", pa.table({"x": values})):
        found = session.batches(query, 10).read_all()["x"].combine_chunks()
    assert found.type == pa.from_numpy_dtype(np.dtype(type_))
    expected = np.array([np.nan] * 3 + [0.0, 0.0, 1.5, -np.inf], type_)
    assert found.to_numpy().view(bits_type).tolist() == expected.view(bits_type).tolist()
