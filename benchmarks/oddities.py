"""Models for which the reference tool is known to differ from its definitions: why, and where ours may then be.

Its divergence and its delta-disclosure, which ignores absent values, are not here: policies can ask for both, and then
the same is expected.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from benchmarks.expected import Expected, close, ranked
from benchmarks.service import Run
from tableveil.policy import (
    DeltaPresence,
    Distance,
    DistinctLDiversity,
    EntropyEstimator,
    EntropyLDiversity,
    KAnonymity,
    Policy,
    PrivacyModel,
    QualityModel,
    RecursiveCLDiversity,
    TCloseness,
)
from tableveil.runtime import FailureKind
from tableveil.state.releases import Release

LARGEST_INT = 2**31 - 1

IMPLYING_SIZE = KAnonymity | DistinctLDiversity | EntropyLDiversity | RecursiveCLDiversity
"""Models by which the reference tool refuses small classes before it asks others."""


class Side(Enum):
    """The side of the reference's optimum on which ours may be."""

    BETTER = "better"
    WORSE = "worse"


@dataclass(frozen=True, slots=True)
class Oddity:
    """A known difference: why, and where it may leave our optimum."""

    why: str
    ours: frozenset[Side]


GRASSBERGER = Oddity(
    "the reference refuses a class as soon as a part of Grassberger's sum is too large, so that the order of a hash "
    "table decides; the full sum refuses fewer",
    frozenset({Side.BETTER}),
)
PRESENCE = Oddity(
    "with a minimum class size the reference accepts classes of the population without any record of the sample, "
    "whatever the least share is",
    frozenset({Side.WORSE}),
)
OVERFLOW = Oddity("the reference's hierarchical distance overflows in its largest classes", frozenset(Side))


def known_difference(expected: Expected, run: Run, policy: Policy) -> str:
    """The reason why the run's outcome may differ from the expected one as it does; empty if none is known."""
    release = run.release
    if release is None:
        if run.failure is None or run.failure.kind is not FailureKind.INFEASIBLE:
            return ""
        side: Side | None = Side.WORSE
        records, largest = 0, 0
    else:
        side = _side(expected, release, policy.quality_model)
        records, largest = release.records, round(1 / release.risk_after.lowest) if release.risk_after.records else 0
    known = oddities(policy.privacy_models, records, max(largest, expected.largest_class or 0))
    return "; ".join(oddity.why for oddity in known if side is None or side in oddity.ours)


def oddities(models: Sequence[PrivacyModel], records: int, largest_class: int) -> Iterator[Oddity]:
    """The known reasons for different optima under these models; `largest_class` is the largest in both releases.

    The hierarchical distance is computed from products of a class's size with the number of all records.
    """
    for model in models:
        match model:
            case EntropyLDiversity(estimator=EntropyEstimator.GRASSBERGER):
                yield GRASSBERGER
            case DeltaPresence(minimum=minimum) if minimum > 0:
                if any(isinstance(other, IMPLYING_SIZE) for other in models):
                    yield PRESENCE
            case TCloseness(distance=Distance.HIERARCHICAL) if largest_class * records > LARGEST_INT:
                yield OVERFLOW


def _side(expected: Expected, release: Release, model: QualityModel) -> Side | None:
    """The side of the expected score on which the release's score is; None if they are equal."""
    if expected.score is None:
        return Side.BETTER
    for found, wanted in zip(*ranked(release, expected, model), strict=False):
        if not close(found, wanted):
            return Side.BETTER if found < wanted else Side.WORSE
    return None
