"""Copies of a hidden date in every disguise, beside columns of which nobody knows anything.

Each table is released with all copies at once, under each role, and with `acknowledged`. A copy must be refused, or its
acknowledgement must be decided. Independent columns must hardly be refused: 1 in 100 is too many.
"""

import base64
import hashlib
import string
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from tableveil.backend import Database
from tableveil.control import Control
from tableveil.errors import InvalidError, Rank
from tableveil.hierarchy.rules import Intervals, SuppressionOnly
from tableveil.hierarchy.rules.dates import Dates, DateUnit
from tableveil.pipelines.dry_run import run_dry_run
from tableveil.policy import AttributePolicy, KAnonymity, Policy, Role, TableReference
from tableveil.state import jobs
from tableveil.state.dry_runs import DRY_RUNS
from tests.migrated import passing
from tests.service.jobs.contexts import context
from tests.service.jobs.plain import plain_target

Copy = Callable[[Random, date, datetime], Any]

FIRST = date(2024, 1, 1)


GERMAN = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
]


def _keyed(key: str, of: str) -> str:
    return hashlib.sha256((key + of).encode()).hexdigest()


COPIES: Mapping[str, Copy] = {
    "as it is": lambda _, day, at: day,
    "d/m/Y": lambda _, day, at: f"{day:%d/%m/%Y}",
    "m/d/Y": lambda _, day, at: f"{day:%m/%d/%Y}",
    "d.m.y": lambda _, day, at: f"{day:%d.%m.%y}",
    "d Mon Y": lambda _, day, at: f"{day:%d %b %Y}",
    "weekday, month d": lambda _, day, at: f"{day:%A, %B %d %Y}",
    "in German": lambda _, day, at: f"{day.day}. {GERMAN[day.month - 1]} {day.year}",
    "digits": lambda _, day, at: f"{day:%Y%m%d}",
    "number of digits": lambda _, day, at: int(f"{day:%Y%m%d}"),
    "day of the year": lambda _, day, at: f"{day:%Y-%j}",
    "week and day": lambda _, day, at: f"{day:%G-W%V-%u}",
    "days since": lambda _, day, at: (day - FIRST).days,
    "days until": lambda _, day, at: (date(2030, 1, 1) - day).days,
    "hours since": lambda _, day, at: 24 * (day - FIRST).days + 7,
    "seconds since": lambda _, day, at: 86_400 * (day - FIRST).days,
    "serial day": lambda _, day, at: float((day - date(1899, 12, 30)).days),
    "squared": lambda _, day, at: (day - FIRST).days ** 2 + 5,
    "code": lambda _, day, at: f"C{(day - FIRST).days * 7919 % 10_007}",
    "letters": lambda _, day, at: "".join(string.ascii_lowercase[int(c)] for c in f"{day:%Y%m%d}"),
    "hash": lambda _, day, at: _keyed("", str(day))[:12],
    "keyed hash": lambda _, day, at: _keyed("secret", str(day)),
    "base64": lambda _, day, at: base64.b64encode(str(day).encode()).decode(),
    "with a quarter of an hour": lambda _, day, at: at.replace(minute=at.minute // 15 * 15, second=0),
    "with a minute": lambda _, day, at: at.replace(second=0),
    "with a second": lambda _, day, at: at,
    "with a second, as text": lambda _, day, at: f"{at:%d/%m/%Y %H:%M:%S}",
    "suffix": lambda chance, day, at: f"{day}-{chance.choice('abc')}",
    "batch": lambda chance, day, at: f"B{day:%j}/{chance.randrange(3)}",
    "number behind": lambda chance, day, at: f"{day:%y%m%d}{chance.randrange(10_000):04}",
    "number before": lambda chance, day, at: f"{chance.randrange(10_000):04}|{day}",
    "numbers around": lambda chance, day, at: f"{chance.randrange(1_000)} {day:%d/%m/%Y} {chance.randrange(1_000)}",
    "within digits": lambda chance, day, at: f"{chance.randrange(100):02}{day:%d%m%y}{chance.randrange(1_000):03}",
    "within a number": lambda chance, day, at: int(f"{chance.randrange(1, 99)}{day:%d%m%y}{chance.randrange(100):02}"),
    "number before digits": lambda chance, day, at: f"{chance.randrange(100_000)}{day:%d%m%Y}",
    "digits before a number": lambda chance, day, at: f"{day:%d%m%y}{chance.randrange(100_000)}",
    "base64 with a minute": lambda _, day, at: base64.b64encode(f"{at:%Y-%m-%d %H:%M}".encode()).decode(),
}
"""Disguises of a day, drawn with a time on it."""

INDEPENDENT: Mapping[str, Callable[[Random], Any]] = {
    **{f"of {values}": lambda chance, values=values: chance.randrange(values) for values in (2, 5, 12, 25, 40, 300)},  # type: ignore[misc]
    "skewed": lambda chance: min(int(chance.expovariate(0.3)), 30),
    "amount": lambda chance: round(chance.lognormvariate(6, 1.5), 2),
    "code": lambda chance: f"{chance.choice('ABC')}-{chance.randrange(5_000):04}",
    "day": lambda chance: FIRST + timedelta(chance.randrange(366)),
    "moment": lambda chance: datetime(2024, 1, 1) + timedelta(seconds=chance.randrange(366 * 86_400)),
    "half empty": lambda chance: chance.choice((None, chance.randrange(9))),
}


@dataclass
class CopiesReport:
    """How many copies and independent columns were tried, and how many of these were refused."""

    broken: list[str] = field(default_factory=list)
    tables: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    harmless: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield f"{self.tables} tables, {sum(self.tried.values())} copies under a role"
        yield f"{sum(self.harmless.values())} independent columns, {sum(self.refused.values())} refused"
        yield from (f"  {name}: {number} of {self.harmless[name]}" for name, number in sorted(self.refused.items()))
        yield from self.broken


def hide_copies(seed: int, seconds: float, tables: int) -> CopiesReport:
    """Releases so many tables under each role."""
    report, deadline = CopiesReport(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for database in passing(Path(folder) / "copies.duckdb"):
            for number in range(tables):
                if time.monotonic() > deadline:
                    break
                _try(database, Random(f"{seed}/{number}"), report, number)
                report.tables += 1
    if sum(report.refused.values()) > max(1, sum(report.harmless.values()) // 100):
        report.broken.append("more than 1 in 100 independent columns are refused")
    return report


def _try(database: Database, chance: Random, report: CopiesReport, number: int) -> None:
    days, people = chance.choice((60, 180, 366)), chance.choice((1_200, 3_000, 5_000))
    table = _table(chance, days, people)
    with database.session() as session, session.relation("drawn", table):
        session.execute("CREATE OR REPLACE TABLE people AS FROM drawn")
    months = Dates(
        "2024-01-01", "2024-12-31", chance.choice(((DateUnit.MONTH, DateUnit.YEAR), (DateUnit.QUARTER, DateUnit.YEAR)))
    )
    policy = Policy(
        source=TableReference("", "main", "people"),
        attributes=(
            AttributePolicy("nr", Role.IDENTIFYING),
            AttributePolicy("born", Role.QUASI_IDENTIFIER, Intervals("1900", "2029", ("10", "30"))),
            AttributePolicy("day", Role.QUASI_IDENTIFIER, months, minimum_level=1),
            AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        ),
        person_column="nr",
        privacy_models=(KAnonymity(5),),
        suppression_limit=Decimal("0.1"),
        release=plain_target("main", "released"),
        default_role=Role.IDENTIFYING,
    )
    harmless = [f"i{place}" for place, _ in enumerate(INDEPENDENT)]
    for role in (Role.INSENSITIVE, Role.SENSITIVE):
        for names, columns in (("c", list(COPIES)), ("i", list(INDEPENDENT))):
            attributes = [AttributePolicy(f"{names}{place}", role) for place, _ in enumerate(columns)]
            refused, decided = _told(database, replace(policy, attributes=(*policy.attributes, *attributes)))
            if names == "i":
                report.harmless.update(columns)
                report.refused.update(name for column, name in zip(harmless, columns, strict=True) if column in refused)
                continue
            for attribute, name in zip(attributes, columns, strict=True):
                report.tried[name] += 1
                if attribute.column not in refused:
                    report.broken.append(f"table {number}: {role} '{name}' passes ({people} people, {days} days)")
                elif attribute.column not in decided:
                    report.broken.append(f"table {number}: {role} '{name}', acknowledged, is not to be decided")


def _told(database: Database, policy: Policy) -> tuple[set[str], set[str]]:
    """The columns that are refused, until nothing is, and those whose acknowledgement is to be decided.

    Columns that single out by themselves are refused before.
    """
    refused, singled_out = set[str](), set[str]()
    while True:
        attributes = tuple(replace(a, acknowledged=a.column in refused | singled_out) for a in policy.attributes)
        asked = replace(policy, attributes=attributes)
        try:
            with database.session() as own:
                own.control = Control()
                number = jobs.next_number(own.ledger)
                source, target = policy.source, policy.release
                request = jobs.Request(number, "", "{}", "", source, target.schema, target.name, jobs.now())
                jobs.insert_request(own.ledger, request)
                found = DRY_RUNS.find(own.ledger, run_dry_run(context(own, database, number), asked))
        except InvalidError as error:
            new = {policy.attributes[int(fault.field.split("[")[1].split("]")[0])].column for fault in error.faults}
            if not new - refused - singled_out:
                raise
            (refused if error.code == "COLUMN_DISCLOSES" else singled_out).update(new)
        else:
            assert found is not None
            decide = [warning for warning in found.warnings if warning.rank is Rank.MUST_BE_DECIDED]
            names = {a.column for a in attributes if any(f"'{a.column}'" in warning for warning in decide)}
            return refused | (singled_out & names), names


def _table(chance: Random, days: int, people: int) -> pa.Table:
    """The people, one a row."""
    drawn = [FIRST + timedelta(chance.randrange(days)) for _ in range(people)]
    times = [
        datetime(day.year, day.month, day.day) + timedelta(seconds=chance.randrange(7 * 3600, 20 * 3600))
        for day in drawn
    ]
    columns: dict[str, Sequence[Any]] = {
        "nr": [f"K{place}" for place in range(people)],
        "born": [chance.randrange(1930, 2010) for _ in range(people)],
        "day": drawn,
        "sex": [chance.choice("mf") for _ in range(people)],
    }
    for place, copy in enumerate(COPIES.values()):
        columns[f"c{place}"] = [copy(chance, day, at) for day, at in zip(drawn, times, strict=True)]
    for place, draw in enumerate(INDEPENDENT.values()):
        columns[f"i{place}"] = [draw(chance) for _ in range(people)]
    return pa.table(columns)
