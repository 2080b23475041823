"""The server's own state, backups and schemas over gRPC."""

from functools import partial

import duckdb
import grpc

from tableveil.access import AccessRole, Scope, scopes
from tableveil.backend import Scopes
from tableveil.convert import backup_to_proto, finding_to_proto
from tableveil.convert.copied import duration
from tableveil.convert.enums import ACCESS_ROLES
from tableveil.convert.names import last_part
from tableveil.convert.pages import LARGEST_PAGE_SIZE
from tableveil.server.call import caller, control_of
from tableveil.server.servicer_parts import ServicerParts
from tableveil.serving.settings import LARGEST_MESSAGE, STREAM_IDLE_SECONDS
from tableveil.serving.version import installed_version
from tableveil.v1 import admin_service_pb2 as v1
from tableveil.v1 import admin_service_pb2_grpc


class AdminService(admin_service_pb2_grpc.AdminServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._upkeep = parts.stores.upkeep
        self._access = parts.stores.access

    def GetServerInfo(  # noqa: N802
        self, request: v1.GetServerInfoRequest, context: grpc.ServicerContext
    ) -> v1.ServerInfo:
        """The facts that a client needs before it begins."""
        held = {role: scopes(self._access.grants, caller(), {role}) for role in AccessRole}
        return v1.ServerInfo(
            version=installed_version(),
            database_version=duckdb.__version__,
            largest_message_bytes=LARGEST_MESSAGE,
            largest_page_size=LARGEST_PAGE_SIZE,
            stream_idle=duration(STREAM_IDLE_SECONDS),
            principal=caller().name,
            warehouses=self._upkeep.warehouses,
            roles=[ACCESS_ROLES.to_proto(role) for role, on in held.items() if on != Scopes()],
            server_roles=[ACCESS_ROLES.to_proto(role) for role, on in held.items() if on.everything],
        )

    def GetServerStatus(  # noqa: N802
        self, request: v1.GetServerStatusRequest, context: grpc.ServicerContext
    ) -> v1.ServerStatus:
        """The findings; problems are the answer, not an error."""
        findings = map(finding_to_proto, self._upkeep.examine(control_of(context)))
        return v1.ServerStatus(database=str(self._upkeep.database), findings=findings)

    def BackupDatabase(  # noqa: N802
        self, request: v1.BackupDatabaseRequest, context: grpc.ServicerContext
    ) -> v1.Backup:
        """The finished backup; it ends early with the client, or with the server."""
        backup = self._upkeep.back_up(
            request.name, request.keep if request.HasField("keep") else None, control_of(context)
        )
        return backup_to_proto(backup)

    def CreateSchema(  # noqa: N802
        self, request: v1.CreateSchemaRequest, context: grpc.ServicerContext
    ) -> v1.Schema:
        """The schema that was made."""
        self._upkeep.create_schema(request.schema, control_of(context))
        return _schema(request.schema)

    def GetSchema(self, request: v1.GetSchemaRequest, context: grpc.ServicerContext) -> v1.Schema:  # noqa: N802
        """One schema."""
        administered = partial(self._access.allows, caller(), AccessRole.ADMIN)
        name = last_part("schemas", request.name)
        return _schema(self._upkeep.find_schema(name, lambda schema: administered(Scope(schema))))


def _schema(name: str) -> v1.Schema:
    return v1.Schema(schema=name, name=f"schemas/{name}")
