"""The client: one method per verb of the service."""

from __future__ import annotations

from tableveil.client.verbs.access import AccessVerbs
from tableveil.client.verbs.administration import AdministrationVerbs
from tableveil.client.verbs.analyses import AnalysisVerbs
from tableveil.client.verbs.audit import AuditVerbs
from tableveil.client.verbs.hierarchies import HierarchyVerbs
from tableveil.client.verbs.jobs import JobVerbs
from tableveil.client.verbs.releases import ReleaseVerbs
from tableveil.client.verbs.statements import StatementVerbs
from tableveil.client.verbs.tables import TableVerbs
from tableveil.client.verbs.worksheets import WorksheetVerbs


class Client(
    JobVerbs,
    ReleaseVerbs,
    AnalysisVerbs,
    HierarchyVerbs,
    TableVerbs,
    StatementVerbs,
    WorksheetVerbs,
    AuditVerbs,
    AdministrationVerbs,
    AccessVerbs,
):
    """A connection to a Tableveil server; use it as a context manager, or close it.

    It needs a token; `tableveil.client.token.find_token` says where it looks for one. Jobs and releases are named as
    the service names them (`jobs/3`), or by number (`3`). Every method raises the errors of `tableveil.errors`, or
    `UnreachableError`. May be used from several threads.
    """
