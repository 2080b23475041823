"""Columns whose values are aggregated: their records as points, clusters of these, and what replaces the values."""

from tableveil.aggregation.aggregates import (
    Aggregates,
    CommonLabels,
    MemberValues,
    Numbers,
    Ranges,
    aggregate,
    all_same,
)
from tableveil.aggregation.columns import AggregatedColumn
from tableveil.aggregation.coordinates import coordinates
from tableveil.aggregation.points import Clustered, Points, SparseClusters

__all__ = [
    "AggregatedColumn",
    "Aggregates",
    "Clustered",
    "CommonLabels",
    "MemberValues",
    "Numbers",
    "Points",
    "Ranges",
    "SparseClusters",
    "aggregate",
    "all_same",
    "coordinates",
]
