"""Reasons that nobody can read are none."""

import pytest

from tableveil.policy.documentation import says_something


@pytest.mark.parametrize(
    "reason", ["", " \n\t", "\u200b\u200d\ufeff", "\u00a0\u2003", "\u2800", "\u3164\u115f\uffa0", "-.…"]
)
def test_nothing_to_read(reason: str) -> None:
    assert not says_something(reason)


@pytest.mark.parametrize("reason", ["weekly", "4", "\u200bwhy", "毎週", "\u0639"])
def test_something_to_read(reason: str) -> None:
    assert says_something(reason)
