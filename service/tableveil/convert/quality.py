"""Quality models between proto and domain, both directions; an unset option is the model's default."""

from __future__ import annotations

from tableveil.convert.collect import Faults
from tableveil.convert.enums import AGGREGATES, KL_WEIGHTINGS, SUCCESS
from tableveil.policy import (
    BALANCED,
    Aggregate,
    AmbiguityModel,
    AverageClassSizeModel,
    ClassificationModel,
    DiscernibilityModel,
    EntropyModel,
    HeightModel,
    KLDivergenceModel,
    KLWeighting,
    LossModel,
    PrecisionModel,
    PublisherPayoutModel,
    QualityModel,
    Success,
)
from tableveil.v1 import policy_pb2


def quality_from_proto(message: policy_pb2.QualityModel, faults: Faults) -> QualityModel:
    """The model in a policy's `quality_model`, loss if it names none; what is wrong is added to `faults`."""

    def aggregate(number: int, default: Aggregate) -> Aggregate:
        return faults.enum(number, AGGREGATES, f"quality_model.{message.WhichOneof('kind')}.aggregate", default)

    match message.WhichOneof("kind"):
        case "entropy":
            entropy = message.entropy
            chosen = aggregate(entropy.aggregate, EntropyModel().aggregate)
            return EntropyModel(entropy.normalized, chosen, _factor(entropy), entropy.monotone)
        case "precision":
            precision = message.precision
            chosen = aggregate(precision.aggregate, PrecisionModel().aggregate)
            return PrecisionModel(chosen, _factor(precision), precision.monotone)
        case "height":
            return HeightModel(aggregate(message.height.aggregate, HeightModel().aggregate))
        case "discernibility":
            return DiscernibilityModel(message.discernibility.monotone)
        case "average_class_size":
            return AverageClassSizeModel(_factor(message.average_class_size), message.average_class_size.monotone)
        case "ambiguity":
            return AmbiguityModel(message.ambiguity.monotone)
        case "kl_divergence":
            divergence = message.kl_divergence
            field = "quality_model.kl_divergence.weighting"
            weighting = faults.enum(divergence.weighting, KL_WEIGHTINGS, field, KLWeighting.TEXTBOOK)
            return KLDivergenceModel(weighting, divergence.monotone)
        case "publisher_payout":
            field = "quality_model.publisher_payout.success"
            return PublisherPayoutModel(
                faults.enum(message.publisher_payout.success, SUCCESS, field, Success.PROSECUTOR)
            )
        case "classification":
            asked = message.classification
            usual = ClassificationModel(tuple(asked.classes), tuple(asked.features))
            return ClassificationModel(
                usual.classes,
                usual.features,
                asked.suppressed_penalty if asked.HasField("suppressed_penalty") else usual.suppressed,
                asked.minority_penalty if asked.HasField("minority_penalty") else usual.minority,
                asked.no_majority_penalty if asked.HasField("no_majority_penalty") else usual.no_majority,
            )
        case _:
            loss = message.loss
            return LossModel(aggregate(loss.aggregate, LossModel().aggregate), _factor(loss), loss.monotone)


def quality_to_proto(model: QualityModel) -> policy_pb2.QualityModel:
    """The message for a model."""
    message = policy_pb2.QualityModel()
    match model:
        case LossModel(aggregate, factor, monotone):
            message.loss.CopyFrom(
                policy_pb2.Loss(aggregate=AGGREGATES.to_proto(aggregate), factor=_unusual(factor), monotone=monotone)
            )
        case EntropyModel(normalized, aggregate, factor, monotone):
            message.entropy.CopyFrom(
                policy_pb2.Entropy(
                    normalized=normalized,
                    aggregate=AGGREGATES.to_proto(aggregate),
                    factor=_unusual(factor),
                    monotone=monotone,
                )
            )
        case PrecisionModel(aggregate, factor, monotone):
            message.precision.CopyFrom(
                policy_pb2.Precision(
                    aggregate=AGGREGATES.to_proto(aggregate), factor=_unusual(factor), monotone=monotone
                )
            )
        case HeightModel(aggregate):
            message.height.CopyFrom(policy_pb2.Height(aggregate=AGGREGATES.to_proto(aggregate)))
        case DiscernibilityModel(monotone):
            message.discernibility.CopyFrom(policy_pb2.Discernibility(monotone=monotone))
        case AverageClassSizeModel(factor, monotone):
            message.average_class_size.CopyFrom(policy_pb2.AverageClassSize(factor=_unusual(factor), monotone=monotone))
        case AmbiguityModel(monotone):
            message.ambiguity.CopyFrom(policy_pb2.Ambiguity(monotone=monotone))
        case KLDivergenceModel(weighting, monotone):
            message.kl_divergence.CopyFrom(
                policy_pb2.KLDivergence(weighting=KL_WEIGHTINGS.to_proto(weighting), monotone=monotone)
            )
        case PublisherPayoutModel(success):
            message.publisher_payout.success = SUCCESS.to_proto(success)
        case ClassificationModel(classes, features):
            usual = ClassificationModel(classes, features)
            penalties = {
                f"{name}_penalty": getattr(model, name)
                for name in ("suppressed", "minority", "no_majority")
                if getattr(model, name) != getattr(usual, name)
            }
            message.classification.CopyFrom(policy_pb2.Classification(classes=classes, features=features, **penalties))
    return message


def _factor(
    message: policy_pb2.Loss | policy_pb2.Entropy | policy_pb2.Precision | policy_pb2.AverageClassSize,
) -> float:
    return message.factor if message.HasField("factor") else BALANCED


def _unusual(factor: float) -> float | None:
    return None if factor == BALANCED else factor
