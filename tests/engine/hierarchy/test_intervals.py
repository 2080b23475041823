"""Intervals: labels and leaves against a transcription that lists every interval."""

import datetime
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tableveil.hierarchy import LabelledValues, ValueKind, check_rule, label_values
from tableveil.hierarchy.rules import Intervals

FIELD = "attributes[2].hierarchy.intervals"
INTERVAL = re.compile(r"\[(?P<low>[^,]+), (?P<high>[^,\])]+)(?P<end>[\])])")


def label_all(rule: Intervals, kind: ValueKind, values: list[object]) -> LabelledValues:
    assert check_rule(rule, FIELD, kind) == []
    return label_values(rule, kind, values, [str(value) for value in values])


def at(labelled: LabelledValues, value: int) -> list[str | None]:
    return [labels[value] for labels in labelled.labels]


# The transcription: a range in exact numbers, every interval of it in a list.


@dataclass(frozen=True)
class Range:
    kind: ValueKind
    minimum: Fraction
    maximum: Fraction
    widths: tuple[Fraction, ...]
    bottom: Fraction | None
    top: Fraction | None

    @property
    def counted(self) -> bool:
        return self.kind in (ValueKind.INTEGER, ValueKind.DATE)

    @property
    def end(self) -> Fraction:
        return self.maximum + 1 if self.counted else self.maximum

    @property
    def rule(self) -> Intervals:
        def bound(number: Fraction | None) -> str:
            return "" if number is None else self.text(number)

        return Intervals(
            minimum=bound(self.minimum),
            maximum=bound(self.maximum),
            widths=tuple(plain(width) for width in self.widths),
            bottom_coding=bound(self.bottom),
            top_coding=bound(self.top),
        )

    def text(self, number: Fraction) -> str:
        return str(datetime.date.fromordinal(int(number))) if self.kind is ValueKind.DATE else plain(number)

    def number(self, text: str) -> Fraction:
        if self.kind is ValueKind.DATE:
            return Fraction(datetime.date.fromisoformat(text).toordinal())
        return Fraction(text)

    def value(self, number: Fraction) -> object:
        match self.kind:
            case ValueKind.DATE:
                return datetime.date.fromordinal(int(number))
            case ValueKind.INTEGER:
                return int(number)
            case ValueKind.DECIMAL:
                return Decimal(plain(number))
            case _:
                return float(number)

    def expected(self, number: Fraction, width: Fraction) -> tuple[str, Fraction] | None:
        if self.bottom is not None and number < self.bottom:
            return f"< {self.text(self.bottom)}", self.bottom - self.minimum
        if self.top is not None and number >= self.top:
            return f">= {self.text(self.top)}", self.end - self.top
        low = self.minimum
        while low < self.end:
            first = low if self.bottom is None else max(low, self.bottom)
            after = min(low + width, self.end if self.top is None else self.top)
            closed = not self.counted and after == self.maximum and self.top is None
            if first <= number < after or (closed and number == after):
                last = after - 1 if self.counted else after
                bracket = "]" if self.counted or closed else ")"
                return f"[{self.text(first)}, {self.text(last)}{bracket}", after - first
            low += width
        return None


def plain(number: Fraction) -> str:
    text = format(Decimal(number.numerator) / Decimal(number.denominator), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    kind = draw(st.sampled_from([ValueKind.INTEGER, ValueKind.DATE, ValueKind.DECIMAL, ValueKind.FLOAT]))
    unit = Fraction(1)
    if kind is ValueKind.DATE:
        offset = draw(st.integers(-3000, 3000)) + datetime.date(1970, 1, 1).toordinal()
    elif kind is ValueKind.INTEGER:
        offset = draw(st.integers(-60, 60) | st.sampled_from([10**25, -(10**25), 2**63 - 20, -(2**63) - 20]))
    else:
        # Quarters are exact as decimals and as floats.
        unit = draw(st.sampled_from([Fraction(1), Fraction(1, 4), Fraction(1, 2)]))
        offset = draw(st.integers(-60, 60))
    span = draw(st.integers(1, 50))
    low, high = sorted(draw(st.lists(st.integers(1, span), min_size=2, max_size=2)))
    widths = [draw(st.integers(1, 7))]
    for _ in range(draw(st.integers(0, 2))):
        widths.append(widths[-1] * draw(st.integers(2, 4)))
    return Range(
        kind=kind,
        minimum=offset * unit,
        maximum=(offset + span) * unit,
        widths=tuple(width * unit for width in widths),
        bottom=(offset + low) * unit if low < high and draw(st.booleans()) else None,
        top=(offset + high) * unit if draw(st.booleans()) else None,
    )


def numbers_in(declared: Range, beyond: int) -> list[Fraction]:
    """The whole range in steps as fine as the bounds (twice as fine if continuous), and a bit beyond both ends."""
    step = Fraction(1) if declared.counted else Fraction(1, 8)
    number, numbers = declared.minimum - beyond, []
    while number <= declared.maximum + beyond:
        numbers.append(number)
        number += step
    return numbers


@given(ranges())
def test_labels_and_leaves_are_those_of_the_listed_intervals(declared: Range) -> None:
    numbers = numbers_in(declared, beyond=3)
    labelled = label_all(declared.rule, declared.kind, [declared.value(number) for number in numbers])
    assert len(labelled.labels) == len(labelled.leaves) == len(declared.widths) + 1
    assert labelled.continuous is not declared.counted
    assert labelled.domain_size == declared.end - declared.minimum
    for level, width in enumerate(declared.widths):
        for index, number in enumerate(numbers):
            expected = declared.expected(number, width)
            assert labelled.covered[index] == (expected is not None)
            label, leaves = labelled.labels[level][index], labelled.leaves[level][index]
            if expected is None:
                assert label is None
                assert np.isnan(leaves)
            else:
                assert (label, leaves) == expected


@given(ranges())
def test_a_covered_value_lies_in_its_interval_and_coded_values_beyond_their_bound(declared: Range) -> None:
    numbers = numbers_in(declared, beyond=3)
    labelled = label_all(declared.rule, declared.kind, [declared.value(number) for number in numbers])
    for labels in labelled.labels[:-1]:
        for number, label in zip(numbers, labels, strict=True):
            if label is None:
                continue
            if label.startswith("< "):
                assert number < declared.number(label[2:])
            elif label.startswith(">= "):
                assert number >= declared.number(label[3:])
            else:
                match = INTERVAL.fullmatch(label)
                assert match
                low, high = declared.number(match["low"]), declared.number(match["high"])
                assert low <= number
                assert number <= high if match["end"] == "]" else number < high


@given(ranges())
def test_the_leaves_of_each_level_make_up_the_range(declared: Range) -> None:
    numbers = numbers_in(declared, beyond=0)
    labelled = label_all(declared.rule, declared.kind, [declared.value(number) for number in numbers])
    for labels, leaves in zip(labelled.labels, labelled.leaves, strict=True):
        by_label = dict(zip(labels, leaves.tolist(), strict=True))
        assert sum(by_label.values()) == labelled.domain_size


# Examples.


def test_integers() -> None:
    rule = Intervals("0", "99", ("10", "50"))
    labelled = label_all(rule, ValueKind.INTEGER, [0, 25, 99, 100, -1])
    assert at(labelled, 0) == ["[0, 9]", "[0, 49]", "*"]
    assert at(labelled, 1) == ["[20, 29]", "[0, 49]", "*"]
    assert at(labelled, 2) == ["[90, 99]", "[50, 99]", "*"]
    assert labelled.covered.tolist() == [True, True, True, False, False]
    assert [leaves[1] for leaves in labelled.leaves] == [10, 50, 100]


def test_an_interval_of_one_integer_has_two_equal_ends() -> None:
    assert at(label_all(Intervals("0", "20", ("1", "6")), ValueKind.INTEGER, [20]), 0) == ["[20, 20]", "[18, 20]", "*"]


def test_negative_integers_lie_in_the_grid_from_the_minimum() -> None:
    labelled = label_all(Intervals("-15", "15", ("10",)), ValueKind.INTEGER, [-15, -6, -5, -1, 0, 15])
    assert labelled.labels[0] == ("[-15, -6]", "[-15, -6]", "[-5, 4]", "[-5, 4]", "[-5, 4]", "[15, 15]")


@pytest.mark.parametrize("start", [0, 10**37, -(10**37)])
def test_huge_integers_and_ranges_are_exact(start: int) -> None:
    size = 10**36
    rule = Intervals(str(start), str(start + size), ("3", str(3 * 10**30)))
    labelled = label_all(rule, ValueKind.INTEGER, [start + size, start + size - 1, start + 3, start - 1])
    assert labelled.labels[0] == (
        f"[{start + size - 1}, {start + size}]",
        f"[{start + size - 1}, {start + size}]",
        f"[{start + 3}, {start + 5}]",
        None,
    )
    assert labelled.domain_size == 1e36


def test_a_width_beyond_int64_over_a_small_range_is_one_interval() -> None:
    labelled = label_all(Intervals("0", "9", ("5", "5" + "0" * 30)), ValueKind.INTEGER, [0, 9])
    assert labelled.labels[1] == ("[0, 9]", "[0, 9]")
    assert labelled.leaves[1].tolist() == [10, 10]


def test_decimals_of_another_scale_than_the_bounds() -> None:
    rule = Intervals("0.50", "100", ("10", "30.0"))
    values: list[object] = [
        Decimal("0.50"),
        Decimal("20.4999"),
        Decimal("20.5"),
        Decimal("100.000"),
        Decimal("100.001"),
    ]
    labelled = label_all(rule, ValueKind.DECIMAL, values)
    assert labelled.labels[0] == ("[0.5, 10.5)", "[10.5, 20.5)", "[20.5, 30.5)", "[90.5, 100]", None)
    assert labelled.labels[1] == ("[0.5, 30.5)", "[0.5, 30.5)", "[0.5, 30.5)", "[90.5, 100]", None)
    assert labelled.leaves[0].tolist()[:4] == [10, 10, 10, 9.5]
    assert labelled.domain_size == 99.5


def test_the_maximum_belongs_to_the_last_full_interval() -> None:
    labelled = label_all(Intervals("0", "100", ("10", "50")), ValueKind.FLOAT, [89.9, 90.0, 100.0])
    assert labelled.labels[0] == ("[80, 90)", "[90, 100]", "[90, 100]")
    assert labelled.labels[1] == ("[50, 100]", "[50, 100]", "[50, 100]")


def test_a_float_is_the_number_it_stands_for() -> None:
    # 0.1 is stored as a little more than a tenth, 0.3 as a little less than three.
    labelled = label_all(Intervals("0", "1", ("0.1",)), ValueKind.FLOAT, [0.1, 0.3, 5e-324])
    assert labelled.labels[0] == ("[0.1, 0.2)", "[0.2, 0.3)", "[0, 0.1)")


@pytest.mark.parametrize("kind", [ValueKind.FLOAT, ValueKind.DECIMAL])
def test_nan_and_infinities_are_not_covered_even_with_coding(kind: ValueKind) -> None:
    rule = Intervals("0", "100", ("10",), bottom_coding="10", top_coding="90")
    number = float if kind is ValueKind.FLOAT else Decimal
    labelled = label_all(rule, kind, [number(text) for text in ("nan", "inf", "-inf", "1e30", "-1e30", "-0.0")])
    assert labelled.covered.tolist() == [False, False, False, True, True, True]
    assert labelled.labels[0] == (None, None, None, ">= 90", "< 10", "< 10")


def test_coding_clips_intervals_and_takes_in_all_beyond_the_range() -> None:
    rule = Intervals("0", "99", ("10", "20"), bottom_coding="18", top_coding="85")
    labelled = label_all(rule, ValueKind.INTEGER, [-(10**40), 17, 18, 19, 20, 84, 85, 10**40])
    assert labelled.covered.all()
    assert labelled.labels[0] == (
        "< 18", "< 18", "[18, 19]", "[18, 19]", "[20, 29]", "[80, 84]", ">= 85", ">= 85"
    )  # fmt: skip
    assert labelled.labels[1] == (
        "< 18", "< 18", "[18, 19]", "[18, 19]", "[20, 39]", "[80, 84]", ">= 85", ">= 85"
    )  # fmt: skip
    assert labelled.leaves[0].tolist() == [18, 18, 2, 2, 10, 5, 15, 15]
    assert set(labelled.labels[2]) == {"*"}


def test_top_coding_at_the_maximum_of_a_continuous_range_has_no_width() -> None:
    labelled = label_all(Intervals("0", "100", ("10",), top_coding="100"), ValueKind.FLOAT, [99.5, 100.0, 1e9])
    assert labelled.labels[0] == ("[90, 100)", ">= 100", ">= 100")
    assert labelled.leaves[0].tolist() == [10, 0, 0]


def test_coding_without_widths_keeps_the_values_between() -> None:
    counted = label_all(Intervals("0", "99", (), "18", "90"), ValueKind.INTEGER, [17, 18, 89, 90])
    assert counted.labels == (("< 18", "18", "89", ">= 90"), ("*",) * 4)
    assert counted.leaves[0].tolist() == [18, 1, 1, 10]
    measured = label_all(Intervals("0", "99", (), "", "90"), ValueKind.FLOAT, [-1.0, 17.25, 17.5, 91.0])
    assert measured.labels == ((None, "17.25", "17.5", ">= 90"), (None, "*", "*", "*"))
    assert measured.leaves[0].tolist()[1:] == [0, 0, 9]


def test_dates_count_days_through_leap_years_and_before_1970() -> None:
    rule = Intervals("1960-02-26", "1960-03-20", ("7", "14"))
    date = datetime.date
    labelled = label_all(
        rule, ValueKind.DATE, [date(1960, 2, 29), date(1960, 3, 4), date(1960, 3, 20), date(1960, 3, 21)]
    )
    assert at(labelled, 0) == ["[1960-02-26, 1960-03-03]", "[1960-02-26, 1960-03-10]", "*"]
    assert at(labelled, 1) == ["[1960-03-04, 1960-03-10]", "[1960-02-26, 1960-03-10]", "*"]
    assert at(labelled, 2) == ["[1960-03-18, 1960-03-20]", "[1960-03-11, 1960-03-20]", "*"]
    assert at(labelled, 3) == [None, None, None]
    assert labelled.domain_size == 24


def test_only_the_text_tells_the_last_date_from_infinity() -> None:
    rule = Intervals("2000-01-01", "9999-12-31", ("365",), "2001-01-01", "2020-01-01")
    values = [datetime.date.max, datetime.date.max, datetime.date.min, datetime.date.min, "12000-01-01"]
    texts = ["9999-12-31", "infinity", "0001-01-01", "-infinity", "12000-01-01"]
    labelled = label_values(rule, ValueKind.DATE, values, texts)
    assert labelled.labels[0] == (">= 2020-01-01", None, "< 2001-01-01", None, None)


def test_no_values_still_have_levels() -> None:
    labelled = label_all(Intervals("0", "99", ("10",)), ValueKind.INTEGER, [])
    assert labelled.labels == ((), ())
    assert labelled.domain_size == 100


# Declared bounds.


@given(ranges(), st.data())
def test_bounds_where_widths_would_start_intervals_give_the_same_labels(declared: Range, data: st.DataObject) -> None:
    low = declared.minimum if declared.bottom is None else declared.bottom
    high = declared.end if declared.top is None else declared.top
    levels = []
    for width in declared.widths:
        starts = [declared.minimum + i * width for i in range(1, int((high - declared.minimum) / width) + 1)]
        levels.append([start for start in starts if low < start < high])
    # Levels whose widths make the same intervals are no levels of their own.
    kept = [i for i, starts in enumerate(levels) if starts and (i == 0 or len(starts) < len(levels[i - 1]))]
    assume(kept and all(levels[: max(kept) + 1]))
    by_bounds = replace(
        declared.rule, widths=(), boundaries=tuple(tuple(declared.text(start) for start in levels[i]) for i in kept)
    )
    numbers = numbers_in(declared, beyond=3)
    values = [declared.value(number) for number in numbers]
    by_widths = label_all(declared.rule, declared.kind, values)
    found = label_all(by_bounds, declared.kind, values)
    assert found.covered.tolist() == by_widths.covered.tolist()
    for level, i in enumerate(kept):
        assert found.labels[level] == by_widths.labels[i]
        assert found.leaves[level].tolist() == pytest.approx(by_widths.leaves[i].tolist(), nan_ok=True)


UNEVEN = Intervals("0", "110", (), "", "90", (("18", "25", "65"), ("18",)))


def test_uneven_intervals() -> None:
    labelled = label_all(UNEVEN, ValueKind.INTEGER, [0, 17, 18, 24, 64, 65, 89, 90, 200, -1])
    assert labelled.labels[0] == (
        "[0, 17]", "[0, 17]", "[18, 24]", "[18, 24]", "[25, 64]", "[65, 89]", "[65, 89]", ">= 90", ">= 90", None
    )  # fmt: skip
    assert labelled.leaves[1].tolist()[:-1] == [18, 18, 72, 72, 72, 72, 72, 21, 21]
    of_floats = label_all(replace(UNEVEN, top_coding=""), ValueKind.FLOAT, [17.999, 18.0, 110.0, 110.1])
    assert of_floats.labels[0] == ("[0, 18)", "[18, 25)", "[65, 110]", None)


# Timestamps.


@given(
    st.lists(st.datetimes(datetime.datetime(2023, 12, 31), datetime.datetime(2024, 1, 12)), min_size=1),
    st.sampled_from([(1, "second"), (15, "minutes"), (7, "hours"), (1, "day"), (1, "week")]),
    st.integers(1, 3),
)
def test_a_timestamp_lies_in_its_interval(times: list[datetime.datetime], width: tuple[int, str], factor: int) -> None:
    count, unit = width
    rule = Intervals("2024-01-01", "2024-01-10 12:30:00", (f"{count} {unit}", f"{count * (factor + 1)} {unit}"))
    minimum, maximum = datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 10, 12, 30)
    step = datetime.timedelta(**{unit if unit.endswith("s") else f"{unit}s": count})
    labelled = label_all(rule, ValueKind.TIMESTAMP, list(times))
    assert labelled.continuous
    assert labelled.domain_size == (maximum - minimum) / datetime.timedelta(hours=1)
    for level, width_of_level in enumerate((step, step * (factor + 1))):
        for index, time in enumerate(times):
            label = labelled.labels[level][index]
            assert (label is not None) == (minimum <= time <= maximum)
            if label is None:
                continue
            start = (
                minimum
                + (min(time, maximum - datetime.timedelta(microseconds=1)) - minimum) // width_of_level * width_of_level
            )
            end = min(start + width_of_level, maximum)
            assert label == f"[{start.isoformat()}, {end.isoformat()}{']' if end == maximum else ')'}"
            assert labelled.leaves[level][index] == (end - start) / datetime.timedelta(hours=1)


def test_codings_of_timestamps_and_what_is_no_time() -> None:
    rule = Intervals("2024-01-01", "2025-01-01", (), "2024-02-01", "2024-06-01 12:30:00.5")
    last = datetime.datetime.max
    values = [
        datetime.datetime(1999, 1, 1),
        datetime.datetime(2024, 3, 1),
        datetime.datetime(2030, 1, 1),
        last,
        "290000-01-01",
    ]
    texts = ["1999-01-01 00:00:00", "2024-03-01 00:00:00", "2030-01-01 00:00:00", "infinity", "290000-01-01 00:00:00"]
    labelled = label_values(rule, ValueKind.TIMESTAMP, values, texts)
    assert labelled.labels[0] == (
        "< 2024-02-01T00:00:00", "2024-03-01 00:00:00", ">= 2024-06-01T12:30:00.5", None, None
    )  # fmt: skip


@pytest.mark.parametrize("kind", [ValueKind.INTEGER, ValueKind.DECIMAL])
def test_numbers_next_to_the_ends_of_64_bits(kind: ValueKind) -> None:
    rule = Intervals("0", "9", ("5",), "2", "8")
    ends: list[object] = [-(2**63), 2**63 - 1, 2**61, -(2**61), 5]
    assert label_all(rule, kind, ends).labels[0] == (
        "< 2",
        ">= 8",
        ">= 8",
        "< 2",
        "[5, 7]" if kind is ValueKind.INTEGER else "[5, 8)",
    )
    assert label_all(rule, kind, [*ends, 2**63]).labels[0][-1] == ">= 8"
    far = Intervals(str(2**61 - 5), str(2**61 + 4), ("5",))
    assert label_all(far, ValueKind.INTEGER, [2**61 - 5, 2**61, 2**61 + 5]).labels[0] == (
        f"[{2**61 - 5}, {2**61 - 1}]", f"[{2**61}, {2**61 + 4}]", None
    )  # fmt: skip


def test_an_unchecked_rule_is_not_labelled() -> None:
    with pytest.raises(ValueError, match="not checked"):
        label_values(Intervals("0", "ten", ("1",)), ValueKind.INTEGER, [1], ["1"])
