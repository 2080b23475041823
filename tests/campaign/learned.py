"""Rules that somebody learns from half of the people, tried on the other half, beside what a release tells of them.

The attacker knows the exact quasi-identifiers of a person, and which values people with equal ones, or with two equal
ones, have in the half that he learned from. He believes a rule if it held for nine of ten people of that half, each by
the others. It finds a person if the person's own value fits, and if fewer than k rows of the class do. Chance finds
some as well: so many as the rules find if each person under a label has the key of another one.

A column is missed if the rules find people, clearly oftener than chance, and the release tells of nobody.
"""

import csv
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from tableveil.backend import Database
from tableveil.control import Control
from tableveil.hierarchy import InlineLevels
from tableveil.pipelines.dry_run import run_dry_run
from tableveil.policy import AttributePolicy, KAnonymity, Policy, Role, SearchOptions, TableReference
from tableveil.state import jobs
from tableveil.state.dry_runs import DRY_RUNS
from tests.campaign.unchanged import Row
from tests.migrated import passing
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target

K = 5
BELIEVED = 0.9
FOUND, LEAST, SHUFFLES = 0.01, 10, 5
"""A rule that finds this share of the people, and so many, more than chance in so many draws has to be told."""

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Public tables, where they are there."""

HIDDEN = ("age", "village", "job")
"""The quasi-identifiers that labels hide, in generated tables; the area is released as it is."""

Made = Callable[[Random, Sequence[Row]], Callable[[Row], Any]]


def _parts(key: Callable[[Row], Any], values: int, some: int) -> Made:
    """Each key has some of the values."""

    def made(chance: Random, rows: Sequence[Row]) -> Callable[[Row], Any]:
        parts = {each: chance.sample(range(values), some) for each in sorted({key(row) for row in rows})}
        return lambda row: chance.choice(parts[key(row)])

    return made


def _mistaken(made: Made, values: int, mistakes: float) -> Made:
    def wrong(chance: Random, rows: Sequence[Row]) -> Callable[[Row], Any]:
        right = made(chance, rows)
        return lambda row: chance.randrange(values) if chance.random() < mistakes else right(row)

    return wrong


DEPENDENT: Mapping[str, Made] = {
    "10 of 30 by age": _parts(lambda row: row["age"], 30, 10),
    "2 of 40 by age": _parts(lambda row: row["age"], 40, 2),
    "half of 12 by age": _parts(lambda row: row["age"], 12, 6),
    "a code of the village": _parts(lambda row: row["village"], 60, 1),
    "a code of the village, 4 % wrong": _mistaken(_parts(lambda row: row["village"], 60, 1), 60, 0.04),
    "by cohorts of 7 years": _parts(lambda row: row["age"] // 7, 20, 3),
    "by age and job": _parts(lambda row: (row["age"] // 4, row["job"]), 25, 2),
    "by village and job": _parts(lambda row: (row["village"], row["job"]), 30, 3),
    "of one job alone": lambda chance, _: lambda row: 1 if row["job"] == 3 else chance.randrange(9),
    "an age and a little": lambda chance, _: lambda row: 2024 - row["age"] - chance.randrange(2),
}

INDEPENDENT: Mapping[str, Made] = {
    **{f"of {n}": lambda chance, _, n=n: lambda row: chance.randrange(n) for n in (2, 7, 30, 200)},  # type: ignore[misc]
    "skewed": lambda chance, _: lambda row: min(int(chance.expovariate(0.4)), 30),
    "number": lambda chance, _: lambda row: chance.randrange(10**9),
}


@dataclass
class LearnedReport:
    """The columns that were tried; those that rules find people by, and that the release tells of."""

    broken: list[str] = field(default_factory=list)
    tables: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield f"{self.tables} tables"
        for name, number in self.tried.items():
            found, told, missed = self.found[name], self.told[name], self.missed[name]
            yield f"  {name}: of {number}, rules find people by {found}, {told} are told, {missed} found and not told"
        yield from self.broken


def learn(seed: int, seconds: float, tables: int) -> LearnedReport:
    """Tries so many generated tables, and the public ones."""
    report, deadline = LearnedReport(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for database in passing(Path(folder) / "learned.duckdb"):
            for number in range(tables):
                if time.monotonic() > deadline:
                    break
                _try(database, generated(Random(f"{seed}/{number}")), Random(number), report, f"table {number}")
                report.tables += 1
            for table in public(DATA) if DATA.exists() and time.monotonic() < deadline else ():
                _try(database, table, Random(seed), report, table.name)
    harmless = sum(report.told[name] for name in INDEPENDENT)
    if harmless > max(1, sum(report.tried[name] for name in INDEPENDENT) // 100):
        report.broken.append(f"{harmless} independent columns are told of")
    return report


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with hidden quasi-identifiers, each with its `labels` by value, one that is `shown`, and other columns."""

    name: str
    rows: Sequence[Row]
    labels: Mapping[str, Mapping[Any, str]]
    shown: str
    columns: Mapping[str, str]
    """By the name of a column the kind that it is of."""


def generated(chance: Random) -> Table:
    """A table of people in areas, whose ages, villages and jobs are hidden."""
    number = chance.choice((600, 1_500, 4_000, 8_000))
    villages, areas = chance.choice((12, 60)), max(2, number // chance.choice((30, 80)))
    rows: list[Row] = [
        {
            "age": int(chance.triangular(18, 90, 40)),
            "village": min(int(chance.expovariate(3 / villages)), villages - 1),
            "job": chance.randrange(8),
            "area": chance.randrange(areas),
        }
        for _ in range(number)
    ]
    kinds = {**DEPENDENT, **INDEPENDENT}
    columns = {f"c{place}": name for place, name in enumerate(kinds)}
    for column, name in columns.items():
        value = kinds[name](chance, rows)
        for row in rows:
            row[column] = value(row)
    labels = {
        "age": {age: f"{age // 20 * 20}s" for age in range(130)},
        "village": {village: f"v{village // 6}" if villages > 12 else "*" for village in range(villages)},
        "job": dict.fromkeys(range(8), "*"),
    }
    wide = chance.random() < 0.5
    return Table(
        "", rows, labels if not wide else {n: dict.fromkeys(of, "*") for n, of in labels.items()}, "area", columns
    )


def public(folder: Path) -> Iterator[Table]:
    """Public tables: some columns are hidden by the highest label but one, and all others leave as they are."""
    for name, shown, hidden in (
        ("adult", "sex", ("age", "education", "occupation")),
        ("fars", "isex", ("iage", "istatenum", "ideathmon")),
    ):
        with (folder / name / "data.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter=";"))[:20_000]
        labels = {}
        for column in hidden:
            with (folder / name / "hierarchies" / f"{column}.csv").open(encoding="utf-8") as file:
                labels[column] = {row[0]: row[-2] for row in csv.reader(file, delimiter=";")}
        others = [column for column in rows[0] if column not in (*hidden, shown)]
        yield Table(name, rows, labels, shown, {column: f"{name}: {column}" for column in others})


def _try(database: Database, table: Table, chance: Random, report: LearnedReport, named: str) -> None:
    told = told_of(database, table)
    attack = Attack(table, chance)
    for column, kind in table.columns.items():
        finds, by_chance = attack.found(column), attack.by_chance(column)
        report.tried[kind] += 1
        found = finds - by_chance > max(LEAST, FOUND * attack.attacked) and finds > 2 * by_chance
        report.found[kind] += found
        report.told[kind] += column in told
        if found and column not in told:
            report.missed[kind] += 1
            report.broken.append(
                f"{named}: rules find {finds} of {attack.attacked} by '{kind}', and by chance {by_chance}; "
                f"nobody is told ({len(table.rows)} rows)"
            )


class Attack:
    """The rules of half of the people, tried on the others."""

    def __init__(self, table: Table, chance: Random) -> None:
        self._labels = [
            tuple(
                str(row[table.shown]) if n == table.shown else of[row[n]]
                for n, of in {**table.labels, table.shown: {}}.items()
            )
            for row in table.rows
        ]
        sizes = Counter(self._labels)
        places = [place for place, label in enumerate(self._labels) if sizes[label] >= K]
        chance.shuffle(places)
        self._table, self._half, self._others = table, places[: len(places) // 2], places[len(places) // 2 :]
        self._in_class = defaultdict[tuple[str, ...], list[int]](list)
        for place in places:
            self._in_class[self._labels[place]].append(place)
        self.attacked = len(self._others)
        hidden = list(table.labels)
        self._keys = {
            names: [tuple(row[name] for name in names) for row in table.rows]
            for names in (*((name,) for name in hidden), *combinations(hidden, 2))
        }
        self._shuffled = [self._mixed(keys, chance) for keys in self._keys.values() for _ in range(SHUFFLES)]

    def _mixed(self, keys: Sequence[Any], chance: Random) -> list[Any]:
        """Each person has the key of another one under the labels."""
        mixed, under = list(keys), defaultdict[tuple[str, ...], list[int]](list)
        for place, label in enumerate(self._labels):
            under[label[:-1]].append(place)
        for places in under.values():
            drawn = list(places)
            chance.shuffle(drawn)
            for place, other in zip(places, drawn, strict=True):
                mixed[place] = keys[other]
        return mixed

    def found(self, column: str) -> int:
        """The most people that the rules of one key find."""
        return max(self._found(column, keys) for keys in self._keys.values())

    def by_chance(self, column: str) -> int:
        """The most people that rules find that nothing stands behind."""
        return max(self._found(column, keys) for keys in self._shuffled)

    def _found(self, column: str, keys: Sequence[Any]) -> int:
        values = [row[column] for row in self._table.rows]
        seen = defaultdict[Any, Counter[Any]](Counter)
        for place in self._half:
            seen[keys[place]][values[place]] += 1
        by_size = defaultdict[int, list[int]](lambda: [0, 0])
        for of_key in seen.values():
            right = sum(number for number in of_key.values() if number > 1)
            for_size = by_size[of_key.total().bit_length()]
            for_size[0] += right
            for_size[1] += of_key.total()
        number = 0
        held = {label: Counter(values[place] for place in places) for label, places in self._in_class.items()}
        for place in self._others:
            fit = seen.get(keys[place])
            if fit is None or values[place] not in fit:
                continue
            right, tried = by_size[fit.total().bit_length()]
            if right >= BELIEVED * tried:
                in_class = held[self._labels[place]]
                number += sum(in_class[value] for value in fit) < K
        return number


def told_of(database: Database, table: Table) -> set[str]:
    """The columns of which a release tells that they follow from quasi-identifiers, by itself."""
    names = [*table.labels, table.shown, *table.columns]
    data = pa.table({name: [row[name] for row in table.rows] for name in names})
    with database.session() as session, session.relation("drawn", data):
        session.execute("CREATE OR REPLACE TABLE people AS FROM drawn")
    hidden = [
        AttributePolicy(
            name, Role.QUASI_IDENTIFIER, InlineLevels(tuple((str(v), label, "*") for v, label in of.items()))
        )
        for name, of in table.labels.items()
    ]
    areas = sorted({str(row[table.shown]) for row in table.rows})
    shown = AttributePolicy(table.shown, Role.QUASI_IDENTIFIER, InlineLevels(tuple((area, "*") for area in areas)))
    unchanged = [AttributePolicy(name, Role.INSENSITIVE, acknowledged=True) for name in table.columns]
    policy = Policy(
        source=TableReference("", "main", "people"),
        attributes=(*hidden, shown, *unchanged),
        person_column=None,
        privacy_models=(KAnonymity(K),),
        suppression_limit=Decimal(1),
        release=plain_target("main", "released"),
        search=SearchOptions(levels=(*((name, 1) for name in table.labels), (table.shown, 0))),
    )
    with database.session() as own:
        own.control = Control()
        number = jobs.next_number(own.ledger)
        source, target = policy.source, policy.release
        request = jobs.Request(number, "", "{}", "", source, target.schema, target.name, jobs.now())
        jobs.insert_request(own.ledger, request)
        found = DRY_RUNS.find(own.ledger, run_dry_run(context(own, database, number), replace(policy)))
    assert found is not None
    follows = {one.columns[0] for one in found.exposures if one.knows and len(one.columns) == 1}
    determined = {name for name in table.columns if any(f"row's '{name}'" in warning for warning in found.warnings)}
    return follows | determined
