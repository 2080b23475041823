"""CSV files for spreadsheets: texts that would be formulas are texts, and everything else is as it was."""

import csv
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from tableveil.client.spreadsheets import without_formulas, write_csv


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_only_formulas_are_changed(kind: pa.DataType) -> None:
    formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "--1"]
    others = ["", "a=b", "'=1", "-5", "+49", "-1.5", "-1,000.5", "-1e-5", "Zoë", None]
    guarded = without_formulas(pa.table({"text": pa.array([*formulas, *others], kind)}))
    assert guarded.column(0).to_pylist() == [*(f"'{text}" for text in formulas), *others]
    assert guarded.schema.types == [kind]


def test_names_of_columns_are_texts_too_and_numbers_are_left() -> None:
    rows = pa.table({"=now()": [-1, None], "risk": [-0.5, 1.0]})
    guarded = without_formulas(rows)
    assert guarded.column_names == ["'=now()", "risk"]
    assert guarded.columns == rows.columns


def test_every_type_is_written_and_read_as_it_is(tmp_path: Path) -> None:
    """Texts are in quotes, so that a label stays one, and NULL is told from the empty text."""
    texts = ["0123", "[20, 30[", 'a "b"', "two\nlines", "", None, "=1+1", "Zoë"]
    table = pa.table(
        {
            "te,xt": texts,
            "@label": pa.array(texts).dictionary_encode(),
            "day": pa.array([date(2024, 2, 29)] * 7 + [None]),
            "at": pa.array([datetime(2024, 2, 29, tzinfo=UTC)] * 8, pa.timestamp("us", "UTC")),
            "amount": pa.array([Decimal("-12.30")] * 8),
            "flag": [True] * 8,
            "several": [["=1", None]] * 8,
            "bytes": [b"\x00=1"] * 8,
            "nothing": pa.nulls(8),
        }
    )
    path = tmp_path / "rows.csv"
    write_csv(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=3)), path)
    with path.open(newline="") as file:
        names, *rows = csv.reader(file)
    assert names == ["te,xt", "'@label", *table.column_names[2:]]
    written = ["" if text is None else "'=1+1" if text == "=1+1" else text for text in texts]
    assert [row[0] for row in rows] == [row[1] for row in rows] == written
    assert rows[0][2:] == ["2024-02-29", "2024-02-29 00:00:00.000000Z", "-12.30", "true", "['=1', NULL]", "\\x00=1", ""]
    fields = [line.split(",")[0] for line in path.read_text().splitlines()]
    assert fields[1] == '"0123"'
    assert fields[-4:] == ['""', "", """\"'=1+1\"""", '"Zoë"']


def test_no_rows_and_one_are_written(tmp_path: Path) -> None:
    for rows, expected in ((0, '"a"\n'), (1, '"a"\n""\n')):
        table = pa.table({"a": pa.array([""] * rows, pa.string())})
        write_csv(table.to_reader(), tmp_path / "rows.csv")
        assert (tmp_path / "rows.csv").read_text() == expected
