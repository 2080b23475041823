"""Counting: the base histogram of distinct combinations, and the classes of any transformation from it.

One GROUP BY over the source makes the base histogram, a temporary table that spills. From there on, work grows with
distinct combinations, not rows. Keys are packed: the group numbers of all quasi-identifiers in one 64-bit integer, or
as few as they fit into.

- Up to 250,000 combinations are handed to numpy at once, as arrays. More stay in DuckDB.
- There, `histogram_counter.py` follows a plan by seconds, which start from measured figures and are measured all the
  time. A transformation is counted from the finer histogram for which that takes least. A roll-up is made at the meet
  of several that were counted from the same large one, once having had it would have saved the time to make it. The
  meet is the most general transformation below all of them.
- Roll-ups and arrays have budgets of a quarter of the database's memory limit each. The one that saved least for its
  time without use is dropped first; the base and the newest stay.
- Where counting takes long, the search first asks whether a part of the classes has too many records in small ones
  already. The groups of one quasi-identifier make parts of whole classes, and rare groups come first.
- When the database counts, the records of small classes are identified by their groups only. For finer levels each is
  taken to save the cost of the dearest record of its group. This is at least the true saving, so a bound stays a bound.
- Values of sensitive columns, the population, and people with several records are counted like one more attribute of a
  single level. Columns that no model looks at are counted only where that costs little.

A counter only counts. Its answers, their order included, do not depend on their source, nor on how fast anything was.
"""

from tableveil.counting.base import (
    BaseHistogram,
    CountedColumns,
    Earlier,
    build_base,
    class_size_histogram,
    equal_records,
    without_earlier,
)
from tableveil.counting.choose import CombinationRows, combination_rows, open_counter
from tableveil.counting.duckdb_counter import DuckDBCounter
from tableveil.counting.frequencies import CountedFrequencies, count_frequencies, weight_facts, write_frequencies
from tableveil.counting.owned import count_people, owned_classes
from tableveil.counting.points import missing_people, read_combinations
