"""Privacy models, from the proto."""

from tableveil.convert.collect import Faults
from tableveil.convert.fields import from_message
from tableveil.policy import PRIVACY_FIELDS, PrivacyModel
from tableveil.v1 import policy_pb2

_MODELS = {name: model for model, name in PRIVACY_FIELDS.items()}


def privacy_from_proto(message: policy_pb2.PrivacyModel, path: str, faults: Faults) -> PrivacyModel | None:
    """The model in a member of `privacy_models`, or None after adding to `faults` that it names none.

    Other faults are added, too; placeholders replace the parts.
    """
    kind = message.WhichOneof("kind")
    if kind is None:
        kinds = ", ".join(policy_pb2.PrivacyModel.DESCRIPTOR.fields_by_name)
        faults.add(path, "nothing", f"one of {kinds}", "For example: k_anonymity: {k: 5}.")
        return None
    return from_message(_MODELS[kind], getattr(message, kind), f"{path}.{kind}", faults)


def privacy_in_words(message: policy_pb2.PrivacyModel) -> str:
    """The model's name for people, also in a policy with faults."""
    model = privacy_from_proto(message, "", Faults())
    return "a model that only newer versions know" if model is None else str(model)
