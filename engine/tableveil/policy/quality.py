"""The quality models of a policy; `tableveil.quality` computes them, docs/reference/policy.md helps to choose."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

from tableveil.policy.game import Success

BALANCED = 0.5
"""The generalization/suppression factor at which both count in full."""


class Aggregate(StrEnum):
    """How per-attribute values become one score."""

    GEOMETRIC_MEAN = "GEOMETRIC_MEAN"
    ARITHMETIC_MEAN = "ARITHMETIC_MEAN"
    MAXIMUM = "MAXIMUM"
    SUM = "SUM"
    RANK = "RANK"


class KLWeighting(StrEnum):
    """Whether a combination of values is weighted by its share of the records, or each record is (as in ARX)."""

    TEXTBOOK = "TEXTBOOK"
    PER_RECORD = "PER_RECORD"


@dataclass(frozen=True, slots=True)
class LossModel:
    """Share of each hierarchy's domain that a released label covers (Iyengar 2002).

    Here and below: `factor` from 0 to 1 weighs the cost of generalization against the cost of suppression. Up to 0.5
    generalization counts in full and suppression by 2 * factor; above it suppression counts in full and generalization
    by 2 * (1 - factor). `monotone` scores a transformation as if nothing were suppressed.
    """

    aggregate: Aggregate = Aggregate.ARITHMETIC_MEAN
    factor: float = BALANCED
    monotone: bool = False


@dataclass(frozen=True, slots=True)
class EntropyModel:
    """Non-uniform entropy: bits lost per attribute (Prasser, Bild, Kuhn 2016, after de Waal and Willenborg 1999).

    If `normalized`, as a share of the bits that the attribute had.
    """

    normalized: bool = False
    aggregate: Aggregate = Aggregate.SUM
    factor: float = BALANCED
    monotone: bool = False


@dataclass(frozen=True, slots=True)
class PrecisionModel:
    """Level over highest level (Sweeney 2002)."""

    aggregate: Aggregate = Aggregate.ARITHMETIC_MEAN
    factor: float = BALANCED
    monotone: bool = False


@dataclass(frozen=True, slots=True)
class HeightModel:
    """The levels themselves (Samarati 2001); suppression costs nothing."""

    aggregate: Aggregate = Aggregate.SUM


@dataclass(frozen=True, slots=True)
class DiscernibilityModel:
    """Every record costs the size of its class, a suppressed one the size of the table (Bayardo and Agrawal 2005)."""

    monotone: bool = False


@dataclass(frozen=True, slots=True)
class AverageClassSizeModel:
    """Records per class; all suppressed records are one class (LeFevre, DeWitt, Ramakrishnan 2006)."""

    factor: float = BALANCED
    monotone: bool = False


@dataclass(frozen=True, slots=True)
class AmbiguityModel:
    """Number of combinations of values that a released record could stand for (Goldberger and Tassa 2010)."""

    monotone: bool = False


@dataclass(frozen=True, slots=True)
class KLDivergenceModel:
    """Kullback-Leibler divergence of the input from the distribution expected from the release (Kifer, Gehrke 2006)."""

    weighting: KLWeighting = KLWeighting.TEXTBOOK
    monotone: bool = False


@dataclass(frozen=True, slots=True)
class PublisherPayoutModel:
    """The part of the game's benefit that is not paid: benefit per record less the payouts (Wan et al. 2015)."""

    success: Success = Success.PROSECUTOR


@dataclass(frozen=True, slots=True)
class ClassificationModel:
    """Records whose class cannot be predicted from their features (Iyengar 2002), as a share of the worst case.

    `classes` are the columns to predict, released unchanged. `features` are the columns to predict from:
    quasi-identifiers or columns released unchanged; none given: all quasi-identifiers. A class here is a combination of
    the features. The penalties are per record: for a suppressed one; for one without the most frequent value of its
    class; for one in a class with several most frequent values.
    """

    classes: tuple[str, ...]
    features: tuple[str, ...] = ()
    suppressed_penalty: float = 0.5
    minority_penalty: float = 1.0
    no_majority_penalty: float = 1.0


QualityModel = (
    LossModel
    | EntropyModel
    | PrecisionModel
    | HeightModel
    | DiscernibilityModel
    | AverageClassSizeModel
    | AmbiguityModel
    | KLDivergenceModel
    | PublisherPayoutModel
    | ClassificationModel
)

FIELDS: Mapping[type[QualityModel], str] = {
    LossModel: "loss",
    EntropyModel: "entropy",
    PrecisionModel: "precision",
    HeightModel: "height",
    DiscernibilityModel: "discernibility",
    AverageClassSizeModel: "average_class_size",
    AmbiguityModel: "ambiguity",
    KLDivergenceModel: "kl_divergence",
    PublisherPayoutModel: "publisher_payout",
    ClassificationModel: "classification",
}
"""The field of `quality_model` for each model."""

WITH_PARTS = (LossModel, EntropyModel, PrecisionModel, HeightModel)
"""Models whose score has one part per quasi-identifier; parts can have weights."""


def described(model: QualityModel) -> str:
    """The model with its aggregate and all settings other than the default, for people: `loss, geometric mean`."""
    name = FIELDS[type(model)].replace("_", " ").replace("kl ", "KL ")
    return ", ".join([name, *_options(model)])


def _options(model: QualityModel) -> Iterator[str]:
    for option in fields(model):
        match getattr(model, option.name):
            case Aggregate() as aggregate:
                yield aggregate.replace("_", " ").lower()
            case Success() as success:
                yield success.lower()
            case KLWeighting.PER_RECORD:
                yield "every record weighted"
            case bool(chosen) if chosen:
                yield option.name
            case float(factor) if factor != BALANCED:
                yield f"factor {factor:g}"
