"""Chooses the counter of a search: numpy if the distinct combinations are few, the database if they are many."""

from tableveil.backend import Session
from tableveil.classes import ClassCounter, JointCounter
from tableveil.counting.base import BaseHistogram
from tableveil.counting.cost import memory_limit
from tableveil.counting.duckdb_counter import SHARE, DuckDBCounter
from tableveil.counting.in_memory import in_memory
from tableveil.lattice import Transformation

FEW = 250_000
"""Up to this number of combinations, all counting is done in numpy, from the base.

The numpy counter knows the small classes by their finest groups. This makes bounds of entropy sharper: on adult, fars
and mach2019 searches take 1 to 18 % fewer checks than with the classes' own groups. Loss, ambiguity and precision do
not gain.
"""

FEW_VALUES = 4_000_000
"""Up to this number of different values in combinations, summed over the sensitive columns: 100 MB of arrays."""

BYTES_PER_PAIR = 60
"""Bytes per combination and person that numpy takes, while it counts.

The database would count the people of all classes at a transformation, numpy those of the classes whose sizes do not
decide: it is several times faster wherever the arrays fit.
"""


def open_counter(session: Session, base: BaseHistogram, bottom: Transformation | None = None) -> ClassCounter:
    """The counter for transformations from `bottom` on, or for all; of joint classes, if there are earlier releases."""
    if base.columns.earlier is None:
        return _open(session, base, bottom)
    return JointCounter(_open(session, base, None if bottom is None else (*bottom, 0)))


def _open(session: Session, base: BaseHistogram, bottom: Transformation | None) -> ClassCounter:
    combinations = base.combinations + (0 if base.population is None else base.population.rows)
    values = sum(histogram.rows for histogram in base.by_value)
    if base.columns.people is not None or base.columns.units:
        fits = BYTES_PER_PAIR * (combinations + values) <= SHARE * memory_limit(session)
        return in_memory(session, base) if fits else DuckDBCounter(session, base, bottom=bottom)
    if combinations > FEW or values > FEW_VALUES:
        return DuckDBCounter(session, base, bottom=bottom)
    return in_memory(session, base)
