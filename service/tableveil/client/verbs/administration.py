"""The server itself: its health and state, and backups."""

from __future__ import annotations

from tableveil.client.connection import Connection, with_name
from tableveil.client.names import SCHEMAS, full_name
from tableveil.v1 import admin_service_pb2
from tableveil.v1.admin_service_pb2_grpc import AdminServiceStub


class AdministrationVerbs(Connection):
    """Verbs about the server itself."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._admin = AdminServiceStub(self._channel)

    def check_health(self, ready: bool = False) -> None:
        """Returns if the server lives, with `ready` if it takes calls; raises `UnreachableError` if not."""
        from tableveil.client.health import check_health

        check_health(self._channel, self._address, self._encryption, ready)

    def get_server_info(self) -> admin_service_pb2.ServerInfo:
        """The server's version and limits, and the principal that it takes this client for."""
        return self._ask(self._admin.GetServerInfo, admin_service_pb2.GetServerInfoRequest())

    def get_server_status(self) -> admin_service_pb2.ServerStatus:
        """The state of the server, its database and the files beside it."""
        return self._ask(self._admin.GetServerStatus, admin_service_pb2.GetServerStatusRequest())

    def back_up(self, name: str, keep: int | None = None) -> admin_service_pb2.Backup:
        """Writes a backup into the server's directory for backups; this takes as long as copying the database.

        With `keep`, older backups of the database are removed then, so that so many are left.
        """
        request = admin_service_pb2.BackupDatabaseRequest(name=name, keep=keep)
        with self._failures():
            return self._admin.BackupDatabase(with_name(request))

    def get_schema(self, schema: str) -> admin_service_pb2.Schema:
        """A schema that the caller sees, by its name in any case."""
        request = admin_service_pb2.GetSchemaRequest(name=full_name(SCHEMAS, schema))
        return self._ask(self._admin.GetSchema, request)

    def create_schema(self, schema: str) -> admin_service_pb2.Schema:
        """Makes a schema of the database, for tables and releases."""
        return self._ask(self._admin.CreateSchema, admin_service_pb2.CreateSchemaRequest(schema=schema))
