"""The lattice: how many transformations it has, and which."""

import itertools

import pytest

from tableveil.lattice import Lattice


def test_lists_every_transformation_between_bottom_and_top_once() -> None:
    lattice = Lattice((0, 1, 2), (2, 1, 3))
    expected = [(a, 1, c) for a, c in itertools.product((0, 1, 2), (2, 3))]
    assert list(lattice) == expected
    assert lattice.size == len(expected)


def test_one_transformation() -> None:
    assert list(Lattice((3,), (3,))) == [(3,)]
    assert Lattice((3,), (3,)).size == 1


def test_size_is_exact_beyond_64_bits() -> None:
    assert Lattice((0,) * 100, (9,) * 100).size == 10**100


@pytest.mark.parametrize(("bottom", "top"), [((1,), (0,)), ((0, 2), (5, 1)), ((0,), (1, 1))])
def test_refuses_what_is_no_lattice(bottom: tuple[int, ...], top: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"not a lattice|shorter"):
        Lattice(bottom, top)
