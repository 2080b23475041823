"""Times of day: intervals that divide the day, and parts of it; the last part may last beyond midnight."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault, shortened
from tableveil.hierarchy.labelled import TOP_LABEL, LabelledValues, ValueKind, misfit
from tableveil.hierarchy.notation import MICROSECONDS, NO_TIME, Notation, microseconds_of, seconds_of_day
from tableveil.hierarchy.rules.traits import Representatives, RuleTraits

_DAY = 86_400
_HOUR = 3_600


@dataclass(frozen=True, slots=True)
class DayPart:
    """A part of the day from `start` until the next part starts; without a label it is named by its interval."""

    start: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class TimeLevel:
    """A level of times of day: intervals of a `width` that divides the day, or `parts` of the day."""

    width: str = ""
    parts: tuple[DayPart, ...] = ()

    def __str__(self) -> str:
        return self.width or f"{len(self.parts)} parts of the day"


@dataclass(frozen=True, slots=True)
class TimesOfDay:
    """Times of day, from level 1 upwards; for a timestamp, its time in UTC."""

    levels: tuple[TimeLevel, ...]

    def __str__(self) -> str:
        return f"times of day by {', '.join(map(str, self.levels))}"


def check(rule: TimesOfDay, field: str, kind: ValueKind | None) -> list[Fault]:
    """Lists the faults of the rule and, if `kind` is known, of using it on a column of that kind."""
    faults = misfit(field, "times_of_day", kind, (ValueKind.TIME, ValueKind.TIMESTAMP))
    if not rule.levels:
        hint = "To release the value itself or '*', use suppression_only."
        return [*faults, Fault(f"{field}.levels", "no levels", "at least one level", hint)]
    for number, level in enumerate(rule.levels):
        path = f"{field}.levels[{number}]"
        if level.width and level.parts:
            faults.append(Fault(f"{path}.parts", f"{len(level.parts)} parts beside a width", "a width or parts"))
        elif level.parts:
            faults += _part_faults(level, f"{path}.parts")
        else:
            faults += _width_faults(level, f"{path}.width")
    return faults or [*_not_nesting(rule, field)]


def _width_faults(level: TimeLevel, path: str) -> Iterator[Fault]:
    width = Notation.DURATION.read(level.width)
    if width is None:
        yield Fault(path, shortened(level.width), f"{Notation.DURATION.value}, or parts of the day")
    elif not 0 < width < _DAY or _DAY % width:
        yield Fault(path, level.width, "a part of 24 hours that divides them, such as '15 minutes' or '6 hours'")


def _part_faults(level: TimeLevel, path: str) -> Iterator[Fault]:
    before = None
    for index, part in enumerate(level.parts):
        start = Notation.TIME_OF_DAY.read(part.start)
        if start is None:
            yield Fault(f"{path}[{index}].start", shortened(part.start), Notation.TIME_OF_DAY.value)
        elif before is not None and start <= before:
            hint = "A part lasts until the next one starts, the last one until the first does, beyond midnight."
            expected = f"a time after that of the part before, {level.parts[index - 1].start}"
            yield Fault(f"{path}[{index}].start", part.start, expected, hint)
        if part.label == TOP_LABEL:
            yield Fault(f"{path}[{index}].label", part.label, f"a label other than {TOP_LABEL!r}, the top's")
        before = start
    alike = len(level.parts) == 1 or (level.parts[0].label and len({part.label for part in level.parts}) == 1)
    if alike:
        hint = "One label for the whole day is the top, which every hierarchy has."
        yield Fault(path, "one label for the whole day", "parts with at least two labels", hint)


def _not_nesting(rule: TimesOfDay, field: str) -> Iterator[Fault]:
    """The first time of each level that differs in its label from another time, although both share the label below."""
    starts = _cuts(rule)
    below: list[str] = []
    for number, level in enumerate(rule.levels):
        labels = _labels(level, starts)
        parents: dict[str, tuple[str, int]] = {}
        for start, label, parent in zip(starts.tolist(), below, labels, strict=False):
            first, at = parents.setdefault(label, (parent, start))
            if first != parent:
                actual = (
                    f"{_text(at)} in {shortened(first)} and {_text(start)} in {shortened(parent)}, although "
                    f"{shortened(label)} of levels[{number - 1}] has both"
                )
                yield Fault(f"{field}.levels[{number}]", actual, "the same label above equal labels")
                return
        if number and len(set(labels)) >= len(set(below)):
            actual = f"{len(set(labels))} labels"
            expected = f"fewer labels than the {len(set(below))} of levels[{number - 1}]"
            yield Fault(f"{field}.levels[{number}]", actual, expected)
        below = labels


def label(
    rule: TimesOfDay, kind: ValueKind, values: Sequence[object], texts: Sequence[str], own: NDArray[np.bool_]
) -> LabelledValues:
    """Labels each time of day, at every level, with its interval or part of the day.

    The domain is the day: |H| is 24, and the leaves of a label are the hours that have it. Intervals are half-open,
    `[06:00, 12:00)`; the last part of a day lasts until the first one starts: `[22:00, 06:00)`. For timestamps the time
    in UTC counts, and the date is lost from level 1 on. 24:00, infinities and years beyond Python's are not covered.
    """
    seconds = _seconds(kind, values, texts)
    covered = seconds != NO_TIME
    starts = _cuts(rule)
    # Times before the first cut belong to the last piece, which lasts beyond midnight.
    piece = np.searchsorted(starts, seconds[covered], side="right") - 1
    hours = np.diff(starts, append=starts[0] + _DAY) / _HOUR

    def levels() -> Iterator[tuple[NDArray[np.object_], NDArray[np.float64]]]:
        for level in rule.levels:
            names = _labels(level, starts)
            leaves: Counter[str] = Counter()
            for name, lasting in zip(names, hours.tolist(), strict=True):
                leaves[name] += lasting
            measured = np.array([leaves[name] for name in names], dtype=np.float64)
            yield np.array(names, dtype=np.object_)[piece], measured[piece]

    return LabelledValues.of(covered, levels(), _DAY / _HOUR, continuous=True)


def representatives(rule: TimesOfDay) -> Representatives:
    """Every second of a day, whatever its labels are."""
    return Representatives.of_texts(
        [_text(minute * 60) + f":{second:02d}" for minute in range(_DAY // 60) for second in range(60)], ValueKind.TIME
    )


def _seconds(kind: ValueKind, values: Sequence[object], texts: Sequence[str]) -> NDArray[np.int64]:
    """Whole seconds since midnight; `NO_TIME` for values that are no time of a day."""
    if kind is ValueKind.TIMESTAMP:
        times = microseconds_of(values, texts)
        return np.where(times == NO_TIME, NO_TIME, times // MICROSECONDS % _DAY)
    seconds = (seconds_of_day(text) for text in texts)
    return np.fromiter((NO_TIME if second is None else second for second in seconds), np.int64, len(texts))


def _starts(level: TimeLevel) -> list[int]:
    if not level.parts:
        return list(range(0, _DAY, _read(level.width, Notation.DURATION)))
    return [_read(part.start, Notation.TIME_OF_DAY) for part in level.parts]


def _read(text: str, notation: Notation) -> int:
    number = notation.read(text)
    if number is None:
        raise ValueError(f"{shortened(text)} was not checked to be {notation.value}")
    return int(number)


def _cuts(rule: TimesOfDay) -> NDArray[np.int64]:
    """The starts of intervals and parts at any level, in seconds, ascending; all levels consist of these pieces."""
    return np.array(sorted({start for level in rule.levels for start in _starts(level)}), dtype=np.int64)


def _labels(level: TimeLevel, pieces: NDArray[np.int64]) -> list[str]:
    """The level's label for each piece."""
    starts = _starts(level)
    names = [part.label for part in level.parts] or [""] * len(starts)
    # The last interval of a width ends with the day; the last part ends with the start of the first on the next day.
    ends = [*starts[1:], starts[0] or _DAY]
    labels = [name or f"[{_text(start)}, {_text(end)})" for name, start, end in zip(names, starts, ends, strict=True)]
    return [labels[i] for i in (np.searchsorted(starts, pieces, side="right") - 1).tolist()]


def _text(second: int) -> str:
    hours, rest = divmod(second, _HOUR)
    minutes, seconds = divmod(rest, 60)
    return f"{hours:02d}:{minutes:02d}" + f":{seconds:02d}" * bool(seconds)


TIMES_OF_DAY = RuleTraits(
    field="times_of_day", kind=TimesOfDay, check=check, label=label, representatives=representatives
)
