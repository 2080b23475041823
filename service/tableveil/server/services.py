"""The table of services but those of job kinds: the definition of each, and how its servicer is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from tableveil.runtime import JobManager
from tableveil.server.access_control import AccessControl
from tableveil.server.access_service import AccessService
from tableveil.server.admin_service import AdminService
from tableveil.server.audit_service import AuditService
from tableveil.server.draft_service import DraftService
from tableveil.server.handlers import Handlers
from tableveil.server.hierarchy_service import HierarchyService
from tableveil.server.job_service import JobService
from tableveil.server.privacy_service import PrivacyService
from tableveil.server.reader_service import ReaderService
from tableveil.server.release_service import ReleaseService
from tableveil.server.report_service import ReportService
from tableveil.server.results import result_service, service_of
from tableveil.server.slots import Slots
from tableveil.server.statement_service import StatementService
from tableveil.server.stores import Stores
from tableveil.server.table_service import TableService
from tableveil.server.worksheet_service import WorksheetService
from tableveil.state.kinds import JobKind
from tableveil.v1 import (
    access_service_pb2,
    access_service_pb2_grpc,
    admin_service_pb2,
    admin_service_pb2_grpc,
    audit_service_pb2,
    audit_service_pb2_grpc,
    draft_service_pb2,
    draft_service_pb2_grpc,
    hierarchy_service_pb2,
    hierarchy_service_pb2_grpc,
    job_service_pb2,
    job_service_pb2_grpc,
    privacy_service_pb2,
    privacy_service_pb2_grpc,
    reader_service_pb2,
    reader_service_pb2_grpc,
    release_service_pb2,
    release_service_pb2_grpc,
    report_service_pb2,
    report_service_pb2_grpc,
    statement_service_pb2,
    statement_service_pb2_grpc,
    table_service_pb2,
    table_service_pb2_grpc,
    worksheet_service_pb2,
    worksheet_service_pb2_grpc,
)


@dataclass(frozen=True, slots=True)
class ServicerParts:
    """All that servicers are made of; the slots bound how many calls check, upload, report or load at once."""

    jobs: JobManager
    stores: Stores
    access_control: AccessControl
    handlers: Handlers
    checks: Slots
    uploads: Slots
    reports: Slots
    loads: Slots


@dataclass(frozen=True, slots=True)
class ListedService:
    """A service: the module of its definition, the generated function that adds its servicer, and how that is made."""

    definition: Any
    add: Callable[[Any, grpc.Server], None]
    servicer: Callable[[ServicerParts], object]

    @property
    def descriptor(self) -> ServiceDescriptor:
        """Its methods."""
        service: ServiceDescriptor
        (service,) = self.definition.DESCRIPTOR.services_by_name.values()
        return service


SERVICES = (
    ListedService(
        access_service_pb2,
        access_service_pb2_grpc.add_AccessServiceServicer_to_server,
        lambda of: AccessService(of.stores.tokens, of.stores.access, of.stores.rules, of.stores.budgets),
    ),
    ListedService(
        admin_service_pb2,
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server,
        lambda of: AdminService(of.stores.upkeep),
    ),
    ListedService(
        audit_service_pb2,
        audit_service_pb2_grpc.add_AuditServiceServicer_to_server,
        lambda of: AuditService(of.stores.audit, of.checks),
    ),
    ListedService(
        release_service_pb2,
        release_service_pb2_grpc.add_ReleaseServiceServicer_to_server,
        lambda of: ReleaseService(of.jobs, of.stores.releases, of.stores.publishing),
    ),
    ListedService(
        hierarchy_service_pb2,
        hierarchy_service_pb2_grpc.add_HierarchyServiceServicer_to_server,
        lambda of: HierarchyService(of.stores.hierarchies, of.uploads, of.checks),
    ),
    ListedService(
        table_service_pb2,
        table_service_pb2_grpc.add_TableServiceServicer_to_server,
        lambda of: TableService(of.stores, of.checks, of.loads),
    ),
    ListedService(
        draft_service_pb2,
        draft_service_pb2_grpc.add_DraftServiceServicer_to_server,
        lambda of: DraftService(of.stores.drafts, of.stores.widening, of.stores.privacies, of.checks),
    ),
    ListedService(
        reader_service_pb2,
        reader_service_pb2_grpc.add_ReaderServiceServicer_to_server,
        lambda of: ReaderService(of.stores.readers),
    ),
    ListedService(
        statement_service_pb2,
        statement_service_pb2_grpc.add_StatementServiceServicer_to_server,
        lambda of: StatementService(of.handlers, of.access_control),
    ),
    ListedService(
        privacy_service_pb2,
        privacy_service_pb2_grpc.add_PrivacyServiceServicer_to_server,
        lambda of: PrivacyService(of.jobs, of.stores.privacies),
    ),
    ListedService(
        report_service_pb2,
        report_service_pb2_grpc.add_ReportServiceServicer_to_server,
        lambda of: ReportService(of.stores.releases, of.stores.results[JobKind.DRY_RUN], of.stores.reports, of.reports),
    ),
    ListedService(
        worksheet_service_pb2,
        worksheet_service_pb2_grpc.add_WorksheetServiceServicer_to_server,
        lambda of: WorksheetService(of.stores.worksheets),
    ),
    ListedService(
        job_service_pb2,
        job_service_pb2_grpc.add_JobServiceServicer_to_server,
        lambda of: JobService(of.jobs, of.stores.privacies, of.stores.widening, of.checks),
    ),
)

DESCRIPTORS = tuple(
    dict.fromkeys([*(service.descriptor for service in SERVICES), *(service_of(kind) for kind in JobKind)])
)
"""The services of jobs of all kinds, too: see `results`."""

NAMES = tuple(service.full_name for service in DESCRIPTORS)


def add_services(parts: ServicerParts, server: grpc.Server) -> None:
    """Adds all of them to a server."""
    for service in SERVICES:
        service.add(service.servicer(parts), server)
    for kind, results in parts.stores.results.items():
        server.add_generic_rpc_handlers((result_service(kind, parts.jobs, results, parts.stores.privacies),))
