"""Warnings: their order, and the form in which the state keeps them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.errors import Rank, Warned, by_rank, must_decide, note


@given(st.text(), st.sampled_from(Rank), st.none() | st.integers(0, 2**63 - 1), st.text())
def test_a_warning_is_kept_with_its_facts(text: str, rank: Rank, count: int | None, field: str) -> None:
    read = Warned.from_stored(Warned(text, rank, count, field).stored)
    assert (str(read), read.rank, read.count_of, read.field) == (text, rank, count, field)


@pytest.mark.parametrize("text", ["no rank", "must be decided", "note [1", "note: [1]: x"])
def test_texts_of_earlier_versions_are_read(text: str) -> None:
    assert str(Warned.from_stored(text)) == text.removeprefix("note: ")


def test_the_order_keeps_the_facts() -> None:
    first, second, plain = must_decide("b", 3, "age"), note("a", 1), Warned("c")
    ordered = by_rank([second, plain, first, second])
    assert ordered == ("b", "c", "a")
    assert [(one.count_of, one.field) for one in ordered] == [(3, "age"), (None, ""), (1, "")]
