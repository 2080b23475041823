"""Storing, previewing and reading hierarchies, and storing those of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tableveil.client.connection import SECONDS_TO_ANSWER, Connection
from tableveil.client.listing import Listing
from tableveil.client.names import HIERARCHIES, full_name
from tableveil.client.uploads import preview_requests, upload_requests
from tableveil.errors import InvalidError
from tableveil.v1 import hierarchy_service_pb2, policy_pb2
from tableveil.v1.hierarchy_service_pb2_grpc import HierarchyServiceStub

if TYPE_CHECKING:
    from tableveil.client.csv_hierarchies import CsvLevels


class HierarchyVerbs(Connection):
    """Verbs about hierarchies."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._hierarchies = HierarchyServiceStub(self._channel)

    def create_hierarchy(
        self, name: str, rows: Iterable[Sequence[str]], origin: str = ""
    ) -> hierarchy_service_pb2.StoredHierarchyInfo:
        """Stores rows of a value and its labels as the next version of the hierarchy; repeated rows keep their version.

        `origin` says where they come from, such as the name of a file.
        """
        with self._failures():
            return self._hierarchies.CreateHierarchy(upload_requests(name, list(rows), origin))

    def forget_hierarchy_rows(
        self, hierarchy: str, values: Iterable[str]
    ) -> hierarchy_service_pb2.ForgetHierarchyRowsResponse:
        """Takes the rows of values out of a stored version, such as `ages@2`."""
        name = full_name(HIERARCHIES, hierarchy)
        request = hierarchy_service_pb2.ForgetHierarchyRowsRequest(name=name, values=values)
        return self._ask(self._hierarchies.ForgetHierarchyRows, request)

    def preview_hierarchy(
        self, asked: hierarchy_service_pb2.PreviewHierarchyRequest, base_directory: Path = Path()
    ) -> hierarchy_service_pb2.PreviewHierarchyResponse:
        """The levels of any hierarchy, and its coverage of a column; a CSV file is read and sent, nothing is stored.

        Raises:
            InvalidError: With all faults of the hierarchy, or of using it on the column.
        """
        from tableveil.client.csv_hierarchies import asked_with_rows

        request, rows = asked_with_rows(asked, base_directory)
        with self._failures():
            return self._hierarchies.PreviewHierarchy(preview_requests(request, rows), timeout=SECONDS_TO_ANSWER)

    def compare_hierarchies(
        self, earlier: policy_pb2.StoredHierarchy, later: policy_pb2.StoredHierarchy, examples: int = 0
    ) -> hierarchy_service_pb2.CompareHierarchiesResponse:
        """The differences between two stored versions, with up to `examples` of each kind."""
        request = hierarchy_service_pb2.CompareHierarchiesRequest(earlier=earlier, later=later, examples=examples)
        return self._ask(self._hierarchies.CompareHierarchies, request)

    def read_hierarchy(self, stored: policy_pb2.StoredHierarchy) -> Iterator[list[str]]:
        """The rows of a stored version, fetched as they are read."""
        request = hierarchy_service_pb2.ReadHierarchyRequest(hierarchy=stored)
        with self._failures():
            for piece in self._hierarchies.ReadHierarchy(request):
                yield from (list(row.labels) for row in piece.rows)

    def get_hierarchy(self, hierarchy: str) -> hierarchy_service_pb2.StoredHierarchyInfo:
        """A stored hierarchy by its name and version, as `ages@2`; without one, the newest version."""
        request = hierarchy_service_pb2.GetHierarchyRequest(name=full_name(HIERARCHIES, hierarchy))
        return self._ask(self._hierarchies.GetHierarchy, request)

    def list_hierarchies(self) -> Listing[hierarchy_service_pb2.StoredHierarchyInfo]:
        """All stored hierarchies by name, the newest version first, fetched as they are read."""
        request = hierarchy_service_pb2.ListHierarchiesRequest()
        return self._listed(self._hierarchies.ListHierarchies, request, lambda page: page.hierarchies)

    def prepare(self, policy: policy_pb2.Policy, base_directory: Path = Path()) -> policy_pb2.Policy:
        """Stores the policy's CSV hierarchies on the server and returns a copy that refers to the stored ones.

        Raises:
            InvalidError: A file cannot be read or is no hierarchy; nothing was stored.
        """
        from tableveil.client.csv_hierarchies import read_csv_hierarchies

        levels, faults = read_csv_hierarchies(policy, base_directory)
        if faults:
            raise InvalidError.about("POLICY_INVALID", "the policy is invalid", faults)
        return self._store(policy, levels)

    def _store(self, policy: policy_pb2.Policy, levels: Iterable[CsvLevels]) -> policy_pb2.Policy:
        from tableveil.client.csv_hierarchies import with_hierarchies

        stored = {}
        for file in levels:
            info = self.create_hierarchy(file.name, file.rows, file.file)
            reference = policy_pb2.StoredHierarchy(name=info.name, version=info.version)
            stored[file.attribute] = policy_pb2.Hierarchy(stored=reference)
        return with_hierarchies(policy, stored)
