"""Times of calls to two servers that differ in one value which the caller may not see, beside those of two equal ones.

They are CPU times of client and server: others on the machine count less then. It is no test: a busy machine would
fail it. The answers are compared as well.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from random import Random
from statistics import median

from tests.service.access import test_hidden
from tests.service.access.house import House
from tests.service.access.twins import Asked, first_calls, outcome, settle, twins

_READING = ("Get", "List", "Check", "Watch", "Read")
HIDDEN, MISSING = 1, 9_000
"""A number that the other ward has of everything, and one that nobody has: jobs that exist would be deleted by it."""

SHOWN = 12
"""The calls that a report shows of each kind."""

Milliseconds = list[float]


@dataclass(slots=True)
class Report:
    """Per call the times of both servers, of different and of equal ones; and those of hidden and missing names."""

    rounds: int = 0
    times: dict[bool, dict[str, tuple[Milliseconds, Milliseconds]]] = field(
        default_factory=lambda: {differ: defaultdict(lambda: ([], [])) for differ in (True, False)}
    )
    names: dict[str, tuple[Milliseconds, Milliseconds]] = field(default_factory=lambda: defaultdict(lambda: ([], [])))
    broken: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield f"{self.rounds} rounds; medians of CPU ms, and the second beside the first; the {SHOWN} that differ most"
        for differ, times in self.times.items():
            yield f"servers that {'differ in one value' if differ else 'are equal'}:"
            yield from _lines(times)
        yield "names that are hidden, and that are missing:"
        yield from _lines(self.names)
        yield from self.broken


def _lines(times: dict[str, tuple[Milliseconds, Milliseconds]]) -> Iterator[str]:
    medians = {name: (median(first), median(second)) for name, (first, second) in times.items() if first and second}
    for name, (first, second) in sorted(medians.items(), key=lambda item: -abs(item[1][1] / item[1][0] - 1))[:SHOWN]:
        yield f"  {second / first - 1:+7.1%}  {first:8.2f}  {second:8.2f}  {name}"


def ask_twins(seed: int, seconds: float, rounds: int) -> Report:
    """Makes each call in each round, in an order of its own, on one server and on the other."""
    report, random = Report(), Random(seed)
    for differ in (True, False):
        with tempfile.TemporaryDirectory() as place, twins(Path(place), differ=differ) as houses:
            calls = []
            for asked in first_calls():
                for house in houses:
                    settle(house)
                    outcome(house, asked)
                if asked.method.partition("/")[2].startswith(_READING):
                    calls.append(asked)
            until = time.monotonic() + seconds / 2
            for i in range(rounds):
                if time.monotonic() > until:
                    break
                report.rounds += differ
                for asked in random.sample(calls, len(calls)):
                    _both(report, differ, asked, houses, random)
                if differ:
                    _names(report, houses[i % 2], random)
    return report


def _both(report: Report, differ: bool, asked: Asked, houses: tuple[House, House], random: Random) -> None:
    answers = {}
    for which in random.sample((0, 1), 2):
        answers[which], taken = _timed(houses[which], asked)
        report.times[differ][f"{asked.who}: {asked.method} {_named(asked)}"][which].append(taken)
    if answers[0] != answers[1] and "List" not in asked.method:
        first, second = ("\n".join(answers[which]).splitlines() for which in (0, 1))
        others = "\n".join(unified_diff(first, second, n=0, lineterm=""))
        report.broken.append(f"{asked} is answered otherwise by the other server:\n{others}")


def _names(report: Report, house: House, random: Random) -> None:
    """The methods that only read, of names that the caller may not see and of names that nobody has."""
    hidden, missing = test_hidden.by_number(HIDDEN), test_hidden.by_number(MISSING)
    for how in random.sample(list(hidden), len(hidden)):
        for which, (method, fields) in random.sample(list(enumerate((hidden[how], missing[how]))), 2):
            _, taken = _timed(house, Asked("ann", method, fields))
            report.names[method][which].append(taken)


def _timed(house: House, asked: Asked) -> tuple[tuple[str, str], float]:
    began = time.process_time()
    answer = outcome(house, asked)
    return answer, 1000 * (time.process_time() - began)


def _named(asked: Asked) -> str:
    policy = asked.fields.get("policy")
    return policy["source"]["table"] if policy else " ".join(map(str, asked.fields.values()))
