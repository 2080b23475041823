"""The readers of releases over gRPC, for endpoints."""

import grpc

from tableveil.convert import release_name
from tableveil.convert.copied import timestamp
from tableveil.identity import Credentials, Unauthenticated
from tableveil.server.servicer_parts import ServicerParts
from tableveil.v1 import reader_service_pb2 as v1
from tableveil.v1 import reader_service_pb2_grpc


class ReaderService(reader_service_pb2_grpc.ReaderServiceServicer):
    """Converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._readers = parts.stores.readers

    def ListReadableReleases(  # noqa: N802
        self, request: v1.ListReadableReleasesRequest, context: grpc.ServicerContext
    ) -> v1.ListReadableReleasesResponse:
        """A credential that proves nobody is no failure of this call: the endpoint proved who it is."""
        bearer = request.bearer if request.HasField("bearer") else None
        try:
            principal, releases = self._readers.readable(
                Credentials(bearer, tuple(request.certificate_names), request.peer)
            )
        except Unauthenticated:
            return v1.ListReadableReleasesResponse()
        return v1.ListReadableReleasesResponse(
            principal=principal.name,
            authenticated_by=principal.authenticated_by.value,
            releases=[
                v1.ReadableRelease(name=release_name(release.number), schema=release.schema, table=release.name)
                for release in releases
                if release.withdrawn_at is None
            ],
            withdrawn=[
                v1.WithdrawnRelease(
                    name=release_name(release.number),
                    schema=release.schema,
                    table=release.name,
                    withdraw_time=timestamp(release.withdrawn_at),
                )
                for release in releases
                if release.withdrawn_at is not None
            ],
        )
