"""Releases over gRPC."""

from collections.abc import Iterator
from functools import partial

import grpc

from tableveil.convert import given_reason, release_number, release_to_proto, stored_policy
from tableveil.convert.arrow_pieces import arrow_pieces
from tableveil.convert.enums import RELEASE_ACTIONS, RELEASE_STATES
from tableveil.convert.names import last_part, table_from_proto
from tableveil.convert.releases import joint_classes_to_proto, summary_to_proto, target_to_proto
from tableveil.server.call import caller, control_of
from tableveil.server.paging import only, page_of_named, page_of_numbered
from tableveil.server.servicer_parts import ServicerParts
from tableveil.state.decisions import Decision
from tableveil.state.jobs import now
from tableveil.state.releases import Release, listed_as
from tableveil.v1 import release_service_pb2 as v1
from tableveil.v1 import release_service_pb2_grpc


class ReleaseService(release_service_pb2_grpc.ReleaseServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._jobs = parts.jobs
        self._releases = parts.stores.releases
        self._publishing = parts.stores.publishing

    def GetRelease(  # noqa: N802
        self, request: v1.GetReleaseRequest, context: grpc.ServicerContext
    ) -> v1.Release:
        """One release, with its policy."""
        release = self._releases.get(release_number(request.name))
        message = release_to_proto(release)
        message.allowed[:] = map(RELEASE_ACTIONS.to_proto, self._releases.allowed(release))
        return message

    def ListReleases(  # noqa: N802
        self, request: v1.ListReleasesRequest, context: grpc.ServicerContext
    ) -> v1.ListReleasesResponse:
        """A page of releases, without their policies: hierarchies written out there can be millions of rows."""
        if request.HasField("target"):
            standing = self._releases.standing(table_from_proto(request.target))
            return v1.ListReleasesResponse(releases=map(_without_policy, standing))
        only = listed_as(RELEASE_STATES.chosen("states", request.states), request.target_schema)
        if request.summary:
            summaries = partial(self._releases.summaries, only=only)
            releases, token = page_of_numbered("releases", request, summaries, summary_to_proto)
        else:
            page = partial(self._releases.page, only=only)
            releases, token = page_of_numbered("releases", request, page, _without_policy)
        return v1.ListReleasesResponse(releases=releases, next_page_token=token)

    def ReadObject(  # noqa: N802
        self, request: v1.ReadObjectRequest, context: grpc.ServicerContext
    ) -> Iterator[v1.ReadObjectResponse]:
        """An object's rows, as gRPC's flow control lets them go; a client that is gone ends the generator."""
        with self._releases.read(release_number(request.release, "release"), request.object) as reader:
            for piece in arrow_pieces(reader):
                yield v1.ReadObjectResponse(arrow_ipc=piece)

    def WithdrawRelease(  # noqa: N802
        self, request: v1.WithdrawReleaseRequest, context: grpc.ServicerContext
    ) -> v1.Release:
        """The jobs know whether one uses the release."""
        number = release_number(request.name)
        self._jobs.releases.withdraw(number, request.reason, control_of(context))
        return release_to_proto(self._releases.get(number))

    def PromoteRelease(  # noqa: N802
        self, request: v1.PromoteReleaseRequest, context: grpc.ServicerContext
    ) -> v1.Release:
        """By the one who made it."""
        number = release_number(request.name)
        policy, document = given_reason(self._releases.get(number).policy, request.repeat_reason, request.other_people)
        self._jobs.releases.promote(number, policy, document, control_of(context))
        return release_to_proto(self._releases.get(number))

    def ApproveRelease(  # noqa: N802
        self, request: v1.ApproveReleaseRequest, context: grpc.ServicerContext
    ) -> v1.Release:
        """By another person than the one who made it."""
        return self._decided(request.name, request.note, context, approved=True)

    def RejectRelease(  # noqa: N802
        self, request: v1.RejectReleaseRequest, context: grpc.ServicerContext
    ) -> v1.Release:
        """By another person than the one who made it."""
        return self._decided(request.name, request.note, context, approved=False)

    def PublishRelease(  # noqa: N802
        self, request: v1.PublishReleaseRequest, context: grpc.ServicerContext
    ) -> v1.Release:
        """The answer does not wait for the target."""
        number = release_number(request.name)
        others = [release_number(name, f"other_people[{i}]") for i, name in enumerate(request.other_people)]
        self._publishing.publish(number, request.target, request.repeat_reason, others)
        return release_to_proto(self._releases.get(number))

    def UnpublishRelease(  # noqa: N802
        self, request: v1.UnpublishReleaseRequest, context: grpc.ServicerContext
    ) -> v1.Release:
        """The answer does not wait for the target."""
        number = release_number(request.name)
        self._publishing.take_back(number, request.target)
        return release_to_proto(self._releases.get(number))

    def ListTargets(  # noqa: N802
        self, request: v1.ListTargetsRequest, context: grpc.ServicerContext
    ) -> v1.ListTargetsResponse:
        """A page of those that the caller may see."""
        page, token = page_of_named("targets", request, self._targets(), lambda target: target.name)
        return v1.ListTargetsResponse(targets=page, next_page_token=token)

    def GetTarget(  # noqa: N802
        self, request: v1.GetTargetRequest, context: grpc.ServicerContext
    ) -> v1.PublicationTarget:
        """One of those that the caller may see."""
        name = last_part("targets", request.name)
        targets = [target for target in self._targets() if target.name == name]
        return only(targets, "TARGET_NOT_FOUND", request.name, "a target that you may see")

    def GetJointClasses(  # noqa: N802
        self, request: v1.GetJointClassesRequest, context: grpc.ServicerContext
    ) -> v1.JointClasses:
        """The people whom the releases tell apart together, by the ledger alone."""
        numbers = [release_number(name, f"releases[{i}]") for i, name in enumerate(request.releases)]
        return joint_classes_to_proto(self._releases.together(numbers))

    def _targets(self) -> list[v1.PublicationTarget]:
        return [target_to_proto(use, declared) for use, declared in self._publishing.targets()]

    def _decided(self, name: str, note: str, context: grpc.ServicerContext, *, approved: bool) -> v1.Release:
        number = release_number(name)
        decision = Decision(approved, caller().name, now(), note)
        self._jobs.releases.decide(number, decision, stored_policy, control_of(context))
        return release_to_proto(self._releases.get(number))


def _without_policy(release: Release) -> v1.Release:
    return release_to_proto(release, with_policy=False)
