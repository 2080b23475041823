"""Section: the payout of each method, as gain and loss grow, and the time to compute it for all gains."""

import time
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import numpy as np

from benchmarks.game.experiment import GAME, SAFE_HARBOR, Experiment, Shape, experiment
from benchmarks.markdown import seconds, table, times
from benchmarks.section import Section, verdict
from tableveil.control import Control
from tableveil.game.sweep import (
    FULL_DOMAIN,
    RECORD_LEVEL,
    Among,
    Sweep,
    SweepMethod,
    SweptGame,
    SweptSource,
    payout_sweep,
)
from tableveil.policy import BreakEven

TITLE = "The payout sweep"

NATION = Shape("a nation thinned to 5 million", 5_000_000, 6_000, 900, 32_561)
STATE = Shape("a state of 5 million", 5_000_000, 600, 12, 32_561)
"""ZIP codes of the state are as large as those of the US, some 8,000 people; the nation's are a tenth of that."""

GAINS = tuple(Decimal(100 * i) for i in range(21))

MOST_FULL_DOMAIN, MOST_RECORD_LEVEL = 5.0, 60.0
"""Seconds for all gains."""

CLOSE = 0.01
PUBLISHED_UP_TO = Decimal(400)
"""Full-domain is published to be close to record-level up to about here."""

Curves = Mapping[tuple[SweepMethod, Among], Sequence[float]]


def nation() -> Section:
    """The larger one: its population has five times as many combinations."""
    return sweep(NATION)


def state() -> Section:
    """The setting of the published experiments: one state."""
    return sweep(STATE)


def sweep(shape: Shape) -> Section:
    """Counts the people, then sweeps: full-domain only, record-level only, and all methods together."""
    counted = experiment(shape)
    whole = _swept(counted, GAINS, tuple(SweepMethod))
    spent = {
        "all transformations counted": _swept(counted, GAINS, ()).seconds,
        "full-domain, all gains": _swept(counted, GAINS, FULL_DOMAIN).seconds,
        "record-level, all gains": _swept(counted, GAINS, RECORD_LEVEL).seconds,
        "record-level, one gain": _swept(counted, GAINS[3:4], RECORD_LEVEL).seconds,
        "all methods, all gains": whole.seconds,
    }
    curves = curves_of(whole)
    full, single = spent["full-domain, all gains"], spent["record-level, all gains"]
    combinations = counted.combinations
    return Section(
        f"{TITLE}: {shape.name}",
        (
            f"{shape.people:,} people, generated in the shape of US census figures, in {shape.zips:,} ZIP codes and "
            f"{shape.areas:,} areas of three digits; a sample of {shape.sample:,}. "
            f"{len(combinations.records):,} distinct combinations of age, sex, ZIP code and race, "
            f"{np.count_nonzero(combinations.records):,} of them in the sample; {whole.lattice_size} transformations. "
            f"Benefit {GAME.publisher_benefit}, cost {GAME.adversary_cost}, gain = loss at {len(GAINS)} values; with "
            "and without population, with and without attacks.",
            table(("in the database", "s"), [[step, seconds(taken)] for step, taken in counted.seconds.items()]),
            "From here on in memory on one core; each sweep counts all transformations by itself:",
            table(("in the engine", "CPU s"), [[step, seconds(taken)] for step, taken in spent.items()]),
            f"Goals: full-domain at most {MOST_FULL_DOMAIN:.0f} s: {verdict(full <= MOST_FULL_DOMAIN)}; record-level "
            f"at most {MOST_RECORD_LEVEL:.0f} s: {verdict(single <= MOST_RECORD_LEVEL)}. A run per gain, as published "
            f"(there one per record as well), would take record-level "
            f"{times(len(GAINS) * spent['record-level, one gain'] / single)} the time of the sweep.",
            "Payout as a share of what releasing everything unattacked would pay:",
            table(("gain", *map(_name, curves)), _rows(curves)),
            table(("published shape", "found", ""), checks(curves)),
            f"The number of people who share a record's values decides: half of the sample's records are of at most "
            f"{_median_people(counted)} people who share all of them; at gain = loss = {GAME.adversary_gain}, an "
            f"attack on one of so many costs {float(GAME.publisher_loss) / _median_people(counted):.0f} of "
            f"{GAME.publisher_benefit}. Safe Harbor leaves {curves[SweepMethod.SAFE_HARBOR, Among.SOURCE][0]:.1%} of "
            "the benefit: an area of three digits has few ZIP codes, or many.",
        ),
    )


def _swept(counted: Experiment, gains: Sequence[Decimal], methods: Sequence[SweepMethod]) -> Sweep:
    source = SweptSource(counted.combinations, True, 0, counted.lattice, SAFE_HARBOR)
    swept = SweptGame(GAME, gains, BreakEven.KEEP, methods=methods)
    return payout_sweep(source, swept, Control(time.process_time))


def _median_people(counted: Experiment) -> int:
    combinations = counted.combinations
    return int(np.median(np.repeat(combinations.people, combinations.records)))


def curves_of(sweep: Sweep) -> Curves:
    """The payout by gain, per method and table looked in, as a share of all benefits."""
    curves: dict[tuple[SweepMethod, Among], list[float]] = {}
    for point in sweep.points:
        share = point.payout / (sweep.records * float(sweep.benefit))
        curves.setdefault((point.method, point.among), []).append(share)
    return curves


def checks(curves: Curves) -> Iterator[list[str]]:
    """The published statements about the curves, and whether they hold here."""
    best = curves[SweepMethod.RECORD_LEVEL, Among.POPULATION]
    full = curves[SweepMethod.FULL_DOMAIN, Among.POPULATION]
    harbor = curves[SweepMethod.SAFE_HARBOR, Among.POPULATION]
    others = [curve for curve in curves.values() if curve is not best]
    lead = min(b - c for curve in others for b, c in zip(best, curve, strict=True))
    least = min(b - c for curve in others for b, c in zip(best[1:], curve[1:], strict=True))
    yield [
        "record-level with population is best at every gain",
        f"by {least:.3%} at least where attacks can pay",
        _answer(lead >= -1e-12),
    ]
    apart = [(b - f) / b for b, f in zip(best, full, strict=True)]
    near = [a for a, gain in zip(apart, GAINS, strict=True) if gain <= PUBLISHED_UP_TO]
    yield [
        f"full-domain with population is close to it up to about {PUBLISHED_UP_TO}",
        f"at most {max(near):.2%} below up to there, {max(apart):.2%} at 2,000",
        _answer(max(near) <= 2 * CLOSE),
    ]
    yield ["at 300 the two within 1 %", f"{apart[3]:.2%}", _answer(apart[3] <= CLOSE)]
    advantage = [i for i, gain in enumerate(GAINS) if gain < GAME.publisher_benefit]
    for among in Among:
        margin = min(
            curve[i] - curves[SweepMethod.SAFE_HARBOR, among][i]
            for (method, whose), curve in curves.items()
            for i in advantage
            if whose is among and method in (SweepMethod.FULL_DOMAIN, SweepMethod.RECORD_LEVEL)
        )
        yield [
            f"both above Safe Harbor while the benefit is more than the loss ({among.lower()})",
            f"by {margin:.2%} at least",
            _answer(margin > 0),
        ]
    quiet = curves[SweepMethod.RECORD_LEVEL_NO_ATTACK, Among.POPULATION]
    yield [
        "record-level without any attack is above Safe Harbor too",
        f"by {min(quiet[i] - harbor[i] for i in advantage):.2%} at least",
        _answer(all(quiet[i] > harbor[i] for i in advantage)),
    ]


def _rows(curves: Curves) -> Iterator[list[str]]:
    for i, gain in enumerate(GAINS):
        yield [f"{gain:,}", *(f"{curve[i]:.2%}" for curve in curves.values())]


def _name(key: tuple[SweepMethod, Among]) -> str:
    method, among = key
    return f"{method.lower().replace('_', ' ')}, {among.lower()}"


def _answer(holds: bool) -> str:
    return "yes" if holds else "**no**"
