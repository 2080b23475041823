"""The grants in the ledger: which principal or group has which role on what."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tableveil.backend import Ledger
from tableveil.state.mapper import NumberedTable


class AccessRole(StrEnum):
    """A right of principals; `proto/tableveil/v1/access.proto` says what each allows, and which one a method needs."""

    ADMIN = "ADMIN"
    OPERATOR = "OPERATOR"
    STEWARD = "STEWARD"
    APPROVER = "APPROVER"
    ANALYST = "ANALYST"
    AUDITOR = "AUDITOR"
    ENDPOINT = "ENDPOINT"


@dataclass(frozen=True, slots=True)
class Scope:
    """A schema, a table of it, or a release by its number; the whole server if none is named."""

    schema: str = ""
    table: str = ""
    release: int | None = None

    @property
    def is_server(self) -> bool:
        """Whether it is the whole server."""
        return self == Scope()


@dataclass(frozen=True, slots=True)
class Grant:
    """A role of a principal, or of a group, on a scope.

    One from the configuration file follows the file. A suspended one counts only once an admin has confirmed it.
    """

    number: int
    grantee: str
    is_group: bool
    role: AccessRole
    scope: Scope
    from_file: bool
    granted_by: str
    granted_at: datetime
    suspended: bool = False


GRANTS = NumberedTable(
    "grants", Grant, "grant_numbers", names={"scope.schema": "schema_name", "scope.table": "table_name"}
)


def every(ledger: Ledger) -> list[Grant]:
    """All grants, in the order in which they were made."""
    return GRANTS.where(ledger, "true", [], "ORDER BY number")


def confirm(ledger: Ledger, grants: Collection[int], releases: Collection[int]) -> None:
    """Ends the suspension of these grants and releases; call it in a transaction."""
    query = "UPDATE tableveil.grants SET suspended = false WHERE list_contains(?::BIGINT[], number)"
    ledger.execute(query, [list(grants)])
    query = "DELETE FROM tableveil.suspended_releases WHERE list_contains(?::BIGINT[], release)"
    ledger.execute(query, [list(releases)])


def suspended_releases(ledger: Ledger) -> list[int]:
    """The releases that nobody reads as an analyst until they are confirmed."""
    rows = ledger.rows("SELECT release FROM tableveil.suspended_releases ORDER BY release")
    return [number for (number,) in rows]
