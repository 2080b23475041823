"""Fair use: a principal's limits are their own, and refill with time."""

import threading
from contextlib import ExitStack

import pytest

from tableveil.errors import BusyError
from tableveil.fair_use import FairUse, Held, Limits
from tableveil.fair_use.fair_use import LONGEST_DELAY_SECONDS


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def use(clock: Clock) -> FairUse:
    return FairUse(Limits(calls_per_second=2, streams=2, loads=1), clock)


def calls(use: FairUse, principal: str = "anna") -> int:
    """How many calls are allowed now."""
    for count in range(1000):
        try:
            use.count_call(principal)
        except BusyError:
            return count
    raise AssertionError("no limit")


def test_calls_are_limited_and_come_back_with_time(use: FairUse, clock: Clock) -> None:
    assert calls(use) == 10
    assert calls(use, "bert") == 10
    clock.now = 1.0
    assert calls(use) == 2
    clock.now = 1.25
    with pytest.raises(BusyError) as raised:
        use.count_call("anna")
    assert raised.value.code == "RATE_LIMITED"
    assert raised.value.retry_seconds == 0.75, "the call that was refused a moment before comes first"
    clock.now = 1.5
    use.count_call("anna")
    clock.now = 1e6
    assert calls(use) == 10


def test_forgetting_a_principal_gives_nobody_more_calls(use: FairUse, clock: Clock) -> None:
    calls(use, "anna")
    clock.now = 1.0
    for number in range(3000):
        use.count_call(f"p{number}")
    assert calls(use, "anna") == 2
    clock.now = 100.0
    use.count_call("another")
    assert len(use._buckets) == 1


def test_each_principal_holds_so_many_at_most(use: FairUse) -> None:
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(use.holding("anna", Held.STREAM))
        held.enter_context(use.holding("anna", Held.LOAD))
        held.enter_context(use.holding("bert", Held.STREAM))
        for kind in (Held.STREAM, Held.LOAD):
            with pytest.raises(BusyError, match=f"{kind.value} of one principal"), use.holding("anna", kind):
                pass
    with use.holding("anna", Held.LOAD):
        pass
    assert not use._held


def test_who_waits_for_a_call_of_a_moment_gets_its_place() -> None:
    use, begun = FairUse(Limits(calls=1)), threading.Event()

    def another() -> None:
        begun.set()
        with use.holding("anna", Held.CALL):
            pass

    with use.holding("anna", Held.CALL):
        thread = threading.Thread(target=another)
        thread.start()
        begun.wait(60)
    thread.join()
    with use.holding("anna", Held.CALL), pytest.raises(BusyError) as raised, use.holding("anna", Held.CALL):
        pass
    assert raised.value.code == "RATE_LIMITED"
    assert raised.value.retry_seconds > 0
    assert not use._held


def test_bytes_count_as_the_largest_message_until_they_are_there() -> None:
    use = FairUse(Limits(bytes=100))
    with use.holding("anna", Held.BYTES, 80) as keep:
        keep(30)
        with (
            use.holding("anna", Held.BYTES, 70),
            use.holding("bert", Held.BYTES, 100),
            pytest.raises(BusyError),
            use.holding("anna", Held.BYTES, 1),
        ):
            pass
        with use.holding("anna", Held.BYTES, 70) as keep_second:
            keep_second(0)
    assert not use._held


def refused(use: FairUse, held: Held) -> float:
    """The seconds after which a call may come again."""
    with pytest.raises(BusyError) as raised, use.holding("anna", held):
        pass
    return raised.value.retry_seconds


def test_who_is_refused_gets_a_turn_of_its_own(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comes again when one of those before it has ended: at the pace of the last ones."""
    monkeypatch.setattr("tableveil.fair_use.fair_use.MOMENT_SECONDS", 0.01)
    use = FairUse(Limits(calls=2), clock)
    with use.holding("anna", Held.CALL):
        clock.now += 0.5
    with use.holding("anna", Held.CALL), use.holding("anna", Held.CALL):
        assert [refused(use, Held.CALL) for _ in range(3)] == pytest.approx([0.01, 0.26, 0.51])
        clock.now += 0.5
        assert refused(use, Held.CALL) == pytest.approx(0.26)
        assert max(refused(use, Held.CALL) for _ in range(400)) == LONGEST_DELAY_SECONDS
        clock.now += LONGEST_DELAY_SECONDS
        assert refused(use, Held.CALL) == pytest.approx(0.25), "nobody waits for those who never came again"


def test_promised_calls_come_at_the_pace_that_is_allowed(use: FairUse, clock: Clock) -> None:
    calls(use)
    delays = []
    for _ in range(6):
        with pytest.raises(BusyError) as raised:
            use.count_call("anna")
        delays.append(raised.value.retry_seconds)
    assert delays == [1.0, 1.5, 2.0, 2.5, 3.0, 3.5], "another was refused before them"
    for clock.now in delays:
        use.count_call("anna")


def test_threads_do_not_make_more_calls(use: FairUse) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(calls(use))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(found) == 10
