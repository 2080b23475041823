"""Section: clusters of people with several records, against clusters that take every record for another person."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from benchmarks.markdown import seconds, table
from benchmarks.microaggregation.methods import K
from benchmarks.section import Section, verdict
from tableveil.aggregation.columns import AggregatedColumn
from tableveil.aggregation.points import Points, SparseClusters
from tableveil.classes import SensitiveColumn
from tableveil.control import Control
from tableveil.microaggregation import squared_error
from tableveil.microaggregation.solve import ClusterProblem, solve
from tableveil.policy import Dominance, KAnonymity, PrivacyModel
from tableveil.policy.aggregation import Aggregation
from tableveil.policy.methods.microaggregation import Microaggregation

PEOPLE = (2_000, 100_000)
OFTEN, MOST = 0.02, 30
"""So many of the people have so many records; the others have up to 4."""

FIXED, VARYING = 2, 2
"""Columns that are the person's, and those that differ from record to record about the person's."""

MODELS: tuple[tuple[str, Sequence[PrivacyModel]], ...] = (
    (f"{K} people", [KAnonymity(K)]),
    (f"{K} people, none with more than 1/{K}", [KAnonymity(K), Dominance(Decimal(1) / K)]),
)


def several_records() -> Section:
    """Sound if every cluster has its people, counted here."""
    rows, sound = [], True
    for people in PEOPLE:
        points = visits(people)
        assert points.people is not None
        column = SensitiveColumn("", np.bincount(points.people, points.counts).astype(np.int64), people=True)
        records = f"{int(points.counts.sum()):,} records of {people:,} people"
        plain = replace(points, people=None, sensitive=())
        of_records = _solved(plain, [], [KAnonymity(K)])
        rows.append([records, f"{K} records", *of_records[0], ""])
        for name, models in MODELS:
            cells, clusters = _solved(points, [column], models)
            fewest = _fewest(points, clusters)
            sound = sound and fewest >= K
            rows.append(["", name, *cells, f"{fewest}, {verdict(fewest >= K)}"])
    return Section(
        "Clusters of people with several records",
        (
            f"Normal data of {FIXED} columns that are a person's and {VARYING} that vary; {OFTEN:.0%} of the people "
            f"have {MOST} records, the others up to 4. `AUTO`.",
            table(("", "clusters of", "CPU s", "SSE/SST", "clusters", "fewest people"), rows),
        ),
        sound,
    )


def visits(people: int) -> Points:
    """The points of generated visits; the person is the only other counted column."""
    random = np.random.default_rng(1)
    records = random.choice([1, 2, 3, 4, MOST], size=people, p=[0.3, 0.28, 0.2, 0.2, OFTEN])
    who = np.repeat(np.arange(people), records)
    values = random.normal(size=(people, FIXED + VARYING))[who]
    values[:, FIXED:] += random.normal(size=(len(who), VARYING))
    keys, counts = np.unique(np.column_stack([np.round(values * 10), who]), axis=0, return_counts=True)
    columns, codes = [], []
    for j in range(FIXED + VARYING):
        positions, code = np.unique(keys[:, j], return_inverse=True)
        of_code = np.bincount(code, counts).astype(np.int64)
        columns.append(AggregatedColumn(f"q{j}", Aggregation(), of_code, positions))
        codes.append(code.astype(np.int32))
    whose = keys[:, -1].astype(np.int32)
    return Points(tuple(columns), tuple(codes), counts.astype(np.int64), (whose,), whose)


def _solved(
    points: Points, columns: Sequence[SensitiveColumn], models: Sequence[PrivacyModel]
) -> tuple[list[str], SparseClusters]:
    started = time.process_time()
    found = solve(ClusterProblem(points, K, columns, models), Microaggregation(), Control()).clusters
    taken = time.process_time() - started
    return [seconds(taken), f"{squared_error(points, found).total:.4f}", f"{found.number:,}"], found


def _fewest(points: Points, clusters: SparseClusters) -> int:
    assert points.people is not None
    pairs = np.unique(np.stack([clusters.clusters, points.people[clusters.points]]), axis=1)
    return int(np.bincount(pairs[0]).min())
