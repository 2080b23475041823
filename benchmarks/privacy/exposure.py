"""Sections: how strict and how dear the exposure by columns is that are released as they are."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from benchmarks.discharges import CACHE
from benchmarks.markdown import table, times
from benchmarks.section import Section, verdict
from benchmarks.service import LocalService
from tableveil.hierarchy import InlineLevels
from tableveil.policy import AttributePolicy, KAnonymity, Policy, ReleaseTarget, Role, SearchOptions, TableReference

DRAWS, SIZES, K = 12, (300, 2_000), 5
ROWS, REPEATS = 100_000, 5
MOST = 25.0
"""The goal: a column costs at most so many plain grouped scans of the table."""

WIDE_ROWS, OWN, AMOUNTS = 30_000, 10, 14
CHECK, VERIFICATION = "check_exposure", "check_unchanged"
MOST_ENGINE, MOST_VERIFICATION = 1.5, 1.0
"""The goals for a table of many amounts, in CPU seconds."""

AGES = range(20, 100)
_DECADES = InlineLevels(tuple((str(age), f"{age // 10}0s", "*") for age in AGES))

Values = Callable[[int], int]
Possible = Callable[[int, int], bool]


@dataclass(frozen=True, slots=True)
class Kind:
    """A column: draws its maker, the value for an age, and whether a person of an age may have a value."""

    name: str
    made: Callable[[Random], tuple[Values, Possible]]


def _independent(values: int) -> Callable[[Random], tuple[Values, Possible]]:
    def made(chance: Random) -> tuple[Values, Possible]:
        weights = [chance.expovariate(1) for _ in range(values)]
        return lambda age: chance.choices(range(values), weights)[0], lambda age, value: True

    return made


def _part_of(values: int, share: int, group: int) -> Callable[[Random], tuple[Values, Possible]]:
    """Groups of ages have a random part of the values each."""

    def made(chance: Random) -> tuple[Values, Possible]:
        parts = {first: chance.sample(range(values), values // share) for first in range(20, 100, group)}
        return (
            lambda age: chance.choice(parts[age - age % group]),
            lambda age, value: value in parts[age - age % group],
        )

    return made


def _calculated(value: Callable[[int, Random], int], possible: Possible) -> Callable[[Random], tuple[Values, Possible]]:
    return lambda chance: (lambda age: value(age, chance), possible)


KINDS = (
    *(Kind(f"independent, {values} values", _independent(values)) for values in (2, 5, 20)),
    Kind("by decade alone, 10 of 30 values", _part_of(30, 3, 10)),
    Kind(
        "birth year", _calculated(lambda age, c: 100 - age - c.randrange(2), lambda age, v: 99 - age <= v <= 100 - age)
    ),
    Kind("cohort of five years", _calculated(lambda age, c: (age + 2) // 5, lambda age, v: v == (age + 2) // 5)),
    Kind("half of 10 values by age", _part_of(10, 2, 1)),
)


def strictness() -> Section:
    """How often columns are refused, and how often they should be."""
    rows = []
    with _service() as service:
        for kind in KINDS:
            for size in SIZES:
                found = [_tried(service, kind, size, Random(f"{kind.name}/{size}/{draw}")) for draw in range(DRAWS)]
                refused, due = (sum(part) for part in zip(*found, strict=True))
                rows.append((kind.name, f"{size:,}", str(refused), str(due)))
    return Section(
        "Columns that are refused for what follows of them",
        (
            f"{DRAWS} random tables each: 80 ages, most of them rare, released as decades, beside areas as they "
            f"are, in classes of {K} records or more. Due are those that somebody who knows which values people of "
            f"an age may have makes smaller than {K}.",
            table(("column", "records", "refused", "due"), rows),
        ),
    )


def _tried(service: LocalService, kind: Kind, size: int, chance: Random) -> tuple[bool, bool]:
    """Whether the column is refused, and whether that is due."""
    slope = chance.uniform(0, 1.2)
    ages = chance.choices(chance.sample(AGES, len(AGES)), [1 / i**slope for i in range(1, len(AGES) + 1)], k=size)
    value, possible = kind.made(chance)
    people = [(age, chance.randrange(1 + size // (24 * K)), value(age)) for age in ages]
    classes = Counter((age // 10, area) for age, area, _ in people)
    held = Counter((age // 10, area, value) for age, area, value in people)
    left = {
        (age, area): sum(n for (*where, v), n in held.items() if where == [age // 10, area] and possible(age, v))
        for age, area, _ in people
        if classes[age // 10, area] >= K
    }
    with service.session() as session:
        session.execute("DROP TABLE IF EXISTS main.people")
    service.load("people", pa.table([*map(list, zip(*people, strict=True))], names=["age", "area", "value"]))
    run = service.run(_policy("value"))
    return run.release is None, min(left.values(), default=K) < K


def cost() -> Section:
    """The time of columns of few and of many values, beside a plain grouped scan."""
    module, taken = import_module("tableveil.lifecycle.publish"), list[float]()
    check = module.check_exposure

    def timed(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return check(*arguments)
        finally:
            taken.append(time.perf_counter() - began)

    rows = []
    with _service() as service, patch.object(module, "check_exposure", timed):
        with service.session() as session:
            session.execute(
                "CREATE TABLE main.people AS SELECT 20 + hash(i) % 80 AS age, hash(i, 1) % 20 AS area, "
                "hash(i, 2) % 2 AS coin, hash(i, 3) % 100 AS ward, hash(i, 4) % 20000 AS amount, "
                f"2026 - age - hash(i, 5) % 2 AS born FROM range({ROWS}) r(i)"
            )
        for name in ("coin", "ward", "amount", "born"):
            scans = [service.group_by("people", ["age", "area", name]) for _ in range(REPEATS)]
            taken.clear()
            for _ in range(REPEATS):
                service.run(_policy(name, acknowledged=True))
            scan, whole = min(scans), min(taken)
            rows.append(
                (name, f"{1000 * scan:.0f}", f"{1000 * whole:.0f}", times(whole / scan), verdict(whole <= MOST * scan))
            )
    return Section(
        "The cost of the exposure",
        (
            f"{ROWS:,} records, ages as decades, areas as they are; two threads, best of {REPEATS}. The plain scan "
            f"counts the records by age, area and column. Goal: at most {times(MOST)}.",
            table(("column", "plain scan, ms", "exposure, ms", "of the scan", "goal"), rows),
        ),
    )


def correlated() -> Section:
    """The CPU seconds of the check and of the verification, with many amounts that a few factors make."""
    draws = np.random.default_rng(1)
    factors, loads = draws.normal(size=(WIDE_ROWS, 3)), draws.normal(size=(3, AMOUNTS))
    amounts = np.exp(factors @ loads + draws.standard_t(3, (WIDE_ROWS, AMOUNTS)).clip(-8, 8))
    amounts = np.where(draws.random(amounts.shape) < 0.3, 0.0, amounts.round(2))
    own = {f"q{j}": draws.integers(0, 100, WIDE_ROWS) for j in range(OWN)}
    names = [f"amount{i}" for i in range(AMOUNTS)]
    bands = InlineLevels(tuple((str(value), f"{value // 10}0s", "*") for value in range(100)))
    policy = replace(
        _policy("amount0"),
        attributes=(
            *(AttributePolicy(name, Role.QUASI_IDENTIFIER, bands, minimum_level=1) for name in own),
            *(AttributePolicy(name, Role.INSENSITIVE) for name in names),
        ),
        search=SearchOptions(levels=tuple((name, 1 if place < 2 else 2) for place, name in enumerate(own))),
    )
    with _service() as service, exposure_seconds() as taken:
        service.load("people", pa.table({**own, **{name: amounts[:, i] for i, name in enumerate(names)}}))
        run = service.run(policy)
    assert run.release is not None, run
    rows = [
        (name, f"{taken[name]:.2f}", f"{most}", verdict(taken[name] <= most))
        for name, most in ((CHECK, MOST_ENGINE), (VERIFICATION, MOST_VERIFICATION))
    ]
    return Section(
        "The cost of many amounts",
        (
            f"{WIDE_ROWS:,} rows, {OWN} quasi-identifiers, {AMOUNTS} amounts of three factors, with heavy tails and "
            "ties at 0. CPU seconds of the process, one run.",
            table(("check", "CPU s", "at most", "goal"), rows),
        ),
    )


@contextmanager
def exposure_seconds() -> Iterator[dict[str, float]]:
    """The CPU seconds of the process in the check before a release is written, and in that of what was written."""
    taken = dict.fromkeys((CHECK, VERIFICATION), 0.0)

    def counting(check: Callable[..., Any], name: str) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            began = time.process_time()
            try:
                return check(*arguments, **named)
            finally:
                taken[name] += time.process_time() - began

        return timed

    with ExitStack() as patches:
        for name, where in ((CHECK, "tableveil.lifecycle.publish"), (VERIFICATION, "tableveil.verification.methods")):
            module = import_module(where)
            patches.enter_context(patch.object(module, name, counting(getattr(module, name), name)))
        yield taken


@contextmanager
def _service() -> Iterator[LocalService]:
    CACHE.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as directory,
        LocalService(Path(directory) / "people.duckdb", threads=2) as service,
    ):
        yield service


def _policy(name: str, *, acknowledged: bool = False) -> Policy:
    areas = InlineLevels(tuple((str(area), "*") for area in range(20)))
    quasi = AttributePolicy("age", Role.QUASI_IDENTIFIER, _DECADES, minimum_level=1, maximum_level=1)
    return Policy(
        source=TableReference("", "main", "people"),
        attributes=(
            quasi,
            replace(quasi, column="area", hierarchy=areas, minimum_level=0, maximum_level=0),
            AttributePolicy(name, Role.INSENSITIVE, acknowledged=acknowledged),
        ),
        person_column=None,
        privacy_models=(KAnonymity(K),),
        suppression_limit=Decimal(1),
        release=ReleaseTarget("main", "out"),
        default_role=Role.IDENTIFYING,
    )
