"""Figures for monitoring: what they are, and the address at which they and the server's health are read over HTTP."""

from tableveil.metrics.address import MetricsAddress
from tableveil.metrics.metrics import Metrics
