"""The models for which the reference differs from its own definitions."""

from collections.abc import Sequence
from decimal import Decimal

import pytest

from benchmarks.oddities import GRASSBERGER, OVERFLOW, PRESENCE, Oddity, oddities
from tableveil.policy import (
    DeltaPresence,
    Distance,
    DistinctLDiversity,
    EntropyEstimator,
    EntropyLDiversity,
    KAnonymity,
    PrivacyModel,
    TCloseness,
)

HALF = Decimal("0.5")
GRASSBERGERS = EntropyLDiversity("job", Decimal(3), EntropyEstimator.GRASSBERGER)


@pytest.mark.parametrize(
    ("models", "found"),
    [
        ([KAnonymity(5), GRASSBERGERS], [GRASSBERGER]),
        ([KAnonymity(5), EntropyLDiversity("job", Decimal(3))], []),
        ([DeltaPresence(HALF, HALF), KAnonymity(5)], [PRESENCE]),
        ([DeltaPresence(HALF, HALF), DistinctLDiversity("job", 2), GRASSBERGERS], [PRESENCE, GRASSBERGER]),
        ([DeltaPresence(Decimal(0), HALF), KAnonymity(5)], []),
        ([DeltaPresence(HALF, HALF)], []),
        ([TCloseness("job", HALF, Distance.HIERARCHICAL)], [OVERFLOW]),
        ([TCloseness("job", HALF, Distance.ORDERED)], []),
    ],
)
def test_models_make_the_reference_odd(models: Sequence[PrivacyModel], found: list[Oddity]) -> None:
    assert list(oddities(models, records=100_000, largest_class=21_475)) == found


def test_the_distance_overflows_in_large_classes_only() -> None:
    model = TCloseness("job", HALF, Distance.HIERARCHICAL)
    assert list(oddities([model], records=100_000, largest_class=21_474)) == []
    assert list(oddities([model], records=30_162, largest_class=30_162)) == []
