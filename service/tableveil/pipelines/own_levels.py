"""Releases whose combinations of values have levels of their own: the plan, the losses, and the columns erased."""

from collections.abc import Iterator

import numpy as np

from tableveil.classes import EquivalenceClasses, KeyLayout
from tableveil.pipelines.read import Counted
from tableveil.release import ReleasePlan
from tableveil.release.by_combination import ByCombination


def plan_of(counted: Counted, own: ByCombination) -> ReleasePlan:
    """The plan of a release by these levels."""
    combinations = own.combinations
    of_source = np.flatnonzero(combinations.records)
    layout = KeyLayout.of([len(levels.groups[0]) for levels in combinations.levels])
    keys = layout.pack([codes[of_source] for codes in combinations.codes])
    finest = (0,) * len(combinations.levels)
    return ReleasePlan(
        policy=counted.policy,
        source=counted.source,
        dictionaries=counted.dictionaries,
        recoding=own,
        classes=EquivalenceClasses(layout, keys, combinations.records[of_source], finest),
        kept=own.kept[of_source],
        records=counted.base.records,
        sensitive=counted.base.columns.sensitive,
        people=counted.base.columns.people,
    )


def own_losses(own: ByCombination, records: int) -> tuple[float, ...]:
    """The loss of each quasi-identifier, each record's at its own level; 1 if it is suppressed."""
    losses = []
    for j, (levels, codes) in enumerate(zip(own.combinations.levels, own.combinations.codes, strict=True)):
        chosen, lost, kept = own.levels(j), 0.0, 0
        for level in range(levels.top + 1):
            rows = own.kept & (chosen == level)
            counts = own.combinations.records[rows]
            lost += float(counts @ levels.shares(level)[levels.groups[level][codes[rows]]])
            kept += int(counts.sum())
        losses.append((lost + records - kept) / records)
    return tuple(losses)


def erased_columns(plan: ReleasePlan, own: ByCombination) -> Iterator[str]:
    """The columns that have several values in the source, and one label in all released records."""
    combinations, present = own.combinations, own.combinations.records > 0
    for j, (dictionary, levels) in enumerate(zip(plan.dictionaries, combinations.levels, strict=True)):
        codes, at, kept = combinations.codes[j], own.levels(j), own.kept & present
        labels = sum(
            len(np.unique(levels.groups[level][codes[kept & (at == level)]])) for level in range(levels.top + 1)
        )
        if labels == 1 < len(np.unique(codes[present])):
            yield dictionary.attribute.column
