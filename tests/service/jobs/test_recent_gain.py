"""The gain of the last tenth of a search, by a clock that is set."""

from tableveil.runtime.recorder import RecentGain


def test_the_last_tenth_is_compared_with_what_was_before() -> None:
    now = 100.0
    gain = RecentGain(lambda: now)
    assert gain.now(None) is None
    assert gain.now(0.8) is None
    now = 104.0
    assert gain.now(0.5) is None
    now = 110.0
    assert gain.now(0.5) == 0
    now = 119.0
    assert gain.now(0.4) == (0.5 - 0.4) / 0.5
    now = 120.0
    assert gain.now(0.3) == (0.5 - 0.3) / 0.5
    now = 140.0
    assert gain.now(0.3) == 0
    # The search minimizes something else from here on.
    assert gain.now(7.0) is None
    now = 150.0
    assert gain.now(0.0) == 1
    now = 190.0
    assert gain.now(0.0) == 0
