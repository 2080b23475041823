"""Calendar periods over a declared range of days."""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.labelled import CountedLeaves, LabelledValues, ValueKind, misfit
from tableveil.hierarchy.notation import Notation, day_of
from tableveil.hierarchy.rules.traits import (
    MOST_REPRESENTATIVES,
    LossRange,
    Representatives,
    RuleTraits,
    loss_range_faults,
)


class DateUnit(StrEnum):
    """Calendar periods, finest first."""

    DAY = "DAY"
    WEEK = "WEEK"
    MONTH = "MONTH"
    QUARTER = "QUARTER"
    YEAR = "YEAR"
    DECADE = "DECADE"


@dataclass(frozen=True, slots=True)
class Dates:
    """Calendar periods over a declared range of days (ISO dates, inclusive).

    Loss counts the days of `loss_range`, or as many as `loss_days` wherever they are, if it is not 0; else all.
    """

    minimum: str
    maximum: str
    units: tuple[DateUnit, ...]
    loss_range: LossRange | None = None
    loss_days: int = 0

    def __str__(self) -> str:
        return f"{', '.join(unit.lower() for unit in self.units)} in {self.minimum} to {self.maximum}"


# Days are counted from the first of year 1, which is a Monday: so day // 7 is the ISO week.
_DAY_ZERO = np.datetime64("0001-01-01")
# numpy counts months from 1970.
_MONTHS_BEFORE_EPOCH = 12 * 1970
_FIRST_ORDINAL = 1
_FEWEST_LOSS_DAYS = 2

_DAYS_PER_PERIOD = {DateUnit.DAY: 1, DateUnit.WEEK: 7}
_MONTHS_PER_PERIOD = {DateUnit.MONTH: 1, DateUnit.QUARTER: 3, DateUnit.YEAR: 12, DateUnit.DECADE: 120}
_FINEST_FIRST = tuple(DateUnit)
# Each step is short enough to skip no period: each month has a day in every 28 days.
_DAYS_AT_A_TIME = {DateUnit.DAY: 1, DateUnit.WEEK: 7}


def check(rule: Dates, field: str, kind: ValueKind | None) -> list[Fault]:
    """Lists the faults of the rule and, if `kind` is known, of using it on a column of that kind."""
    hint = "Text becomes dates in a source_query: strptime(column, '%d.%m.%Y')::DATE." if kind is ValueKind.TEXT else ""
    faults = misfit(field, "dates", kind, (ValueKind.DATE, ValueKind.TIMESTAMP), hint)
    bounds = {"minimum": rule.minimum, "maximum": rule.maximum}
    days = {name: Notation.DATE.read(text) for name, text in bounds.items()}
    faults += [
        Fault(f"{field}.{name}", shortened(text), Notation.DATE.value)
        for name, text in bounds.items()
        if days[name] is None
    ]
    if days["minimum"] is not None and days["maximum"] is not None and days["minimum"] >= days["maximum"]:
        faults.append(Fault(f"{field}.maximum", rule.maximum, f"a date after the minimum, {rule.minimum}"))
    ends = {name: day for name, day in days.items() if day is not None}
    faults += loss_range_faults(rule.loss_range, field, Notation.DATE, bounds, ends)
    return [*faults, *_loss_days_faults(rule, field), *_unit_faults(rule, field, kind)]


def _loss_days_faults(rule: Dates, field: str) -> Iterator[Fault]:
    first, last = (Notation.DATE.read(text) for text in (rule.minimum, rule.maximum))
    if not rule.loss_days:
        return
    if rule.loss_range is not None:
        yield Fault(f"{field}.loss_days", f"{rule.loss_days} beside a loss_range", "one of the two")
    most = None if first is None or last is None else last - first + 1
    if rule.loss_days < _FEWEST_LOSS_DAYS or (most is not None and rule.loss_days > most):
        expected = f"a number of days from {_FEWEST_LOSS_DAYS} on, and at most those of the range"
        yield Fault(f"{field}.loss_days", str(rule.loss_days), expected)


def _unit_faults(rule: Dates, field: str, kind: ValueKind | None) -> list[Fault]:
    if not rule.units:
        hint = "To release the value itself or '*', use suppression_only."
        return [Fault(f"{field}.units", "no units", "at least one unit", hint)]
    faults: list[Fault] = []
    for index, unit in enumerate(rule.units):
        path = f"{field}.units[{index}]"
        before = rule.units[index - 1] if index else None
        if unit is DateUnit.DAY and kind is ValueKind.DATE:
            faults.append(Fault(path, "DAY on a column of kind DATE", "a longer unit", "Its days are level 0 already."))
        if before is None:
            continue
        if _FINEST_FIRST.index(unit) <= _FINEST_FIRST.index(before):
            faults.append(Fault(path, f"{unit} after {before}", "a unit longer than the one before"))
        elif before is DateUnit.WEEK:
            hint = "Weeks nest in nothing but '*': 2024-W05 lies in January and in February."
            faults.append(Fault(path, f"{unit} after WEEK", "no unit after WEEK", hint))
    return faults


def label(
    rule: Dates, kind: ValueKind, values: Sequence[object], texts: Sequence[str], own: NDArray[np.bool_]
) -> LabelledValues:
    """Labels each value with the periods its day lies in.

    |H| is the number of days from minimum to maximum, both included; the leaves of a label are the days of its period
    within that range. Timestamps count as the day they lie on, in UTC. Days outside of the range, infinities and years
    beyond Python's are not covered.
    """
    first, last = (_ordinal(bound) - _FIRST_ORDINAL for bound in (rule.minimum, rule.maximum))
    ordinals = [day_of(value, text) for value, text in zip(values, texts, strict=True)]
    days = np.array([-1 if ordinal is None else ordinal - _FIRST_ORDINAL for ordinal in ordinals], dtype=np.int64)
    covered = (days >= first) & (days <= last)
    days = days[covered]

    def levels() -> Iterator[tuple[NDArray[np.object_], NDArray[np.float64]]]:
        for unit in rule.units:
            periods, period = np.unique(_period(days, unit), return_inverse=True)
            labels = np.array([_name(int(number), unit) for number in periods], dtype=np.object_)
            starts = np.maximum(_first_day(periods, unit), first)
            ends = np.minimum(_first_day(periods + 1, unit), last + 1)
            yield labels[period], (ends - starts)[period].astype(np.float64)

    labelled = LabelledValues.of(covered, levels(), float(last - first + 1))
    if rule.loss_days:
        most = float(rule.loss_days)
        lost = tuple(np.minimum(leaves[covered], most) for leaves in labelled.leaves[:-1])
        return replace(labelled, loss=CountedLeaves(lost, most, np.zeros(len(days), np.bool_)))
    if rule.loss_range is None:
        return labelled
    low, high = (_ordinal(bound) - _FIRST_ORDINAL for bound in (rule.loss_range.minimum, rule.loss_range.maximum))
    counted = tuple(
        np.clip(
            np.minimum(_first_day(_period(days, unit) + 1, unit), high + 1)
            - np.maximum(_first_day(_period(days, unit), unit), low),
            0,
            None,
        ).astype(np.float64)
        for unit in rule.units
    )
    return replace(labelled, loss=CountedLeaves(counted, float(high - low + 1), (days < low) | (days > high)))


def _ordinal(bound: str) -> int:
    day = Notation.DATE.read(bound)
    if day is None:
        raise ValueError(f"{shortened(bound)} was not checked to be {Notation.DATE.value}")
    return int(day)


def _period(days: NDArray[np.int64], unit: DateUnit) -> NDArray[np.int64]:
    """Number of the period each day lies in; the first day of year 1 lies in period 0 of days and weeks."""
    if unit in _DAYS_PER_PERIOD:
        return days // _DAYS_PER_PERIOD[unit]
    months = (_DAY_ZERO + days).astype("datetime64[M]").astype(np.int64) + _MONTHS_BEFORE_EPOCH
    return months // _MONTHS_PER_PERIOD[unit]


def _first_day(periods: NDArray[np.int64], unit: DateUnit) -> NDArray[np.int64]:
    """First day of each period; the inverse of `_period`, and not limited to the years of Python's dates."""
    if unit in _DAYS_PER_PERIOD:
        return periods * _DAYS_PER_PERIOD[unit]
    months = (periods * _MONTHS_PER_PERIOD[unit] - _MONTHS_BEFORE_EPOCH).astype("datetime64[M]")
    return (months.astype("datetime64[D]") - _DAY_ZERO).astype(np.int64)


def _name(period: int, unit: DateUnit) -> str:
    match unit:
        case DateUnit.DAY:
            return datetime.date.fromordinal(period + _FIRST_ORDINAL).isoformat()
        case DateUnit.WEEK:
            year, week, _ = datetime.date.fromordinal(period * 7 + _FIRST_ORDINAL).isocalendar()
            return f"{year:04d}-W{week:02d}"
        case DateUnit.MONTH:
            return f"{period // 12:04d}-{period % 12 + 1:02d}"
        case DateUnit.QUARTER:
            return f"{period // 4:04d}-Q{period % 4 + 1}"
        case DateUnit.YEAR:
            return f"{period:04d}"
        case DateUnit.DECADE:
            return f"{period * 10:04d}s"


def representatives(rule: Dates) -> Representatives | None:
    """Days of every period; None if these are too many."""
    first, last = (datetime.date.fromisoformat(bound).toordinal() for bound in (rule.minimum, rule.maximum))
    step = _DAYS_AT_A_TIME.get(rule.units[0], 28)
    if (last - first) // step > MOST_REPRESENTATIVES:
        return None
    days = [datetime.date.fromordinal(number) for number in sorted({*range(first, last + 1, step), last})]
    return Representatives(ValueKind.DATE, days, [day.isoformat() for day in days])


DATES = RuleTraits(
    field="dates",
    kind=Dates,
    check=check,
    label=label,
    representatives=representatives,
    bounds=lambda kind: ValueKind.DATE,
)
