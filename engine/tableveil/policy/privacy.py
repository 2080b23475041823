"""The privacy models of a policy; `tableveil.privacy` applies them, docs/explanations/models.md explains them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar, cast

from tableveil.policy import ranges
from tableveil.policy.game import BreakEven, Success


class CellSizes(StrEnum):
    """How the size of a class in the population is estimated from its size in the sample."""

    POISSON = "POISSON"
    ZERO_TRUNCATED_POISSON = "ZERO_TRUNCATED_POISSON"


class UniquenessEstimator(StrEnum):
    """How the number of records that are unique in the population is estimated from the sample."""

    DANKAR = "DANKAR"
    PITMAN = "PITMAN"
    ZAYATZ = "ZAYATZ"
    SNB = "SNB"


class EntropyEstimator(StrEnum):
    """How the entropy of a class is computed from its counts."""

    SHANNON = "SHANNON"
    GRASSBERGER = "GRASSBERGER"


class Distance(StrEnum):
    """The ground distance between two sensitive values."""

    EQUAL = "EQUAL"
    ORDERED = "ORDERED"
    HIERARCHICAL = "HIERARCHICAL"


class AbsentValues(StrEnum):
    """Whether a class that lacks a value of the whole table violates delta-disclosure privacy, or passes."""

    REJECT = "REJECT"
    IGNORE = "IGNORE"


PRIVACY_FIELDS: dict[type[PrivacyModel], str] = {}
"""The field of a member of `privacy_models` for each model."""

THRESHOLDS: dict[type[PrivacyModel], Mapping[str, ranges.Range]] = {}
"""The thresholds of each model, with their ranges."""

CLASS_LOCAL: list[type[PrivacyModel]] = []
"""The models that judge a class by its own records. The meaning of all others under overlapping labels is open."""

_Model = TypeVar("_Model")


def _entry(
    field: str, *, class_local: bool = False, **thresholds: ranges.Range
) -> Callable[[type[_Model]], type[_Model]]:
    """The entry of a model in the tables above."""

    def entered(model: type[_Model]) -> type[_Model]:
        kind = cast("type[PrivacyModel]", model)
        PRIVACY_FIELDS[kind], THRESHOLDS[kind] = field, thresholds
        CLASS_LOCAL.extend([kind] * class_local)
        return model

    return entered


# --- identity and membership ----------------------------------------------------------------------------------------


@_entry("k_anonymity", class_local=True, k=ranges.K)
@dataclass(frozen=True, slots=True)
class KAnonymity:
    """Every released class has records of at least `k` people (Samarati and Sweeney 1998, Wang and Fung 2006)."""

    k: int

    def __str__(self) -> str:
        return f"{self.k}-anonymity"


@_entry("dominance", class_local=True, share=ranges.INSIDE)
@dataclass(frozen=True, slots=True)
class Dominance:
    """No person has more than `share` of the records of a released class.

    Where every record is another person, classes have at least 1 / `share` records.
    """

    share: Decimal

    def __str__(self) -> str:
        return f"dominance {self.share:f}"


@_entry("k_map", class_local=True, k=ranges.K)
@dataclass(frozen=True, slots=True)
class KMap:
    """Every released class has at least `k` records in the policy's population (Sweeney 2001)."""

    k: int

    def __str__(self) -> str:
        return f"{self.k}-map"


@_entry("estimated_k_map", class_local=True, k=ranges.K, significance=ranges.INSIDE)
@dataclass(frozen=True, slots=True)
class EstimatedKMap:
    """k-map where only the population's size is known: each class has at least k' records in the sample.

    k' is such that a class of `k` records in the population has k' records in the sample with a probability of at most
    `significance` (El Emam and Dankar 2008, D3 and D4).
    """

    k: int
    significance: Decimal = Decimal("0.05")
    estimator: CellSizes = CellSizes.POISSON

    def __str__(self) -> str:
        estimator = self.estimator.replace("_", " ").lower()
        return f"{self.k}-map estimated ({estimator}, significance {self.significance:f})"


@_entry("delta_presence", minimum=ranges.SHARE, maximum=ranges.SHARE)
@dataclass(frozen=True, slots=True)
class DeltaPresence:
    """In every class, the share of the population's records that are in the source is from `minimum` to `maximum`.

    Source: Nergiz, Atzori and Clifton 2007. Classes of the population without any record of the source count, too: if
    `minimum` is above 0, there must be none.
    """

    minimum: Decimal = Decimal(0)
    maximum: Decimal = Decimal(1)

    def __str__(self) -> str:
        return f"({self.minimum:f}, {self.maximum:f})-presence"


@_entry("inclusion")
@dataclass(frozen=True, slots=True)
class Inclusion:
    """Every released class has at least as many records in the policy's population as in the source.

    It promises nothing by itself: it checks the assumption of other models that the source is a part of the population.
    """

    def __str__(self) -> str:
        return "inclusion"


@_entry("average_risk", threshold=ranges.INSIDE)
@dataclass(frozen=True, slots=True)
class AverageRisk:
    """The average re-identification risk of the released records, classes / records, is at most `threshold`."""

    threshold: Decimal

    def __str__(self) -> str:
        return f"average risk {self.threshold:f}"


@_entry("sample_uniqueness", threshold=ranges.UNIQUE)
@dataclass(frozen=True, slots=True)
class SampleUniqueness:
    """At most the share `threshold` of the released records is alone in its class."""

    threshold: Decimal

    def __str__(self) -> str:
        return f"sample uniqueness {self.threshold:f}"


@_entry("population_uniqueness", threshold=ranges.UNIQUE)
@dataclass(frozen=True, slots=True)
class PopulationUniqueness:
    """At most the share `threshold` of the released records is estimated to be alone in its class in the population."""

    threshold: Decimal
    estimator: UniquenessEstimator = UniquenessEstimator.DANKAR

    def __str__(self) -> str:
        return f"population uniqueness {self.threshold:f} ({self.estimator.lower()})"


# --- the game: the payout of an attack -------------------------------------------------------------------------------


@_entry("profitability")
@dataclass(frozen=True, slots=True)
class Profitability:
    """No released record costs the publisher of the policy's game more than it gains (Wan et al. 2015).

    `break_even` says whether records that pay exactly nothing are released.
    """

    success: Success = Success.PROSECUTOR
    break_even: BreakEven = BreakEven.KEEP

    def __str__(self) -> str:
        strictly = ", strictly" if self.break_even is BreakEven.SUPPRESS else ""
        return f"profitability ({self.success.lower()}{strictly})"


@_entry("no_attack")
@dataclass(frozen=True, slots=True)
class NoAttack:
    """No attack on a released record pays for the adversary of the policy's game (Prasser et al. 2017)."""

    success: Success = Success.PROSECUTOR

    def __str__(self) -> str:
        return f"no attack ({self.success.lower()})"


@_entry("safe_harbor")
@dataclass(frozen=True, slots=True)
class SafeHarbor:
    """Columns with a Safe Harbor hierarchy are released as HIPAA's Safe Harbor allows (45 CFR 164.514(b)(2)).

    ZIP codes by three digits at most, ages from 90 on together, dates by year. By itself it demands nothing of classes.
    """

    def __str__(self) -> str:
        return "HIPAA Safe Harbor"


# --- people and their events: models of facts that somebody knows about one person ------------------------------------


@_entry("known_facts", m=ranges.M)
@dataclass(frozen=True, slots=True)
class KnownFacts:
    """Whatever `m` rows of a person's events somebody knows, none or at least k people of the class have such rows.

    Rows are known by their released labels; "at least two rows of a label" are two facts (Terrovitis et al. 2008,
    Poulis et al. 2013).
    """

    m: int = 2

    def __str__(self) -> str:
        return f"{self.m} known {'fact' if self.m == 1 else 'facts'}"


@_entry("sensitive_share", l=ranges.DECIMAL_L)
@dataclass(frozen=True, slots=True)
class SensitiveShare:
    """At most the share 1/`l` of the people of a class whom the known facts leave has a value of `column`.

    The column is one of an event table, or of the people if `table` is empty. It holds of each of `values` by itself:
    a person has a value if any released row of theirs has it. Without `values` it holds of every value of the people,
    and of a value of events in the known rows only. NULL is no value.
    """

    column: str
    l: Decimal  # noqa: E741
    table: str = ""
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"{self.table}.{self.column}" if self.table else self.column
        if not self.values:
            return f"at most 1/{self.l:f} with a value of {where}"
        number = len(self.values)
        named = f"each of {number} named values" if number > 1 else "the one named value"
        return f"at most 1/{self.l:f} with {named} of {where}, and no bound for its other values"


# --- attribute disclosure: each model names one sensitive column -----------------------------------------------------


@_entry("distinct_l_diversity", class_local=True, l=ranges.WHOLE_L)
@dataclass(frozen=True, slots=True)
class DistinctLDiversity:
    """Every class has at least `l` different values (Machanavajjhala et al. 2007); NULL does not count."""

    column: str
    l: int  # noqa: E741 - the field's own letter

    def __str__(self) -> str:
        return f"distinct {self.l}-diversity of {self.column}"


@_entry("probabilistic_l_diversity", class_local=True, l=ranges.DECIMAL_L)
@dataclass(frozen=True, slots=True)
class ProbabilisticLDiversity:
    """No value has more than the share 1/`l` of those records of a class that have a value (Xiao and Tao 2006)."""

    column: str
    l: Decimal  # noqa: E741

    def __str__(self) -> str:
        return f"probabilistic {self.l:f}-diversity of {self.column}"


@_entry("entropy_l_diversity", class_local=True, l=ranges.DECIMAL_L)
@dataclass(frozen=True, slots=True)
class EntropyLDiversity:
    """The entropy of the values in every class is at least log `l` (Machanavajjhala et al. 2007)."""

    column: str
    l: Decimal  # noqa: E741
    estimator: EntropyEstimator = EntropyEstimator.SHANNON

    def __str__(self) -> str:
        estimator = "" if self.estimator is EntropyEstimator.SHANNON else f" ({self.estimator.title()})"
        return f"entropy {self.l:f}-diversity{estimator} of {self.column}"


@_entry("recursive_cl_diversity", class_local=True, c=ranges.POSITIVE, l=ranges.WHOLE_L)
@dataclass(frozen=True, slots=True)
class RecursiveCLDiversity:
    """In every class the most frequent value has fewer records than `c` times all but the `l` - 1 most frequent."""

    column: str
    c: Decimal
    l: int  # noqa: E741

    def __str__(self) -> str:
        return f"recursive ({self.c:f}, {self.l})-diversity of {self.column}"


@_entry("t_closeness", class_local=True, t=ranges.DISTANCE)
@dataclass(frozen=True, slots=True)
class TCloseness:
    """The distribution of every class is at most `t` away from that of the whole source (Li et al. 2007)."""

    column: str
    t: Decimal
    distance: Distance = Distance.EQUAL

    def __str__(self) -> str:
        return f"{self.t:f}-closeness ({self.distance.lower()}) of {self.column}"


@_entry("n_t_closeness", n=ranges.N, t=ranges.DISTANCE)
@dataclass(frozen=True, slots=True)
class NTCloseness:
    """Every class is at most `t` away from a natural superset of at least `n` records (Li et al. 2010).

    A natural superset is the class that holds it at some more general transformation, suppressed records included.
    """

    column: str
    n: int
    t: Decimal
    distance: Distance = Distance.EQUAL

    def __str__(self) -> str:
        return f"({self.n}, {self.t:f})-closeness ({self.distance.lower()}) of {self.column}"


@_entry("delta_disclosure", class_local=True, delta=ranges.POSITIVE)
@dataclass(frozen=True, slots=True)
class DeltaDisclosure:
    """For every value, |log2(share in the class / share in the source)| < `delta` (Brickell and Shmatikov 2008).

    A value that the class lacks has no finite logarithm: the class is rejected, unless absent values are ignored as ARX
    does.
    """

    column: str
    delta: Decimal
    absent_values: AbsentValues = AbsentValues.REJECT

    def __str__(self) -> str:
        ignoring = ", absent values ignored" if self.absent_values is AbsentValues.IGNORE else ""
        return f"{self.delta:f}-disclosure privacy of {self.column}{ignoring}"


@_entry("beta_likeness", class_local=True, beta=ranges.POSITIVE)
@dataclass(frozen=True, slots=True)
class BetaLikeness:
    """For every value, its share in a class is at most 1 + `beta` times its share p in the source (Cao, Karras 2012).

    If `enhanced`, at most 1 + min(beta, -ln p) times.
    """

    column: str
    beta: Decimal
    enhanced: bool = False

    def __str__(self) -> str:
        return f"{'enhanced ' if self.enhanced else ''}{self.beta:f}-likeness of {self.column}"


SensitiveModel = (
    DistinctLDiversity
    | ProbabilisticLDiversity
    | EntropyLDiversity
    | RecursiveCLDiversity
    | TCloseness
    | NTCloseness
    | DeltaDisclosure
    | BetaLikeness
)
"""Models that look at the values of one sensitive column."""

PrivacyModel = (
    KAnonymity
    | Dominance
    | KMap
    | EstimatedKMap
    | DeltaPresence
    | Inclusion
    | AverageRisk
    | SampleUniqueness
    | PopulationUniqueness
    | Profitability
    | NoAttack
    | SafeHarbor
    | KnownFacts
    | SensitiveShare
    | SensitiveModel
)

OF_EVENTS = (KnownFacts, SensitiveShare)
"""The models of people and their events, which judge no class by its records."""

OF_ELEMENTS = (ProbabilisticLDiversity, TCloseness)
"""The models that hold of each element of a column whose cells are lists."""

PLAYED = (Profitability, NoAttack)
"""The models of a game: they judge what attacks pay."""
