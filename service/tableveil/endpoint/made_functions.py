"""The functions that the process of a query makes beside those of labels."""

from __future__ import annotations

from tableveil.answers import Macro

_WANTED = "error('width_bucket: expected two different ends and more than 0 buckets')"

WIDTH_BUCKET = Macro(
    "width_bucket",
    ("operand", "low", "high", "buckets"),
    f"CASE WHEN low = high OR buckets <= 0 THEN CAST({_WANTED} AS BIGINT) "
    "WHEN (low < high AND operand < low) OR (low > high AND operand > low) THEN 0 "
    "WHEN (low < high AND operand >= high) OR (low > high AND operand <= high) THEN CAST(buckets + 1 AS BIGINT) "
    "ELSE CAST(floor((operand - low) * buckets / (high - low)) + 1 AS BIGINT) END",
)
"""As SQL:2003 and PostgreSQL have it; DuckDB has none."""
