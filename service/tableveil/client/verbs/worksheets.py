"""Worksheets: decisions about a table that is not released yet."""

from __future__ import annotations

from tableveil.client.connection import Connection
from tableveil.client.listing import Listing
from tableveil.client.names import WORKSHEETS, Name, resource_name
from tableveil.v1 import worksheet_service_pb2 as v1
from tableveil.v1.worksheet_service_pb2_grpc import WorksheetServiceStub


class WorksheetVerbs(Connection):
    """Verbs about worksheets."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._worksheets = WorksheetServiceStub(self._channel)

    def create_worksheet(self, worksheet: v1.Worksheet) -> v1.Worksheet:
        """Keeps a new worksheet of a table."""
        return self._ask(self._worksheets.CreateWorksheet, v1.CreateWorksheetRequest(worksheet=worksheet))

    def get_worksheet(self, name: Name) -> v1.Worksheet:
        """The worksheet of that name or number."""
        return self._ask(self._worksheets.GetWorksheet, v1.GetWorksheetRequest(name=resource_name(WORKSHEETS, name)))

    def update_worksheet(self, worksheet: v1.Worksheet) -> v1.Worksheet:
        """Puts the contents in place of those of the worksheet, which must have its etag.

        Raises:
            ConflictError: somebody else has changed it (WORKSHEET_CHANGED).
        """
        return self._ask(self._worksheets.UpdateWorksheet, v1.UpdateWorksheetRequest(worksheet=worksheet))

    def list_worksheets(self) -> Listing[v1.Worksheet]:
        """All worksheets of tables of the caller's, newest first, without their policies, fetched as they are read."""
        return self._listed(self._worksheets.ListWorksheets, v1.ListWorksheetsRequest(), lambda page: page.worksheets)

    def delete_worksheet(self, name: Name, etag: str = "") -> None:
        """Deletes a worksheet; with an etag, only if nobody has changed it."""
        request = v1.DeleteWorksheetRequest(name=resource_name(WORKSHEETS, name), etag=etag)
        self._ask(self._worksheets.DeleteWorksheet, request)
