"""Enums of the proto and of the domain: equal names, apart from the proto's prefix and its UNSPECIFIED."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Generic, TypeVar

from tableveil import access, policy
from tableveil.errors import InvalidError, Rank
from tableveil.game import sweep
from tableveil.requests.classification import Classifier
from tableveil.requests.proposal import ReleaseReaders
from tableveil.runtime import model
from tableveil.source.doubtful import DoubtKind
from tableveil.state import jobs as job_state
from tableveil.state.publications import PublicationState
from tableveil.state.release_objects import ObjectKind
from tableveil.state.releases import ReleaseAction, ReleaseState
from tableveil.state.reports import ReportAudience, ReportFormat
from tableveil.v1 import (
    access_pb2,
    classification_service_pb2,
    faults_pb2,
    job_service_pb2,
    payout_service_pb2,
    policy_pb2,
    proposal_service_pb2,
    release_service_pb2,
    report_service_pb2,
)

E = TypeVar("E", bound=StrEnum)


class EnumMap(Generic[E]):
    """Maps one enum in both directions. Proto enums are plain numbers, so any number may arrive."""

    def __init__(self, proto: Any, domain: type[E]) -> None:
        """`proto` is the generated enum, whose value 0 is named `<PREFIX>UNSPECIFIED`."""
        self.domain = domain
        self._prefix = proto.Name(0).removesuffix("UNSPECIFIED")
        self._numbers = {member: proto.Value(self._prefix + member.name) for member in domain}
        self._members = {number: member for member, number in self._numbers.items()}

    def to_proto(self, member: E | None) -> Any:
        """The number, 0 for None; `Any` because each generated enum types its numbers as its own."""
        return 0 if member is None else self._numbers[member]

    def from_proto(self, number: int) -> E | None:
        """The member, or None for UNSPECIFIED and for numbers this version does not know."""
        return self._members.get(number)

    def chosen(self, field: str, numbers: Iterable[int]) -> list[E]:
        """The members in a repeated field.

        Raises:
            InvalidError: it has UNSPECIFIED, or a number that this version does not know.
        """
        members = []
        for number in numbers:
            member = self.from_proto(number)
            if member is None:
                raise InvalidError.of("FILTER_INVALID", field, str(number), f"some of {self.names}")
            members.append(member)
        return members

    @property
    def names(self) -> str:
        """All members' names, for messages."""
        return ", ".join(member.name for member in self._numbers)


ACCESS_ROLES = EnumMap(access_pb2.AccessRole, access.AccessRole)
AGGREGATE_FUNCTIONS = EnumMap(policy_pb2.AggregateFunction, policy.AggregateFunction)
AGGREGATES = EnumMap(policy_pb2.Aggregate, policy.Aggregate)
AMONG = EnumMap(payout_service_pb2.Among, sweep.Among)
CHOOSE = EnumMap(policy_pb2.Choose, policy.Choose)
CLASSIFIERS = EnumMap(classification_service_pb2.Classifier, Classifier)
FAILURE_KINDS = EnumMap(faults_pb2.FailureKind, model.FailureKind)
DOUBT_KINDS = EnumMap(proposal_service_pb2.DoubtKind, DoubtKind)
GUARDS = EnumMap(policy_pb2.Guard, policy.Guard)
IF_EXISTS = EnumMap(policy_pb2.IfExists, policy.IfExists)
JOB_PHASES = EnumMap(job_service_pb2.JobPhase, job_state.JobPhase)
JOB_STATES = EnumMap(job_service_pb2.JobState, job_state.JobState)
LEFT_BEHIND = EnumMap(policy_pb2.LeftBehind, policy.LeftBehind)
NULL_HANDLING = EnumMap(policy_pb2.NullHandling, policy.NullHandling)
NULL_POSITIONS = EnumMap(policy_pb2.NullPosition, policy.NullPosition)
OBJECT_KINDS = EnumMap(release_service_pb2.ReleaseObjectKind, ObjectKind)
ORDERS = EnumMap(policy_pb2.OrderBy, policy.OrderBy)
PAYOUT_METHODS = EnumMap(payout_service_pb2.PayoutMethod, sweep.SweepMethod)
PUBLICATION_STATES = EnumMap(release_service_pb2.PublicationState, PublicationState)
READERS = EnumMap(proposal_service_pb2.Readers, ReleaseReaders)
RELEASE_ACTIONS = EnumMap(release_service_pb2.ReleaseAction, ReleaseAction)
RELEASE_KINDS = EnumMap(policy_pb2.ReleaseKind, policy.ReleaseKind)
RELEASE_STATES = EnumMap(release_service_pb2.ReleaseState, ReleaseState)
REPORT_AUDIENCES = EnumMap(report_service_pb2.ReportAudience, ReportAudience)
REPORT_FORMATS = EnumMap(report_service_pb2.ReportFormat, ReportFormat)
ROLES = EnumMap(policy_pb2.Role, policy.Role)
SCALES = EnumMap(policy_pb2.Scale, policy.Scale)
SEARCH_STRATEGIES = EnumMap(policy_pb2.SearchStrategy, policy.Strategy)
SUPPRESSED_RECORDS = EnumMap(policy_pb2.SuppressedRecordsHandling, policy.SuppressedRecords)
WARNING_RANKS = EnumMap(faults_pb2.WarningRank, Rank)

_BY_DOMAIN = {found.domain: found for found in list(globals().values()) if isinstance(found, EnumMap)}


def enum_map(domain: type[E]) -> EnumMap[E]:
    """The map of a domain enum: the one above, or else that of the enum of the same name in policies."""
    if domain not in _BY_DOMAIN:
        _BY_DOMAIN[domain] = EnumMap(getattr(policy_pb2, domain.__name__), domain)
    return _BY_DOMAIN[domain]
