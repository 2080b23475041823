"""Releases: their evidence, their rows, their end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from tableveil.client.connection import Connection
from tableveil.client.formats import ExportFormat
from tableveil.client.listing import Listing
from tableveil.client.names import DRY_RUNS, RELEASES, TARGETS, Name, full_name, resource_name, text_of
from tableveil.errors import NotFoundError
from tableveil.v1 import release_service_pb2, report_service_pb2
from tableveil.v1.release_service_pb2_grpc import ReleaseServiceStub
from tableveil.v1.report_service_pb2_grpc import ReportServiceStub

if TYPE_CHECKING:
    import pyarrow as pa


class ReleaseVerbs(Connection):
    """Verbs about releases."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._releases = ReleaseServiceStub(self._channel)
        self._reports = ReportServiceStub(self._channel)

    def get_release(self, release: Name) -> release_service_pb2.Release:
        """The release and its evidence."""
        request = release_service_pb2.GetReleaseRequest(name=resource_name(RELEASES, release))
        return self._ask(self._releases.GetRelease, request)

    def list_releases(
        self,
        states: Iterable[release_service_pb2.ReleaseState.ValueType] = (),
        target_schema: str = "",
        *,
        summary: bool = False,
    ) -> Listing[release_service_pb2.Release]:
        """Releases in these states and into this schema, or all, newest first, fetched as they are read.

        With `summary` only what lists show of each.
        """
        request = release_service_pb2.ListReleasesRequest(states=states, target_schema=target_schema, summary=summary)
        return self._listed(self._releases.ListReleases, request, lambda page: page.releases)

    def get_joint_classes(self, releases: Iterable[str]) -> release_service_pb2.JointClasses:
        """How many people some releases tell apart together."""
        names = [resource_name(RELEASES, release) for release in releases]
        return self._ask(self._releases.GetJointClasses, release_service_pb2.GetJointClassesRequest(releases=names))

    def get_report(
        self,
        name: Name,
        audience: report_service_pb2.ReportAudience.ValueType = report_service_pb2.REPORT_AUDIENCE_UNSPECIFIED,
        report_format: report_service_pb2.ReportFormat.ValueType = report_service_pb2.REPORT_FORMAT_HTML,
    ) -> report_service_pb2.Report:
        """The report of a release, or of a dry run by its full name; by default the edition that the caller may see."""
        collection = DRY_RUNS if text_of(name).startswith(DRY_RUNS) else RELEASES
        request = report_service_pb2.GetReportRequest(
            name=resource_name(collection, name), audience=audience, format=report_format
        )
        return self._ask(self._reports.GetReport, request)

    def withdraw_release(self, release: Name, reason: str) -> release_service_pb2.Release:
        """Drops the public objects of a current release; its evidence stays, with the reason."""
        name = resource_name(RELEASES, release)
        request = release_service_pb2.WithdrawReleaseRequest(name=name, reason=reason)
        return self._ask(self._releases.WithdrawRelease, request)

    def promote_release(
        self, release: Name, repeat_reason: str = "", other_people: Sequence[str] = ()
    ) -> release_service_pb2.Release:
        """Makes a release of a trial of the caller's.

        It needs a reason if its people were released meanwhile; `other_people` names releases of others.
        """
        name = resource_name(RELEASES, release)
        others = [resource_name(RELEASES, other, "other_people") for other in other_people]
        request = release_service_pb2.PromoteReleaseRequest(name=name, repeat_reason=repeat_reason, other_people=others)
        return self._ask(self._releases.PromoteRelease, request)

    def approve_release(self, release: Name, note: str = "") -> release_service_pb2.Release:
        """Makes a release public that waits for it, and that somebody else made."""
        name = resource_name(RELEASES, release)
        request = release_service_pb2.ApproveReleaseRequest(name=name, note=note)
        return self._ask(self._releases.ApproveRelease, request)

    def reject_release(self, release: Name, note: str) -> release_service_pb2.Release:
        """Drops the private objects of a release that waits for approval, and that somebody else made."""
        name = resource_name(RELEASES, release)
        request = release_service_pb2.RejectReleaseRequest(name=name, note=note)
        return self._ask(self._releases.RejectRelease, request)

    def publish_release(
        self, release: Name, target: str, repeat_reason: str = "", other_people: Sequence[str] = ()
    ) -> release_service_pb2.Release:
        """Asks the server to publish a release to one of its targets; `publications` of the release tell how far it is.

        It needs a reason if the target's readers have another release of the same people; `other_people` names
        releases of others.
        """
        request = release_service_pb2.PublishReleaseRequest(
            name=resource_name(RELEASES, release),
            target=target,
            repeat_reason=repeat_reason,
            other_people=[resource_name(RELEASES, other, "other_people") for other in other_people],
        )
        return self._ask(self._releases.PublishRelease, request)

    def wait_until_published(self, release: str) -> release_service_pb2.Release:
        """The release once all targets that it was to be published to have it, or at once if it waits for approval.

        Raises:
            UnpublishedError: A target refused it, or fails for longer than a minute. The release stands all the same.
        """
        from tableveil.client.publications import wait_until_published

        return wait_until_published(lambda: self.get_release(release), self._closed.wait)

    def unpublish_release(self, release: Name, target: str) -> release_service_pb2.Release:
        """Asks the server to remove a release from a target; the release stays as it is."""
        request = release_service_pb2.UnpublishReleaseRequest(name=resource_name(RELEASES, release), target=target)
        return self._ask(self._releases.UnpublishRelease, request)

    def get_target(self, target: str) -> release_service_pb2.PublicationTarget:
        """A place that releases are published to."""
        request = release_service_pb2.GetTargetRequest(name=full_name(TARGETS, target))
        return self._ask(self._releases.GetTarget, request)

    def list_targets(self) -> list[release_service_pb2.PublicationTarget]:
        """The places that releases are published to, by name, of those that the caller may know."""
        return list(self._ask(self._releases.ListTargets, release_service_pb2.ListTargetsRequest()).targets)

    @overload
    def read(self, release: Name, name: str = "", into: None = None) -> pa.RecordBatchReader: ...

    @overload
    def read(self, release: Name, name: str = "", *, into: Literal["arrow"]) -> pa.Table: ...

    @overload
    def read(self, release: Name, name: str = "", *, into: Literal["pandas", "polars"]) -> Any: ...

    def read(self, release: Name, name: str = "", into: str | None = None) -> Any:
        """A public object of the release, by default its rows.

        By default it comes as a stream of batches, in constant memory; close it to stop early. `into` reads all of it
        into a table of Arrow, or into a data frame of pandas or polars, which you install yourself.

        Raises:
            InvalidError: `into` is none of these, or not installed.
        """
        from tableveil.client.objects import ObjectReader, collected_into

        if into is not None:
            return collected_into(into, lambda: self.read(release, name))
        name = name or self._rows_of(release)
        request = release_service_pb2.ReadObjectRequest(release=resource_name(RELEASES, release), object=name)
        return ObjectReader(self._releases.ReadObject(request), self._error_of)

    def _rows_of(self, release: Name) -> str:
        kinds = {item.kind: item.name for item in self.get_release(release).objects}
        if release_service_pb2.RELEASE_OBJECT_KIND_ROWS not in kinds:
            raise NotFoundError.of("OBJECT_NOT_FOUND", "name", "no released rows", "a release whose rows stand")
        return kinds[release_service_pb2.RELEASE_OBJECT_KIND_ROWS]

    def read_table(self, release: Name, name: str = "") -> pa.Table:
        """A public object of the release, all of it."""
        return self.read(release, name, into="arrow")

    def export(
        self,
        release: Name,
        path: str | Path,
        export_format: ExportFormat = ExportFormat.PARQUET,
        overwrite: bool = False,
        storage_version: str = "",
    ) -> list[Path]:
        """Writes all public objects of the release to files: a directory of Parquet or CSV, or a fresh DuckDB file.

        `path` exists only once everything is written. DuckDB from `storage_version` on reads the file.

        Returns:
            The files in the order of the release's objects, or the database.

        Raises:
            InvalidError: the storage version is none, or the format is another one.
            ConflictError: `path` exists, and `overwrite` is false or it is no such export.
        """
        from tableveil.client.export import export_objects

        names = [item.name for item in self.get_release(release).objects]
        return export_objects(
            names, lambda name: self.read(release, name), Path(path), export_format, overwrite, storage_version
        )
