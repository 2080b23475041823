"""Whether a released value is an aggregate of a class's values by the column's function."""

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from tests.campaign.attacker.cases import AggregatedColumn
from tests.campaign.attacker.columns import Text


def fits(column: AggregatedColumn, found: Sequence[str], shown: Text) -> bool:
    """Whether `shown` may stand for the values found."""
    function: str = column.document["aggregation"]["function"]
    if shown is None:
        return False
    if function == "COMMON_LABEL":
        levels = zip(*(column.ladders[value] for value in found), strict=True)
        lowest: str = next(labels[0] for labels in levels if len(set(labels)) == 1)
        return shown == lowest
    if function == "MODE":
        return _is_mode(column, found, shown)
    if column.order:
        ranked = sorted(found, key=column.order.index)
        return shown == ranked[(len(ranked) - 1) // 2]
    numbers = sorted(_number(column, value) for value in found)
    if function == "INTERVAL":
        grid = int(column.document["aggregation"]["grid"])
        low, high = int(numbers[0]) // grid * grid, (int(numbers[-1]) // grid + 1) * grid
        return shown == (f"[{low}, {high - 1}]" if high - low > 1 else str(low))
    match function:
        case "GEOMETRIC_MEAN":
            expected = math.exp(sum(map(math.log, numbers)) / len(numbers))
        case "MEAN":
            expected = float(sum(numbers) / len(numbers))
        case _:
            expected = float((numbers[(len(numbers) - 1) // 2] + numbers[len(numbers) // 2]) / 2)
    slack = 0.5 if column.type == "DATE" else 1e-9 * max(abs(expected), 1)
    return abs(float(_number(column, shown)) - expected) <= slack


def _is_mode(column: AggregatedColumn, found: Sequence[str], shown: str) -> bool:
    """One of the most frequent values; for numbers and ranks the first of them."""
    counts = Counter(found)
    most = [value for value, number in counts.items() if number == max(counts.values())]
    if column.ladders:
        return shown in most
    return shown == min(most, key=column.order.index if column.order else lambda value: _number(column, value))


def _number(column: AggregatedColumn, value: str) -> Fraction:
    """The number of a value; for dates, days."""
    return Fraction(datetime.date.fromisoformat(value).toordinal()) if column.type == "DATE" else Fraction(value)
