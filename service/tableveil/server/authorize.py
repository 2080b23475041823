"""Whether a caller may do what a call asks for."""

from __future__ import annotations

from tableveil.errors import DeniedError
from tableveil.server.call import Call


class ServerWideRoles:
    """Lets a caller do everything for which it has a role on the whole server."""

    def authorize(self, call: Call) -> None:
        """Raises `DeniedError` if it has none of the method's roles."""
        assert call.principal is not None
        if call.access is not None and not call.access.roles & call.principal.roles:
            wanted = ", ".join(sorted(role.lower() for role in call.access.roles))
            hint = "Ask an admin of the server."
            raise DeniedError.of("DENIED", call.method.rpartition("/")[2], "none of these roles", wanted, hint)
