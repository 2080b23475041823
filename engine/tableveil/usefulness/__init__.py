"""Usefulness of a release: distributions, statistics and associations, before and after."""

from tableveil.usefulness.association import contingency, cramers_v
from tableveil.usefulness.report import (
    QUANTILES,
    Association,
    Bin,
    ColumnSpread,
    ColumnUtility,
    MovedRate,
    UtilityReport,
)
