"""The computed effect of a swap equals the distance of the cluster after the swap."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.microaggregation.closeness import swaps
from tableveil.microaggregation.closeness.swaps import ExcessSwaps
from tableveil.microaggregation.closeness.targets import targets_of
from tableveil.policy import Distance, TCloseness
from tests.engine.microaggregation.sensitive_tables import Table, tables
from tests.engine.privacy.test_distances import Sample, defined


def excess(table: Table, models: list[TCloseness], members: list[list[int]]) -> Fraction:
    """The excess by definition; members are given by their codes per model."""
    found = []
    for model, codes in zip(models, members, strict=True):
        column = table.sensitive[int(model.column[1:])]
        sample = Sample(column, ())
        own = np.bincount(codes, minlength=len(column.counts)).tolist()
        found.append(defined(sample, model.distance, own, sample.whole) - Fraction(model.t))
    return max(found)


@given(tables(columns=2), st.data())
def test_every_swap_is_what_it_makes(table: Table, data: st.DataObject) -> None:
    """For all distances, one column or two, and two clusters at once, including equal records and NULL."""
    rows = st.integers(0, len(table.rows) - 1)
    size = data.draw(st.integers(1, min(5, len(table.rows))))
    members = data.draw(st.lists(st.lists(rows, min_size=size, max_size=size), min_size=2, max_size=2))
    incoming = data.draw(st.lists(st.tuples(st.integers(0, 1), rows), min_size=1, max_size=6))
    models = [
        TCloseness(f"s{c}", Decimal(data.draw(st.sampled_from(["0", "0.25"]))), data.draw(st.sampled_from(Distance)))
        for c in range(data.draw(st.integers(1, 2)))
    ]
    codes = [np.array(column) for column in table.codes][: len(models)]
    clusters = np.array([cluster for cluster, _ in incoming])
    coming = [column[[row for _, row in incoming]] for column in codes]

    before = ExcessSwaps(targets_of(models, table.sensitive), size).of([column[members] for column in codes])
    after = before.after(clusters, coming)

    now = [excess(table, models, [column[own].tolist() for column in codes]) for own in members]
    assert before.now == pytest.approx([float(beyond) for beyond in now])
    for i, (cluster, row) in enumerate(incoming):
        own = members[cluster]
        made = [[*own[:j], row, *own[j + 1 :]] for j in range(size)]
        expected = [excess(table, models, [column[one].tolist() for column in codes]) for one in made]
        assert after[i] == pytest.approx([float(beyond) for beyond in expected])
        assert (after[i] > 0).tolist() == [beyond > 0 for beyond in expected]


@given(tables())
@settings(max_examples=15)
def test_costs_are_the_same_without_a_table(table: Table) -> None:
    """For a table that would be too large, and for whole numbers beyond 64 bits."""
    targets = targets_of([TCloseness("s0", Decimal("0.1"), Distance.ORDERED)], table.sensitive)
    codes = np.array(table.codes[0])

    def after() -> NDArray[np.float64]:
        return ExcessSwaps(targets, len(codes)).of([codes[None]]).after(np.zeros(len(codes), np.intp), [codes])

    expected = after()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swaps, "TABLE", 0)
        assert after() == pytest.approx(expected, abs=0)
        patch.setattr(swaps, "EXACT", 0)
        assert after() == pytest.approx(expected)
