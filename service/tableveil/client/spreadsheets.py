"""CSV files for spreadsheets, which take no text there for a formula: an apostrophe before it makes it a text."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import CSVWriter

# As OWASP lists them (CSV injection). A number that is written as text, such as -5, is none.
_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?$"


def write_csv(reader: pa.RecordBatchReader, path: Path) -> None:
    """Writes the rows in UTF-8 below their names: texts in quotes, and nothing at all for NULL."""
    with duckdb.connect(config={"temp_directory": ""}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        empty = _for_spreadsheets(reader.schema.empty_table(), connection)
        with CSVWriter(path, empty.schema) as writer:
            for batch in reader:
                writer.write_table(_for_spreadsheets(pa.Table.from_batches([batch]), connection))


def _for_spreadsheets(rows: pa.Table, connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """The rows with DuckDB's texts for values that Arrow writes into no CSV file, such as lists."""
    columns = [pa.types.is_dictionary(kind) or _is_plain(kind) for kind in rows.schema.types]
    texts = [
        column
        if plain
        else connection.from_arrow(pa.table({"c": column})).project("c::VARCHAR AS c").to_arrow_table()[0]
        for plain, column in zip(columns, rows.columns, strict=True)
    ]
    return without_formulas(pa.table([_decoded(column) for column in texts], names=rows.column_names))


def without_formulas(rows: pa.Table) -> pa.Table:
    """The rows, with an apostrophe before each text, or name of a column, that begins like a formula."""
    columns = [_guarded(column) if _is_text(column.type) else column for column in rows.columns]
    return pa.table(columns, names=_guarded(pa.array(rows.column_names, pa.string())).to_pylist())


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values themselves of a column of an ENUM."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _is_plain(kind: pa.DataType) -> bool:
    dated = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(_is_text(kind) or numeric or dated or pa.types.is_boolean(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _guarded(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    formula = pc.and_not(pc.match_substring_regex(texts, _FORMULA), pc.match_substring_regex(texts, _NUMBER))
    apostrophe = pa.scalar("'", texts.type)
    return pc.if_else(formula, pc.binary_join_element_wise(apostrophe, texts, pa.scalar("", texts.type)), texts)
