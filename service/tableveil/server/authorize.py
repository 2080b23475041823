"""Lets a caller do what its roles allow, and shows it only what they reach."""

from collections.abc import Callable, Collection

from tableveil.access import Grant, scopes, visibility
from tableveil.backend import Scopes, see_from_now_on
from tableveil.errors import DeniedError
from tableveil.identity import Principal
from tableveil.server.call import Call


class RolesByScope:
    """Refuses callers who have none of a method's roles anywhere.

    For the others, resources beyond their scopes are not there: all names in requests are looked up by sessions that
    see as their caller does. So a name of others reads like one that does not exist, whatever leads to it.
    """

    def __init__(
        self,
        grants: Callable[[], Collection[Grant]],
        standing: Callable[[Principal], Principal] = lambda caller: caller,
    ) -> None:
        """`grants` gives those that count at the moment, `standing` the caller with the roles that count then."""
        self._grants = grants
        self._standing = standing

    def authorize(self, call: Call) -> None:
        """Raises `DeniedError` if the caller has none of the method's roles on anything, or on the whole server."""
        caller, grants, standing = call.principal, self._grants, self._standing
        assert caller is not None
        roles = call.access.roles if call.access is not None else frozenset()
        if call.access is not None:
            held = scopes(grants(), caller, roles)
            if held == Scopes() or (call.access.whole_server and not held.everything):
                where = " on the whole server" * call.access.whole_server
                wanted = f"{', '.join(sorted(role.lower() for role in roles))}{where}"
                method, hint = call.method.rpartition("/")[2], "Ask an admin of the server."
                raise DeniedError.of("PERMISSION_DENIED", method, "none of these roles", wanted, hint)
        see_from_now_on(lambda: visibility(grants(), standing(caller), roles))
