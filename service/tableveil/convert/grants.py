"""Grants, rules of schemas, tokens and privacy budgets as messages."""

from collections.abc import Iterable
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from tableveil.access import AccessRole, Grant, Scope, WantedGrant
from tableveil.convert.copied import copied, timestamp
from tableveil.convert.enums import ACCESS_ROLES
from tableveil.convert.names import release_name, release_number
from tableveil.errors import Fault, InvalidError
from tableveil.state.privacy_budgets import PrivacyBudget
from tableveil.state.schema_rules import SchemaRule
from tableveil.state.tokens import Token
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
    return copied(grant, v1.Grant, name=f"grants/{grant.number}", rule=rule, create_time=timestamp(grant.granted_at))


def schema_rule_to_proto(rule: SchemaRule) -> v1.SchemaRule:
    """The message of a schema's rule."""
    name, since = f"schemaRules/{rule.schema_name}", timestamp(rule.set_at)
    return copied(rule, v1.SchemaRule, name=name, schema=rule.schema_name, set_time=since)


def budget_to_proto(budget: PrivacyBudget) -> v1.PrivacyBudget:
    """The message of a budget, with what is spent of it."""
    name = f"privacyBudgets/{budget.people}"
    return copied(budget, v1.PrivacyBudget, name=name, set_time=timestamp(budget.set_at))


def token_to_proto(token: Token, secret: str = "") -> v1.Token:
    """All that is known of a token; the text of a new one is its `secret`."""
    return v1.Token(
        name=f"tokens/{token.number}",
        principal=token.principal,
        label=token.label,
        roles=[ACCESS_ROLES.to_proto(AccessRole(role)) for role in token.roles],
        create_time=timestamp(token.created_at),
        expire_time=timestamp(token.expires_at),
        last_use_time=timestamp(token.last_used_at),
        revoke_time=timestamp(token.revoked_at),
        suspended=token.suspended,
        secret=secret,
    )


def roles_from_proto(numbers: Iterable[int]) -> list[AccessRole]:
    """The roles; `InvalidError` if a number is none."""
    roles = [ACCESS_ROLES.from_proto(number) for number in numbers]
    if None in roles:
        raise InvalidError.of("TOKEN_INVALID", "roles", "a number that is no role", ACCESS_ROLES.names)
    return [role for role in roles if role]


def lifetime_from_proto(message: Duration) -> timedelta:
    """The lifetime; `InvalidError` if no clock has it."""
    try:
        return message.ToTimedelta()
    except (ValueError, OverflowError):
        expected = "seconds, and nanoseconds below 1e9"
        raise InvalidError.of("TOKEN_INVALID", "lifetime", "no duration", expected) from None
