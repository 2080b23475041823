"""Grants, and the rules of schemas, as messages."""

from tableveil.access import AccessRole, Grant, Scope, WantedGrant
from tableveil.convert.enums import ACCESS_ROLES
from tableveil.convert.names import release_name, release_number
from tableveil.convert.times import timestamp
from tableveil.errors import Fault, InvalidError
from tableveil.state.schema_rules import SchemaRule
from tableveil.v1 import access_service_pb2 as v1


def wanted_from_proto(rule: v1.GrantRule) -> WantedGrant:
    """The grant that a rule asks for.

    Raises:
        InvalidError: it has no grantee or no role, or its release has no name of one.
    """
    role, faults = ACCESS_ROLES.from_proto(rule.role), []
    if rule.WhichOneof("grantee") is None:
        faults.append(Fault("principal", "nothing", "a principal, or a group"))
    if role is None:
        faults.append(Fault("role", "none", f"one of {ACCESS_ROLES.names}"))
    if faults or role is None:
        raise InvalidError.about("GRANT_INVALID", "the grant is invalid", faults)
    release = release_number(rule.release, "release") if rule.release else None
    is_group = rule.WhichOneof("grantee") == "group"
    return WantedGrant(
        rule.group if is_group else rule.principal, is_group, role, Scope(rule.schema, rule.table, release)
    )


def grant_to_proto(grant: Grant) -> v1.Grant:
    """The message of a grant."""
    rule = v1.GrantRule(
        role=ACCESS_ROLES.to_proto(AccessRole(grant.role)),
        schema=grant.scope.schema,
        table=grant.scope.table,
        release=release_name(grant.scope.release) if grant.scope.release is not None else "",
    )
    setattr(rule, "group" if grant.is_group else "principal", grant.grantee)
    return v1.Grant(
        name=f"grants/{grant.number}",
        rule=rule,
        from_file=grant.from_file,
        granted_by=grant.granted_by,
        create_time=timestamp(grant.granted_at),
        suspended=grant.suspended,
    )


def schema_rule_to_proto(rule: SchemaRule) -> v1.SchemaRule:
    """The message of a schema's rule."""
    return v1.SchemaRule(
        schema=rule.schema_name,
        joint_k=rule.joint_k,
        set_by=rule.set_by,
        set_time=timestamp(rule.set_at),
        name=f"schemaRules/{rule.schema_name}",
    )
