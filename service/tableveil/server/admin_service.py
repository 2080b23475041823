"""The server's own state and backups over gRPC."""

from __future__ import annotations

import grpc

from tableveil.convert import backup_to_proto, finding_to_proto
from tableveil.runtime import Upkeep
from tableveil.server.caller import control_of
from tableveil.v1 import admin_service_pb2 as v1
from tableveil.v1 import admin_service_pb2_grpc


class AdminService(admin_service_pb2_grpc.AdminServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, upkeep: Upkeep) -> None:
        self._upkeep = upkeep

    def GetServerStatus(  # noqa: N802
        self, request: v1.GetServerStatusRequest, context: grpc.ServicerContext
    ) -> v1.GetServerStatusResponse:
        """The findings; problems are the answer, not an error."""
        findings = map(finding_to_proto, self._upkeep.examine(control_of(context)))
        return v1.GetServerStatusResponse(database=str(self._upkeep.database), findings=findings)

    def BackupDatabase(  # noqa: N802
        self, request: v1.BackupDatabaseRequest, context: grpc.ServicerContext
    ) -> v1.BackupDatabaseResponse:
        """The finished backup; it ends early with the client, or with the server."""
        backup = self._upkeep.back_up(request.name, control_of(context))
        return v1.BackupDatabaseResponse(backup=backup_to_proto(backup))
