"""Who shares the labels of combinations that are released at transformations of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import LevelMaps
from tableveil.classes.blocks import Blocks, sums_at
from tableveil.game.combinations import Combinations
from tableveil.game.inversion import released_at
from tableveil.game.record_level import Assignment


def people_of_labels(combinations: Combinations, assignment: Assignment) -> NDArray[np.int64]:
    """Per combination, the people whose values its labels stand for, whatever they are released at; 0 if suppressed."""
    maps = LevelMaps(combinations.levels)
    blocks = Blocks((0,) * len(combinations.levels), combinations.codes, maps)
    people = np.zeros(len(combinations.people), np.int64)
    for number, rows in released_at(assignment.chosen):
        to = assignment.transformations[number]
        places, space = blocks.places(to, [maps.size(j, level) for j, level in enumerate(to)])
        people[rows] = sums_at(places, combinations.people, space)[places[rows]]
    return people
