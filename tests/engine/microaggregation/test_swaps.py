"""What a swap would make of a cluster is what the cluster after the swap is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.microaggregation.closeness import swaps
from tableveil.microaggregation.closeness.swaps import ExcessSwaps
from tableveil.microaggregation.closeness.targets import targets_of
from tableveil.policy import Distance, TCloseness
from tests.engine.microaggregation.sensitive_tables import Table, tables
from tests.engine.privacy.test_distances import Sample, defined


def excess(table: Table, models: list[TCloseness], members: list[list[int]]) -> Fraction:
    """By the definition, of members by their codes per model."""
    found = []
    for model, codes in zip(models, members, strict=True):
        column = table.sensitive[int(model.column[1:])]
        sample = Sample(column, ())
        own = np.bincount(codes, minlength=len(column.counts)).tolist()
        found.append(defined(sample, model.distance, own, sample.whole) - Fraction(model.t))
    return max(found)


@given(tables(columns=2), st.data())
def test_every_swap_is_what_it_makes(table: Table, data: st.DataObject) -> None:
    """For all distances and two columns at once, records that are alike and NULL included."""
    size = data.draw(st.integers(1, min(5, len(table.rows))))
    members = data.draw(st.lists(st.integers(0, len(table.rows) - 1), min_size=size, max_size=size))
    incoming = data.draw(st.lists(st.integers(0, len(table.rows) - 1), min_size=1, max_size=4))
    models = [
        TCloseness(f"s{c}", Decimal(data.draw(st.sampled_from(["0", "0.25"]))), data.draw(st.sampled_from(Distance)))
        for c in range(2)
    ]
    codes = [np.array(column) for column in table.codes]

    exchanged = ExcessSwaps(targets_of(models, table.sensitive), size)
    now = exchanged.now([column[members] for column in codes])
    after = exchanged.after([column[members] for column in codes], [column[incoming] for column in codes])

    assert now == pytest.approx(float(excess(table, models, [column[members].tolist() for column in codes])))
    for i, row in enumerate(incoming):
        for j in range(size):
            swapped = [*members[:j], row, *members[j + 1 :]]
            expected = excess(table, models, [column[swapped].tolist() for column in codes])
            assert after[i, j] == pytest.approx(float(expected))
            assert (after[i, j] > 0) == (expected > 0)


@given(tables())
@settings(max_examples=15)
def test_costs_are_the_same_without_a_table(table: Table) -> None:
    """Where it would be too large, and where whole numbers would be too large for 64 bits."""
    targets = targets_of([TCloseness("s0", Decimal("0.1"), Distance.ORDERED)], table.sensitive)
    rows = np.arange(len(table.rows))
    codes = [np.array(table.codes[0])]
    expected = ExcessSwaps(targets, len(rows)).after(codes, codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swaps, "TABLE", 0)
        assert ExcessSwaps(targets, len(rows)).after(codes, codes) == pytest.approx(expected, abs=0)
        patch.setattr(swaps, "EXACT", 0)
        assert ExcessSwaps(targets, len(rows)).after(codes, codes) == pytest.approx(expected)
