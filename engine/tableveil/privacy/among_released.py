"""t, beta and delta as a recipient measures them: against the released rows, since nobody else has the source."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, ListedElements, SensitiveColumn
from tableveil.policy import AbsentValues, BetaLikeness, DeltaDisclosure, PrivacyModel, TCloseness
from tableveil.privacy.closeness_of_elements import distances_of_elements
from tableveil.privacy.disclosure import delta
from tableveil.privacy.distances import EARTH_MOVERS, Distributions
from tableveil.privacy.likeness import beta
from tableveil.privacy.model import Facts

RELEASED = "released rows"
"""In the name of a figure that is measured against the released rows."""

Figure = tuple[str, str, str, float]
"""Model, column, parameter, and its value."""

AgainstSource = TCloseness | BetaLikeness | DeltaDisclosure


def among_released(facts: Facts, models: Iterable[PrivacyModel], released: EquivalenceClasses) -> Iterator[Figure]:
    """The figures of the requested models, for the released classes."""
    for model in models if len(released.counts) else ():
        if isinstance(model, AgainstSource):
            position, source = facts.sensitive(model.column)
            column, values = _of_released(source, released.values(position))
            name, parameter, reached = _reached(model, column, values, released.counts)
            yield name, model.column, parameter, float(reached.max())


def _reached(
    model: AgainstSource, column: SensitiveColumn, values: ClassValues, sizes: NDArray[np.int64]
) -> tuple[str, str, NDArray[np.float64]]:
    """The model's name with its settings, its parameter, and what each class reaches."""
    match model:
        case TCloseness(distance=distance):
            name = f"t_closeness ({distance.lower()}, {RELEASED})"
            if column.elements is not None:
                return name, "t", distances_of_elements(values, column)
            mover = EARTH_MOVERS[distance](column, Distributions.whole(column.counts))
            return name, "t", mover.distances(mover.against(values, sizes))
        case BetaLikeness(enhanced=enhanced):
            setting = "enhanced, " if enhanced else ""
            return f"beta_likeness ({setting}{RELEASED})", "beta", beta(values, column, enhanced)
        case DeltaDisclosure(absent_values=absent):
            setting = "absent values ignored, " if absent is AbsentValues.IGNORE else ""
            return f"delta_disclosure ({setting}{RELEASED})", "delta", delta(values, column, absent)


def _of_released(column: SensitiveColumn, values: ClassValues) -> tuple[SensitiveColumn, ClassValues]:
    """The column as if the released records were the source: values that none of them has are not there."""
    counts = np.bincount(values.values, values.counts, len(column.counts)).astype(np.int64)
    there = np.flatnonzero(counts)
    number = np.cumsum(counts > 0) - 1
    null_code = column.null_code if column.null_code is not None and counts[column.null_code] else None
    levels = column.levels
    if levels is not None:
        groups, leaves = [], []
        for of_codes, widths in zip(levels.groups, levels.leaves, strict=True):
            found, of = np.unique(of_codes[there], return_inverse=True)
            groups.append(of.astype(np.int32))
            leaves.append(widths[found])
        levels = replace(levels, groups=tuple(groups), leaves=tuple(leaves))
    elements = column.elements
    if elements is not None:
        codes, numbers = elements.entries(there)
        some = numbers != elements.nothing
        elements = ListedElements.of(counts[there], codes[some], numbers[some])
    left = replace(
        column,
        counts=counts[there],
        null_code=None if null_code is None else int(number[null_code]),
        levels=levels,
        elements=elements,
        spellings=None,
    )
    return left, ClassValues(values.classes, number[values.values], values.counts)
