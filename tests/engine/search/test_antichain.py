"""An antichain answers as if it had kept everything that was added."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.search.property_stores import record
from tableveil.lattice import Transformation
from tableveil.search import Problem
from tableveil.search.antichain import Antichain, Inheritance
from tests.engine.search.problems import problems

each_direction = pytest.mark.parametrize("inherited", Inheritance)


def inherits(x: Transformation, element: Transformation, inherited: Inheritance) -> bool:
    """Whether x has what the element has."""
    pairs = list(zip(x, element, strict=True))
    return all(a <= b for a, b in pairs) if inherited is Inheritance.DOWNWARDS else all(a >= b for a, b in pairs)


@st.composite
def sequences(draw: st.DrawFn) -> list[Transformation]:
    """Transformations of one lattice; sums of levels repeat, so that ranks alone decide little."""
    tops = draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    return draw(st.lists(st.tuples(*(st.integers(0, top) for top in tops)), max_size=40))


@each_direction
@given(sequence=sequences(), data=st.data())
def test_covers_what_was_added_and_what_inherits_from_it(
    inherited: Inheritance, sequence: list[Transformation], data: st.DataObject
) -> None:
    store = Antichain(inherited)
    told: list[Transformation] = []
    for x in sequence:
        known = any(inherits(x, element, inherited) for element in told)
        assert store.covers(x) == known
        if data.draw(st.booleans()):
            assert store.add(x) == (not known)
            told.append(x)
            assert store.covers(x)
    kept = list(store)
    assert len(store) == len(kept) == len(set(kept))
    assert set(kept) <= set(told)
    others = {x: [y for y in told if y != x] for x in told}
    assert set(kept) == {x for x in told if not any(inherits(x, y, inherited) for y in others[x])}


@each_direction
def test_an_empty_store_covers_nothing(inherited: Inheritance) -> None:
    store = Antichain(inherited)
    assert not store.covers((0, 0))
    assert len(store) == 0
    assert list(store) == []


def test_finds_the_element_itself() -> None:
    store = Antichain(Inheritance.DOWNWARDS)
    assert store.add((2, 0, 1))
    assert store.covers((2, 0, 1))
    assert not store.add((2, 0, 1))
    assert not store.covers((0, 1, 0))


@each_direction
@given(sequence=sequences())
def test_nodes_are_the_prefixes_of_what_is_kept(inherited: Inheritance, sequence: list[Transformation]) -> None:
    store = Antichain(inherited)
    for x in sequence:
        store.add(x)
        assert store.nodes == len({element[:length] for element in store for length in range(len(element))})


@given(problems())
def test_answers_what_a_search_asks(problem: Problem) -> None:
    for recording in record(problem):
        told: list[Transformation] = []
        for x, added, answer in recording.asked:
            known = any(inherits(x, element, recording.inherited) for element in told)
            assert answer == (not known if added else known)
            told += [x] if added else []
