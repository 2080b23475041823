"""k and dominance of other units than people, by brute force on small random tables: rows know their unit."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tableveil.classes import NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Transformation
from tableveil.policy import Dominance, KAnonymity
from tableveil.privacy import Facts
from tableveil.privacy.units import KUnitsRule, ShareOfUnitsRule, k_rule, share_rule
from tests.engine.privacy.monotonicity import SmallTable, check_declared
from tests.engine.search.problems import hierarchies

NONE = 3
"""The code of records without a unit, each of which is one of its own."""


@dataclass(frozen=True)
class UnitsTable(SmallTable):
    """With the records themselves: the codes of the quasi-identifiers, and that of the unit."""

    records: tuple[tuple[tuple[int, ...], int], ...]

    def of_classes(self, x: Transformation) -> list[Counter[int]]:
        """Per class at x, the records of each unit."""
        _, class_of = self.at(x)
        rows = {codes: row for row, codes in enumerate(map(tuple, self.codes.tolist()))}
        found: dict[int, Counter[int]] = defaultdict(Counter)
        for i, (codes, unit) in enumerate(self.records):
            found[int(class_of[rows[codes]])][unit if unit < NONE else NONE + i] += 1
        return [found[number] for number in range(len(found))]


@st.composite
def units_tables(draw: st.DrawFn) -> UnitsTable:
    levels = []
    for rows in draw(st.lists(hierarchies(), min_size=1, max_size=2)):
        values = [row[0] for row in rows]
        labelled = label_values(InlineLevels(rows), ValueKind.TEXT, values, values)
        levels.append(attribute_levels(labelled, has_null=False))
    combination = st.tuples(*(st.integers(0, len(attribute.groups[0]) - 1) for attribute in levels))
    records = tuple(draw(st.lists(st.tuples(combination, st.integers(0, NONE)), min_size=1, max_size=14)))
    combinations = sorted({codes for codes, _ in records})
    found = sorted(Counter((combinations.index(codes), unit) for codes, unit in records).items())
    rows_of = np.array([(*key, n) for key, n in found], np.int64)
    known = np.bincount(rows_of[:, 1], rows_of[:, 2], NONE + 1).astype(np.int64)
    column = SensitiveColumn("", known, null_code=NONE, protected=False, unit="household")
    counts = np.array([sum(record[0] == codes for record in records) for codes in combinations], np.int64)
    counter = NumpyCounter(
        levels,
        [np.array([codes[j] for codes in combinations], np.int32) for j in range(len(levels))],
        counts,
        sensitive=[(column, SensitiveRows(rows_of[:, 0], rows_of[:, 1], rows_of[:, 2]))],
    )
    at = np.array(combinations, np.int32).reshape(len(combinations), len(levels))
    return UnitsTable(Facts(counter), at, counts, records)


@given(units_tables(), st.integers(2, 4), st.sampled_from(["0.2", "0.34", "0.5", "0.8"]), st.data())
def test_units_are_counted(table: UnitsTable, k: int, share: str, data: st.DataObject) -> None:
    of_k, of_share = k_rule(KAnonymity(k), table.facts), share_rule(Dominance(Decimal(share)), table.facts)
    assert isinstance(of_k, KUnitsRule)
    assert isinstance(of_share, ShareOfUnitsRule)
    x = data.draw(st.sampled_from(list(table.lattice)))
    classes, units = table.at(x)[0], table.of_classes(x)
    assert of_k.releasable(classes).tolist() == [len(of) >= k for of in units]
    within = [Fraction(max(of.values()), of.total()) <= Fraction(share) for of in units]
    assert of_share.releasable(classes).tolist() == within
    suppressible = data.draw(st.integers(0, int(classes.counts.sum()) - 1))
    if offered := of_k.nearest(classes, suppressible):
        kept = k_rule(KAnonymity(int(offered.removeprefix("k = "))), table.facts).releasable(classes)
        assert int(classes.counts[~kept].sum()) <= suppressible
    if offered := of_share.nearest(classes, suppressible):
        kept = share_rule(Dominance(Decimal(offered.removeprefix("share = "))), table.facts).releasable(classes)
        assert int(classes.counts[~kept].sum()) <= suppressible


@given(units_tables(), st.integers(2, 4), st.sampled_from(["0.2", "0.34", "0.5", "0.8"]))
def test_the_search_may_inherit_what_the_rules_declare(table: UnitsTable, k: int, share: str) -> None:
    check_declared(table, lambda facts: k_rule(KAnonymity(k), facts))
    check_declared(table, lambda facts: share_rule(Dominance(Decimal(share)), facts))
