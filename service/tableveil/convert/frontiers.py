"""Frontiers: requests from messages, and results as messages."""

from collections.abc import Iterator
from decimal import Decimal

from tableveil.convert.copied import copied, duration, result_to_proto
from tableveil.convert.decimals import decimal_from_text
from tableveil.convert.names import Read, Submission, canonical_json, policy_from_json
from tableveil.convert.policy_from_proto import policy_from_proto
from tableveil.errors import Fault, shortened
from tableveil.pipelines.frontier import frontier_work
from tableveil.policy import Analysis, Choose, Policy, methods_of
from tableveil.requests.frontier import FrontierGrid, check_grid, check_pairs, k_of
from tableveil.state.frontiers import Frontier, Point
from tableveil.state.jobs import JobKind
from tableveil.v1 import frontier_service_pb2, policy_pb2


def without_target(message: policy_pb2.Policy) -> policy_pb2.Policy:
    """A copy of the policy without its release target: a frontier writes none."""
    copy = policy_pb2.Policy()
    copy.CopyFrom(message)
    copy.ClearField("release")
    return copy


def frontier_from_proto(
    message: frontier_service_pb2.SubmitFrontierRequest,
) -> tuple[Policy | None, FrontierGrid | None, str, list[Fault]]:
    """The policy and the grid, None if they could not be converted; the policy's document; and all faults."""
    asked = without_target(message.policy)
    policy, unfit = policy_from_proto(asked)
    faults = [fault for fault in unfit if fault.field != "release.name"]
    own = k_of(policy) if policy is not None else None
    if policy is not None and own is None:
        hint = "A frontier varies the k of the policy's k-anonymity: add k_anonymity: {k: 5}."
        faults.append(Fault("privacy_models", "no k_anonymity", "k_anonymity among them", hint))
    if policy is not None and policy.search.choose is Choose.QUASI_IDENTIFIERS_ONLY:
        hint = "Leave it out: the points of a frontier are chosen by all models."
        expected = "ALL_MODELS, because what a frontier finds is not checked a second time"
        faults.append(Fault("search.choose", "QUASI_IDENTIFIERS_ONLY", expected, hint))
    faults += _of_methods(policy) if policy is not None else ()
    limits, unfit = _limits(message)
    faults += unfit
    if policy is None or own is None or faults:
        return policy, None, "", faults
    grid = FrontierGrid.of(message.k or [own], limits or [policy.suppression_limit])
    return policy, grid, canonical_json(asked), []


def _of_methods(policy: Policy) -> Iterator[Fault]:
    for method in methods_of(policy):
        if Analysis.FRONTIER not in method.analyses:
            hint = "Leave it out, and give the quasi-identifiers hierarchies; or ask for releases."
            expected = "nothing, because a frontier searches a lattice of transformations"
            yield Fault(method.field, f"{method.called} for a frontier", expected, hint)
        if method.classes_of(method.options(policy)) is not None:
            hint = "Leave it out: a frontier forms classes anew for every k and limit."
            yield Fault(f"{method.field}.classes_of", "the classes of a release for a frontier", "nothing", hint)


def _limits(message: frontier_service_pb2.SubmitFrontierRequest) -> tuple[list[Decimal], list[Fault]]:
    """The limits that can be read, and the faults of these and of all k; too many are one fault, and are not read."""
    if faults := check_pairs(len(message.k), len(message.suppression_limits)):
        return [], faults
    read = [decimal_from_text(text) for text in message.suppression_limits]
    expected = "an exact decimal in plain digits, such as 0.05"
    faults = [
        Fault(f"suppression_limits[{i}]", shortened(text), expected)
        for i, (text, limit) in enumerate(zip(message.suppression_limits, read, strict=True))
        if limit is None
    ]
    return [limit for limit in read if limit is not None], [*faults, *check_grid(message.k, read)]


def frontier_to_proto(frontier: Frontier) -> frontier_service_pb2.Frontier:
    """The message for a frontier."""
    return result_to_proto(
        JobKind.FRONTIER,
        frontier,
        frontier_service_pb2.Frontier,
        points=map(_point, frontier.points),
        transformations_checked=frontier.checked,
        search_duration=duration(frontier.search_seconds),
        policy=policy_from_json(frontier.policy),
    )


def _point(point: Point) -> frontier_service_pb2.FrontierPoint:
    optimum = None if point.found is None else copied(point.found, frontier_service_pb2.FrontierOptimum)
    return copied(point, frontier_service_pb2.FrontierPoint, optimum=optimum)


def _read(request: frontier_service_pb2.SubmitFrontierRequest) -> Read:
    policy, grid, document, faults = frontier_from_proto(request)
    return Read(frontier_work(policy, grid, document) if policy and grid else None, faults, policy)


SUBMISSION = Submission(
    request=frontier_service_pb2.SubmitFrontierRequest,
    document="policy",
    read=_read,
    code="POLICY_INVALID",
    refusal="the frontier cannot be computed as asked",
    to_proto=frontier_to_proto,
)
