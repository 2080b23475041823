"""Costs follow what is measured."""

import pytest

from tableveil.counting.cost import Cost


def test_without_measurements_the_first_figures_count() -> None:
    assert Cost(fixed=0.5, per_row=0.001).seconds(1000) == pytest.approx(1.5)


def test_many_measurements_outweigh_the_first_figures() -> None:
    cost = Cost(fixed=0.001, per_row=1e-6)
    for _ in range(100):
        cost.observe(1_000_000, 3.0)
    assert cost.seconds(1_000_000) == pytest.approx(3.0, rel=0.01)


def test_tiny_measurements_tell_little_about_large_ones() -> None:
    """A statement over nothing may take many times its fixed cost, and a large one is no slower for it."""
    cost = Cost(fixed=0.0001, per_row=1e-6)
    cost.observe(1_000_000, 1.0)
    cost.observe(0, 0.01)
    assert cost.seconds(1_000_000) == pytest.approx(1.0, rel=0.02)
