"""Packed keys: every combination has its own key, whatever the numbers of groups, and gives its groups back."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tableveil.classes import KeyLayout

Words = tuple[NDArray[np.int64], ...]

radices = st.lists(st.integers(0, 5) | st.integers(1, 2**31) | st.integers(2**31, 2**62), min_size=1, max_size=14)


def packed(layout: KeyLayout, rows: list[tuple[int, ...]]) -> Words:
    """By the definition: key[word[j]] = sum of group[j] * stride[j]."""
    words = np.zeros((layout.words, len(rows)), np.int64)
    for i, row in enumerate(rows):
        for j, group in enumerate(row):
            words[layout.word[j], i] += group * layout.stride[j]
    return tuple(words)


@given(radices=radices, data=st.data())
def test_packing_and_unpacking_gives_the_groups_back(radices: list[int], data: st.DataObject) -> None:
    row = st.tuples(*(st.integers(0, max(radix, 1) - 1) for radix in radices))
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    layout = KeyLayout.of(radices)
    words = packed(layout, rows)
    assert all((word >= 0).all() for word in words)
    for j in range(len(radices)):
        assert layout.unpack(words, j).tolist() == [row[j] for row in rows]
    # Equal keys mean equal rows.
    assert len({tuple(word[i] for word in words) for i in range(len(rows))}) == len(set(rows))


@given(radices)
def test_largest_key_fits_into_every_word(radices: list[int]) -> None:
    layout = KeyLayout.of(radices)
    for word in range(layout.words):
        members = [max(radix, 1) for j, radix in enumerate(radices) if layout.word[j] == word]
        assert math.prod(members) <= 2**63


def test_one_word_as_long_as_the_product_fits() -> None:
    assert KeyLayout.of([2**31, 2**31]).words == 1
    assert KeyLayout.of([2**32, 2**31]).words == 2
    assert KeyLayout.of([1000] * 6).words == 1
    assert KeyLayout.of([1000] * 12).words == 2


def test_no_rows() -> None:
    layout = KeyLayout.of([3, 0, 4])
    assert layout.unpack(packed(layout, []), 2).tolist() == []
