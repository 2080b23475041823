"""Tokens as messages."""

from collections.abc import Iterable
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from tableveil.access import AccessRole
from tableveil.convert.enums import ACCESS_ROLES
from tableveil.convert.times import timestamp
from tableveil.errors import InvalidError
from tableveil.state.tokens import Token
from tableveil.v1 import access_service_pb2 as v1


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
