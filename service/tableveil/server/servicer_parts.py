"""The parts of a server that servicers are made of."""

from dataclasses import dataclass

from tableveil.runtime import JobManager
from tableveil.server.access_control import AccessControl
from tableveil.server.handlers import Handlers
from tableveil.server.limited import Slots
from tableveil.server.stores import Stores


@dataclass(frozen=True, slots=True)
class ServicerParts:
    """Each servicer takes those that it needs.

    The slots bound how many calls check, upload, report or load at once: checks read tables, an upload is in memory
    while it is received.
    """

    jobs: JobManager
    stores: Stores
    access_control: AccessControl
    handlers: Handlers
    checks: Slots
    uploads: Slots
    reports: Slots
    loads: Slots
