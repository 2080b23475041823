"""Prints Tableveil's numbers beside their goals, as a Markdown document: `python -m benchmarks`, or `make bench`.

Exit codes: 0, or 1 if an optimum was missed, a search needed too many checks, or a job failed.
"""

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

from benchmarks.answers.estimates import estimates
from benchmarks.classification.accuracies import accuracies
from benchmarks.classification.correlation import correlation
from benchmarks.classification.search import reference_cases as classification_cases
from benchmarks.differential_privacy.fit import distribution
from benchmarks.differential_privacy.loss import losses
from benchmarks.doors.calls import calls
from benchmarks.doors.verified import verified
from benchmarks.game.payout_sweep import nation, state
from benchmarks.game.pruning import pruning
from benchmarks.game.reference_cases import reference_cases as game_cases
from benchmarks.game.risk import risk
from benchmarks.local.large import large as local_large
from benchmarks.local.numbers import comparators as local_comparators
from benchmarks.local.numbers import models as local_models
from benchmarks.local.numbers import tables as local_tables
from benchmarks.machine import machine
from benchmarks.microaggregation.closeness import closeness_high, closeness_large, closeness_low
from benchmarks.microaggregation.methods import against_plain, near_mdav
from benchmarks.microaggregation.scaling import scaling
from benchmarks.operate.load import load
from benchmarks.operate.memory import memory
from benchmarks.operate.pressure import pressure
from benchmarks.operate.same_people import cost as cost_of_sketch
from benchmarks.operate.same_people import known_again
from benchmarks.operate.soak import growth as growth_of_memory
from benchmarks.operate.soak import soak
from benchmarks.operate.strangers import strangers
from benchmarks.operate.watchers import watchers
from benchmarks.people.months import forecasts
from benchmarks.people.repeating import doubled, visits
from benchmarks.people.together import digests, fifty, together
from benchmarks.people.unrelated import unrelated
from benchmarks.privacy.exposure import correlated, strictness
from benchmarks.privacy.exposure import cost as cost_of_exposure
from benchmarks.privacy.per_check import per_check
from benchmarks.privacy.reference_cases import reference_cases
from benchmarks.privacy.whole_searches import whole_searches
from benchmarks.related.cost import cost as cost_of_related
from benchmarks.related.enumerated import enumerated
from benchmarks.related.nafld import nafld
from benchmarks.related.readmissions import readmissions
from benchmarks.related.worlds import unrepaired, worlds
from benchmarks.scale.estimated import estimated
from benchmarks.scale.growth import SIZES, growth
from benchmarks.scale.lake import ROWS as LAKE_ROWS
from benchmarks.scale.lake import lake
from benchmarks.search.ablation import ablation
from benchmarks.search.comparison import comparison
from benchmarks.search.cover import cover
from benchmarks.search.first_seconds import first_seconds
from benchmarks.search.frontiers import frontiers
from benchmarks.search.other_models import other_models
from benchmarks.search.property_stores import property_stores
from benchmarks.search.speed import speed
from benchmarks.section import Section
from benchmarks.usefulness.numbers import usefulness

SEARCH = (speed, first_seconds, other_models, ablation, frontiers, cover, property_stores, comparison)
PRIVACY = (reference_cases, whole_searches, per_check)
LOCAL = (local_tables, local_comparators, local_models)
CLASSIFICATION = (classification_cases, accuracies, correlation)

SHARED = Path(__file__).resolve().parents[2] / "shared"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the sections that the command line names and returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    parts: dict[str, list[Callable[[], Section]]] = {
        "search": [functools.partial(section, options.shared) for section in SEARCH],
        "privacy": [functools.partial(section, options.shared) for section in PRIVACY],
        "game": [lambda: game_cases(options.shared), nation, state, pruning, risk],
        "classification": [functools.partial(section, options.shared) for section in CLASSIFICATION],
        "local": [*(functools.partial(section, options.shared) for section in LOCAL), local_large],
        "differential-privacy": [distribution, *losses(options.shared)],
        "usefulness": [lambda: usefulness(options.shared)],
        "operate": [load, watchers, memory, pressure, soak, growth_of_memory, strangers],
        "doors": [calls, verified],
        "people": [
            lambda: known_again(options.shared),
            unrelated,
            cost_of_sketch,
            strictness,
            cost_of_exposure,
            correlated,
            visits,
            lambda: doubled(options.shared),
            digests,
            together,
            forecasts,
            fifty,
        ],
        "related": [worlds, unrepaired, enumerated, lambda: nafld(options.nafld), readmissions, cost_of_related],
        "answers": [lambda: estimates(options.shared)],
        "scale": [lambda: growth(options.sizes), lambda: estimated(options.sizes), lambda: lake(options.lake_rows)],
        "microaggregation": [against_plain, near_mdav, scaling, closeness_low, closeness_high, closeness_large],
    }
    if options.only not in (None, *parts):
        parser.error(f"--only takes one of {', '.join(parts)}")
    chosen = [section for name, part in parts.items() if options.only in (None, name) for section in part]
    sound = True
    with options.output.open("w", encoding="utf-8") if options.output else nullcontext(sys.stdout) as output:
        print("# Tableveil's numbers", machine(), sep="\n\n", file=output, flush=True)
        for section in chosen:
            found = section()
            sound = sound and found.sound
            print("", found, sep="\n", file=output, flush=True)
    return 0 if sound else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help="one part instead of all, such as search")
    parser.add_argument("--sizes", type=_sizes, default=SIZES, help="rows of the scale part, such as 1000000,10000000")
    parser.add_argument("--lake-rows", type=_positive, default=LAKE_ROWS, help="rows in Spark (%(default)s)")
    parser.add_argument("--shared", type=Path, default=SHARED, help="holds reference/ and data/ (%(default)s)")
    parser.add_argument("--nafld", type=Path, metavar="FOLDER", help="holds nafld1.csv and nafld3.csv of R's survival")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the document there instead of printing it")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(map(_positive, text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
