"""l-diversity of people, by brute force on small random tables: rows know their person, their class and their value."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.classes import ListedElements, NumpyCounter, PersonValues, SensitiveColumn, SensitiveRows
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Transformation
from tableveil.policy import DistinctLDiversity, ProbabilisticLDiversity
from tableveil.privacy import Facts, ReleaseRule
from tableveil.privacy.diversity_of_people import (
    DistinctOfPeopleRule,
    ProbabilisticOfPeopleRule,
    distinct_rule,
    probabilistic_rule,
)
from tests.engine.privacy.monotonicity import COLUMN, SmallTable, check_declared
from tests.engine.search.problems import hierarchies

DISEASES = ("cold", "flu", "Flu", "gout", None)
"""In the order of their codes; two are spellings of one value, and the last is NULL."""

SHARED = (0, 1, 1, 3, -1)

Record = tuple[tuple[int, ...], int, int]
"""The codes of the quasi-identifiers, the person, and the code of the disease."""


@dataclass(frozen=True)
class OwnedTable(SmallTable):
    """With the records themselves."""

    records: tuple[Record, ...]
    shared: tuple[int, ...] = SHARED

    def of_classes(self, x: Transformation) -> list[list[tuple[int, int]]]:
        """Per class at x, the person and the value of each of its records."""
        _, class_of = self.at(x)
        rows = {codes: row for row, codes in enumerate(map(tuple, self.codes.tolist()))}
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for codes, person, disease in self.records:
            found[int(class_of[rows[codes]])].append((person, self.shared[disease]))
        return [found[number] for number in range(len(found))]


@st.composite
def owned_tables(draw: st.DrawFn, cells: Sequence[Sequence[int]] | None = None) -> OwnedTable:
    """With `cells`, the codes of the disease stand for lists of these elements, and the last one for NULL."""
    shared = SHARED if cells is None else (0, 1, 2, 3, -1)
    levels = []
    for rows in draw(st.lists(hierarchies(), min_size=1, max_size=2)):
        values = [row[0] for row in rows]
        labelled = label_values(InlineLevels(rows), ValueKind.TEXT, values, values)
        levels.append(attribute_levels(labelled, has_null=False))
    combination = st.tuples(*(st.integers(0, len(attribute.groups[0]) - 1) for attribute in levels))
    record = st.tuples(combination, st.integers(0, 4), st.integers(0, len(DISEASES) - 1))
    records = tuple(draw(st.lists(record, min_size=1, max_size=14)))
    combinations = sorted({codes for codes, _, _ in records})
    pairs = sorted({(person, shared[disease]) for _, person, disease in records})
    elements = None
    if cells is not None:
        of_codes = np.array([sum(record[2] == code for record in records) for code in range(5)])
        codes, numbers = zip(*((code, one) for code, cell in enumerate(cells) for one in cell), strict=True)
        elements = ListedElements.of(of_codes, np.array(codes), np.array(numbers))

    def column(
        code_of: Callable[[Record], int], many: int, known: SensitiveColumn
    ) -> tuple[SensitiveColumn, SensitiveRows]:
        found = sorted(Counter((combinations.index(record[0]), code_of(record)) for record in records).items())
        rows = np.array([(*key, n) for key, n in found], np.int64)
        known.counts[:] = np.bincount(rows[:, 1], rows[:, 2], many)
        return known, SensitiveRows(rows[:, 0], rows[:, 1], rows[:, 2])

    def empty(many: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.zeros(many, np.int64)

    spellings = np.array([0, 1, 1, 3, 4]) if cells is None else None
    owned = PersonValues(np.array([person for person, _ in pairs]), np.array([value for _, value in pairs]), elements)
    counter = NumpyCounter(
        levels,
        [np.array([codes[j] for codes in combinations], np.int32) for j in range(len(levels))],
        np.array([sum(record[0] == codes for record in records) for codes in combinations], np.int64),
        sensitive=[
            column(
                lambda r: r[2],
                5,
                SensitiveColumn(COLUMN, empty(5), null_code=4, spellings=spellings, elements=elements),
            ),
            column(lambda r: r[1], 5, SensitiveColumn("", empty(5), protected=False, people=True)),
            column(
                lambda r: pairs.index((r[1], shared[r[2]])),
                len(pairs),
                SensitiveColumn(COLUMN, empty(len(pairs)), protected=False, owned=owned),
            ),
        ],
    )
    at = np.array(combinations, np.int32).reshape(len(combinations), len(levels))
    counts = np.array([sum(record[0] == codes for record in records) for codes in combinations], np.int64)
    return OwnedTable(Facts(counter), at, counts, records, shared)


L = st.sampled_from([Decimal(text) for text in ("1.2", "1.5", "2", "2.5", "3")])


def people_with(rows: list[tuple[int, int]]) -> tuple[int, Counter[int]]:
    """The people who have a value, and per value those who have it."""
    known = {row for row in rows if row[1] >= 0}
    return len({person for person, _ in known}), Counter(value for _, value in known)


def is_distinct(rows: list[tuple[int, int]], l: int) -> bool:  # noqa: E741
    people, having = people_with(rows)
    return len(having) >= l and all(people - n >= l - 1 for n in having.values())


def is_probabilistic(rows: list[tuple[int, int]], l: Decimal) -> bool:  # noqa: E741
    people, having = people_with(rows)
    records = Counter(value for _, value in rows if value >= 0)
    return (
        bool(having)
        and all(Fraction(n, people) <= 1 / Fraction(l) for n in having.values())
        and all(Fraction(n, records.total()) <= 1 / Fraction(l) for n in records.values())
    )


@given(table=owned_tables(), least=st.integers(2, 4), l=L)
def test_classes_are_diverse_in_records_and_people(table: OwnedTable, least: int, l: Decimal) -> None:  # noqa: E741
    distinct = distinct_rule(DistinctLDiversity(COLUMN, least), table.facts)
    probabilistic = probabilistic_rule(ProbabilisticLDiversity(COLUMN, l), table.facts)
    assert isinstance(distinct, DistinctOfPeopleRule)
    assert isinstance(probabilistic, ProbabilisticOfPeopleRule)
    for x in table.lattice:
        classes, rows = table.at(x)[0], table.of_classes(x)
        assert distinct.releasable(classes).tolist() == [is_distinct(of, least) for of in rows]
        assert probabilistic.releasable(classes).tolist() == [is_probabilistic(of, l) for of in rows]


@given(table=owned_tables(), least=st.integers(2, 4), l=L)
def test_the_search_may_inherit_what_the_rules_declare(table: OwnedTable, least: int, l: Decimal) -> None:  # noqa: E741
    check_declared(table, lambda facts: distinct_rule(DistinctLDiversity(COLUMN, least), facts))
    check_declared(table, lambda facts: probabilistic_rule(ProbabilisticLDiversity(COLUMN, l), facts))


@given(table=owned_tables(), data=st.data())
def test_offered_parameters_hold(table: OwnedTable, data: st.DataObject) -> None:
    classes = table.at(table.facts.top)[0]
    suppressible = data.draw(st.integers(0, int(classes.counts.sum()) - 1))

    def check(offered: str | None, rule: Callable[[Decimal], ReleaseRule]) -> None:
        if offered is not None:
            kept = rule(Decimal(offered.split(" = ")[1])).releasable(classes)
            assert int(classes.counts[~kept].sum()) <= suppressible

    def distinct(l: Decimal) -> ReleaseRule:  # noqa: E741
        return distinct_rule(DistinctLDiversity(COLUMN, int(l)), table.facts)

    def probabilistic(l: Decimal) -> ReleaseRule:  # noqa: E741
        return probabilistic_rule(ProbabilisticLDiversity(COLUMN, l), table.facts)

    check(distinct(Decimal(5)).nearest(classes, suppressible), distinct)
    check(probabilistic(Decimal(5)).nearest(classes, suppressible), probabilistic)


@pytest.mark.parametrize("l", [2, 3])
@given(values=st.lists(st.sampled_from("abcd"), min_size=1, max_size=9))
def test_one_record_each_asks_nothing_more(l: int, values: list[str]) -> None:  # noqa: E741
    """Where each record is another person, so many values imply that so many people lack each of them."""
    having = Counter(values)
    if len(having) >= l:
        assert all(len(values) - n >= l - 1 for n in having.values())
