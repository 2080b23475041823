"""Bounds of timestamps, which are written as dates with or without a time."""

from fractions import Fraction

import pytest

from tableveil.hierarchy.notation import Notation

SECONDS = {
    "0001-01-01": Fraction(0),
    "0001-01-02 00:00:00": Fraction(86400),
    "0001-01-01T01:00:01": Fraction(3601),
    "0001-01-01 00:00:00.25": Fraction(1, 4),
    "0001-01-01 00:00:00.000001": Fraction(1, 10**6),
    "9999-12-31 23:59:59.999999": Fraction(3652059 * 86400) - Fraction(1, 10**6),
}


@pytest.mark.parametrize("text", SECONDS)
def test_timestamps_are_seconds(text: str) -> None:
    assert Notation.TIMESTAMP.read(text) == SECONDS[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2020",
        "2020-02-30",
        "2020-1-1",
        "2020-01-01 10:00",
        "2020-01-01 24:00:01",
        "2020-01-01 10:00:00.",
        "2020-01-01 10:00:00.1234567",
        "2020-01-01 10:00:00Z",
        "2020-01-01 10:00:00+01:00",
        " 2020-01-01",
        "2020-01-01  10:00:00",
        "0000-01-01",
    ],
)
def test_what_is_no_timestamp(text: str) -> None:
    assert Notation.TIMESTAMP.read(text) is None
