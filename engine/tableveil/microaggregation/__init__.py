"""Microaggregation: clusters of at least k records, and the error of replacing their values."""

from tableveil.microaggregation.classes import squared_error
from tableveil.microaggregation.clustering import cluster
