"""Record-level generalization in a policy, and everything that can be wrong with asking for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tableveil.errors import Fault
from tableveil.policy.game import Success
from tableveil.policy.privacy import PLAYED, PRIVACY_FIELDS
from tableveil.policy.quality import PublisherPayoutModel

if TYPE_CHECKING:
    from tableveil.policy.model import Policy

_WITHOUT = "Or leave out record_level."


@dataclass(frozen=True, slots=True)
class RecordLevel:
    """Every combination of values gets the transformation that pays most for it, instead of one for all.

    An adversary who knows the method can compute who would have got these labels. If `adversary_knows_method`, the
    release is chosen such that it pays against that adversary too.
    """

    adversary_knows_method: bool = False


def check_record_level(policy: Policy, options: RecordLevel) -> Iterator[Fault]:
    """Faults of models that do not judge each record alone."""
    quality = policy.quality_model
    journalist = "JOURNALIST, by which each record is judged alone, because of record_level"
    if isinstance(quality, PublisherPayoutModel) and quality.success is not Success.JOURNALIST:
        yield Fault("quality_model.publisher_payout.success", quality.success, journalist, _WITHOUT)
    for i, model in enumerate(policy.privacy_models):
        field = f"privacy_models[{i}].{PRIVACY_FIELDS[type(model)]}"
        if isinstance(model, PLAYED) and model.success is not Success.JOURNALIST:
            yield Fault(f"{field}.success", model.success, journalist, _WITHOUT)
