"""Access: the roles that callers have, and what each of them allows."""

from tableveil.access.role import Role

__all__ = ["Role"]
