"""CSV files for spreadsheets: texts that would be formulas are texts, and everything else is as it was."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tableveil.cli.spreadsheets import without_formulas


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_only_formulas_are_changed(kind: pa.DataType) -> None:
    formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "--1"]
    others = ["", "a=b", "'=1", "-5", "+49", "-1.5", "-1,000.5", "-1e-5", "Zoë", None]
    guarded = without_formulas(pa.RecordBatch.from_arrays([pa.array([*formulas, *others], kind)], names=["text"]))
    assert guarded.column(0).to_pylist() == [*(f"'{text}" for text in formulas), *others]
    assert guarded.schema.types == [kind]


def test_names_of_columns_are_texts_too_and_numbers_are_left() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([-1, None]), pa.array([-0.5, 1.0])], names=["=now()", "risk"])
    guarded = without_formulas(batch)
    assert guarded.schema.names == ["'=now()", "risk"]
    assert guarded.columns == batch.columns
