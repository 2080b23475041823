"""Columns released unchanged that two or three quasi-identifiers give together, and columns that nothing gives.

Two columns may also give a quasi-identifier together. Somebody who knows all quasi-identifiers of a record, and the
formula, counts the rows of the record's class that have its value. Where these are fewer than k, the release must be
refused. Columns of which nobody knows anything should not be refused more often than they were when only single
quasi-identifiers were judged.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from typing import Any
from unittest.mock import patch
from zlib import crc32

import numpy as np

from tableveil.privacy.exposure.cells import Codes, ValuePairs, counted
from tableveil.privacy.exposure.judged import OwnValues, Readings, Unchanged, judge, what_follows
from tableveil.privacy.exposure.rows import ClassRows, HeldValues
from tableveil.privacy.exposure.texts import plain_text

K = 5
FIRST_DAY = date(2020, 1, 1)
NAMES = ("Anna", "Bert", "Carla", "Dora", "Emil", "Fritz", "Gerd", "Hanna", "Ida", "Jonas", "Karl", "Lena", "Mia")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Derived:
    """A column's formula over quasi-identifiers `of` these names; `named` if the check promises to find it.

    Or a column `beside` it, and what the row `gives` by both: that is what the quasi-identifier tells. The columns show
    the quasi-identifiers `shown`.
    """

    name: str
    of: str
    value: Callable[[Row], Any]
    named: bool = True
    beside: Callable[[Row], Any] | None = None
    gives: Callable[[Any, Any], Any] = lambda value, _: value
    shown: str = ""


def _age(row: Row) -> int:
    born, at = row["born"], row["admitted"]
    return int(at.year - born.year - ((at.month, at.day) < (born.month, born.day)))


DERIVED = (
    Derived("difference of dates", "admitted discharged", lambda r: (r["discharged"] - r["admitted"]).days),
    Derived("weeks between dates", "admitted discharged", lambda r: (r["discharged"] - r["admitted"]).days // 7),
    Derived("age at a date", "born admitted", _age),
    Derived("months between dates", "born admitted", lambda r: (r["admitted"] - r["born"]).days // 30),
    Derived("difference of years", "born admitted", lambda r: r["admitted"].year - r["born"].year),
    Derived("a date by a difference", "admitted children", lambda r: r["admitted"] + timedelta(r["children"])),
    Derived("difference", "income rent", lambda r: r["income"] - r["rent"]),
    Derived("sum", "income rent", lambda r: r["income"] + r["rent"]),
    Derived("ratio", "income rent", lambda r: round(r["rent"] / r["income"], 4)),
    Derived("percentage", "income rent", lambda r: round(100 * r["rent"] / r["income"])),
    Derived("product", "rent children", lambda r: r["rent"] * (1 + r["children"])),
    Derived("sum of three", "income rent children", lambda r: r["income"] + r["rent"] + r["children"]),
    Derived("sum and difference of three", "income rent tax", lambda r: r["income"] - r["rent"] - r["tax"]),
    Derived("part of a date", "born", lambda r: r["born"].month),
    Derived("weekday", "admitted", lambda r: r["admitted"].weekday()),
    Derived("prefix", "zip", lambda r: r["zip"][:3]),
    Derived("concatenation", "zip name", lambda r: r["zip"] + "/" + r["name"]),
    Derived("concatenation of prefixes", "zip name", lambda r: r["name"][:2] + r["zip"][:2]),
    Derived("concatenation of a suffix", "zip name", lambda r: r["name"][0] + r["zip"][-2:]),
    Derived("concatenation of three", "zip name born", lambda r: r["name"][:1] + r["zip"][:2] + str(r["born"].year)),
    Derived(
        "hash of two", "zip children", lambda r: crc32(f"{r['zip'][:2]}/{r['children']}".encode()) % 7, named=False
    ),
    Derived("larger of two", "rent tax", lambda r: max(r["rent"], r["tax"]), False),
    Derived(
        "band of a difference", "admitted discharged", lambda r: (r["discharged"] - r["admitted"]).days > 7, named=False
    ),
    Derived(
        "ratio of a difference",
        "income rent children",
        lambda r: round((r["income"] - r["rent"]) / (1 + r["children"])),
        named=False,
    ),
    Derived("product of three", "rent tax children", lambda r: r["rent"] * r["tax"] * (1 + r["children"]), False),
    Derived("square", "rent income", lambda r: round(r["rent"] ** 2 / r["income"], 1), False),
    Derived(
        "admission by discharge and stay",
        "admitted",
        lambda r: (r["discharged"] - r["admitted"]).days,
        beside=lambda r: r["discharged"],
        gives=lambda stay, discharged: discharged - timedelta(stay),
        shown="discharged",
    ),
    Derived(
        "birth by year and age",
        "born",
        lambda r: r["year"] - r["born"].year,
        beside=lambda r: r["year"],
        gives=lambda age, year: year - age,
    ),
    Derived(
        "income by total and number",
        "income",
        lambda r: r["income"] * (1 + r["children"]),
        beside=lambda r: 1 + r["children"],
        gives=lambda total, number: total // number,
        shown="children",
    ),
    Derived(
        "rent by sum and rest",
        "rent",
        lambda r: r["rent"] + r["fee"],
        beside=lambda r: r["fee"],
        gives=lambda total, fee: total - fee,
    ),
)
QUASI = ("born", "admitted", "discharged", "income", "rent", "tax", "children", "zip", "name")


@dataclass
class UnchangedReport:
    """The columns that were tried, those that were due and missed, and independent columns that were refused."""

    broken: list[str] = field(default_factory=list)
    tables: int = 0
    due: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    independent: int = 0
    refused: int = 0

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield f"{self.tables} tables with derived columns"
        for derived in DERIVED:
            named = "named" if derived.named else "not named"
            due, missed = self.due[derived.name], self.missed[derived.name]
            yield (
                f"  {derived.name} ({named}): of {due} due, {missed} missed, "
                f"{self.alone[derived.name]} found without single columns"
            )
        yield f"{self.independent} pairs of independent columns, {self.refused} refused"
        yield from self.broken


def judge_unchanged(seed: int, seconds: float, tables: int) -> UnchangedReport:
    """Tries so many tables with derived columns, and as many with independent ones."""
    report, deadline = UnchangedReport(), time.monotonic() + seconds
    for number in range(tables):
        if time.monotonic() > deadline:
            break
        chance = Random(f"{seed}/{number}")
        _derived(chance, report, number, DERIVED[number % len(DERIVED)])
        _independent(chance, report)
    if report.refused > max(1, report.independent // 100):
        report.broken.append("more than 1 in 100 independent columns are refused")
    return report


def _derived(chance: Random, report: UnchangedReport, number: int, derived: Derived) -> None:
    rows, wrong = drawn(chance), chance.choice((0, 0, 0.02, 0.05))
    for row in rows:
        row["right"] = derived.value(row)
        row["value"] = derived.value(chance.choice(rows)) if chance.random() < wrong else row["right"]
        if derived.beside is not None:
            row["beside"] = derived.beside(row)
        row["given"] = derived.gives(row["value"], row.get("beside"))
    columns = ("value",) if derived.beside is None else ("value", "beside")
    table = _table(chance, rows, _known(chance, derived.of.split(), derived.shown.split()), columns)
    held, sizes = Counter((row["area"], row["given"]) for row in rows), Counter(row["area"] for row in rows)
    found_by_it = [row for row in rows if row["right"] == row["value"] and sizes[row["area"]] >= K]
    least_held = min((held[row["area"], row["given"]] for row in found_by_it), default=K)
    report.tables += 1
    if least_held >= K:
        return
    report.due[derived.name] += 1
    if len(derived.of.split()) + len(columns) > 2:
        with patch("tableveil.privacy.exposure.judged._by_one", lambda *_: ()):
            found_alone = _told(table)
        report.alone[derived.name] += found_alone
        if derived.named and not found_alone:
            report.broken.append(f"table {number}: {derived.name} is not found as such, and leaves {least_held} rows")
    if not _told(table):
        report.missed[derived.name] += 1
        if derived.named:
            report.broken.append(f"table {number}: {derived.name} passes, and leaves {least_held} rows")


def _independent(chance: Random, report: UnchangedReport) -> None:
    """Two columns of few or many values, evenly distributed or not."""
    rows = drawn(chance)
    for name in ("value", "beside"):
        values = chance.choice((2, 3, 5, 10, 20, 50))
        weights = [chance.expovariate(1) + 0.02 for _ in range(values)]
        for row in rows:
            row[name] = chance.choices(range(values), weights)[0]
    table = _table(chance, rows, _known(chance, ()), ("value", "beside"))
    report.independent += 1
    report.refused += _told(table)


def drawn(chance: Random) -> list[Row]:
    """Records whose quasi-identifiers are independent, but that nobody is discharged before being admitted.

    The fewer values a quasi-identifier has, the oftener a column is shown to be independent of it alone.
    """
    number, days = chance.choice((300, 1_500, 4_000)), chance.choice((6, 15, 30))
    born, income, zips = chance.choice((10, 30)), chance.choice((10, 30)), chance.choice((5, 30))
    rows: list[Row] = [
        {
            "born": date(1930, 1, 1) + timedelta(chance.randrange(born) * (30_000 // born)),
            "admitted": FIRST_DAY + timedelta(chance.randrange(days)),
            "income": 1_000 + chance.randrange(income) * (4_000 // income),
            "rent": 300 + 50 * chance.randrange(15),
            "tax": 100 + 20 * chance.randrange(15),
            "children": chance.randrange(6),
            "zip": f"{10_000 + chance.randrange(zips) * (80_000 // zips)}",
            "name": chance.choice(NAMES),
            "year": chance.randrange(2000, 2025),
            "fee": 10 * chance.randrange(40),
        }
        for _ in range(number)
    ]
    for row in rows:
        row["discharged"] = row["admitted"] + timedelta(chance.choice((chance.randrange(8), chance.randrange(25))))
    return rows


def _known(chance: Random, needed: Sequence[str], shown: Sequence[str] = ()) -> list[str]:
    """Quasi-identifiers: those needed, and others up to four, without those that columns show."""
    others = [name for name in QUASI if name not in (*needed, *shown)]
    return [*needed, *chance.sample(others, 4 - len(needed))]


@dataclass(frozen=True, slots=True)
class Table:
    """A table as a release has it, and the readings of its quasi-identifiers and of its columns."""

    unchanged: Unchanged
    own: list[Readings]
    values: list[Readings]


def _table(chance: Random, rows: list[Row], known: Sequence[str], columns: Sequence[str]) -> Table:
    """The rows as a release has them: areas make the classes, and all other quasi-identifiers are hidden."""
    areas = 1 + len(rows) // (chance.choice((2, 6)) * K)
    for row in rows:
        row["area"] = chance.randrange(areas)
    rows.sort(key=lambda row: str(row["area"]))
    coded = ClassRows(_codes([row["area"] for row in rows]), None, None)
    own = []
    for name in known:
        codes = _codes([row[name] for row in rows])
        own.append(OwnValues(codes, np.zeros(int(codes.max()) + 1, np.int64), True))
    held = []
    for name in columns:
        value = _codes([row[name] for row in rows])
        held.append(HeldValues(coded, value, int(value.max()) + 1))

    def cells(j: int, i: int) -> ValuePairs:
        return counted(own[j].codes, held[i].value, None, int(own[j].codes.max()) + 1, held[i].values)

    # Suppressed records are in no class that is looked at.
    unchanged = Unchanged(coded, own, held, cells, coded.sizes < K, False)
    read = [_read([row[name] for row in rows]) for name in (*known, *columns)]
    return Table(unchanged, read[: len(known)], read[len(known) :])


def _codes(values: Sequence[Any]) -> Codes:
    return np.unique([str(value) for value in values], return_inverse=True)[1].astype(np.int64)


def _read(values: Sequence[Any]) -> Readings:
    """The readings that the release makes of values in the database."""
    texts = [plain_text(str(value)) or None for value in values].__getitem__
    if isinstance(values[0], date):
        days = np.array([(value - FIRST_DAY).days for value in values], np.float64)
        return Readings([days, np.array([value.year for value in values], np.float64)], texts)
    try:
        return Readings([np.array([float(value) for value in values])], texts)
    except ValueError:
        return Readings([], texts)


def _told(table: Table) -> bool:
    """Whether anybody is told to be among few by what follows of the columns."""
    judged = judge(table.unchanged, table.own, lambda i: table.values[i])
    return bool(what_follows(table.unchanged, judged, K, [range(len(table.values))]))
