"""The lattice that a policy allows, given the tops of its hierarchies, and whether all of it can be tried."""

from collections.abc import Sequence

from tableveil.counting import BaseHistogram
from tableveil.errors import Fault, InvalidError
from tableveil.game.counting import MOST_PAIRS, MOST_TRANSFORMATIONS, enumerable
from tableveil.lattice import Axis, Lattice
from tableveil.policy import Policy, check_common_level, level_field


def lattice_of(policy: Policy, tops: Sequence[int]) -> tuple[Lattice | None, list[Fault]]:
    """The transformations among which the search may choose, or the faults that leave none.

    `tops` are the tops of the quasi-identifiers' hierarchies, in policy order; the policy's own limits are within them.
    """
    attributes = policy.quasi_identifiers
    columns = [attribute.column for attribute in attributes]
    positions = {column: j for j, column in enumerate(columns)}
    levels = dict(policy.search.levels)
    faults = [
        Fault(level_field(column), str(levels[column]), f"a level from 0 to {top}, the hierarchy's top")
        for column, top in zip(columns, tops, strict=True)
        if levels and levels[column] > top
    ]
    bottom = [policy.least_level(attribute) for attribute in attributes]
    most = [top if a.maximum_level is None else a.maximum_level for a, top in zip(attributes, tops, strict=True)]
    axes: list[Axis] = []
    for i, group in enumerate(policy.search.linked):
        axis = tuple(sorted(positions[column] for column in group))
        axes.append(axis)
        faults += check_common_level(
            f"search.linked[{i}]", {columns[j]: bottom[j] for j in axis}, {columns[j]: most[j] for j in axis}
        )
        low, high = max(bottom[j] for j in axis), min(most[j] for j in axis)
        for j in axis:
            bottom[j], most[j] = low, high
    if faults:
        return None, faults
    alone = set(range(len(columns))).difference(*axes)
    axes = sorted([*axes, *((j,) for j in alone)])
    if levels:
        bottom = most = [levels[column] for column in columns]
    return Lattice(tuple(bottom), tuple(most), tuple(axes)), []


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
