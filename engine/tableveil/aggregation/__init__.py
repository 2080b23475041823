"""Columns whose values are aggregated: their records as points, clusters of these, and what replaces the values."""

from tableveil.aggregation.aggregates import Aggregates, CommonLabels, MemberValues, Numbers, Ranges, aggregate
from tableveil.aggregation.coordinates import AggregatedColumn, Points, SparseClusters, coordinates
