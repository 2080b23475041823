"""How groups at one level of a quasi-identifier map to groups at a more general one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.hierarchy import AttributeLevels


class LevelMaps:
    """Arrays from the group numbers of a level to those of a level above; each is made once."""

    def __init__(self, levels: Sequence[AttributeLevels]) -> None:
        self._levels = tuple(levels)
        self._maps: dict[tuple[int, int, int], NDArray[np.int32]] = {}

    def between(self, attribute: int, low: int, high: int) -> NDArray[np.int32]:
        """Shape (groups at `low`,): the group at `high` that each group at `low` is part of; levels nest."""
        key = (attribute, low, high)
        if key not in self._maps:
            groups = self._levels[attribute].groups
            array = np.zeros(len(self._levels[attribute].leaves[low]), np.int32)
            array[groups[low]] = groups[high]
            self._maps[key] = array
        return self._maps[key]

    def size(self, attribute: int, level: int) -> int:
        """Number of groups at the level."""
        return len(self._levels[attribute].leaves[level])
