"""Counting: the base histogram of distinct combinations, and the classes of any transformation from it."""

from tableveil.counting.base import BaseHistogram, build_base, class_size_histogram
from tableveil.counting.choose import open_counter
from tableveil.counting.duckdb_counter import DuckDBCounter

__all__ = ["BaseHistogram", "DuckDBCounter", "build_base", "class_size_histogram", "open_counter"]
