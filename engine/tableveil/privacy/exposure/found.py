"""Plain counts: how many rows, or people, are alone by labels and values, and how many are among few."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tableveil.privacy.exposure.cells import Codes, Flags, counted, ranked
from tableveil.privacy.exposure.rows import ClassRows


@dataclass(frozen=True, slots=True)
class Exposure:
    """Somebody who knows all labels and a value of each of the `columns`: how many are found, or among few.

    `found` are alone, `few` are among fewer than `least`, of `total`. These are rows, or people if it `counts_people`.
    With `knows`, it is somebody who knows no value of the columns, but these quasi-identifiers, from which values
    follow: nobody is counted as found then.
    """

    columns: tuple[str, ...]
    knows: tuple[str, ...]
    found: int
    few: int
    total: int
    least: int
    counts_people: bool


def alone_and_few(
    rows: ClassRows, shown: Flags, values: Sequence[Codes], least: int, *, people: bool
) -> tuple[int, int]:
    """How many of the rows of `shown` classes are alone, and among fewer than `least`, by class and values."""
    if not shown.any():
        return 0, 0
    at = slice(None) if shown.all() else shown[rows.classes]
    class_ = rows.classes[at]
    value, number = ranked(*(codes[at] for codes in values)) if values else (np.zeros_like(class_), 1)
    if people and rows.people is not None:
        whose = rows.people[at]
        group, groups = ranked(class_, value)
        of_groups = counted(group, whose, None, groups, int(whose.max()) + 1)
        size = of_groups.different[of_groups.own]
        return len(np.unique(of_groups.value[size == 1])), len(np.unique(of_groups.value[size < least]))
    size = counted(class_, value, rows.records_of(at), len(shown), number).records
    return int(size[size == 1].sum()), int(size[size < least].sum())
