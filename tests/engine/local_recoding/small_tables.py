"""Small random tables to recode locally, and the optimum of all partitions of their records by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.hierarchy import AttributeLevels, InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.local_recoding import LocalProblem, label_costs
from tableveil.local_recoding.judge import Judge
from tableveil.policy import (
    Aggregate,
    BetaLikeness,
    DeltaDisclosure,
    Distance,
    DistinctLDiversity,
    EntropyLDiversity,
    EstimatedKMap,
    KAnonymity,
    KMap,
    LossModel,
    PrivacyModel,
    ProbabilisticLDiversity,
    QualityModel,
    RecursiveCLDiversity,
    TCloseness,
)
from tableveil.privacy import privacy_of

HIERARCHIES = (
    (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*")),
    (("u", "*"), ("v", "*"), ("w", "*")),
    (("x", "xy", "*"), ("y", "xy", "*"), ("z", "z", "*")),
)

MODELS: dict[str, Callable[[np.random.Generator], tuple[PrivacyModel, ...]]] = {
    "k-anonymity": lambda random: (KAnonymity(int(random.integers(1, 5))),),
    "distinct": lambda random: (KAnonymity(2), DistinctLDiversity("illness", int(random.integers(2, 4)))),
    "k-map": lambda random: (KMap(int(random.integers(2, 6))),),
    "estimated k-map": lambda random: (EstimatedKMap(3, Decimal("0.2")),),
    "probabilistic": lambda random: (ProbabilisticLDiversity("illness", Decimal("1.5")),),
    "entropy": lambda random: (KAnonymity(2), EntropyLDiversity("illness", Decimal("1.7"))),
    "recursive": lambda random: (RecursiveCLDiversity("illness", Decimal(2), 2),),
    "t-closeness": lambda random: (KAnonymity(2), TCloseness("illness", Decimal("0.35"), Distance.EQUAL)),
    "disclosure": lambda random: (DeltaDisclosure("illness", Decimal(1)),),
    "likeness": lambda random: (BetaLikeness("illness", Decimal(1)),),
}


@dataclass(frozen=True, slots=True, eq=False)
class SmallTable:
    """Records by their codes and sensitive values, and the population that they were drawn from."""

    levels: tuple[AttributeLevels, ...]
    records: NDArray[np.int64]
    values: NDArray[np.int64]
    others: NDArray[np.int64]

    @classmethod
    def random(cls, seed: int) -> SmallTable:
        random = np.random.default_rng(seed)
        columns = int(random.integers(1, 4))
        many = int(random.integers(1, 10))
        codes = [random.integers(0, len(HIERARCHIES[j]), many) for j in range(columns)]
        others = [random.integers(0, len(HIERARCHIES[j]), int(random.integers(0, 5))) for j in range(columns)]
        shortest = min(map(len, others))
        values = np.unique(random.integers(0, 3, many), return_inverse=True)[1]
        outside = np.column_stack([column[:shortest] for column in others])
        return cls(tuple(map(levels_of, HIERARCHIES[:columns])), np.column_stack(codes), values, outside)

    def problem(
        self,
        models: Sequence[PrivacyModel],
        suppressible: int = 0,
        quality: QualityModel | None = None,
        weights: Sequence[float] | None = None,
        split: bool = False,
    ) -> LocalProblem:
        """The table as a problem; if `split`, every record is a combination of its own."""
        everybody = np.concatenate([self.records, self.others])
        if split:
            codes, of = everybody, np.arange(len(everybody))
        else:
            codes, of = np.unique(everybody, axis=0, return_inverse=True)
        mine = of[: len(self.records)]
        counts = np.bincount(mine, minlength=len(codes)).astype(np.int64)
        pairs, number = np.unique(mine * 3 + self.values, return_counts=True)
        column = SensitiveColumn("illness", np.bincount(self.values).astype(np.int64))
        sensitive = ((column, SensitiveRows(pairs // 3, pairs % 3, number.astype(np.int64))),)
        population = np.bincount(of, minlength=len(codes)).astype(np.int64)
        groups = [codes[:, j].astype(np.int32) for j in range(codes.shape[1])]
        counter = NumpyCounter(self.levels, groups, counts, sensitive=sensitive, population=population)
        per_code = [
            np.bincount(self.records[:, j], minlength=len(levels.groups[0])).astype(np.int64)
            for j, levels in enumerate(self.levels)
        ]
        model = quality or LossModel(Aggregate.ARITHMETIC_MEAN)
        return LocalProblem(
            self.levels,
            codes,
            counts,
            label_costs(model, self.levels, weights or [1.0] * len(self.levels), per_code),
            (0,) * len(self.levels),
            tuple(levels.top for levels in self.levels),
            privacy_of(models, counter, len(everybody)),
            suppressible,
            sensitive,
            population,
        )


def levels_of(rows: Sequence[tuple[str, ...]]) -> AttributeLevels:
    names = [row[0] for row in rows]
    return attribute_levels(label_values(InlineLevels(tuple(rows)), ValueKind.TEXT, names, names), has_null=False)


def optimum(table: SmallTable, models: Sequence[PrivacyModel], suppressible: int) -> float | None:
    """The least cost of any partition of the records, one by one; None if there is none."""
    problem = table.problem(models, suppressible, split=True)
    many = len(table.records)
    costs = [np.inf] * (1 << many)
    judge = Judge(problem)
    sets = [[i for i in range(many) if mask >> i & 1] for mask in range(1, 1 << many)]
    starts = np.cumsum([0, *map(len, sets[:-1])])
    k_map = next((model.k for model in models if isinstance(model, KMap)), None)
    valid = [True] * len(sets) if k_map else judge.releasable(np.concatenate(sets), starts).tolist()
    for mask, (members, may) in enumerate(zip(sets, valid, strict=True), 1):
        if may and k_map:
            costs[mask] = len(members) * cost_among(table, problem, members, k_map)
        elif may:
            costs[mask] = len(members) * label_cost(problem, table.records[members])
    # best[mask][s]: the records of the mask in classes, s of them suppressed.
    best = np.full((1 << many, suppressible + 1), np.inf)
    best[0, 0] = 0.0
    for mask in range(1, 1 << many):
        lowest = mask & -mask
        rest = mask ^ lowest
        best[mask, 1:] = best[rest, :-1] + problem.costs.suppressed
        part = rest
        while True:
            if costs[part | lowest] < np.inf:
                best[mask] = np.minimum(best[mask], best[rest ^ part] + costs[part | lowest])
            if part == 0:
                break
            part = (part - 1) & rest
    found = float(best[-1].min())
    return found + problem.costs.constant if np.isfinite(found) else None


def label_cost(problem: LocalProblem, records: NDArray[np.integer[Any]]) -> float:
    """The cost of the most specific labels that all of the records share."""
    return sum(
        min(
            float(problem.costs.labels[j][level][attribute.groups[level][records[0, j]]])
            for level in range(attribute.top + 1)
            if len(set(attribute.groups[level][records[:, j]])) == 1
        )
        for j, attribute in enumerate(problem.levels)
    )


def cost_among(table: SmallTable, problem: LocalProblem, members: Sequence[int], k: int) -> float:
    """The cost of the cheapest labels that cover these records and at least k people of the population."""
    everybody = np.concatenate([table.records, table.others])
    cheapest = np.inf
    for x in itertools.product(*(range(attribute.top + 1) for attribute in table.levels)):
        groups = [attribute.groups[x[j]][everybody[:, j]] for j, attribute in enumerate(table.levels)]
        if all(len(set(group[list(members)])) == 1 for group in groups):
            people = np.logical_and.reduce([group == group[members[0]] for group in groups])
            if people.sum() >= k:
                of = [problem.costs.labels[j][x[j]][group[members[0]]] for j, group in enumerate(groups)]
                cheapest = min(cheapest, float(sum(of)))
    return cheapest
