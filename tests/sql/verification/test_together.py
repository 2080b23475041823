"""Sets of releases that were judged with each other, by both who write and verify: against all subsets."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from random import Random

import pytest

from tableveil.backend import Session
from tableveil.errors import InvalidError
from tableveil.state import persons

RELEASES = range(1, 9)

written = import_module("tableveil.lifecycle.together")
verified = import_module("tableveil.verification.together")


def largest(judged: set[tuple[int, int]]) -> set[tuple[int, ...]]:
    """The sets of which each two were judged together, and that are part of no other one."""
    every = [some for size in range(1, 9) for some in combinations(RELEASES, size)]
    mutual = [some for some in every if all((b, a) in judged for a, b in combinations(some, 2))]
    return {some for some in mutual if not any(set(some) < set(other) for other in mutual)}


@pytest.mark.parametrize("seed", range(12))
def test_they_are_those_of_all_subsets(session: Session, seed: int) -> None:
    random = Random(seed)
    judged = {(b, a) for a, b in combinations(RELEASES, 2) if random.random() < seed / 12}
    wanted = largest(judged)
    assert {tuple(some) for some in verified._judged_with_each_other(list(RELEASES), judged)} == wanted
    for release, other in judged:
        persons.remember_together(session.ledger, release, [other])
    of_both = {tuple(RELEASES[r] for r in some) for some in written._judged_sets(session, list(RELEASES))}
    # A release and those that it was judged with are looked at, too, and all of them always.
    assert wanted - {tuple(RELEASES)} <= of_both


def test_fifty_releases_that_were_judged_with_each_other() -> None:
    """Every subset of them was looked at, while nobody else could write: thirty releases took an hour."""
    judged = set(combinations(range(50, 0, -1), 2))
    assert list(verified._judged_with_each_other(range(1, 51), judged)) == [list(range(1, 51))]


def test_too_many_sets(session: Session) -> None:
    """Fifty releases, of which each second was judged with all but the one before: 2 ** 25 sets."""
    for release in range(1, 51):
        before = release - 1 if release % 2 == 0 else 0
        persons.remember_together(session.ledger, release, [other for other in range(1, release) if other != before])
    with pytest.raises(InvalidError, match="sets were judged with each other") as refused:
        written._judged_sets(session, list(range(1, 51)))
    assert refused.value.code == "TOGETHER_TOO_MANY"
