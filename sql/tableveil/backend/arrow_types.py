"""Arrow from the database: types that Arrow lacks, and nothing left under NULLs."""

import pyarrow as pa
import pyarrow.compute as compute
from duckdb.sqltypes import DuckDBPyType

from tableveil.backend.expressions import identifier
from tableveil.backend.render import render

WITHOUT_ARROW = {
    "HUGEINT": "DECIMAL(38,0)",
    "UHUGEINT": "VARCHAR",
    "TIME WITH TIME ZONE": "VARCHAR",
    "BIT": "VARCHAR",
    "UUID": "VARCHAR",
}
"""Each with the type to read it as.

DuckDB would replace their values by others of equal bits: without time zones, without the largest numbers. A number of
more than 38 digits fails the read instead of coming out wrong.
"""


def arrow_type(type_: DuckDBPyType) -> str:
    """The type to read values as: the same, unless Arrow lacks it or a type within it."""
    if type_.id not in ("list", "array", "struct", "tuple", "map"):
        return WITHOUT_ARROW.get(str(type_), str(type_))
    # An array has its size beside its type.
    within = [(name, of) for name, of in type_.children if isinstance(of, DuckDBPyType)]
    types = [arrow_type(of) for _, of in within]
    if types == [str(of) for _, of in within]:
        return str(type_)
    if type_.id in ("list", "array"):
        return types[0] + str(type_)[str(type_).rindex("[") :]
    if type_.id == "struct":
        types = [f"{render(identifier(name))} {of}" for (name, _), of in zip(within, types, strict=True)]
    return f"{type_.id.upper()}({', '.join(types)})"


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
