"""The jobs that are measured: tables of everyday sizes and their policies."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.datasets import Dataset
from benchmarks.service import TARGET
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.definition import HierarchyDefinition
from tableveil.hierarchy.rules import Intervals
from tableveil.policy import (
    AttributePolicy,
    DistinctLDiversity,
    KAnonymity,
    Policy,
    PrivacyModel,
    Role,
    TableReference,
    TCloseness,
)
from tableveil.policy.methods.local_recoding import LocalRecoding

TABLE = "everyday"
ADULT = "adult, 9 columns, 30,000 rows"
SEED = 31
MODELS: tuple[PrivacyModel, ...] = (KAnonymity(5),)


@dataclass(frozen=True, slots=True)
class Goal:
    """The most CPU seconds of a job, with its search or above it; and the most statements, if there is such a goal."""

    seconds: float
    above_search: bool
    statements: int | None = None


@dataclass(frozen=True, slots=True)
class EverydayJob:
    """A job on a table that is made when it is needed; a dry run if it says so."""

    name: str
    made: Callable[[], tuple[pa.Table, Policy]]
    dry_run: bool = False
    goal: Goal | None = None


def measured_jobs(data: Path) -> tuple[EverydayJob, ...]:
    """The jobs whose CPU seconds are measured. Without the folder `data`, adult's place takes a generated table."""
    return (
        EverydayJob(ADULT, lambda: _adult(data), goal=Goal(0.8, above_search=True, statements=150)),
        EverydayJob(f"{ADULT}, dry run", lambda: _adult(data), dry_run=True),
        EverydayJob(
            "10 + 14 columns, 30,000 rows",
            lambda: generated(30_000, 10, insensitive=14),
            goal=Goal(2.5, above_search=False, statements=250),
        ),
        EverydayJob(
            "7 + 1 sensitive column, 63,000 rows",
            lambda: generated(63_000, 7, sensitive=True, models=(*MODELS, TCloseness("secret", Decimal("0.3")))),
            goal=Goal(2.5, above_search=True),
        ),
    )


def counted_jobs() -> tuple[EverydayJob, ...]:
    """The jobs whose statements are compared with the file in the repository."""
    diverse = (*MODELS, DistinctLDiversity("secret", 2))
    return (
        EverydayJob("listed hierarchies", lambda: generated(2_000, 9)),
        EverydayJob("listed hierarchies, dry run", lambda: generated(2_000, 9), dry_run=True),
        EverydayJob("many insensitive columns", lambda: generated(2_000, 10, insensitive=14)),
        EverydayJob("sensitive column", lambda: generated(2_000, 7, sensitive=True, people=True, models=diverse)),
        EverydayJob("local recoding", lambda: generated(500, 4, methods=(LocalRecoding(),))),
    )


def generated(
    rows: int,
    quasi_identifiers: int,
    *,
    insensitive: int = 0,
    sensitive: bool = False,
    people: bool = False,
    models: tuple[PrivacyModel, ...] = MODELS,
    methods: tuple[LocalRecoding, ...] = (),
) -> tuple[pa.Table, Policy]:
    """A table whose columns depend a little on each other, and a policy for it; the same at each call."""
    random = np.random.Generator(np.random.PCG64(SEED))
    hidden = random.random(rows)
    columns: dict[str, pa.Array] = {}
    attributes = []
    if people:
        columns["person"] = pa.array(np.arange(rows) * 7919 % 1_000_003)
        attributes.append(AttributePolicy("person", Role.IDENTIFYING))
    for j in range(quasi_identifiers):
        values, hierarchy = _quasi_identifier(j, hidden, random)
        columns[f"q{j}"] = values
        attributes.append(AttributePolicy(f"q{j}", Role.QUASI_IDENTIFIER, hierarchy))
    for j in range(insensitive):
        columns[f"i{j}"] = pa.array(random.integers(0, 10 ** (j % 4 + 1), rows))
        attributes.append(AttributePolicy(f"i{j}", Role.INSENSITIVE, acknowledged=True))
    if sensitive:
        columns["secret"] = pa.array([f"case {n}" for n in random.integers(0, 12, rows)])
        attributes.append(AttributePolicy("secret", Role.SENSITIVE))
    return pa.table(columns), _policy(attributes, "person" if people else None, models, methods)


def _quasi_identifier(
    j: int, hidden: NDArray[np.float64], random: np.random.Generator
) -> tuple[pa.Array, HierarchyDefinition]:
    """Every third column has numbers in intervals, the others have texts in a listed hierarchy."""
    number = (80, 12, 5)[j % 3]
    skewed = ((0.5 * hidden + 0.5 * random.random(len(hidden))) ** 4 * number).astype(int)
    if j % 3 == 0:
        return pa.array(skewed), Intervals("0", str(number), ("5", "20"))
    rows = tuple((f"v{n:02}", f"group {n // 4}", "*") for n in range(number))
    return pa.array([f"v{n:02}" for n in skewed]), InlineLevels(rows)


def _adult(data: Path) -> tuple[pa.Table, Policy]:
    """The census table of the reference cases, all of whose columns are quasi-identifiers."""
    if not (data / "adult").is_dir():
        return generated(30_000, 9)
    adult = Dataset.open(data, "adult")
    attributes = [
        AttributePolicy(name, Role.QUASI_IDENTIFIER, InlineLevels(adult.levels(name))) for name in adult.columns
    ]
    return adult.table(), _policy(attributes, None, MODELS)


def _policy(
    attributes: list[AttributePolicy],
    person_column: str | None,
    models: tuple[PrivacyModel, ...],
    methods: tuple[LocalRecoding, ...] = (),
) -> Policy:
    return Policy(
        source=TableReference("", "main", TABLE),
        attributes=tuple(attributes),
        person_column=person_column,
        privacy_models=models,
        release=TARGET,
        suppression_limit=Decimal("0.05"),
        methods=methods,
    )
