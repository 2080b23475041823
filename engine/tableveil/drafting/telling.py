"""How far a column may be generalized before it tells nothing."""

import datetime
from decimal import Decimal

from tableveil.drafting.facts import ColumnFacts
from tableveil.hierarchy import RuleHierarchy, ValueKind, label_values
from tableveil.hierarchy.rules import Dates, Intervals


def telling_level(facts: ColumnFacts, hierarchy: RuleHierarchy) -> int:
    """The highest level of a proposed hierarchy that seems to leave several labels; 0 if only the values themselves do.

    For numbers and days, the ends of the range decide. For other kinds it is the level below the top.
    """
    if isinstance(hierarchy, Intervals | Dates):
        return _of_range(facts, hierarchy)
    # A rule has as many levels as for any value if there is none.
    return len(label_values(hierarchy, facts.kind or ValueKind.TEXT, [], []).labels) - 1


def _of_range(facts: ColumnFacts, rule: Intervals | Dates) -> int:
    if facts.minimum is None or facts.maximum is None or facts.kind is None:
        return 0
    texts = [facts.minimum, facts.maximum]
    if isinstance(rule, Dates):
        days = [text.partition(" ")[0] for text in texts]
        ends = label_values(rule, ValueKind.DATE, [datetime.date.fromisoformat(day) for day in days], days)
    else:
        number = {ValueKind.INTEGER: int, ValueKind.FLOAT: float}.get(facts.kind, Decimal)
        ends = label_values(rule, facts.kind, [number(text) for text in texts], texts)
    return max((level for level, labels in enumerate(ends.labels, 1) if len(set(labels)) > 1), default=0)
