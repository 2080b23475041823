"""The context of a running job: its database session, its control, and its report."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tableveil.backend import Database, Session, WarehouseSession
from tableveil.control import Control
from tableveil.pipelines.released_rows import PolicyOf
from tableveil.pipelines.report import JobReport

EVERY_SCHEMA = "*"
"""Stands for every schema among those whose releases need approval."""


@dataclass(frozen=True, slots=True)
class JobContext:
    """Everything that a running job works with.

    `session` belongs to the job alone and stops when `control` says so. If the rows are in a warehouse, `elsewhere` is
    the job's session there. `document` is the request as JSON. Releases into the schemas `approval` wait for it.
    `policy_of` reads the policies of earlier releases, where some are judged together with the job's. A job that
    `advises` searches for what other policies would give.
    """

    number: int
    document: str
    database: Database
    session: Session
    control: Control
    report: JobReport = field(default_factory=JobReport)
    approval: frozenset[str] = frozenset()
    elsewhere: WarehouseSession | None = None
    policy_of: PolicyOf | None = None
    advises: bool = False

    @property
    def rows(self) -> WarehouseSession:
        """The session of the rows."""
        return self.elsewhere or self.session

    def needs_approval(self, schema: str) -> bool:
        """Whether a release into a schema waits until another person approves it."""
        return waits_in(schema, self.approval)


def waits_in(schema: str, approval: Collection[str]) -> bool:
    """Whether a schema is among those whose releases wait for approval."""
    return EVERY_SCHEMA in approval or schema.casefold() in {name.casefold() for name in approval}
