"""Quality models, from the proto."""

from tableveil.convert.collect import Faults
from tableveil.convert.fields import from_message
from tableveil.policy import LossModel, QualityModel
from tableveil.policy.quality import FIELDS
from tableveil.v1 import policy_pb2

_MODELS = {name: model for model, name in FIELDS.items()}


def quality_from_proto(message: policy_pb2.QualityModel, faults: Faults) -> QualityModel:
    """The model in a policy's `quality_model`, loss if it names none; faults are added to `faults`."""
    kind = message.WhichOneof("kind")
    if kind is None:
        return LossModel()
    return from_message(_MODELS[kind], getattr(message, kind), f"quality_model.{kind}", faults)
