"""Microaggregation: clusters of at least k records, and what replaces their values."""

from tableveil.microaggregation.aggregates import Aggregates, CommonLabels, Members, Numbers, Ranges, aggregate
from tableveil.microaggregation.clustering import cluster
from tableveil.microaggregation.columns import AggregatedColumn
from tableveil.microaggregation.coordinates import coordinates
from tableveil.microaggregation.error import SquaredError, squared_error
from tableveil.microaggregation.points import Clustered, Clusters, Points

__all__ = [
    "AggregatedColumn",
    "Aggregates",
    "Clustered",
    "Clusters",
    "CommonLabels",
    "Members",
    "Numbers",
    "Points",
    "Ranges",
    "SquaredError",
    "aggregate",
    "cluster",
    "coordinates",
    "squared_error",
]
