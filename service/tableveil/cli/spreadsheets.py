"""Texts in CSV files that spreadsheets would take for formulas: an apostrophe before them makes them texts there."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# As OWASP lists them (CSV injection). A number that is written as text, such as -5, is none.
_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?$"


def without_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, with an apostrophe before each text, or name of a column, that begins like a formula."""
    columns = [_guarded(column) if _is_text(column.type) else column for column in batch.columns]
    names = _guarded(pa.array(batch.schema.names, pa.string())).to_pylist()
    return pa.RecordBatch.from_arrays(columns, names=names)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _guarded(texts: pa.Array) -> pa.Array:
    formula = pc.and_not(pc.match_substring_regex(texts, _FORMULA), pc.match_substring_regex(texts, _NUMBER))
    apostrophe = pa.scalar("'", texts.type)
    return pc.if_else(formula, pc.binary_join_element_wise(apostrophe, texts, pa.scalar("", texts.type)), texts)
