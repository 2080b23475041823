"""The roles that a principal may have."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A right of principals; `proto/tableveil/v1/access.proto` says what each allows, and which one a method needs."""

    ADMIN = "ADMIN"
    OPERATOR = "OPERATOR"
    STEWARD = "STEWARD"
    APPROVER = "APPROVER"
    ANALYST = "ANALYST"
    AUDITOR = "AUDITOR"
