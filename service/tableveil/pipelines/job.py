"""The context of a running job: its database session, its control, and its report."""

from __future__ import annotations

from dataclasses import dataclass, field

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.pipelines.report import Report


@dataclass(frozen=True, slots=True)
class JobContext:
    """Everything that a running job works with.

    `session` belongs to the job alone and stops when `control` says so. `document` is the request as JSON.
    """

    number: int
    document: str
    database: Database
    session: Session
    control: Control
    report: Report = field(default_factory=Report)
