"""Types of the database that Arrow lacks."""

from __future__ import annotations

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
