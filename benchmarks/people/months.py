"""A section: how many releases a forecast says last, beside those that are really made of the months that follow."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.markdown import table
from benchmarks.people.together import opened
from benchmarks.section import Section
from tableveil.backend import Database
from tableveil.control import Control
from tableveil.errors import TableveilError
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.definition import HierarchyDefinition
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.pipelines.anonymize import anonymize
from tableveil.pipelines.forecast import FUTURES, MONTHS, forecast, months_of
from tableveil.pipelines.work import JobContext
from tableveil.policy import (
    AttributePolicy,
    DistinctLDiversity,
    KAnonymity,
    LeftBehind,
    Policy,
    ReleaseTarget,
    Role,
    TableReference,
)
from tableveil.source import find_source
from tableveil.state import jobs
from tableveil.state.proposals import ForecastWay

SEEDS, KNOWN, GOAL = 10, 4, 8
K = 5
_VISITS = TableReference("", "main", "visits")


@dataclass(frozen=True, slots=True)
class Shares:
    """So many people, of whom a share stays from month to month; a share of all visits in a month, and comes new."""

    people: int
    stay: float
    visit: float
    new: float

    @classmethod
    def of(cls, seed: int) -> Shares:
        """The shares of a seed."""
        random = np.random.default_rng([seed, 1])
        people, stay = int(random.choice([3000, 6000, 12000])), float(random.choice([0.95, 0.97, 0.99]))
        return cls(people, stay, float(random.choice([0.8, 0.95, 0.99])), 1 - stay)


def months(seed: int, number: int, shares: Shares) -> list[pa.Table]:
    """The visitors of each month: who visits seldom does so always, regions tell ages, ages tell wards and illnesses.

    Some move; wards and illnesses change.
    """
    random = np.random.default_rng(seed)
    everybody = _arriving(random, 0, shares.people, shares)
    made = []
    for month in range(number):
        if month:
            stays = random.random(len(everybody["person"])) < shares.stay
            coming = _arriving(
                random, int(everybody["person"].max()) + 1, random.poisson(shares.new * shares.people), shares
            )
            everybody = {name: np.concatenate((values[stays], coming[name])) for name, values in everybody.items()}
            moves = random.random(len(everybody["person"])) < 0.01
            everybody["region"] = np.where(moves, random.integers(0, 8, len(moves)), everybody["region"])
        there = random.random(len(everybody["person"])) < everybody["visits"]
        who = {name: values[there] for name, values in everybody.items()}
        number_ = len(who["person"])
        ward = np.where(who["born"] > 2005, 0, random.integers(0, 4, number_))
        illness = (who["born"] // 20 + random.integers(0, 3, number_)) % 6
        made.append(
            pa.table(
                {
                    "month": np.full(number_, month),
                    "person": who["person"],
                    "born": who["born"],
                    "sex": np.where(who["woman"], "f", "m"),
                    "region": [f"region {one}" for one in who["region"]],
                    "ward": [f"ward {one}" for one in ward],
                    "illness": [f"illness {one}" for one in illness],
                }
            )
        )
    return made


def _arriving(random: np.random.Generator, first: int, number: int, shares: Shares) -> dict[str, NDArray[Any]]:
    region = random.choice(8, number, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.07, 0.05, 0.03])
    born = np.clip((1990 - region * 4 + random.normal(0, 18, number)).astype(int), 1925, 2024)
    visits = random.beta(shares.visit * 6, (1 - shares.visit) * 6, number)
    woman = random.random(number) < 0.5
    return {
        "person": np.arange(first, first + number),
        "region": region,
        "born": born,
        "woman": woman,
        "visits": visits,
    }


def policy(least: Sequence[tuple[str, int]] = (), left_behind: LeftBehind = LeftBehind.REQUIRE) -> Policy:
    """The policy of a month, with least levels of some columns."""
    regions = InlineLevels(tuple((f"region {i}", f"part {i // 2}", f"half {i // 4}", "*") for i in range(8)))
    of: dict[str, HierarchyDefinition] = {"born": Intervals("1920", "2029", ("5", "10", "30")), "region": regions}
    of |= dict.fromkeys(("sex", "ward"), SuppressionOnly())
    levels = dict(least)
    generalized = tuple(
        AttributePolicy(name, Role.QUASI_IDENTIFIER, rule, minimum_level=levels.get(name, 0))
        for name, rule in of.items()
    )
    numbers = tuple(AttributePolicy(name, Role.IDENTIFYING) for name in ("person", "month"))
    return Policy(
        source=_VISITS,
        attributes=(*numbers, *generalized, AttributePolicy("illness", Role.SENSITIVE)),
        person_column="person",
        privacy_models=(KAnonymity(K), DistinctLDiversity("illness", 2)),
        release=ReleaseTarget("main", "month", left_behind=left_behind, label_columns=False),
        suppression_limit=Decimal("0.05"),
    )


def foretold(seed: int) -> tuple[list[tuple[ForecastWay, int]], float]:
    """Each way that a forecast from four months played, with the releases that were made; and its CPU seconds."""
    real = months(seed, KNOWN + MONTHS, Shares.of(seed))
    with opened() as (database, session):
        with session.relation("known", pa.concat_tables(real[:KNOWN])):
            session.execute("CREATE TABLE visits AS FROM known")
        source, *_ = find_source(session, _VISITS, "", "source")
        assert source is not None
        with session.transaction():
            known = months_of(session, source, policy(), "month", None)
        assert not isinstance(known, int)
        session.control = Control()
        job = JobContext(1, "{}", database, session, session.control)
        before = time.process_time()
        ways = forecast(job, known, policy(), K, lambda least: (policy(least), json.dumps(least)), 60)
        seconds = time.process_time() - before
    # The forecast begins with the newest month that it knows.
    return [(way, _lasted(real[KNOWN - 1 :: way.months_each], _policy_of(way))) for way in ways], seconds


def _policy_of(way: ForecastWay) -> Policy:
    mode = LeftBehind.REPORT if "REPORT" in way.way else LeftBehind.REQUIRE
    return policy([(name, level) for name, level in json.loads(way.policy or "[]")], mode)


def _lasted(real: Sequence[pa.Table], of: Policy) -> int:
    """How many months are released one after the other before one is refused."""
    with opened() as (database, _):
        for position, rows in enumerate(real):
            try:
                _released(database, rows, replace(of, release=replace(of.release, name=f"month_{position}")))
            except TableveilError:
                return position
    return len(real)


def _released(database: Database, rows: pa.Table, of: Policy) -> None:
    with database.session() as own:
        own.control = Control()
        with own.relation("real", rows):
            own.execute("CREATE OR REPLACE TABLE visits AS FROM real")
        number, target = jobs.next_number(own.ledger), of.release
        jobs.insert_request(
            own.ledger, jobs.Request(number, "", "{}", "", of.source, target.schema, target.name, jobs.now())
        )
        anonymize(JobContext(number, "{}", database, own, own.control, policy_of=lambda _: of), of)


def is_right(way: ForecastWay, lasted: int) -> bool:
    """Whether the first refusal is in the range that was named, or a month beside it."""
    beside = 1 if way.months_each == 1 else 0
    return way.fewest_releases - beside <= lasted and (lasted <= way.most_releases + beside or not way.refused)


def forecasts(seeds: int = SEEDS) -> Section:
    """Forecasts from four months of visitors, beside what happened."""
    rows, right, most = [], dict[str, list[bool]](), 0.0
    for seed in range(seeds):
        found, seconds = foretold(seed)
        shares, most = Shares.of(seed), max(most, seconds)
        about = f"{shares.people:,}, {shares.stay:.0%}, {shares.visit:.0%}"
        for way, lasted in found:
            span = f"{way.fewest_releases} to {way.most_releases}"
            rows.append((str(seed), about, way.way, span, str(lasted), "yes" if is_right(way, lasted) else "no"))
            right.setdefault(way.way, []).append(is_right(way, lasted))
    told = [
        f"{FUTURES} futures of each way were played from {KNOWN} months; then the months that followed were released, "
        f"one after the other. A forecast took {most:.0f} CPU seconds at most.",
        "Right within a month: "
        + "; ".join(f"{way}: {sum(found)} of {len(found)}" for way, found in right.items())
        + f". The goal is {GOAL} of {SEEDS}.",
    ]
    columns = ("seed", "people, staying, visiting", "way", "foretold", "made", "right")
    return Section("How long releases last", (*told, table(columns, rows)))
