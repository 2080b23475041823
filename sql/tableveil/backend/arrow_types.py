"""Types of the database that Arrow lacks."""

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
