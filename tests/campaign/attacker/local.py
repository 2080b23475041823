"""Releases by local recoding: whose each row may be, what the labels cost, and what else could be released."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tests.campaign.attacker.cases import TAG, Case
from tests.campaign.attacker.columns import Document, QuasiIdentifier, Text
from tests.campaign.attacker.judges import Judge, Labels, ReleasedClass

Row = dict[str, Text]

MOST_TRANSFORMATIONS = 150
"""In larger lattices the best transformation is not looked for: each would be judged record by record."""


def own_classes(case: Case, kept: Sequence[Row]) -> tuple[list[ReleasedClass], list[str]]:
    """The classes, which have one label in each column, and where the rows cannot be those of the records."""
    limits = [_levels(case, column) for column in case.quasi_identifiers]
    owners = _owners(case, kept, limits)
    if owners is None:
        return [], ["a row whose labels are no record's"]
    members: dict[Labels, list[int]] = defaultdict(list)
    for row, record in zip(kept, owners, strict=True):
        members[tuple(row[column.name] for column in case.quasi_identifiers)].append(record)
    classes, problems = [], []
    for labels, records in members.items():
        possible = [
            [level for level in levels if all(column.label(case.rows[i][column.name], level) == label for i in records)]
            for column, levels, label in zip(case.quasi_identifiers, limits, labels, strict=True)
        ]
        if not all(possible):
            problems.append("a label that stands for other values at other levels")
            continue
        classes.append(ReleasedClass(labels, tuple(levels[0] for levels in possible), tuple(records)))
    if not problems:
        problems += _held(case, classes, limits)
    return classes, problems


def _levels(case: Case, column: QuasiIdentifier) -> range:
    """Within the limits of the policy."""
    attribute = _attribute(case, column)
    return range(attribute.get("minimum_level", 0), attribute.get("maximum_level", column.top) + 1)


def _attribute(case: Case, column: QuasiIdentifier) -> Document:
    found: Document = next(a for a in case.policy["attributes"] if a["column"] == column.name)
    return found


def _owners(case: Case, kept: Sequence[Row], limits: Sequence[range]) -> list[int] | None:
    """Per row a record of its own that it may be, by the tag if there is one; None if there are no such records."""
    fitting = []
    for row in kept:
        known = [int(row[TAG] or "-1")] if TAG in case.released else range(len(case.rows))
        fitting.append([i for i in known if i not in case.withheld and _fits(case, row, case.rows[i], limits)])
    # An augmenting path for every row.
    owner: dict[int, int] = {}
    for number in range(len(kept)):
        if not _placed(number, fitting, owner):
            return None
    rows = {row: record for record, row in owner.items()}
    return [rows[number] for number in range(len(kept))]


def _placed(number: int, fitting: Sequence[Sequence[int]], owner: dict[int, int]) -> bool:
    came: dict[int, int] = {}
    open_ = [number]
    while open_:
        row = open_.pop()
        for record in fitting[row]:
            if record in came:
                continue
            came[record] = row
            if record in owner:
                open_.append(owner[record])
                continue
            while True:
                giver = came[record]
                before = next((r for r, of in owner.items() if of == giver), None)
                owner[record] = giver
                if giver == number:
                    return True
                assert before is not None
                record = before
    return False


def _fits(case: Case, row: Row, record: Row, limits: Sequence[range]) -> bool:
    return all(row[name] == record[name] for name in case.released) and all(
        any(column.label(record[column.name], level) == row[column.name] for level in levels)
        for column, levels in zip(case.quasi_identifiers, limits, strict=True)
    )


def _held(case: Case, classes: Sequence[ReleasedClass], limits: Sequence[range]) -> Iterator[str]:
    """Columns that are released at more levels than the policy lets them."""
    for j, column in enumerate(case.quasi_identifiers):
        most = case.policy["local_recoding"]["most_levels"].get(column.name, column.top + 1)
        chosen = itertools.combinations(limits[j], min(most, len(limits[j])))
        if classes and not any(all(_at(case, column, found, j, levels) for found in classes) for levels in chosen):
            yield f"{column.name} has more than {most} levels"


def _at(case: Case, column: QuasiIdentifier, found: ReleasedClass, j: int, levels: Sequence[int]) -> bool:
    return any(
        all(column.label(case.rows[i][column.name], level) == found.labels[j] for i in found.records)
        for level in levels
    )


# --- what labels cost -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a release by the policy's quality model, as a sum over records."""

    case: Case
    present: dict[str, set[Text]]
    known: tuple[Row, ...]

    @classmethod
    def of(cls, case: Case) -> Costs | None:
        """None for a quality model that is no such sum, or that measures widths or levels that labels do not show."""
        aggregates = [options["aggregate"] for options in case.policy["quality_model"].values()]
        if aggregates[0] not in ("ARITHMETIC_MEAN", "SUM") or any(column.measured for column in case.quasi_identifiers):
            return None
        if "precision" in case.policy["quality_model"] and case.policy["local_recoding"]["most_levels"]:
            return None
        present = {}
        for column in case.quasi_identifiers:
            values = {row[column.name] for row in (*case.rows, *(case.people or ()))}
            present[column.name] = values - {None} if _attribute(case, column).get("nulls") == "SUPPRESS" else values
        return cls(case, present, tuple(row for i, row in enumerate(case.rows) if i not in case.withheld))

    @property
    def comparable(self) -> bool:
        """Whether a suppressed record costs full-domain generalization the same, whatever its label would be."""
        ((kind, options),) = self.case.policy["quality_model"].items()
        return kind == "precision" or (kind == "loss" and float(options["factor"]) >= 0.5)

    def score(self, classes: Sequence[ReleasedClass]) -> float:
        """All records that are in no class are suppressed."""
        ((_, options),) = self.case.policy["quality_model"].items()
        parts = len(self.case.quasi_identifiers) if options["aggregate"] == "ARITHMETIC_MEAN" else 1
        total = 0.0
        for j, column in enumerate(self.case.quasi_identifiers):
            total += float(_attribute(self.case, column).get("weight", 1)) / parts * self._part(j, classes)
        return total

    def _part(self, j: int, classes: Sequence[ReleasedClass]) -> float:
        ((kind, options),) = self.case.policy["quality_model"].items()
        column, kept = self.case.quasi_identifiers[j], sum(found.size for found in classes)
        if kind == "entropy":
            lost = (len(self.known) - kept) * math.log2(max(len(self.known), 1))
            lost += sum(found.size * math.log2(self._alike(j, found.labels[j], found.levels[j])) for found in classes)
            return lost - sum(math.log2(self._alike(j, row[column.name], 0)) for row in self.known)
        factor = float(options["factor"])
        lost = (len(self.case.rows) - kept) * min(1, 2 * factor)
        for found in classes:
            share = found.levels[j] / column.top
            if kind == "loss":
                share = self._loss(j, found, min(1, 2 * (1 - factor)))
            lost += found.size * min(1, 2 * (1 - factor)) * share
        return lost / len(self.case.rows)

    def _alike(self, j: int, label: Text, level: int) -> int:
        column = self.case.quasi_identifiers[j]
        return sum(column.label(row[column.name], level) == label for row in self.known)

    def _loss(self, j: int, found: ReleasedClass, general: float) -> float:
        column = self.case.quasi_identifiers[j]
        present, level = self.present[column.name], found.levels[j]
        domain = column.under("*", column.top, present)
        under = domain if level == column.top else column.under(found.labels[j], level, present)
        return (under - 1) / (domain - general) if domain > 1 else 0.0


def transformations(case: Case) -> Iterator[list[ReleasedClass]] | None:
    """The classes of each transformation that could be released; None if too many would have to be looked at."""
    limits = [_levels(case, column) for column in case.quasi_identifiers]
    if math.prod(map(len, limits)) > MOST_TRANSFORMATIONS:
        return None
    blind = case.policy["search"].get("choose") == "QUASI_IDENTIFIERS_ONLY"
    models = [m for m in case.policy["privacy_models"] if not (blind and "column" in next(iter(m.values())))]
    allowed = math.floor(Decimal(case.policy["suppression_limit"]) * len(case.rows))
    released = (_kept(case, models, levels) for levels in itertools.product(*limits))
    return (kept for kept in released if len(case.rows) - sum(found.size for found in kept) <= allowed)


def transformable(case: Case) -> bool:
    """Whether some transformation is known that could be released."""
    return any(True for _ in transformations(case) or ())


def _kept(case: Case, models: Sequence[Document], levels: tuple[int, ...]) -> list[ReleasedClass]:
    members: dict[Labels, list[int]] = defaultdict(list)
    for i, row in enumerate(case.rows):
        if i not in case.withheld:
            columns = zip(case.quasi_identifiers, levels, strict=True)
            members[tuple(column.label(row[column.name], level) for column, level in columns)].append(i)
    classes = [ReleasedClass(labels, levels, tuple(records)) for labels, records in members.items()]
    return [found for found in classes if all(Judge(case, [found]).holds(model) for model in models)]
