"""The rules of grants: on which parts of the database a caller has a role, and what it sees by its roles."""

from collections.abc import Collection, Iterable
from typing import Protocol

from tableveil.backend import ALL, Scopes, Visibility, folded
from tableveil.state.grants import AccessRole, Grant, Scope


class Caller(Protocol):
    """A principal: its name, its groups, and the roles that its credential gives it on the whole server."""

    @property
    def name(self) -> str:
        """Unique among principals."""

    @property
    def groups(self) -> frozenset[str]:
        """The groups that it belongs to."""

    @property
    def roles(self) -> frozenset[str]:
        """Names of `AccessRole`."""


def scopes(grants: Iterable[Grant], caller: Caller, roles: Collection[AccessRole]) -> Scopes:
    """The parts of the database on which a caller has any of the roles."""
    if not caller.roles.isdisjoint(roles):
        return ALL
    held = [grant.scope for grant in grants if grant.role in roles and _counts(grant, caller)]
    return Scopes(
        everything=any(scope.is_server for scope in held),
        schemas=frozenset(folded(scope.schema) for scope in held if scope.schema and not scope.table),
        tables=frozenset((folded(scope.schema), folded(scope.table)) for scope in held if scope.table),
        releases=frozenset(scope.release for scope in held if scope.release is not None),
    )


def allows(grants: Iterable[Grant], caller: Caller, role: AccessRole, scope: Scope) -> bool:
    """Whether a caller has a role on all of a scope."""
    held = scopes(grants, caller, {role})
    if scope.is_server:
        return held.everything
    if scope.release is not None:
        return held.everything or scope.release in held.releases
    return held.has_table(scope.schema, scope.table) if scope.table else held.has_schema(scope.schema)


def visibility(grants: Collection[Grant], caller: Caller, roles: Collection[AccessRole]) -> Visibility:
    """The caller's view of the database by those of the roles that it has."""

    def on(*counted: AccessRole) -> Scopes:
        return scopes(grants, caller, set(counted).intersection(roles))

    # Nobody else calls methods of those who run the server: what these do concerns all tables.
    runs_server = {AccessRole.ADMIN, AccessRole.OPERATOR}.issuperset(roles)
    return Visibility(
        principal=caller.name,
        owned=ALL if runs_server else on(AccessRole.STEWARD),
        reviewed=on(AccessRole.APPROVER, AccessRole.AUDITOR),
        judged=on(AccessRole.APPROVER),
        published=on(AccessRole.ANALYST),
        every_job=on(AccessRole.OPERATOR).everything,
        # Whatever role the method counts: they may see all releases, or can give themselves the right.
        every_match=scopes(grants, caller, {AccessRole.ADMIN, AccessRole.AUDITOR}).everything,
    )


def _counts(grant: Grant, caller: Caller) -> bool:
    is_theirs = grant.grantee in caller.groups if grant.is_group else grant.grantee == caller.name
    return is_theirs and not grant.suspended
