"""Arrow batches without what DuckDB leaves under NULLs."""

import pyarrow as pa
import pyarrow.compute as compute


def cleared(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with zeros under its NULLs, which only a copy of a column has.

    DuckDB leaves there whatever was in the memory, such as other people's values. Nested columns may have NULLs inside.
    Two things are left as they are, since DuckDB writes nothing there: the text under a NULL, which has no length, and
    the fields of a struct that is NULL, which are NULL themselves.
    """
    every = pa.arange(0, batch.num_rows)
    columns = [
        compute.take(source_column, every) if _may_hold_more(source_column) else source_column
        for source_column in batch.columns
    ]
    return pa.record_batch(columns, schema=batch.schema)


def _may_hold_more(array: pa.Array) -> bool:
    return bool(array.type.num_fields or (array.null_count and not pa.types.is_string(array.type)))
