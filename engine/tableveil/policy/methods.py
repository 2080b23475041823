"""The methods of anonymization, and what each works with: a policy that asks for more is refused by this table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tableveil.errors import Fault
from tableveil.policy.aggregated_columns import check_mixed
from tableveil.policy.differential_privacy import DifferentialPrivacy, check_differential_privacy, weak_promise
from tableveil.policy.local_recoding import LocalRecoding, check_local_recoding
from tableveil.policy.microaggregation import Microaggregation, check_microaggregation
from tableveil.policy.privacy import (
    CLASS_LOCAL,
    PRIVACY_FIELDS,
    Dominance,
    KAnonymity,
    NoAttack,
    NTCloseness,
    PrivacyModel,
    Profitability,
    SafeHarbor,
    SensitiveModel,
)
from tableveil.policy.quality import (
    FIELDS,
    ClassificationModel,
    EntropyModel,
    LossModel,
    PrecisionModel,
    PublisherPayoutModel,
    QualityModel,
)
from tableveil.policy.record_level import RecordLevel, check_record_level

if TYPE_CHECKING:
    from tableveil.policy.model import Policy

Options = TypeVar("Options")

SEARCH_OPTIONS = ("time_limit_seconds", "seed", "strategy", "levels", "linked", "choose")


class Recoded(StrEnum):
    """The part of the data that has one label in all released records."""

    BY_VALUE = "every value"
    BY_COMBINATION = "every combination of values"
    CLUSTERS = "every cluster of records"


class Analysis(StrEnum):
    """An analysis that repeats or varies the method."""

    FRONTIER = "frontiers"
    PAYOUT_SWEEP = "payout sweeps"
    CLASSIFICATION = "assessments of classifiers"
    CLASSIFICATION_INSIDE_FOLDS = "levels chosen inside folds"


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodTraits(Generic[Options]):
    """The models, options and analyses that a method works with.

    Attributes:
        name: The method in words.
        called: The method in a message, by the field that asks for it.
        field: The field of the policy; empty if attributes ask for it, or if nothing does.
        kind: The class of its options, the value of that field.
        check: The faults of its options, and of all else that this table does not say.
        warns: The warnings about its options, for the owner, in whole sentences.
        recoded: The part of the data that has one label.
        models: The privacy models that it can meet; `models_hint` helps those who ask for others.
        quality: The quality models that it minimizes; empty if it has a score of its own.
        search: The options of a search that it honours; `search_hint` says why it honours no others.
        refuses: Other fields of the policy that it does not work with, each with the field of its refusal.
        shows_suppressed: Whether suppressed records may be shown without labels.
        people: Whether people may have several records.
        together: Whether a release may be judged together with earlier ones.
        warehouses: Whether it works where rows have to be collected.
        interim: Whether it has a valid release before its end.
        budgeted: Whether a release draws rows that a budget of the table pays for, so that nothing else may read it.
        ordered_people: Whether the release depends on the order in which people are numbered.
        analyses: The analyses of a policy that asks for it.
    """

    name: str
    called: str = ""
    field: str = ""
    kind: type[Options]
    check: Callable[[Policy, Options], Iterator[Fault]]
    warns: Callable[[Options], Iterator[str]] = lambda options: iter(())
    recoded: Recoded = Recoded.BY_VALUE
    models: tuple[type[PrivacyModel], ...] = tuple(PRIVACY_FIELDS)
    models_hint: str = ""
    quality: tuple[type[QualityModel], ...] = tuple(FIELDS)
    search: tuple[str, ...] = SEARCH_OPTIONS
    search_hint: str = ""
    refuses: tuple[tuple[str, str], ...] = ()
    shows_suppressed: bool = False
    shows_suppressed_hint: str = ""
    people: bool = True
    together: bool = False
    warehouses: bool = False
    interim: bool = True
    budgeted: bool = False
    ordered_people: bool = False
    analyses: frozenset[Analysis] = frozenset()

    def asked(self, policy: Policy) -> bool:
        """Whether a policy asks for it by its field."""
        return bool(self.field) and getattr(policy, self.field) is not None

    def options(self, policy: Policy) -> Options:
        """Its options in a policy that asks for it; None if it has no field. Only parts of the method read them."""
        options = getattr(policy, self.field, None)
        assert isinstance(options, self.kind), f"the policy asks for {self.name}"
        return options

    def fields(self, policy: Policy) -> tuple[str, ...]:
        """The fields by which a policy asks for it."""
        aggregations = (f"attributes[{i}].aggregation" for i, a in enumerate(policy.attributes) if a.aggregation)
        return (self.field,) if self.field else tuple(aggregations)


LOCAL_RECODING = MethodTraits(
    name="local recoding",
    called="local_recoding",
    field="local_recoding",
    kind=LocalRecoding,
    check=check_local_recoding,
    recoded=Recoded.BY_COMBINATION,
    models=CLASS_LOCAL,
    models_hint="The meaning of others is not defined where labels overlap. Or leave out local_recoding.",
    quality=(LossModel, PrecisionModel, EntropyModel, ClassificationModel),
    search=("time_limit_seconds", "choose"),
    search_hint="Every class has levels of its own. most_levels holds a column at few levels.",
    refuses=(("game", "local_recoding"),),
    shows_suppressed=True,
    warehouses=True,
    analyses=frozenset({Analysis.FRONTIER, Analysis.CLASSIFICATION}),
)

RECORD_LEVEL = MethodTraits(
    name="record-level game",
    called="record_level",
    field="record_level",
    kind=RecordLevel,
    check=check_record_level,
    recoded=Recoded.BY_COMBINATION,
    models=(Profitability, NoAttack, SafeHarbor),
    models_hint="Others judge classes that have one transformation. Or leave out record_level.",
    quality=(PublisherPayoutModel,),
    search=("seed", "choose"),
    search_hint="Every combination has levels of its own: there is one pass over the transformations, and no search.",
    people=False,
    warehouses=True,
    interim=False,
    analyses=frozenset({Analysis.PAYOUT_SWEEP}),
)

DIFFERENTIAL_PRIVACY = MethodTraits(
    name="differential privacy",
    called="differential_privacy",
    field="differential_privacy",
    kind=DifferentialPrivacy,
    check=check_differential_privacy,
    warns=weak_promise,
    models=(KAnonymity,),
    models_hint="It only removes more of what is left by chance. Others look at the table again.",
    quality=(LossModel,),
    search=("linked",),
    search_hint="The levels are those of the scheme, or drawn to the end.",
    refuses=(("population", "population"), ("game", "game")),
    shows_suppressed_hint="Removed rows leave no trace.",
    people=False,
    interim=False,
    budgeted=True,
)

MICROAGGREGATION = MethodTraits(
    name="microaggregation",
    called="microaggregation",
    field="microaggregation",
    kind=Microaggregation,
    check=check_microaggregation,
    recoded=Recoded.CLUSTERS,
    models=(KAnonymity, Dominance, *(kind for kind in SensitiveModel.__args__ if kind is not NTCloseness)),
    quality=(),
    search=(),
    search_hint="Clusters are merged until all models hold: no lattice is searched.",
    interim=False,
    # Clusters depend on the order of records that are equally near.
    ordered_people=True,
    refuses=(("population", "population"), ("game", "game")),
    shows_suppressed_hint="Records set aside are in no class.",
    analyses=frozenset({Analysis.CLASSIFICATION}),
)

AGGREGATED_COLUMNS = MethodTraits(
    name="aggregated columns inside classes",
    called="aggregated columns",
    kind=NoneType,
    check=check_mixed,
    models=tuple(kind for kind in PRIVACY_FIELDS if kind is not Profitability),
    models_hint="It measures information loss by labels. no_attack looks at the sizes of classes only.",
    quality=tuple(kind for kind in FIELDS if kind is not PublisherPayoutModel),
    shows_suppressed_hint="Records set aside are in no class.",
    analyses=frozenset({Analysis.FRONTIER, Analysis.CLASSIFICATION, Analysis.CLASSIFICATION_INSIDE_FOLDS}),
)

FULL_DOMAIN = MethodTraits(
    name="full domain",
    kind=NoneType,
    check=lambda policy, options: iter(()),
    shows_suppressed=True,
    together=True,
    warehouses=True,
    analyses=frozenset(Analysis),
)

METHODS: tuple[MethodTraits[Any], ...] = (
    DIFFERENTIAL_PRIVACY,
    LOCAL_RECODING,
    RECORD_LEVEL,
    MICROAGGREGATION,
    AGGREGATED_COLUMNS,
    FULL_DOMAIN,
)
"""If a policy asks for several, the first of them refuses the others."""


def methods_of(policy: Policy) -> tuple[MethodTraits[Any], ...]:
    """The methods that a policy asks for: a valid one asks for one."""
    asked = tuple(method for method in METHODS if method.asked(policy))
    if policy.aggregated and MICROAGGREGATION not in asked:
        asked += (AGGREGATED_COLUMNS,)
    return asked or (FULL_DOMAIN,)
