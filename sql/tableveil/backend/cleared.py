"""Arrow batches without what DuckDB leaves under NULLs."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as compute


def cleared(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with zeros under its NULLs, which only a copy of a column has.

    DuckDB leaves there whatever was in the memory, such as other people's values. Nested columns may have NULLs inside.
    """
    every = pa.arange(0, batch.num_rows)
    columns = [
        compute.take(found, every) if found.null_count or found.type.num_fields else found for found in batch.columns
    ]
    return pa.record_batch(columns, schema=batch.schema)
