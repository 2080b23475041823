"""Checks every promise of a release against the written tables: rows, labels, public figures, privacy models."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.campaign.attacker.aggregates import fits
from tests.campaign.attacker.cases import MARKER, TAG, Case, Method
from tests.campaign.attacker.columns import Text
from tests.campaign.attacker.judges import Judge, Labels, ReleasedClass
from tests.campaign.attacker.local import Costs, own_classes, transformations

Query = Callable[[str], list[tuple[Any, ...]]]
"""Runs SQL and returns the rows."""

Row = dict[str, Text]


@dataclass(frozen=True, slots=True)
class Written:
    """The rows of a release as texts, in their order, kept ones and suppressed ones apart."""

    columns: tuple[str, ...]
    kept: tuple[Row, ...]
    suppressed: tuple[Row, ...]

    @classmethod
    def read(cls, query: Query, name: str) -> Written:
        """Reads the release from the database."""
        columns = tuple(column for column, *_ in query(f"DESCRIBE {name}"))
        texts = ", ".join(f"CAST({column} AS VARCHAR)" for column in columns)
        rows = [dict(zip(columns, row, strict=True)) for row in query(f"SELECT {texts} FROM {name}")]
        suppressed = [row for row in rows if row.get(MARKER) == "true"]
        return cls(columns, tuple(row for row in rows if row.get(MARKER) != "true"), tuple(suppressed))


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of one release, with its `number` from the ledger; `query` reads the database."""

    case: Case
    number: int
    query: Query

    def problems(self) -> list[str]:
        """Every promise that is broken."""
        written = Written.read(self.query, self._target)
        classes, found = self._classes(written)
        found += self._shape(written)
        found += self._public(written)
        if not found:
            judged = [*classes, *self._pool(written, classes)]
            found += Judge(self.case, judged).problems()
        if not found and self.case.method is Method.LOCAL_RECODING:
            found += self._cheap(classes)
        return found

    @property
    def _target(self) -> str:
        return str(self.case.policy["release"]["name"])

    @property
    def _labelled(self) -> list[str]:
        return [*(c.name for c in self.case.quasi_identifiers), *(c.name for c in self.case.aggregated)]

    def _shape(self, written: Written) -> Iterator[str]:
        """Columns, their order, the order of rows, the blanks, and the number of suppressed records."""
        expected = {*self._labelled, *self.case.released}
        marker = [MARKER] if "suppressed_records" in self.case.policy else []
        if list(written.columns) != [name for name in self.case.types if name in expected] + marker:
            yield f"columns {written.columns}"
        order = ", ".join([*marker, *(name for name in written.columns if name != MARKER)])
        if self.query(f"FROM {self._target}") != self.query(f"FROM {self._target} ORDER BY {order}") and not any(
            "nan" in row.values() for row in (*written.kept, *written.suppressed)
        ):
            yield "rows in an order of their own"
        if any(type_.startswith("ENUM") for _, type_, *_ in self.query(f"DESCRIBE {self._target}")):
            yield "an ENUM, which has values that were not released"
        gone = len(self.case.rows) - len(written.kept)
        if not 0 <= gone <= math.floor(Decimal(self.case.policy["suppression_limit"]) * len(self.case.rows)):
            yield f"{gone} records suppressed"
        if len(written.suppressed) != (gone if marker else 0):
            yield f"{len(written.suppressed)} marked rows of {gone} suppressed records"
        keep = marker and self.case.policy["suppressed_records"]["handling"] == "KEEP"
        for row in written.suppressed:
            shown = {name for name, value in row.items() if value is not None} - {MARKER}
            if shown & set(self._labelled) or (shown and not keep):
                yield f"a suppressed record shows {sorted(shown)}"

    # --- the members of each class
    # --------------------------------------------------------------------------------------

    def _classes(self, written: Written) -> tuple[list[ReleasedClass], list[str]]:
        """The classes, as records of the source, and the rows that do not fit these records."""
        if self.case.method in (Method.FULL_DOMAIN, Method.MIXED):
            return self._by_transformation(written)
        if self.case.method is Method.LOCAL_RECODING:
            return own_classes(self.case, written.kept)
        return self._by_tag(written)

    def _by_transformation(self, written: Written) -> tuple[list[ReleasedClass], list[str]]:
        """Labels every record of the source again; a class has all records with its labels, and no others."""
        chosen = f"SELECT column_name, level FROM tableveil.release_attributes WHERE release = {self.number}"
        found: dict[str, int] = {str(column): level for column, level in self.query(chosen)}
        levels = tuple(found[column.name] for column in self.case.quasi_identifiers)
        members: dict[Labels, list[int]] = defaultdict(list)
        for i, row in enumerate(self.case.rows):
            if i not in self.case.withheld:
                columns = zip(self.case.quasi_identifiers, levels, strict=True)
                members[tuple(column.label(row[column.name], level) for column, level in columns)].append(i)
        shown: dict[Labels, list[Row]] = defaultdict(list)
        for row in written.kept:
            shown[tuple(row[column.name] for column in self.case.quasi_identifiers)].append(row)
        problems = []
        for labels, rows in shown.items():
            records = [self.case.rows[i] for i in members.get(labels, [])]
            if _multiset(rows, self.case.released) != _multiset(records, self.case.released):
                problems.append("a class is not made of the records that have its labels")
            elif len({tuple(row[c.name] for c in self.case.aggregated) for row in rows}) > 1:
                problems.append("records of a class have different aggregates")
            else:
                problems += self._aggregates(records, rows[0])
        if problems:
            return [], problems
        return [ReleasedClass(labels, levels, tuple(members[labels])) for labels in shown], []

    def _by_tag(self, written: Written) -> tuple[list[ReleasedClass], list[str]]:
        """Classes are rows with equal labels, or aggregates; each row's tag names its record."""
        shown: dict[tuple[Labels, tuple[int, ...]], list[int]] = defaultdict(list)
        problems = []
        for row in written.kept:
            record = int(row[TAG] or "-1")
            original = self.case.rows[record]
            if any(row[name] != original[name] for name in self.case.released):
                problems.append("a row does not have its record's own values")
            levels = []
            for column in self.case.quasi_identifiers:
                possible = [
                    level
                    for level in range(column.top + 1)
                    if column.label(original[column.name], level) == row[column.name]
                ]
                levels.append(max(possible, default=-1))
            if -1 in levels:
                problems.append("a label that is not its record's")
            shown[tuple(row[name] for name in self._labelled), tuple(levels)].append(record)
        tags = [record for records in shown.values() for record in records]
        if len(set(tags)) < len(tags) or self.case.withheld & set(tags):
            problems.append("a record is there twice, or though it was withheld")
        for (labels, _), records in shown.items():
            values = [self.case.rows[i] for i in records]
            problems += self._aggregates(values, dict(zip(self._labelled, labels, strict=True)))
        if problems:
            return [], problems
        return [ReleasedClass(labels, levels, tuple(of)) for (labels, levels), of in shown.items()], []

    def _aggregates(self, records: list[Row], shown: Row) -> Iterator[str]:
        for column in self.case.aggregated:
            values = [value for row in records if (value := row[column.name]) is not None]
            if not fits(column, values, shown[column.name]):
                yield f"{column.document['aggregation']} is not that of its records"

    def _pool(self, written: Written, classes: list[ReleasedClass]) -> Iterator[ReleasedClass]:
        """The suppressed records, if their values are shown."""
        if self.case.policy.get("suppressed_records", {}).get("handling") != "KEEP" or not written.suppressed:
            return
        kept = {record for found in classes for record in found.records}
        tops = tuple(column.top for column in self.case.quasi_identifiers)
        gone = tuple(i for i in range(len(self.case.rows)) if i not in kept)
        yield ReleasedClass(("*",) * len(tops), tops, gone, pool=True)

    def _cheap(self, classes: list[ReleasedClass]) -> Iterator[str]:
        """Local recoding costs what it says, no less than its bound, and no more than any transformation."""
        [(score, bound)] = self.query(f"SELECT score, lower_bound FROM tableveil.releases WHERE number = {self.number}")
        if bound > score:
            yield "a bound above the score"
        costs = Costs.of(self.case)
        if costs is None:
            return
        expected = costs.score(classes)
        weights = sum(attribute.get("weight", 1) for attribute in self.case.policy["attributes"])
        slack = 1e-9 * (1 + abs(expected)) + 1e-11 * weights
        if abs(score - expected) > slack:
            yield f"a score of {score}, where the labels cost {expected}"
        others = transformations(self.case)
        if costs.comparable and others is not None and "time_limit_seconds" not in self.case.policy["search"]:
            best = min(map(costs.score, others), default=math.inf)
            if score > best + slack:
                yield f"a score of {score}, where a transformation has {best}"

    # --- public figures ---------------------------------------------------------------------------------------------

    def _public(self, written: Written) -> Iterator[str]:
        """The other public objects, computed again from the rows and the number of suppressed records."""
        sizes: dict[Labels, list[Row]] = defaultdict(list)
        for row in written.kept:
            sizes[tuple(row[name] for name in self._in_order(written))].append(row)
        yield from self._class_table(written, sizes)
        counts = Counter(len(rows) for rows in sizes.values())
        histogram = [(size, number, size * number, 1 / size) for size, number in sorted(counts.items())]
        if sorted(self.query(f"FROM {self._target}_risk_histogram")) != histogram:
            yield "the risk histogram"
        kept = len(written.kept)
        expected: dict[tuple[str, str | None], float] = {
            ("records", None): kept,
            ("classes", None): len(sizes),
            ("highest_risk", None): 1 / min(counts) if counts else 0,
            ("lowest_risk", None): 1 / max(counts) if counts else 0,
            ("average_risk", None): len(sizes) / kept if kept else 0,
            ("unique_records", None): counts[1],
            ("suppressed_records", None): len(self.case.rows) - kept,
        }
        for threshold in ("0.05", "0.1", "0.2", "0.33"):
            above = sum(size * n for size, n in counts.items() if Fraction(1, size) > Fraction(threshold))
            expected["records_above_threshold", threshold] = above
        found = {(measure, threshold): value for measure, threshold, value in self.query(f"FROM {self._target}_risk")}
        if found != expected:
            yield "the risk measures"

    def _in_order(self, written: Written) -> list[str]:
        return [name for name in written.columns if name in self._labelled]

    def _class_table(self, written: Written, sizes: dict[Labels, list[Row]]) -> Iterator[str]:
        sensitive = [column.name for column in self.case.sensitive]
        expected = {}
        for labels, rows in sizes.items():
            figures: list[float] = [len(rows), 1 / len(rows)]
            for name in sensitive:
                counts = Counter(row[name] for row in rows if row[name] is not None)
                total = counts.total()
                entropy = -sum(n / total * math.log(n / total) for n in counts.values())
                figures += [len(counts), math.exp(entropy) if counts else 0]
            expected[labels] = figures
        names = ", ".join(f"CAST({name} AS VARCHAR)" for name in self._in_order(written))
        others = ["class_size", "risk", *(f"{kind}_l_{name}" for name in sensitive for kind in ("distinct", "entropy"))]
        width = len(self._in_order(written))
        listed = self.query(f"SELECT {names}, {', '.join(others)} FROM {self._target}_classes")
        found = {row[:width]: row[width:] for row in listed}
        if len(found) != len(listed) or found.keys() != expected.keys():
            yield "the table of classes has others than the rows"
        elif any(
            abs(one - other) > 1e-8 * (1 + other)
            for labels, figures in expected.items()
            for one, other in zip(found[labels], figures, strict=True)
        ):
            yield "the table of classes has other figures than the rows"
        if {name for name, *_ in self.query(f"DESCRIBE {self._target}_classes")} != {*self._in_order(written), *others}:
            yield "the table of classes has other columns"


def _multiset(rows: list[Row], names: tuple[str, ...]) -> Counter[tuple[Text, ...]]:
    return Counter(tuple(row[name] for name in names) for row in rows)
