"""Classes by some of the columns, against counting the records by them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableveil.risk import ClassSizes, class_sizes_by, subsets
from tests.engine.risk.test_attribute_risk import Record, histogram, tables


def pairs(sizes: ClassSizes) -> list[tuple[int, int]]:
    return list(zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True))


@pytest.mark.parametrize("cells", [subsets.MOST_CELLS, 1])
@given(tables(), st.data())
def test_the_records_by_some_columns(
    cells: int, table: tuple[list[Record], tuple[int, ...]], data: st.DataObject
) -> None:
    records, values = table
    frequencies, _ = histogram(records, values)
    chosen = data.draw(st.lists(st.sampled_from(range(len(values))), min_size=1, unique=True))
    counted = Counter(Counter(tuple(record[j] for j in chosen) for record in records).values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsets, "MOST_CELLS", cells)
        assert pairs(class_sizes_by(frequencies, chosen)) == sorted(counted.items())
