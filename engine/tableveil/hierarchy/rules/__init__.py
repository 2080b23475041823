"""The rules that give values their labels: a module of each has its settings, their checks, and its labels."""

from typing import Any

from tableveil.hierarchy.rules.dates import DATES, Dates, DateUnit
from tableveil.hierarchy.rules.grouping import GROUPING, Group, Grouping, GroupingLevel
from tableveil.hierarchy.rules.interval_grid import Intervals
from tableveil.hierarchy.rules.intervals import INTERVALS
from tableveil.hierarchy.rules.order_based import ORDER_BASED, OrderBased, OrderLabels
from tableveil.hierarchy.rules.redaction import MASK, REDACTION, MaskFrom, PadAt, Redaction
from tableveil.hierarchy.rules.suppression import SUPPRESSION_ONLY, SuppressionOnly
from tableveil.hierarchy.rules.times_of_day import TIMES_OF_DAY, DayPart, TimeLevel, TimesOfDay
from tableveil.hierarchy.rules.traits import LossRange, RuleTraits

SimpleRule = Intervals | Dates | Redaction | SuppressionOnly | Grouping | OrderBased | TimesOfDay

_TRAITS: tuple[RuleTraits[Any], ...] = (
    INTERVALS,
    DATES,
    REDACTION,
    SUPPRESSION_ONLY,
    GROUPING,
    ORDER_BASED,
    TIMES_OF_DAY,
)
RULES: dict[type[SimpleRule], RuleTraits[Any]] = {traits.kind: traits for traits in _TRAITS}
"""The entry of each rule, by its class."""
