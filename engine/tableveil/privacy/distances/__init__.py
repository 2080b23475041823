"""Earth mover's distances between the values of classes and other distributions of them, from sparse counts."""

from collections.abc import Mapping

from tableveil.policy.privacy import Distance
from tableveil.privacy.distances.hierarchical import HierarchicalDistance
from tableveil.privacy.distances.model import ComparedClasses, Distributions, EarthMover, EqualDistance, Shares
from tableveil.privacy.distances.ordered import OrderedDistance

EARTH_MOVERS: Mapping[Distance, type[EarthMover]] = {
    Distance.EQUAL: EqualDistance,
    Distance.ORDERED: OrderedDistance,
    Distance.HIERARCHICAL: HierarchicalDistance,
}
"""The class for each ground distance."""
