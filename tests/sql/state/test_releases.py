"""The ledger of releases."""

import math
from dataclasses import replace
from datetime import datetime

import pytest

from tableveil.backend import Ledger
from tableveil.policy import TableReference
from tableveil.privacy.guarantees import Guarantee
from tableveil.state.decisions import WITHDRAWALS, Withdrawal
from tableveil.state.release_explanations import Explanation, Neighbour, Rejection
from tableveil.state.releases import RELEASES, Release
from tests.sql.state.release_samples import RELEASE, SIZES

BINDS, DOES_NOT = Rejection("5-anonymity", 1, 2, 1, 2, True), Rejection("3-map", 0, 0, 0, 0, False)
ITSELF = Neighbour((), 0, None, 3, 1, 2, 0, 0.5, (Rejection("5-anonymity", 1, 2, 1, 2, False),))
EXPLAINED = replace(
    RELEASE,
    number=8,
    job=4,
    target_name="other",
    explanation=Explanation(ITSELF, (Neighbour(("a", "b"), -1, 0, 9, 8, 7, 6, None, (BINDS, DOES_NOT)),), False),
    guarantees=(
        Guarantee("k_anonymity", "", "k", 1.0, 5.0),
        Guarantee("delta_disclosure", "illness", "delta", math.inf, None),
    ),
    source_tables=(TableReference("db", "main", "b"), TableReference("db", "main", "a")),
)
NOT_SEARCHED = replace(RELEASE, number=9, job=5, target_name="third", proof=replace(RELEASE.proof, searched=None))


@pytest.mark.parametrize("release", [RELEASE, EXPLAINED, NOT_SEARCHED], ids=["plain", "explained", "not searched"])
def test_a_release_comes_back_as_it_was(ledger: Ledger, release: Release) -> None:
    RELEASES.write(ledger, release, SIZES, SIZES)
    assert RELEASES.find(ledger, release.number) == release
    assert RELEASES.find(ledger, 10_000) is None
    histogram = "SELECT class_size, classes FROM tableveil.release_risk_histograms WHERE stage = 'after'"
    assert ledger.rows(histogram) == [(1, 3), (5, 2**40)]


def test_a_method_that_searches_nothing_leaves_the_search_empty(ledger: Ledger) -> None:
    RELEASES.write(ledger, NOT_SEARCHED, SIZES, SIZES)
    columns = "lattice_size, checked, counted, pruned, best_seconds, explanation_complete"
    assert ledger.rows(f"SELECT {columns} FROM tableveil.releases") == [(None,) * 6]


def test_releases_are_listed_without_explanation_and_guarantees(ledger: Ledger) -> None:
    for release in (RELEASE, EXPLAINED, NOT_SEARCHED):
        RELEASES.write(ledger, release, SIZES, SIZES)
    assert RELEASES.page(ledger, None, 2) == [NOT_SEARCHED, replace(EXPLAINED, explanation=None, guarantees=())]
    assert RELEASES.page(ledger, 8, 2) == [RELEASE]


def test_a_release_is_current_until_it_is_replaced_or_withdrawn(ledger: Ledger) -> None:
    RELEASES.write(ledger, RELEASE, SIZES, SIZES)
    RELEASES.write(ledger, replace(RELEASE, number=8, job=4, target_name="RELEASED"), SIZES, SIZES)
    assert [found.current for found in RELEASES.page(ledger, None, 2)] == [True, False]
    withdrawal = Withdrawal(datetime(2026, 3, 1), "a mistake", ("released",))
    WITHDRAWALS.insert(ledger, [withdrawal], 8)
    found = RELEASES.find(ledger, 8)
    assert found is not None
    assert (found.current, found.withdrawal) == (False, withdrawal)
