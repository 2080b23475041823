"""Times of day: what is wrong with a rule, and the labels of each second against parts that are listed."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.hierarchy import LabelledValues, ValueKind, check_rule, label_values
from tableveil.hierarchy.rules import DayPart, TimeLevel, TimesOfDay

FIELD = "attributes[0].hierarchy.times_of_day"

HOURS = TimeLevel("1 hour")
SHIFTS = TimeLevel(parts=(DayPart("06:00", "early"), DayPart("14:00", "late"), DayPart("22:00", "night")))
NIGHT = TimeLevel(parts=(DayPart("06:00"), DayPart("22:00")))
RUSH = TimeLevel(
    parts=(DayPart("07:00", "rush"), DayPart("09:00", "calm"), DayPart("16:00", "rush"), DayPart("19:00", "calm"))
)


def label_all(rule: TimesOfDay, times: list[datetime.time]) -> LabelledValues:
    assert check_rule(rule, FIELD, ValueKind.TIME) == []
    texts = [time.isoformat() for time in times]
    return label_values(rule, ValueKind.TIME, texts, texts)


def minute_of(text: str) -> int:
    return int(text[:2]) * 60 + int(text[3:])


MINUTES = st.integers(0, 1439).map(lambda minute: f"{minute // 60:02d}:{minute % 60:02d}")


@given(
    st.lists(MINUTES, min_size=2, max_size=6, unique=True).map(sorted),
    st.lists(st.sampled_from("abc"), min_size=6, max_size=6),
    st.lists(st.times(), min_size=1),
)
def test_a_part_lasts_until_the_next_and_the_last_beyond_midnight(
    starts: list[str], names: list[str], times: list[datetime.time]
) -> None:
    parts = tuple(DayPart(start, name) for start, name in zip(starts, names, strict=False))
    if len({part.label for part in parts}) == 1:
        parts = (DayPart(starts[0], "first"), *parts[1:])
    labelled = label_all(TimesOfDay((TimeLevel(parts=parts),)), times)
    lasting = dict.fromkeys((part.label for part in parts), 0)
    of_minute = {}
    for minute in range(1_440):
        begun = [part for part in parts if minute_of(part.start) <= minute]
        of_minute[minute] = (begun or parts)[-1].label
        lasting[of_minute[minute]] += 1
    assert (labelled.domain_size, labelled.continuous) == (24.0, True)
    for index, time in enumerate(times):
        label = of_minute[time.hour * 60 + time.minute]
        assert labelled.labels[0][index] == label
        assert labelled.leaves[0][index] == pytest.approx(lasting[label] / 60)


def test_widths_parts_and_wider_parts() -> None:
    rule = TimesOfDay((TimeLevel("15 minutes"), HOURS, SHIFTS, NIGHT))
    times = [
        datetime.time(0),
        datetime.time(5, 59, 59, 999_999),
        datetime.time(6),
        datetime.time(22),
        datetime.time(23, 59),
    ]
    labelled = label_all(rule, times)
    assert labelled.labels[0] == (
        "[00:00, 00:15)", "[05:45, 06:00)", "[06:00, 06:15)", "[22:00, 22:15)", "[23:45, 24:00)"
    )  # fmt: skip
    assert labelled.labels[2] == ("night", "night", "early", "night", "night")
    assert labelled.labels[3] == (*["[22:00, 06:00)"] * 2, "[06:00, 22:00)", *["[22:00, 06:00)"] * 2)
    assert [leaves[0] for leaves in labelled.leaves] == [0.25, 1, 8, 8, 24]


def test_seconds_show_where_they_are_and_24_00_is_no_time() -> None:
    rule = TimesOfDay((TimeLevel("90 seconds"),))
    labelled = label_values(rule, ValueKind.TIME, ["00:01:29", "24:00:00"], ["00:01:29.5", "24:00:00"])
    assert labelled.labels[0] == ("[00:00, 00:01:30)", None)


def test_of_timestamps_the_time_in_utc_counts() -> None:
    values = [datetime.datetime(1066, 10, 14, 22, 30), datetime.datetime.max, "290000-01-01 00:00:00"]
    texts = ["1066-10-14 22:30:00", "infinity", "290000-01-01 00:00:00"]
    labelled = label_values(TimesOfDay((HOURS, SHIFTS)), ValueKind.TIMESTAMP, values, texts)
    assert labelled.labels[:2] == (("[22:00, 23:00)", None, None), ("night", None, None))


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ((HOURS, SHIFTS, NIGHT), []),
        ((HOURS, RUSH), []),
        ((TimeLevel("12 hours"),), []),
        ((), [".levels"]),
        ((TimeLevel(),), [".levels[0].width"]),
        ((TimeLevel("1 fortnight"),), [".levels[0].width"]),
        ((TimeLevel("0 hours"),), [".levels[0].width"]),
        ((TimeLevel("7 hours"),), [".levels[0].width"]),
        ((TimeLevel("1 day"),), [".levels[0].width"]),
        ((TimeLevel("1 hour", SHIFTS.parts),), [".levels[0].parts"]),
        ((TimeLevel(parts=(DayPart("06:00"),)),), [".levels[0].parts"]),
        ((TimeLevel(parts=(DayPart("06:00", "x"), DayPart("07:00", "x"))),), [".levels[0].parts"]),
        ((TimeLevel(parts=(DayPart("06:00", "x"), DayPart("22:00", "*"))),), [".levels[0].parts[1].label"]),
        ((TimeLevel(parts=(DayPart("22:00", "x"), DayPart("06:00", "y"))),), [".levels[0].parts[1].start"]),
        ((TimeLevel(parts=(DayPart("6:00", "x"), DayPart("24:00", "y"))),),
         [".levels[0].parts[0].start", ".levels[0].parts[1].start"]),
        ((TimeLevel("6 hours"), SHIFTS), [".levels[1]"]),
        ((NIGHT, SHIFTS), [".levels[1]"]),
        ((SHIFTS, TimeLevel("8 hours")), [".levels[1]"]),
        ((RUSH, NIGHT), [".levels[1]"]),
        ((HOURS, HOURS), [".levels[1]"]),
    ],
)  # fmt: skip
def test_faults(levels: tuple[TimeLevel, ...], expected: list[str]) -> None:
    assert [fault.field.removeprefix(FIELD) for fault in check_rule(TimesOfDay(levels), FIELD)] == expected


def test_what_does_not_nest_is_told_by_two_times() -> None:
    (fault,) = check_rule(TimesOfDay((TimeLevel("6 hours"), SHIFTS)), FIELD)
    assert fault.found == "12:00 in 'early' and 14:00 in 'late', although '[12:00, 18:00)' of levels[0] has both"
