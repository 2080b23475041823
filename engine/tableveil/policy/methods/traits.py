"""The entry of a method: its options, and the models, options and analyses that it works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

from tableveil.errors import Fault, Warned
from tableveil.policy.privacy import OF_EVENTS, PRIVACY_FIELDS, PrivacyModel
from tableveil.policy.quality import FIELDS, QualityModel

if TYPE_CHECKING:
    from tableveil.policy.model import Policy

Options = TypeVar("Options")

ReleaseNumber = Annotated[int, "the number of a release"]
"""A message has the release's name instead."""

SEARCH_OPTIONS = ("time_limit_seconds", "seed", "strategy", "levels", "linked", "choose")


class Recoded(StrEnum):
    """The part of the data that has one label in all released records."""

    BY_VALUE = "every value"
    BY_COMBINATION = "every combination of values"
    CLUSTERS = "every cluster of records"


class HandedOn(StrEnum):
    """The part of a release that a later one of other data takes over."""

    LEVELS = "the level of each column"
    CLASSES = "the classes, which its option classes_of names"
    NOTHING = "nothing"


class Analysis(StrEnum):
    """An analysis that repeats or varies the method."""

    FRONTIER = "frontiers"
    CLASSIFICATION = "assessments of classifiers"
    CLASSIFICATION_INSIDE_FOLDS = "levels chosen inside folds"


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodTraits(Generic[Options]):
    """The models, options and analyses that a method works with.

    Attributes:
        name: The method in words.
        called: The method in a message, by the field that asks for it.
        field: The field of the policy; empty if attributes ask for it, or if nothing does.
        kind: The class of its options.
        check: The faults of its options, and of all else that this table does not say.
        warns: The warnings about its options, for the owner, in whole sentences.
        recoded: The part of the data that has one label.
        models: The privacy models that it can meet; `models_hint` helps those who ask for others.
        quality: The quality models that it minimizes; empty if it has a score of its own.
        search: The options of a search that it honours; `search_hint` says why it honours no others.
        refuses: Other fields of the policy that it does not work with, each with the field of its refusal.
        shows_suppressed: Whether suppressed records may be shown without labels.
        people: Whether people may have several records.
        units: Whether k and dominance can hold of other units beside people, such as households.
        together: Whether a release may be judged together with earlier ones.
        warehouses: Whether it works where rows have to be collected.
        interim: Whether it has a valid release before its end.
        budgeted: Whether a release draws rows that a budget of the table pays for, so that nothing else may read it.
        hands_on: The part of a release that a later one takes over.
        classes_of: The number of the release whose classes its options take over, by their `classes_of`; None without.
        more_choice_helps: Whether, with its options, no more records are suppressed where there is more to choose from.
        ordered_people: Whether the release depends on the order in which people are numbered.
        analyses: The analyses of a policy that asks for it.
    """

    name: str
    called: str = ""
    field: str = ""
    kind: type[Options]
    check: Callable[[Policy, Options], Iterator[Fault]]
    warns: Callable[[Options], Iterator[Warned]] = lambda options: iter(())
    recoded: Recoded = Recoded.BY_VALUE
    models: tuple[type[PrivacyModel], ...] = tuple(kind for kind in PRIVACY_FIELDS if kind not in OF_EVENTS)
    models_hint: str = ""
    quality: tuple[type[QualityModel], ...] = tuple(FIELDS)
    search: tuple[str, ...] = SEARCH_OPTIONS
    search_hint: str = ""
    refuses: tuple[tuple[str, str], ...] = ()
    shows_suppressed: bool = False
    shows_suppressed_hint: str = ""
    people: bool = True
    units: bool = False
    together: bool = False
    warehouses: bool = False
    interim: bool = True
    budgeted: bool = False
    hands_on: HandedOn = HandedOn.LEVELS
    classes_of: Callable[[Options], ReleaseNumber | None] = lambda options: None
    more_choice_helps: Callable[[Options], bool] = lambda options: True
    ordered_people: bool = False
    analyses: frozenset[Analysis] = frozenset()

    def asked(self, policy: Policy) -> bool:
        """Whether a policy asks for it by its field."""
        return bool(self.field) and any(isinstance(options, self.kind) for options in policy.methods)

    def options(self, policy: Policy) -> Options:
        """Its options in a policy that asks for it; None if it has no field. Only parts of the method read them."""
        options = next((options for options in policy.methods if isinstance(options, self.kind)), None)
        assert isinstance(options, self.kind), f"the policy asks for {self.name}"
        return options

    def fields(self, policy: Policy) -> tuple[str, ...]:
        """The fields by which a policy asks for it."""
        aggregations = (f"attributes[{i}].aggregation" for i, a in enumerate(policy.attributes) if a.aggregation)
        return (self.field,) if self.field else tuple(aggregations)
