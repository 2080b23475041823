"""The experiment of Wan et al. 2015 on generated people: a sample, its population, hierarchies, and how they count."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from benchmarks.game.census import RACES, Census, census
from benchmarks.service import TARGET, LocalService
from tableveil.counting import build_base, read_combinations
from tableveil.dictionary import build_dictionary
from tableveil.dictionary.values import CodedAttribute
from tableveil.game import Combinations
from tableveil.hierarchy import InlineLevels
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import AttributePolicy, Game, Policy, Population, Role, TableReference
from tableveil.source import resolve_source

GAME = Game(Decimal(1200), Decimal(300), Decimal(300), Decimal(4))
"""Benefit, loss, gain and cost, as published."""

SAFE_HARBOR: Transformation = (1, 0, 2, 0)
"""Ages from 90 on together, ZIP codes by three digits."""

QUASI_IDENTIFIERS = ("age", "sex", "zip", "race")


@dataclass(frozen=True, slots=True)
class Shape:
    """So many people, in so many ZIP codes that begin with so many different three digits; and how many are sampled."""

    name: str
    people: int
    zips: int
    areas: int
    sample: int


@dataclass(frozen=True, slots=True)
class Experiment:
    """The input of a sweep, the seconds of each step that made it, and those of one GROUP BY beside."""

    combinations: Combinations
    lattice: Lattice
    seconds: dict[str, float]


def experiment(shape: Shape) -> Experiment:
    """Generates the people and counts them in a database of their own."""
    seconds: dict[str, float] = {}
    with _timed(seconds, "generate"):
        everybody = census(shape.people, shape.zips, shape.areas)
        sample = everybody.sample(shape.sample)
    with tempfile.TemporaryDirectory() as folder, LocalService(Path(folder, "game.duckdb")) as service:
        with _timed(seconds, "load"):
            service.load("population", everybody.table())
            service.load("sample", sample.table())
        seconds["one GROUP BY of the population"] = service.group_by("population", QUASI_IDENTIFIERS)
        policy = _policy(everybody)
        with service.session() as session, session.transaction():
            with _timed(seconds, "dictionaries"):
                source, policy, faults = resolve_source(session, policy)
                assert source is not None, faults
                dictionaries = []
                for i, attribute in enumerate(policy.attributes):
                    assert isinstance(attribute.hierarchy, InlineLevels)
                    dictionary, faults = build_dictionary(
                        session, source, CodedAttribute(attribute, attribute.hierarchy, "", i, "")
                    )
                    assert dictionary is not None, faults
                    dictionaries.append(dictionary)
            with _timed(seconds, "count"):
                base = build_base(session, source, dictionaries)
            with _timed(seconds, "read"):
                combinations = read_combinations(session, base)
    tops = tuple(levels.top for levels in combinations.levels)
    return Experiment(combinations, Lattice((0,) * len(tops), tops), seconds)


def _policy(everybody: Census) -> Policy:
    hierarchies: dict[str, list[tuple[str, ...]]] = {
        "age": [_ages(age) for age in range(100)],
        "sex": [("F", "*"), ("M", "*")],
        "zip": [tuple(code[: 5 - masked] + "*" * masked for masked in range(6)) for code in everybody.zips],
        "race": [(race, "*") for race in RACES],
    }
    return Policy(
        source=TableReference("", "main", "sample"),
        attributes=tuple(
            AttributePolicy(name, Role.QUASI_IDENTIFIER, InlineLevels(tuple(hierarchies[name])))
            for name in QUASI_IDENTIFIERS
        ),
        person_column=None,
        privacy_models=(),
        release=TARGET,
        population=Population(TableReference("", "main", "population")),
        game=GAME,
    )


def _ages(age: int) -> tuple[str, ...]:
    """The age itself; 90 and above together; bands of 5, 10, 20 and 40 years that keep those together; `*`."""
    bands = [f"{age // width * width}+{width}" for width in (5, 10, 20, 40)]
    top_coded = ["90 and above", "90 and above", "80 and above", "80 and above"] if age >= 90 else bands
    if 80 <= age < 90:
        top_coded = [*bands[:2], "80 and above", "80 and above"]
    return (str(age), "90 and above" if age >= 90 else str(age), *top_coded, "*")


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    seconds[step] = time.monotonic() - started
