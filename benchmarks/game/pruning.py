"""Section: how much pruning saves a search for the best payout at one gain."""

import time
from dataclasses import replace
from decimal import Decimal

from benchmarks.comparators.exhaustive import exhaustive
from benchmarks.game.experiment import GAME, Experiment, experiment
from benchmarks.game.payout_sweep import STATE
from benchmarks.markdown import seconds, table, times
from benchmarks.section import Section
from tableveil.classes import NumpyCounter
from tableveil.control import Control
from tableveil.policy import Profitability, PublisherPayoutModel, Success
from tableveil.privacy import privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem, exact

TITLE = "Pruning by payout"

GAINS = tuple(map(Decimal, (100, 300, 600, 900, 1200, 1500, 2000)))


def pruning() -> Section:
    """Searches with the bounds, and without any, at several gains."""
    counted = experiment(STATE)
    rows, sound = [], True
    for success in (Success.PROSECUTOR, Success.JOURNALIST):
        for gain in GAINS:
            row, same = _both_ways(counted, success, gain)
            rows.append(row)
            sound = sound and same
    headers = ("success, gain = loss", "checks", "of", "search s", "exhaustive s", "faster", "")
    return Section(
        TITLE,
        (
            f"Profitability and publisher payout on {STATE.name}, benefit {GAME.publisher_benefit}, cost "
            f"{GAME.adversary_cost}: the publisher has the advantage while gain = loss is below the benefit.",
            table(headers, rows),
        ),
        sound,
    )


def _both_ways(counted: Experiment, success: Success, gain: Decimal) -> tuple[list[str], bool]:
    problem = _problem(counted, success, gain)
    started = time.process_time()
    found = exact(problem, Control())
    pruned = time.process_time() - started
    started = time.process_time()
    everything = exhaustive(_problem(counted, success, gain), Control())
    whole = time.process_time() - started
    same = found.best is not None and everything.best is not None and found.best.key == everything.best.key
    cells = [
        f"{success.lower()}, {gain:,}",
        f"{found.checked:,}",
        f"{counted.lattice.size:,}",
        seconds(pruned),
        seconds(whole),
        times(whole / pruned),
        "" if same else "**another optimum**",
    ]
    return cells, same


def _problem(counted: Experiment, success: Success, gain: Decimal) -> Problem:
    combinations = counted.combinations
    counter = NumpyCounter(
        combinations.levels, combinations.codes, combinations.records, population=combinations.people
    )
    game = replace(GAME, publisher_loss=gain, adversary_gain=gain)
    quality = PublisherPayoutModel(success)
    return Problem(
        counted.lattice,
        counter,
        privacy_of([Profitability(success)], counter, None, game),
        quality_of(quality, counter, [1.0] * len(combinations.levels), counter.records, game),
        counter.records,
    )
