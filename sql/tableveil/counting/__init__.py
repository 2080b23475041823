"""Counting: the base histogram of distinct combinations, and the classes of any transformation from it."""

from tableveil.counting.base import (
    BaseHistogram,
    CountedBeside,
    build_base,
    class_size_histogram,
    equal_records_histogram,
    without_earlier,
)
from tableveil.counting.choose import open_counter
from tableveil.counting.combinations import missing_people, read_combinations
from tableveil.counting.duckdb_counter import DuckDBCounter
from tableveil.counting.earlier import Earlier
from tableveil.counting.frequencies import CountedFrequencies, count_frequencies, weight_facts, write_frequencies
from tableveil.counting.in_memory import CombinationRows, combination_rows
from tableveil.counting.owned import count_people, owned_classes

__all__ = [
    "BaseHistogram",
    "CombinationRows",
    "CountedBeside",
    "CountedFrequencies",
    "DuckDBCounter",
    "Earlier",
    "build_base",
    "class_size_histogram",
    "combination_rows",
    "count_frequencies",
    "count_people",
    "equal_records_histogram",
    "missing_people",
    "open_counter",
    "owned_classes",
    "read_combinations",
    "weight_facts",
    "without_earlier",
    "write_frequencies",
]
