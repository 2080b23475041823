"""Roles, grants and tokens in words, for terminals and pages."""

from tableveil import wording
from tableveil.v1 import access_pb2
from tableveil.v1 import access_service_pb2 as v1

ROLES = {wording.enum_word(name, "ACCESS_ROLE_"): number for name, number in access_pb2.AccessRole.items() if number}
_WORDS = {number: word for word, number in ROLES.items()}

GRANT_COLUMNS = ("grant", "of", "role", "on", "by", "created", "state")
TOKEN_COLUMNS = ("token", "principal", "label", "roles", "created", "expires", "last used", "state")


def grant_in_words(rule: v1.GrantRule) -> str:
    """The rule as a sentence: somebody is something of a table."""
    return f"{_grantee(rule)} is {_WORDS[rule.role]} of {_scope(rule)}"


def grant_row(grant: v1.Grant) -> tuple[str, ...]:
    """Its cells in `GRANT_COLUMNS`."""
    rule = grant.rule
    by = wording.printable(grant.granted_by)
    created = wording.moment(grant.create_time)
    return grant.name, _grantee(rule), _WORDS[rule.role], _scope(rule), by, created, "suspended" * grant.suspended


def token_row(token: v1.Token) -> tuple[str, ...]:
    """Its cells in `TOKEN_COLUMNS`; nobody has its text."""
    if token.HasField("revoke_time"):
        state = "revoked"
    elif token.suspended:
        state = "suspended"
    else:
        state = ""
    return (
        token.name,
        wording.printable(token.principal),
        wording.printable(token.label),
        ", ".join(_WORDS[role] for role in token.roles),
        wording.moment(token.create_time),
        wording.moment(token.expire_time) if token.HasField("expire_time") else "never",
        wording.moment(token.last_use_time) if token.HasField("last_use_time") else "never",
        state,
    )


def _grantee(rule: v1.GrantRule) -> str:
    return f"group {wording.printable(rule.group)}" if rule.group else wording.printable(rule.principal)


def _scope(rule: v1.GrantRule) -> str:
    if rule.release:
        return rule.release
    return wording.printable(".".join(filter(None, (rule.schema, rule.table)))) or "the server"
