"""Reasons to stop: a time for work with all of its searches, within that of others."""

from tableveil.control import Control


def test_work_ends_in_its_time_whatever_its_searches_may_take() -> None:
    now = [0.0]
    whole = Control(lambda: now[0])
    work = whole.within(10)
    inner = work.within(100)

    def stops(at: float) -> list[bool]:
        now[0] = at
        return [each.must_stop for each in (whole, work, inner, work.part(0.5))]

    with work.searching(5):
        assert stops(4) == [False, False, False, False]
        assert stops(6) == [False, True, False, True]
    with work.searching(50):
        assert stops(9) == [False, False, False, False]
        assert stops(10) == [False, True, True, True]
    assert stops(11) == [False, True, True, True]


def test_work_is_cancelled_along_with_the_whole() -> None:
    whole = Control()
    work = whole.within(1000)
    whole.cancel()
    assert work.must_stop
    assert work.cancelled
