"""The evidence that an owner's edition is made of."""

from dataclasses import dataclass

from tableveil.v1.classification_service_pb2 import ClassificationReport
from tableveil.v1.release_service_pb2 import JointClasses, Release
from tableveil.v1.utility_service_pb2 import UtilityReport

Sizes = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ReleaseBeside:
    """Another release of the same people, known by digests of them or else by its table."""

    release: Release
    by_digests: bool


@dataclass(frozen=True, slots=True)
class OwnerEvidence:
    """Everything that the owner's edition tells beyond the public facts.

    `refusals` are the reasons why the release of a dry run would be refused. `measured` is False for readers who may
    not see what was measured of the release. The `maker` submitted the policy, if its job is known.
    """

    release: Release
    sizes_before: Sizes = ()
    measured: bool = True
    joint: JointClasses | None = None
    utility: UtilityReport | None = None
    classification: ClassificationReport | None = None
    earlier: Release | None = None
    refusals: tuple[str, ...] = ()
    is_dry_run: bool = False
    people: int | None = None
    others: tuple[ReleaseBeside, ...] = ()
    maker: str = ""
