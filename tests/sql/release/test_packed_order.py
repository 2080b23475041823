"""Rows sorted by packed numbers are in the order of their columns, and have the values that they had."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from tableveil.backend import Session, column, table
from tableveil.release.listed_rows import in_packed_order

LARGEST = (1, 2, 3, 8, 255, 256, 2**15, 2**31, 2**62, 2**63 - 1, None)
"""Numbers of values around powers of two, up to a whole word; None is a column of texts that is not packed."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_sorts_by_all_columns(session: Session, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.sampled_from(LARGEST), min_size=1, max_size=8))
    cell = [
        st.one_of(st.none(), st.text(max_size=2)) if size is None else st.sampled_from([0, 1, size // 2, size])
        for size in sizes
    ]
    rows = data.draw(st.lists(st.tuples(*cell), max_size=30))
    columns = [pa.array([row[i] for row in rows], pa.int64() if size else pa.string()) for i, size in enumerate(sizes)]
    shown = [column(f"c{i}", "ordered_rows") for i, _ in enumerate(sizes)]
    with session.relation("numbered", pa.table(columns, [f"c{i}" for i, _ in enumerate(sizes)])):
        found = session.rows(in_packed_order(exp.select("*").from_(table("numbered")), sizes, shown))
    assert found == sorted(rows, key=lambda row: [(cell is None, cell) for cell in row])


@pytest.mark.parametrize(("sizes", "words"), [([1] * 63, 1), ([1] * 64, 2), ([2**62, 1], 2), ([1, None, 1], 2)])
def test_packs_as_many_columns_as_fit(sizes: list[int | None], words: int) -> None:
    packed = in_packed_order(exp.select("*").from_(table("numbered")), sizes, [exp.Star()])
    order = packed.find(exp.Order)
    assert order is not None
    assert sum(key.name.startswith("w") for key in order.expressions) == words
