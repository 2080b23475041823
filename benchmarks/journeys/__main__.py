"""Plays the journeys: `python -m benchmarks.journeys [--seed N] [--times N]`. The exit code is 1 if one goes wrong."""

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.journeys.choices import worst_choice
from benchmarks.journeys.demo import COLUMNS, LINES, MOST_SCREENS, MOST_SHEETS, MOST_WARNINGS, shown
from benchmarks.journeys.proposals import outcomes, shape_outcomes
from benchmarks.journeys.steward import THRESHOLD, K, travel

MOST_COMMANDS = 6
MOST_SECONDS = 90.0
MOST_WRONG = 0.1
"""The most columns of a file that may be drafted in another role than the true one."""
MOST_CPU_SECONDS = 60.0
"""For the proposals of a file."""
WIDE = 50
"""Columns of which a release of all would be a table of `*`."""
TABLES, MOST_MORE = 200, 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what each journey took; new files every time, unless a seed is given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journeys", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="Default: another one each time.")
    parser.add_argument("--times", type=int, default=3, help="Files of each kind.")
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}", flush=True)
    problems = 0
    with tempfile.TemporaryDirectory(prefix="journey-") as place:
        journey = travel(Path(place), given.seed)
    problem = journey.problem
    if not problem and len(journey.commands) > MOST_COMMANDS:
        problem = f"{len(journey.commands)} commands, where {MOST_COMMANDS} are the most"
    print("The steward's journey:", *journey.commands, sep="\n  ")
    print(
        f"  {len(journey.commands)} commands (at most {MOST_COMMANDS}), {journey.seconds:.0f} s ({MOST_SECONDS:.0f}); "
        f"over the source, classes of {journey.smallest_class} people or more (k = {K}), and nobody has more than "
        f"{journey.highest_share:.1%} of one (at most {THRESHOLD:.0%})",
        flush=True,
    )
    if problem:
        problems += 1
        print(f"  PROBLEM: {problem}")
    with tempfile.TemporaryDirectory(prefix="demo-") as place:
        demo = shown(Path(place))
    print(
        f"The demo's report: {demo.sheets} sheets (at most {MOST_SHEETS}), {demo.sheets_to_decide} of them to decide "
        f"by (1); its account: {demo.lines} lines of {COLUMNS} columns ({MOST_SCREENS * LINES}), {len(demo.warnings)} "
        f"warnings ({MOST_WARNINGS})",
        flush=True,
    )
    for text in demo.problems:
        problems += 1
        print(f"  PROBLEM: {text}")
    print("Files of ten kinds: corrections, and what is wrong")
    for outcome in outcomes(given.seed, given.times):
        problems += bool(outcome.problem) or outcome.corrections > 1
        end = outcome.problem or f"released, {outcome.to_decide} to decide"
        print(f"  {outcome.made.kind:<14} {outcome.corrections}  {end}", flush=True)
    print("Files in the shapes of real ones: corrections, wrong roles, CPU seconds of proposals, columns nearly *")
    for shape in shape_outcomes(given.seed):
        few = len(shape.wrong) <= MOST_WRONG * shape.columns and shape.seconds <= MOST_CPU_SECONDS
        # The proposal chose the columns of a wide table itself.
        few = few and not (shape.hidden and shape.columns > WIDE)
        problems += bool(shape.problem) or not few or shape.corrections > 1
        share, hidden = f"{len(shape.wrong)} of {shape.columns}", f"{len(shape.hidden)} of {shape.released}"
        print(
            f"  {shape.shape.name:<18} {shape.corrections}  {share:<10} {shape.seconds:5.1f}  {hidden:<8}"
            f"{shape.problem or f'released, {shape.to_decide} to decide'}  {' '.join(shape.wrong[:12])}",
            flush=True,
        )
    worst = worst_choice(TABLES)
    problems += worst > MOST_MORE
    print(
        f"Columns chosen of {TABLES} tables of 12: at most {worst:.1%} more loss than the best set of their size, by "
        f"brute force ({MOST_MORE:.0%})"
    )
    print(f"{problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
