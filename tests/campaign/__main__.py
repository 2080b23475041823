"""Looks for defects with random tables, random kills and random messages; `make campaign` runs all campaigns.

    python -m tests.campaign attacker --seed 1 --count 5000 --seconds 3600

`count` releases, kills, calls or statements are enough, and `seconds` limits the time. Each finding names its seed: the
same command with that seed and `--count 1` repeats it.
"""

import argparse
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.authenticated import use_one_token
from tests.campaign.attacker.campaign import attack
from tests.campaign.attacker.minimality import measure
from tests.campaign.copies import hide_copies
from tests.campaign.crash.campaign import crash
from tests.campaign.expressions import compare
from tests.campaign.files import take_files
from tests.campaign.fuzz.campaign import fuzz
from tests.campaign.learned import learn
from tests.campaign.pressure import press
from tests.campaign.together import judge, judge_visits
from tests.campaign.twins import ask_twins
from tests.campaign.unchanged import judge_unchanged


class Report(Protocol):
    """The findings of a campaign."""

    @property
    def broken(self) -> Sequence[str]:
        """Every broken promise."""

    def lines(self) -> Iterator[str]:
        """The report, for people."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """How a campaign is run, with a seed, the most seconds and the most repetitions, and the default of these."""

    run: Callable[[int, float, int], Report]
    count: int


CAMPAIGNS: Mapping[str, Campaign] = {
    "attacker": Campaign(attack, 5_000),
    "minimality": Campaign(measure, 200),
    "crash": Campaign(crash, 200),
    "fuzz": Campaign(fuzz, 100_000),
    "files": Campaign(take_files, 500),
    "expressions": Campaign(compare, 50_000),
    "twins": Campaign(ask_twins, 200),
    "pressure": Campaign(press, 20_000),
    "together": Campaign(judge, 200),
    "visits": Campaign(judge_visits, 200),
    "unchanged": Campaign(judge_unchanged, 1_000),
    "copies": Campaign(hide_copies, 200),
    "learned": Campaign(learn, 100),
}


def main() -> int:
    """Runs the named campaigns, or all; returns 1 if anything was found."""
    use_one_token()
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__.splitlines()[0])
    parser.add_argument("campaigns", nargs="*", metavar="campaign", help=f"of {', '.join(CAMPAIGNS)}; default: all")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9), help="default: another one each time")
    parser.add_argument("--seconds", type=float, default=3_600, help="for each campaign (3600)")
    parser.add_argument(
        "--count",
        type=int,
        help="releases, kills, calls, statements, sequences or rounds; default: as in the project's goals",
    )
    asked = parser.parse_args()
    if unknown := set(asked.campaigns) - CAMPAIGNS.keys():
        parser.error(f"no such campaign: {', '.join(sorted(unknown))}")
    found = False
    for name in asked.campaigns or CAMPAIGNS:
        campaign, started = CAMPAIGNS[name], time.monotonic()
        print(f"{name}, seed {asked.seed}", flush=True)
        report = campaign.run(asked.seed, asked.seconds, asked.count or campaign.count)
        print(*report.lines(), f"{time.monotonic() - started:.0f} s", "", sep="\n", flush=True)
        found = found or bool(report.broken)
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
