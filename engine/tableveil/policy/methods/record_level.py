"""Record-level generalization: its options in a policy, all that can be wrong with them, and what it works with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tableveil.errors import Fault
from tableveil.policy.game import Success
from tableveil.policy.methods.traits import MethodTraits, Recoded
from tableveil.policy.privacy import PLAYED, PRIVACY_FIELDS, NoAttack, Profitability, SafeHarbor
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
    more_choice_helps=lambda options: not options.adversary_knows_method,
)
