"""The rules of grants against a reading of them that looks at each grant by itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from tableveil.access import AccessRole, Grant, Scope
from tableveil.access.rules import allows, scopes, visibility
from tableveil.backend import ALL, Scopes


@dataclass(frozen=True)
class Someone:
    name: str
    groups: frozenset[str]
    roles: frozenset[str]


NAMES = st.sampled_from(["a", "A", "b", "Ä", "ä"])
SCOPES = st.one_of(
    st.just(Scope()),
    st.builds(Scope, NAMES),
    st.builds(Scope, NAMES, NAMES),
    st.builds(Scope, release=st.integers(1, 3)),
)
ROLES = st.sampled_from([AccessRole.STEWARD, AccessRole.ANALYST, AccessRole.OPERATOR])
GRANTS = st.builds(
    Grant,
    number=st.just(1),
    grantee=st.sampled_from(["ann", "bob"]),
    is_group=st.booleans(),
    role=ROLES,
    scope=SCOPES,
    from_file=st.booleans(),
    granted_by=st.just("admin"),
    granted_at=st.just(datetime(2026, 1, 1)),
    suspended=st.booleans(),
)
CALLERS = st.builds(
    Someone,
    st.sampled_from(["ann", "bob"]),
    st.frozensets(st.sampled_from(["ann", "bob"])),
    st.frozensets(ROLES, max_size=1),
)


def same(left: str, right: str) -> bool:
    # As DuckDB compares names.
    return left.translate(str.maketrans("AB", "ab")) == right.translate(str.maketrans("AB", "ab"))


def reference(grants: Sequence[Grant], caller: Someone, role: AccessRole, scope: Scope) -> bool:
    if role in caller.roles:
        return True
    for grant in grants:
        mine = (caller.groups if grant.is_group else {caller.name}).__contains__(grant.grantee)
        if grant.suspended or not mine or grant.role is not role:
            continue
        has = grant.scope
        if has == Scope():
            return True
        if has.release is not None or scope.release is not None:
            if has == scope:
                return True
        elif scope != Scope() and same(has.schema, scope.schema) and (not has.table or same(has.table, scope.table)):
            return True
    return False


@given(st.lists(GRANTS, max_size=4), CALLERS, ROLES, SCOPES)
def test_a_role_holds_where_a_grant_says_so(
    grants: list[Grant], caller: Someone, role: AccessRole, scope: Scope
) -> None:
    assert allows(grants, caller, role, scope) == reference(grants, caller, role, scope)


@given(st.lists(GRANTS, max_size=4), CALLERS, NAMES, NAMES)
def test_a_steward_sees_the_tables_of_the_grants_and_no_others(
    grants: list[Grant], caller: Someone, schema: str, table: str
) -> None:
    seen = visibility(grants, caller, {AccessRole.STEWARD})
    assert seen.principal == caller.name
    assert seen.owned.has_table(schema, table) == reference(grants, caller, AccessRole.STEWARD, Scope(schema, table))
    assert seen.owned.has_schema(schema) == reference(grants, caller, AccessRole.STEWARD, Scope(schema))
    reached = [schema, *(grant.scope.table for grant in grants)]
    assert seen.owned.reaches(schema) == any(
        reference(grants, caller, AccessRole.STEWARD, Scope(schema, t)) for t in reached
    )
    assert seen.published == seen.reviewed == Scopes()
    assert not seen.every_job


@given(st.lists(GRANTS, max_size=4), CALLERS)
def test_roles_that_a_method_does_not_ask_for_show_nothing(grants: list[Grant], caller: Someone) -> None:
    seen = visibility(grants, caller, {AccessRole.ANALYST})
    assert seen.owned == Scopes()
    assert seen.published == scopes(grants, caller, {AccessRole.ANALYST})


@given(st.lists(GRANTS, max_size=4), CALLERS)
def test_methods_of_those_who_run_the_server_concern_all_tables(grants: list[Grant], caller: Someone) -> None:
    assert visibility(grants, caller, {AccessRole.OPERATOR}).owned == ALL
    jobs = visibility(grants, caller, {AccessRole.OPERATOR, AccessRole.STEWARD})
    assert jobs.owned == scopes(grants, caller, {AccessRole.STEWARD})
    assert jobs.every_job == reference(grants, caller, AccessRole.OPERATOR, Scope())
