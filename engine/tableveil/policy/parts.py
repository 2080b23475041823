"""The parts of a job: what a policy asks for beyond its method. A part that no policy names does not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING

from tableveil.policy.guards import ReleaseGuards
from tableveil.policy.privacy import SafeHarbor, SensitiveModel
from tableveil.policy.quality import ClassificationModel

if TYPE_CHECKING:
    from tableveil.policy.model import Policy


class JobPart(Enum):
    """A part of a job. Each step has the hooks of the parts that take part in it."""

    BINDING = auto()
    """Tables have to have the rows of one load each."""

    PEOPLE = auto()
    """A column tells whose a record is: people may have several, and the ledger knows them again."""

    TOGETHER = auto()
    """It is judged together with earlier releases."""

    REPEATED = auto()
    """A reason admits that people are released again."""

    POPULATION = auto()
    """The people are a part of a population."""

    KNOWN_CLASSES = auto()
    """The classes of an earlier release are used again."""

    CLASSIFICATION = auto()
    """Its quality is how well classes can be told."""

    VALUES = auto()
    """Models of the values of sensitive columns."""

    SAFE_HARBOR = auto()
    """The labels that HIPAA's Safe Harbor allows."""

    GAME = auto()
    """Attacks have a cost, and publishing a benefit."""

    UNCHANGED = auto()
    """Columns are released as they are, without their owner's word that they tell nothing."""

    SUPPRESSED_BY = auto()
    """Readers are told how many records of a label are suppressed."""

    GUARDS = auto()
    """Guards hold back a release that is much smaller than the one it replaces."""

    RELATED = auto()
    """The people have events in other tables."""

    PUBLICATION = auto()
    """Copies go to targets."""


_ASKED: Mapping[JobPart, Callable[[Policy], bool]] = {
    JobPart.BINDING: lambda policy: bool(policy.bound_loads),
    JobPart.PEOPLE: lambda policy: policy.person_column is not None,
    JobPart.TOGETHER: lambda policy: policy.release.left_behind is not None,
    JobPart.REPEATED: lambda policy: bool(policy.repeat_reason or policy.other_people),
    JobPart.POPULATION: lambda policy: policy.population is not None,
    JobPart.KNOWN_CLASSES: lambda policy: policy.classes_of is not None,
    JobPart.CLASSIFICATION: lambda policy: isinstance(policy.quality_model, ClassificationModel),
    JobPart.VALUES: lambda policy: any(isinstance(model, SensitiveModel) for model in policy.privacy_models),
    JobPart.SAFE_HARBOR: lambda policy: any(isinstance(model, SafeHarbor) for model in policy.privacy_models),
    JobPart.GAME: lambda policy: policy.game is not None,
    JobPart.UNCHANGED: lambda policy: any(
        a.role in ("INSENSITIVE", "SENSITIVE") and not a.acknowledged for a in policy.attributes
    ),
    JobPart.SUPPRESSED_BY: lambda policy: bool(policy.release.suppressed_by),
    # Two guards hold by default wherever a release is replaced.
    JobPart.GUARDS: lambda policy: policy.release.if_exists == "REPLACE" or policy.release.guards != ReleaseGuards(),
    JobPart.RELATED: lambda policy: policy.related is not None,
    JobPart.PUBLICATION: lambda policy: bool(policy.release.publish),
}


def parts_of(policy: Policy) -> tuple[JobPart, ...]:
    """The parts that the policy names, in the order in which they are listed here."""
    return tuple(part for part, asked in _ASKED.items() if asked(policy))
