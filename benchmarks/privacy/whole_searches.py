"""Section: whole searches under ordered t-closeness, with our rule and with the straightforward sum."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.datasets import Dataset
from benchmarks.markdown import seconds, table, times
from benchmarks.models import Models
from benchmarks.privacy.straightforward import straightforward
from benchmarks.search.in_memory import Codes, problem_of
from benchmarks.section import Section, verdict
from tableveil.control import Control
from tableveil.policy import Aggregate, Distance, KAnonymity, LossModel, TCloseness
from tableveil.privacy import Conjunction, Facts
from tableveil.privacy.k_anonymity import KAnonymityRule
from tableveil.search import SearchOutcome, exact

TITLE = "Privacy models: whole searches under ordered t-closeness"

TABLES = {
    "adult": ("age", "education", "marital-status", "native-country", "race", "salary-class", "sex", "workclass"),
    "fars": ("iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "istatenum", "iinjury"),
}
"""The quasi-identifiers by table; the first has numbers, and the sensitive column is correlated with it."""

THRESHOLDS = tuple(map(Decimal, ("0.5", "0.4", "0.3", "0.2", "0.1")))
VALUES = (7, 100, 1000)
GOALS = {7: 1.0, 100: 5.0, 1000: 5.0}
"""By the number of values: how many times faster than the straightforward sum."""

K = KAnonymity(5)
LIMIT = Decimal("0.05")
COLUMN = "generated"
SEED = 1

SECONDS_AT_LEAST = 10.0
ENOUGH = 6
"""The straightforward search is stopped after so many seconds, or so many times those of ours if these are more."""

ROUNDS = 5
SECONDS = 5.0
"""The time for the straightforward searches of a row: when it is spent, there is no further round."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A pair of searches: `ratio` is a lower bound of the speed-up of ours."""

    cells: list[str]
    values: int
    ratio: float
    sound: bool


def whole_searches(shared: Path) -> Section:
    """Searches both ways in turn; says so if there is no data. Sound if both results are equal."""
    data = shared / "data"
    if not data.is_dir():
        return Section(TITLE, (f"Skipped: there is no `{data}`.",))
    paragraphs, sound = [], True
    for others in ((K,), ()):
        rows = [_row(data, name, values, t, others) for name in TABLES for values in VALUES for t in THRESHOLDS]
        sound = sound and all(row.sound for row in rows)
        paragraphs += [
            f"With {K}, which alone takes {', '.join(_k_alone(data))}:" if others else "t-closeness alone:",
            table(
                ("table, values, t", "checks", "straightforward", "s", "straightforward", "faster", "goal", ""),
                (row.cells for row in rows),
            ),
            table(("values", "searches", "least", "median", "most", "goal"), _summary(rows)),
        ]
    return Section(
        TITLE,
        (
            "For a generated ordered column, limit 5 %, loss, geometric mean, in numpy. The column's values are about "
            "equally frequent and go half with the first quasi-identifier, half with chance. The straightforward rule "
            "sums over all values, for every class that the other model leaves, and declares nothing to the search. "
            f"CPU seconds of the whole search, medians of up to {ROUNDS} in turn. The straightforward search is "
            f"stopped after {SECONDS_AT_LEAST:.0f} seconds, or {ENOUGH} times those of ours.",
            *paragraphs,
        ),
        sound,
    )


def _row(data: Path, name: str, values: int, t: Decimal, others: tuple[KAnonymity, ...]) -> _Row:
    model = TCloseness(COLUMN, t, Distance.ORDERED)
    column = {COLUMN: _generated(data, name, values)}
    pairs: list[tuple[SearchOutcome, SearchOutcome]] = []
    while len(pairs) < ROUNDS and sum(plain.seconds for _, plain in pairs) < SECONDS:
        problem = problem_of(
            data, name, TABLES[name], Models((*others, model), LossModel(Aggregate.GEOMETRIC_MEAN), LIMIT), column
        )
        rules = (*map(KAnonymityRule, others), straightforward(model, Facts(problem.counter)))
        ours = exact(problem, Control(time.process_time))
        plain = exact(
            replace(problem, privacy=Conjunction(rules)),
            Control(time.process_time),
            max(SECONDS_AT_LEAST, ENOUGH * ours.seconds),
        )
        pairs.append((ours, plain))
    ours, plain = pairs[0]
    ratio = median(slow.seconds / fast.seconds for fast, slow in pairs)
    cells = [
        f"{name}, {values:,}, {t}",
        f"{ours.checked:,}",
        f"{plain.checked:,}",
        seconds(median(fast.seconds for fast, _ in pairs)),
        seconds(median(slow.seconds for _, slow in pairs)),
        times(ratio) if plain.complete else f"more than {times(ratio)}",
        f"at least {times(GOALS[values])}",
        verdict(ratio >= GOALS[values]),
    ]
    return _Row(cells, values, ratio, _agree(ours, plain))


def _agree(ours: SearchOutcome, plain: SearchOutcome) -> bool:
    """Whether both results are equal, or the search that was stopped found nothing better."""
    if plain.complete:
        return (ours.best and ours.best.key) == (plain.best and plain.best.key)
    return plain.best is None or (ours.best is not None and ours.best.key <= plain.best.key)


def _k_alone(data: Path) -> Iterator[str]:
    """The time of k-anonymity alone: no rule beside it can be faster, unless it saves checks."""
    for name, quasi_identifiers in TABLES.items():
        problem = problem_of(data, name, quasi_identifiers, Models((K,), LossModel(Aggregate.GEOMETRIC_MEAN), LIMIT))
        outcome = exact(problem, Control(time.process_time))
        yield f"{seconds(outcome.seconds)} s on {name} ({outcome.checked:,} checks)"


def _summary(rows: list[_Row]) -> Iterator[list[str]]:
    for number in VALUES:
        ratios = [row.ratio for row in rows if row.values == number]
        met = sum(ratio >= GOALS[number] for ratio in ratios)
        yield [
            f"{number:,}",
            str(len(ratios)),
            *map(times, (min(ratios), median(ratios), max(ratios))),
            f"at least {times(GOALS[number])}: {met} of {len(ratios)}",
        ]


def _generated(data: Path, name: str, values: int) -> Codes:
    """Per record a value; each is about as frequent as the others."""
    first = Dataset.open(data, name).table().column(TABLES[name][0]).to_numpy(zero_copy_only=False).astype(np.int64)
    rank = np.searchsorted(np.sort(first), first) / len(first)
    order = np.argsort(rank + np.random.default_rng(SEED).random(len(first)), kind="stable")
    codes = np.empty(len(first), np.int64)
    codes[order] = np.arange(len(first)) * values // len(first)
    return codes
