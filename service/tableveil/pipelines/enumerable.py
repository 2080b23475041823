"""Whether all transformations of a lattice can be tried, as record-level generalization does."""

from tableveil.counting import BaseHistogram
from tableveil.errors import InvalidError
from tableveil.game.counting import MOST_PAIRS, MOST_TRANSFORMATIONS, enumerable
from tableveil.lattice import Lattice


def check_enumerable(base: BaseHistogram, lattice: Lattice) -> None:
    """Raises `InvalidError` if there are too many transformations for so many combinations of values."""
    combinations = max(base.combinations, base.population.rows if base.population is not None else 0)
    if not enumerable(combinations, lattice):
        raise InvalidError.of(
            "TOO_MANY_TRANSFORMATIONS",
            "attributes",
            f"{lattice.size:,} transformations of {combinations:,} combinations of values, all of which are tried",
            f"at most {MOST_TRANSFORMATIONS:,} transformations, and at most {MOST_PAIRS:,} of both multiplied",
            "Raise minimum_level or lower maximum_level of some quasi-identifiers, or shorten their hierarchies.",
        )
