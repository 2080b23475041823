"""Values that represent all labels of a rule, so that the rule can be previewed without a table."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from tableveil.hierarchy.definition import (
    Combination,
    Dates,
    DateUnit,
    Grouping,
    InlineLevels,
    Intervals,
    OrderBased,
    RuleHierarchy,
    TimesOfDay,
)
from tableveil.hierarchy.labelled import ValueKind
from tableveil.hierarchy.notation import Notation

MOST_REPRESENTATIVES = 1_000_000

_KINDS = {
    Notation.INTEGER: ValueKind.INTEGER,
    Notation.NUMBER: ValueKind.DECIMAL,
    Notation.DATE: ValueKind.DATE,
    Notation.TIMESTAMP: ValueKind.TIMESTAMP,
}
_SECONDS_PER_DAY = 86_400
# Bounds have at most 300 characters, and a result computed from two of them has as many digits before and after the
# point.
_DIGITS = 1000
# Each step is short enough to skip no period: each month has a day in every 28 days.
_DAYS_AT_A_TIME = {DateUnit.DAY: 1, DateUnit.WEEK: 7}


@dataclass(frozen=True, slots=True)
class Representatives:
    """Distinct values in their order, of a kind that the rule takes; also as text."""

    kind: ValueKind
    values: Sequence[object]
    texts: Sequence[str]


def representatives(definition: InlineLevels | RuleHierarchy) -> Representatives | None:
    """Values that have every label at every level, if the definition alone gives any.

    None for rules without values of their own (redaction, suppression), and for those with more labels than
    `MOST_REPRESENTATIVES`. The definition must be free of faults. A continuous rule without widths keeps values
    unchanged at level 1; no finite number of values represents these.
    """
    match definition:
        case InlineLevels(rows):
            return _texts([row[0] for row in rows])
        case Grouping(levels):
            return _texts([member for group in levels[0].groups for member in group.members])
        case OrderBased(values):
            return _texts(values)
        case Intervals():
            return _of_intervals(definition)
        case Dates():
            return _of_dates(definition)
        case TimesOfDay():
            seconds = (datetime.timedelta(seconds=second) for second in range(_SECONDS_PER_DAY))
            return _texts([str(second).zfill(len("00:00:00")) for second in seconds], ValueKind.TIME)
        case Combination(rows, rest):
            others = representatives(rest)
            if others is None:
                return None
            own = {row[0]: None for row in rows}
            return Representatives(others.kind, (*own.values(), *others.values), (*own, *others.texts))
        case _:
            return None


def _texts(texts: Sequence[str], kind: ValueKind = ValueKind.TEXT) -> Representatives:
    return Representatives(kind, texts, texts)


def _of_intervals(rule: Intervals) -> Representatives | None:
    """The starts of intervals: those of the least width, those between boundaries, and those cut by codings."""
    bounds = [rule.minimum, rule.maximum, *filter(None, (rule.bottom_coding, rule.top_coding))]
    bounds += [bound for boundaries in rule.boundaries for bound in boundaries]
    notation = next(kind for kind in _KINDS if all(kind.read(text) is not None for text in bounds))
    numbers = [number for text in bounds if (number := notation.read(text)) is not None]
    first, last = numbers[:2]
    step = _least_width(rule, notation)
    if step and (last - first) / step > MOST_REPRESENTATIVES:
        return None
    starts = {first + i * step for i in range(int((last - first) // step) + 1)} if step else set()
    read_representatives = [
        _value(number, notation) for number in sorted(starts.union(numbers)) if first <= number <= last
    ]
    return Representatives(
        _KINDS[notation], [value for value, _ in read_representatives], [text for _, text in read_representatives]
    )


def _least_width(rule: Intervals, notation: Notation) -> Fraction | None:
    """The least width in the unit of bounds: 1, a day, or a second."""
    if not rule.widths:
        # Without widths, the values between codings stay single, if they can be counted.
        return Fraction(1) if notation in (Notation.INTEGER, Notation.DATE) and not rule.boundaries else None
    of_width = Notation.DURATION if notation is Notation.TIMESTAMP else Notation.NUMBER
    return of_width.read(rule.widths[0])


def _value(number: Fraction, notation: Notation) -> tuple[object, str]:
    if notation is Notation.DATE:
        day = datetime.date.fromordinal(int(number))
        return day, day.isoformat()
    if notation is Notation.TIMESTAMP:
        moment = datetime.datetime.min + datetime.timedelta(microseconds=int(number * 10**6))
        return moment, str(moment)
    if notation is Notation.INTEGER:
        return int(number), str(int(number))
    with localcontext() as context:
        context.prec = _DIGITS
        value = Decimal(number.numerator) / number.denominator
    return value, format(value, "f")


def _of_dates(rule: Dates) -> Representatives | None:
    first, last = (datetime.date.fromisoformat(bound).toordinal() for bound in (rule.minimum, rule.maximum))
    step = _DAYS_AT_A_TIME.get(rule.units[0], 28)
    if (last - first) // step > MOST_REPRESENTATIVES:
        return None
    days = [datetime.date.fromordinal(number) for number in sorted({*range(first, last + 1, step), last})]
    return Representatives(ValueKind.DATE, days, [day.isoformat() for day in days])
