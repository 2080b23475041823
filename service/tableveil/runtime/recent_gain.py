"""The gain of a search's last tenth: whether it is worth the wait."""

import bisect
import time
from collections.abc import Callable

LEAST_SECONDS = 5.0
"""The shortest search that has a last tenth."""

SHARE = 0.1


class RecentGain:
    """The scores that one search had, and when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: list[float] = []
        self._scores: list[float] = []

    def now(self, score: float | None) -> float | None:
        """By which share of itself the best score fell in the last tenth of the time since there was one.

        `score` is the best now. None while that is too short a time.
        """
        if score is None:
            return None
        at = self._clock()
        # A search of another kind that comes first may minimize something else.
        if not self._scores or score > self._scores[-1]:
            self._times, self._scores = [at], [score]
        elif score < self._scores[-1]:
            self._times.append(at)
            self._scores.append(score)
        elapsed = at - self._times[0]
        if elapsed < LEAST_SECONDS:
            return None
        before = self._scores[bisect.bisect(self._times, at - SHARE * elapsed) - 1]
        return (before - score) / before if before > 0 else 0.0
