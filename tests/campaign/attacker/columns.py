"""Random quasi-identifiers: a type, values as text, and a hierarchy written twice, as a rule and as its labels."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Document = dict[str, Any]
"""A part of a policy as it stands in a JSON file."""

Text = str | None
"""A value as the database casts it to text, or NULL."""

Ladders = dict[str, tuple[str, ...]]
"""Per value its labels from level 0 to the top."""

TOP = "*"

POOLS: Mapping[str, Sequence[str]] = {
    "TINYINT": ("-128", "0", "3", "17", "127"),
    "SMALLINT": ("-32768", "1", "2", "300"),
    "INTEGER": ("-7", "0", "8", "12", "2147483647"),
    "BIGINT": ("-9223372036854775808", "5", "6", "7"),
    "HUGEINT": ("-1", "99999999999999999999999999999999999999", "4"),
    "UTINYINT": ("0", "9", "255"),
    "UBIGINT": ("18446744073709551615", "0", "2"),
    "DECIMAL(6,2)": ("-1.50", "0.00", "7.25", "9999.99"),
    "FLOAT": ("-1.5", "0.0", "inf", "nan"),
    "DOUBLE": ("1e-300", "2.5", "nan", "-inf", "0.1"),
    "BOOLEAN": ("true", "false"),
    "VARCHAR": ("", "a", "A", "it's", 'quo"te', "Größe\n表", "; DROP TABLE people", "%s {0}", "NULL", "[1, 2]", " a"),
    "ENUM('east', 'west', 'north')": ("east", "west", "north"),
    "BLOB": (r"\x00\xFF", "x", ""),
    "BIT": ("0", "101", "1"),
    "UUID": ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
    "DATE": ("0001-01-01", "2024-02-29", "9999-12-31", "infinity"),
    "TIME": ("00:00:00", "23:59:59.999999", "12:30:00"),
    "TIMESTAMP": ("0001-01-01 00:00:00", "2024-02-29 12:00:00.5", "2024-01-01 00:00:00"),
    "TIMESTAMP_NS": ("1900-01-01 00:00:00.000000001", "2024-01-01 00:00:00"),
}
"""Some values by type, each as the database casts it to text."""


@dataclass(frozen=True, slots=True)
class QuasiIdentifier:
    """A column that is generalized.

    `ladders` has all values of the domain, except for a `measured` one, which has too many, and for a `present`
    one, whose domain is the values of the table. `tables` make the tables that the hierarchy is read from.
    """

    name: str
    type: str
    hierarchy: Document
    ladders: Ladders
    measured: bool = False
    present: bool = False
    tables: tuple[str, ...] = ()

    @property
    def top(self) -> int:
        """The highest level."""
        return len(next(iter(self.ladders.values()))) - 1

    def label(self, value: Text, level: int) -> Text:
        """The label of a value at a level; NULL stays NULL below the top."""
        if value is None:
            return TOP if level == self.top else None
        return self.ladders[value][level]

    def under(self, label: Text, level: int, values: set[Text]) -> int:
        """How many values of the domain have the label; the table has `values`."""
        domain = values if self.present else {*self.ladders, *({None} & values)}
        return sum(self.label(value, level) == label for value in domain)


def quasi_identifier(random: Random, name: str, *, counted: bool = False) -> QuasiIdentifier:
    """A random quasi-identifier; if `counted`, one whose domain is counted."""
    kinds = [*COUNTED, *(() if counted else MEASURED)]
    return random.choice(kinds)(random, name)


def tree(random: Random, values: Sequence[str]) -> Ladders:
    """Random groups of the values, then of these groups, up to a single group."""
    groups = {value: value for value in values}
    levels = [dict(groups)]
    for depth in range(1, random.randint(1, 3)):
        of = {
            label: f"{chr(96 + depth)}{random.randrange(max(len(values) // (2 * depth), 1))}"
            for label in sorted(set(groups.values()))
        }
        groups = {value: of[label] for value, label in groups.items()}
        levels.append(dict(groups))
    return {value: (*(level[value] for level in levels), TOP) for value in values}


def pool(random: Random) -> tuple[str, list[str]]:
    """A type, and some of its values in any order."""
    type_ = random.choice(list(POOLS))
    values = list(POOLS[type_])
    return type_, random.sample(values, random.randint(2, len(values)))


def value_or_nothing(random: Random, name: str) -> QuasiIdentifier:
    type_, values = pool(random)
    return QuasiIdentifier(
        name, type_, {"suppression_only": {}}, {value: (value, TOP) for value in values}, present=True
    )


def rows(random: Random, name: str) -> QuasiIdentifier:
    type_, values = pool(random)
    ladders = tree(random, values)
    if random.random() < 0.5:
        return QuasiIdentifier(name, type_, {"inline": {"rows": [list(row) for row in ladders.values()]}}, ladders)
    width = len(ladders[values[0]])
    columns = ", ".join(f"l{level} VARCHAR" for level in range(width))
    listed = ", ".join(f"({', '.join(map(quoted, row))})" for row in ladders.values())
    tables = (f"CREATE OR REPLACE TABLE levels_{name} ({columns})", f"INSERT INTO levels_{name} VALUES {listed}")
    return QuasiIdentifier(name, type_, {"table": {"table": {"table": f"levels_{name}"}}}, ladders, tables=tables)


def quoted(text: str) -> str:
    """A literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def grouping(random: Random, name: str) -> QuasiIdentifier:
    type_, values = pool(random)
    ladders = tree(random, values)
    levels = []
    for level in range(1, len(ladders[values[0]]) - 1):
        members: dict[str, list[str]] = {}
        for ladder in ladders.values():
            below = members.setdefault(ladder[level], [])
            if ladder[level - 1] not in below:
                below.append(ladder[level - 1])
        if len(members) == 1:
            # A single label for all values is the top: a grouping leaves it out.
            ladders = {value: (*ladder[:level], TOP) for value, ladder in ladders.items()}
            break
        levels.append({"groups": [{"label": label, "members": below} for label, below in members.items()]})
    if not levels:
        return value_or_nothing(random, name)
    return QuasiIdentifier(name, type_, {"grouping": {"levels": levels}}, ladders)


def in_order(random: Random, name: str) -> QuasiIdentifier:
    values = list("ABCDEFGH")[: random.randint(4, 8)]
    fan_outs = random.choice([[2], [3], [2, 2]]) if len(values) > 4 else [2]
    ladders: dict[str, tuple[str, ...]] = {value: (value,) for value in values}
    size = 1
    for fan_out in fan_outs:
        size *= fan_out
        for i, value in enumerate(values):
            start = i - i % size
            group = values[start : start + size]
            label = value if len(group) == 1 else f"[{group[0]}, {group[-1]}]"
            ladders[value] = (*ladders[value], label)
    closed = {value: (*ladder, TOP) for value, ladder in ladders.items()}
    return QuasiIdentifier(name, "VARCHAR", {"order_based": {"values": values, "fan_outs": fan_outs}}, closed)


def whole_intervals(random: Random, name: str) -> QuasiIdentifier:
    widths = random.choice([[10, 50], [5, 10, 50], [20], [25, 50]])
    top = random.choice([None, 90])
    ladders: Ladders = {}
    for value in range(100):
        labels = [str(value)]
        for width in widths:
            start = value - value % width
            end = min(start + width, top or 100) - 1
            labels.append(f">= {top}" if top is not None and value >= top else f"[{start}, {end}]")
        ladders[str(value)] = (*labels, TOP)
    document: Document = {"minimum": "0", "maximum": "99", "widths": [str(width) for width in widths]}
    if top is not None:
        document["top_coding"] = str(top)
    type_ = random.choice(["INTEGER", "TINYINT", "BIGINT", "UHUGEINT"])
    return QuasiIdentifier(name, type_, {"intervals": document}, ladders)


def calendar(random: Random, name: str) -> QuasiIdentifier:
    names = ["MONTH", "QUARTER", "YEAR", "DECADE"]
    units = sorted(random.sample(names, random.randint(1, 3)), key=names.index)
    ladders: Ladders = {}
    for day in (datetime.date(2019, 1, 1) + datetime.timedelta(days) for days in range(731)):
        labels = {
            "MONTH": f"{day:%Y-%m}",
            "QUARTER": f"{day.year}-Q{(day.month + 2) // 3}",
            "YEAR": str(day.year),
            "DECADE": f"{day.year // 10 * 10}s",
        }
        ladders[day.isoformat()] = (day.isoformat(), *(labels[unit] for unit in units), TOP)
    document = {"minimum": "2019-01-01", "maximum": "2020-12-31", "units": units}
    return QuasiIdentifier(name, "DATE", {"dates": document}, ladders)


def redaction(random: Random, name: str) -> QuasiIdentifier:
    left = random.random() < 0.5
    ladders: Ladders = {}
    for number in range(1000):
        digits = f"{number:03}"
        masked = [("*" * n + digits[n:]) if left else (digits[: 3 - n] + "*" * n) for n in (1, 2)]
        ladders[digits] = (digits, *masked, TOP)
    document = {"mask_from": "LEFT" if left else "RIGHT", "length": 3, "alphabet": "0123456789"}
    return QuasiIdentifier(name, "VARCHAR", {"redaction": document}, ladders)


def safe_harbor_age(random: Random, name: str) -> QuasiIdentifier:
    ladders: Ladders = {}
    for age in range(131):
        labels = [str(age), str(age)]
        for width in (5, 10, 20, 40):
            start = age - age % width
            labels.append(f"[{start}, {min(start + width, 90) - 1}]")
        ladders[str(age)] = (*labels, TOP) if age < 90 else (str(age), *["90+"] * 5, TOP)
    return QuasiIdentifier(name, "INTEGER", {"safe_harbor_age": {}}, ladders)


def fractions(random: Random, name: str) -> QuasiIdentifier:
    ladders: Ladders = {}
    for hundredths in range(3600, 4201, 5):
        half = min((hundredths - 3600) // 50, 11)
        low, high = (f"{(3600 + 50 * n) / 100:g}" for n in (half, half + 1))
        coarse = "[36, 39)" if hundredths < 3900 else "[39, 42]"
        text = f"{hundredths / 100:.2f}"
        ladders[text] = (text, f"[{low}, {high}{']' if half == 11 else ')'}", coarse, TOP)
    document = {"minimum": "36", "maximum": "42", "widths": ["0.5", "3"]}
    return QuasiIdentifier(name, "DECIMAL(5,2)", {"intervals": document}, ladders, measured=True)


def hours(random: Random, name: str) -> QuasiIdentifier:
    ladders: Ladders = {}
    for minutes in range(0, 24 * 60, 7):
        hour, minute = divmod(minutes, 60)
        six = hour - hour % 6
        labels = [f"[{hour:02}:00, {hour + 1:02}:00)", f"[{six:02}:00, {six + 6:02}:00)"]
        text = f"{hour:02}:{minute:02}:00"
        ladders[text] = (text, *labels, TOP)
    levels = [{"width": "1 hour"}, {"width": "6 hours"}]
    return QuasiIdentifier(name, "TIME", {"times_of_day": {"levels": levels}}, ladders, measured=True)


Kind = Callable[[Random, str], QuasiIdentifier]

COUNTED: Sequence[Kind] = (
    value_or_nothing,
    rows,
    grouping,
    in_order,
    whole_intervals,
    calendar,
    redaction,
    safe_harbor_age,
)
MEASURED: Sequence[Kind] = (fractions, hours)
