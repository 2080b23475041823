"""Models of elements where cells are lists, by brute force on small random tables: rows know their person and cell."""

from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.policy import ProbabilisticLDiversity, TCloseness
from tableveil.privacy.closeness_of_elements import TClosenessOfElementsRule, closeness_rule, distances_of_elements
from tableveil.privacy.diversity import ProbabilisticLDiversityRule, probabilistic_l
from tableveil.privacy.diversity_of_people import ProbabilisticOfPeopleRule, probabilistic_of_people
from tableveil.privacy.repeating import most_exposed
from tests.engine.privacy.monotonicity import COLUMN, check_declared
from tests.engine.privacy.test_diversity_of_people import OwnedTable, owned_tables

CELLS: tuple[tuple[int, ...], ...] = ((0,), (0, 1), (1, 2, 3), (), ())
"""The elements of each code: the last is NULL, and the one before an empty list."""

TABLES = owned_tables(CELLS)
L = st.sampled_from([Decimal(text) for text in ("1.2", "1.5", "2", "2.5", "3")])
T = st.sampled_from([Decimal(text) for text in ("0.01", "0.1", "0.25", "0.3333", "0.5", "0.8")])


def cells_of(rows: list[tuple[int, int]]) -> list[tuple[int, tuple[int, ...]]]:
    return [(person, CELLS[code]) for person, code in rows]


def largest_shares(rows: list[tuple[int, int]]) -> tuple[Fraction | None, Fraction | None]:
    """The largest share with one element among the records, and the people, that have any; None if none has."""
    cells = [(person, cell) for person, cell in cells_of(rows) if cell]
    if not cells:
        return None, None
    having: dict[int, set[int]] = defaultdict(set)
    for person, cell in cells:
        for element in cell:
            having[element].add(person)
    records = Counter(element for _, cell in cells for element in cell)
    people = len({person for person, _ in cells})
    return Fraction(max(records.values()), len(cells)), Fraction(max(map(len, having.values())), people)


def distance(rows: list[tuple[int, int]], whole: list[tuple[int, int]]) -> Fraction:
    """The largest difference of the shares of an element, or of having none."""

    def share(of: list[tuple[int, int]], element: int | None) -> Fraction:
        cells = [cell for _, cell in cells_of(of)]
        return Fraction(sum(element in cell if element is not None else not cell for cell in cells), len(cells))

    return max(abs(share(rows, element) - share(whole, element)) for element in (*range(4), None))


def whole_of(table: OwnedTable) -> list[tuple[int, int]]:
    return [(person, table.shared[code]) for _, person, code in table.records]


@given(TABLES, L, st.data())
def test_no_element_has_more_than_its_share(table: OwnedTable, l: Decimal, data: st.DataObject) -> None:  # noqa: E741
    of_records = ProbabilisticLDiversityRule(ProbabilisticLDiversity(COLUMN, l), table.facts)
    of_people = ProbabilisticOfPeopleRule(ProbabilisticLDiversity(COLUMN, l), table.facts)
    x = data.draw(st.sampled_from(list(table.lattice)))
    classes, _ = table.at(x)
    records, people = zip(*map(largest_shares, table.of_classes(x)), strict=True)

    fine = [share is not None and share <= 1 / Fraction(l) for share in records]
    assert of_records.releasable(classes).tolist() == fine
    both = [kept and share is not None and share <= 1 / Fraction(l) for kept, share in zip(fine, people, strict=True)]
    assert of_people.releasable(classes).tolist() == both

    reached = probabilistic_l(of_records.values(classes), of_records.column)
    assert reached.tolist() == pytest.approx([0 if share is None else float(1 / share) for share in records])
    reached = probabilistic_of_people(*of_people.pairs(classes))
    assert reached.tolist() == pytest.approx([0 if share is None else float(1 / share) for share in people])


@given(TABLES, T, st.data())
def test_every_elements_share_is_close(table: OwnedTable, t: Decimal, data: st.DataObject) -> None:
    rule = closeness_rule(TCloseness(COLUMN, t), table.facts)
    assert isinstance(rule, TClosenessOfElementsRule)
    x = data.draw(st.sampled_from(list(table.lattice)))
    classes, _ = table.at(x)
    distances = [distance(rows, whole_of(table)) for rows in table.of_classes(x)]
    assert rule.releasable(classes).tolist() == [one <= Fraction(t) for one in distances]
    reached = distances_of_elements(rule.values(classes), rule.column)
    assert reached.tolist() == pytest.approx(list(map(float, distances)))
    # A rule that keeps a class keeps all of it.
    lost = rule.lost(classes)
    assert (lost[rule.releasable(classes)] == 0).all()


@given(TABLES, L)
def test_diversity_of_elements_declares_the_truth(table: OwnedTable, l: Decimal) -> None:  # noqa: E741
    model = ProbabilisticLDiversity(COLUMN, l)
    check_declared(table, lambda facts: ProbabilisticLDiversityRule(model, facts))
    check_declared(table, lambda facts: ProbabilisticOfPeopleRule(model, facts))


@given(TABLES, T)
def test_closeness_of_elements_declares_the_truth(table: OwnedTable, t: Decimal) -> None:
    check_declared(table, lambda facts: closeness_rule(TCloseness(COLUMN, t), facts))


@given(TABLES, st.data())
def test_an_element_in_all_records_of_a_class_is_told_for_certain(table: OwnedTable, data: st.DataObject) -> None:
    classes, _ = table.at(data.draw(st.sampled_from(list(table.lattice))))
    people, (position, column) = table.facts.people, table.facts.sensitive(COLUMN)
    assert people is not None
    exposed = most_exposed(classes, people[0], classes.values(position), column)
    shares = [Counter(e for _, cell in cells_of(rows) for e in cell) for rows in table.of_classes(table.facts.top)]
    assert (exposed is None) == (not any(shares))
    if exposed is not None:
        assert np.nextafter(exposed.in_all, 2) >= exposed.chance >= exposed.having / exposed.size - 1e-9
