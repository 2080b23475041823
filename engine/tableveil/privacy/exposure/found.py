"""Plain counts: how many rows, or people, are alone by labels and values, and how many are among few."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tableveil.privacy.exposure.cells import Codes, counted, ranked
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


def alone_and_few(rows: ClassRows, values: Sequence[Codes], least: int, *, people: bool) -> tuple[int, int]:
    """How many of the rows are alone, and among fewer than `least`, by class and values."""
    class_, number = rows.classes, 1
    value = np.zeros(1, np.int64)
    if values:
        value, number = ranked(*values) if len(values) > 1 else (values[0], int(values[0].max(initial=0)) + 1)
    if people and rows.people is not None:
        group, groups = ranked(class_, value)
        of_groups = counted(group, rows.people, None, groups, int(rows.people.max(initial=0)) + 1)
        size = of_groups.different[of_groups.own]
        return len(np.unique(of_groups.value[size == 1])), len(np.unique(of_groups.value[size < least]))
    size = counted(class_, value, rows.records, int(class_.max(initial=0)) + 1, number).records
    return int(size[size == 1].sum()), int(size[size < least].sum())
