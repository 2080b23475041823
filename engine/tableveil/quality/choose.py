"""Finds the implementation of the quality model that a policy names."""

from collections.abc import Sequence

from tableveil import policy
from tableveil.aggregation.coordinates import AggregatedColumn
from tableveil.classes import ClassCounter
from tableveil.quality.ambiguity import Ambiguity
from tableveil.quality.class_size import AverageClassSize
from tableveil.quality.classification import ClassificationQuality, Features
from tableveil.quality.discernibility import Discernibility
from tableveil.quality.entropy import Entropy
from tableveil.quality.height import Height
from tableveil.quality.kl_divergence import KLDivergence
from tableveil.quality.kl_per_record import KLPerRecord
from tableveil.quality.loss import Loss
from tableveil.quality.model import QualityModel
from tableveil.quality.precision import Precision
from tableveil.quality.publisher_payout import PublisherPayout


def quality_of(
    model: policy.QualityModel,
    counter: ClassCounter,
    weights: Sequence[float],
    suppressible: int,
    game: policy.Game | None = None,
    features: Features | None = None,
    aggregated: Sequence[tuple[int, AggregatedColumn]] = (),
) -> QualityModel:
    """The model for the counter's table; at most `suppressible` of its records may be suppressed.

    `weights` has one weight per generalized quasi-identifier; models without parts per quasi-identifier have no use for
    them. `features` are the input of classification. `aggregated` are the aggregated columns with their positions in
    the counter's `sensitive`: loss has parts for them, all other models look at generalized columns only.

    Raises:
        UncountableError: The model counts combinations of values, and the hierarchies do not allow it.
    """
    levels, withheld = counter.levels, counter.withheld
    match model:
        case policy.LossModel():
            weights = [*weights, *(column.weight for _, column in aggregated)]
            return Loss(model, levels, weights, counter.marginals(), withheld, aggregated)
        case policy.EntropyModel():
            return Entropy(model, levels, weights, counter.marginals(), withheld)
        case policy.PrecisionModel():
            return Precision(model, levels, weights, counter.records, withheld, suppressible)
        case policy.HeightModel():
            return Height(model, levels, weights)
        case policy.DiscernibilityModel():
            return Discernibility(model, counter)
        case policy.AverageClassSizeModel():
            return AverageClassSize(model, counter, suppressible)
        case policy.AmbiguityModel():
            return Ambiguity(model, counter)
        case policy.KLDivergenceModel(weighting=policy.KLWeighting.PER_RECORD):
            return KLPerRecord(model, counter, suppressible)
        case policy.KLDivergenceModel():
            return KLDivergence(model, counter, suppressible)
        case policy.PublisherPayoutModel():
            assert game is not None, "a policy that asks for it has a game"
            return PublisherPayout(model, counter, game)
        case policy.ClassificationModel():
            assert features is not None, "a policy that asks for it has its classes counted"
            return ClassificationQuality(model, counter, features, suppressible)
