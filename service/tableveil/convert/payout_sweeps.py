"""Payout sweeps: requests from messages, and results as messages."""

from decimal import Decimal

from tableveil.convert.copied import copied, duration, result_to_proto
from tableveil.convert.decimals import decimal_from_text
from tableveil.convert.names import Read, Submission, canonical_json, policy_from_json
from tableveil.convert.policy_from_proto import leave_out, methods_stated, policy_from_proto
from tableveil.errors import Fault, shortened
from tableveil.game.sweep import SweepPoint
from tableveil.pipelines.payout_sweep import payout_sweep_work
from tableveil.policy import Policy
from tableveil.requests.payout_sweep import SweptGains, can_be_swept, check_gains, check_number, check_sweep
from tableveil.state.jobs import JobKind
from tableveil.state.payout_sweeps import PayoutSweep
from tableveil.v1 import payout_service_pb2, policy_pb2


def payout_sweep_from_proto(
    message: payout_service_pb2.SubmitPayoutSweepRequest,
) -> tuple[Policy | None, SweptGains | None, str, list[Fault]]:
    """The policy and the gains, None if they could not be converted; the policy's document; and all faults."""
    asked = _without_ignored(message.policy)
    policy, unfit = policy_from_proto(_with_placeholders(asked))
    beside_the_point = {"release.name", "game.adversary_gain"}
    if not asked.privacy_models:
        beside_the_point.add("privacy_models")
    faults = [fault for fault in unfit if fault.field not in beside_the_point]
    if policy is not None:
        missing = {fault.field for fault in faults}
        faults += [fault for fault in check_sweep(policy) if fault.field not in missing]
    gains, unfit = _gains(message)
    faults += unfit
    if policy is None or faults:
        return policy, None, "", faults
    return policy, SweptGains.of(gains, message.if_method_known), canonical_json(asked), []


def _without_ignored(message: policy_pb2.Policy) -> policy_pb2.Policy:
    """A copy of the policy without the fields that do not affect a sweep."""
    copy = policy_pb2.Policy()
    copy.CopyFrom(message)
    copy.ClearField("release")
    copy.ClearField("repeat_reason")
    copy.ClearField("other_people")
    copy.ClearField("quality_model")
    for method in filter(can_be_swept, methods_stated(copy)):
        leave_out(copy, method)
    copy.ClearField("suppression_limit")
    copy.ClearField("suppressed_records")
    copy.ClearField("risk_thresholds")
    if copy.HasField("search"):
        copy.search.ClearField("seed")
        copy.search.ClearField("strategy")
        copy.search.ClearField("choose")
    if copy.HasField("game"):
        copy.game.ClearField("publisher_loss")
        copy.game.ClearField("adversary_gain")
    return copy


def _with_placeholders(message: policy_pb2.Policy) -> policy_pb2.Policy:
    """A copy with a complete game."""
    copy = policy_pb2.Policy()
    copy.CopyFrom(message)
    if copy.HasField("game"):
        copy.game.publisher_loss = copy.game.adversary_gain = "0"
    return copy


def _gains(message: payout_service_pb2.SubmitPayoutSweepRequest) -> tuple[list[Decimal], list[Fault]]:
    """The gains that can be read, and the faults of all; too many are one fault, and are not read."""
    if faults := list(check_number(len(message.gains))):
        return [], faults
    read = [decimal_from_text(text) for text in message.gains]
    expected = "an exact decimal in plain digits, such as 300"
    faults = [
        Fault(f"gains[{i}]", shortened(text), expected)
        for i, (text, gain) in enumerate(zip(message.gains, read, strict=True))
        if gain is None
    ]
    return [gain for gain in read if gain is not None], [*faults, *check_gains(read)]


def payout_sweep_to_proto(sweep: PayoutSweep) -> payout_service_pb2.PayoutSweep:
    """The message for a payout sweep."""
    return result_to_proto(
        JobKind.PAYOUT_SWEEP,
        sweep,
        payout_service_pb2.PayoutSweep,
        points=map(_point, sweep.points),
        transformations_counted=sweep.counted,
        sweep_duration=duration(sweep.sweep_seconds),
        policy=policy_from_json(sweep.policy),
    )


def _point(point: SweepPoint) -> payout_service_pb2.PayoutPoint:
    return copied(
        point,
        payout_service_pb2.PayoutPoint,
        suppressed_records=point.suppressed,
        attacked_records=point.attacked,
        levels=point.transformation or (),
    )


def _read(request: payout_service_pb2.SubmitPayoutSweepRequest) -> Read:
    policy, swept, document, faults = payout_sweep_from_proto(request)
    return Read(payout_sweep_work(policy, swept, document) if policy and swept else None, faults, policy)


SUBMISSION = Submission(
    request=payout_service_pb2.SubmitPayoutSweepRequest,
    document="policy",
    read=_read,
    code="POLICY_INVALID",
    refusal="the payout sweep cannot be computed as asked",
    to_proto=payout_sweep_to_proto,
)
