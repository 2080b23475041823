"""Microaggregation: clusters of at least k records, and the error of replacing their values."""

from tableveil.microaggregation.clustering import cluster
from tableveil.microaggregation.error import squared_error
