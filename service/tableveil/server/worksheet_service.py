"""Worksheets over gRPC."""

import grpc

from tableveil.convert.names import table_from_proto, worksheet_number
from tableveil.convert.worksheets import contents_of, listed_worksheet_to_proto, masked, worksheet_to_proto
from tableveil.policy import TableReference
from tableveil.server.call import caller
from tableveil.server.paging import page_of_numbered
from tableveil.server.servicer_parts import ServicerParts
from tableveil.v1 import worksheet_service_pb2 as v1
from tableveil.v1 import worksheet_service_pb2_grpc


class WorksheetService(worksheet_service_pb2_grpc.WorksheetServiceServicer):
    """Each method converts, calls, converts."""

    def __init__(self, parts: ServicerParts) -> None:
        self._worksheets = parts.stores.worksheets

    def CreateWorksheet(  # noqa: N802
        self, request: v1.CreateWorksheetRequest, context: grpc.ServicerContext
    ) -> v1.Worksheet:
        """The new worksheet."""
        table = table_from_proto(request.worksheet.table)
        made = self._worksheets.create(table, contents_of(request.worksheet, table), caller().name)
        return worksheet_to_proto(made)

    def GetWorksheet(  # noqa: N802
        self, request: v1.GetWorksheetRequest, context: grpc.ServicerContext
    ) -> v1.Worksheet:
        """The worksheet as it is now."""
        return worksheet_to_proto(self._worksheets.get(worksheet_number(request.name)))

    def UpdateWorksheet(  # noqa: N802
        self, request: v1.UpdateWorksheetRequest, context: grpc.ServicerContext
    ) -> v1.Worksheet:
        """The worksheet with its new contents."""
        wanted = request.worksheet
        changed = self._worksheets.update(
            worksheet_number(wanted.name, "worksheet.name"),
            wanted.etag,
            lambda kept: contents_of(
                masked(kept, wanted, request.update_mask), TableReference("", kept.schema, kept.table)
            ),
            caller().name,
        )
        return worksheet_to_proto(changed)

    def ListWorksheets(  # noqa: N802
        self, request: v1.ListWorksheetsRequest, context: grpc.ServicerContext
    ) -> v1.ListWorksheetsResponse:
        """A page of worksheets."""
        found, token = page_of_numbered("worksheets", request, self._worksheets.page, listed_worksheet_to_proto)
        return v1.ListWorksheetsResponse(worksheets=found, next_page_token=token)

    def DeleteWorksheet(  # noqa: N802
        self, request: v1.DeleteWorksheetRequest, context: grpc.ServicerContext
    ) -> v1.DeleteWorksheetResponse:
        """Nothing: the worksheet is gone."""
        self._worksheets.delete(worksheet_number(request.name), request.etag)
        return v1.DeleteWorksheetResponse()
