"""The token that a client sends: where it is found, and how it goes with every call."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from tableveil.errors import InvalidError, NotFoundError, shortened
from tableveil.identity.secret import PREFIX, is_well_formed, token_file

PLACES = (Path(), Path("tableveil-demo"))
"""Where a server's database may be, beside which it left its first token: here, or where the demo has its own."""

_LARGEST = 16_384


def find_token(
    address: str, token: str | None = None, file: Path | None = None, database: Path | None = None
) -> str | None:
    """The token as given, or in the file, or in TABLEVEIL_TOKEN, or in the file that TABLEVEIL_TOKEN_FILE names.

    Failing all of these, a server of this machine is sent the first token of its database, if that is named, or else
    the only one of the `PLACES`. Other machines get only what was meant for them.

    Raises:
        NotFoundError: the named file is not there.
        InvalidError: it has no token, or one that lost a part.
    """
    if token is None and file is None:
        token = os.environ.get("TABLEVEIL_TOKEN") or None
        named = os.environ.get("TABLEVEIL_TOKEN_FILE")
        file = Path(named) if named and token is None else None
    if token is not None:
        return _checked(token.strip(), "token")
    if file is not None:
        return _checked(_read(file), "token_file")
    if not _is_of_this_machine(address):
        return None
    left = [[token_file(database)]] if database else [[*place.glob(token_file(Path("*")).name)] for place in PLACES]
    for paths in left:
        private = [path for path in paths if _is_private(path)]
        if private:
            found = _read(private[0])
            return found if len(private) == 1 and is_well_formed(found) else None
    return None


class _CallDetails(NamedTuple):
    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: bool | None
    compression: Any


class _Bearer(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Adds a token to the metadata of every call."""

    def __init__(self, token: str) -> None:
        self._entry = ("authorization", f"Bearer {token}")

    def _sent(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        metadata = (*(details.metadata or ()), self._entry)
        options = (details.credentials, details.wait_for_ready, details.compression)
        return continuation(_CallDetails(details.method, details.timeout, metadata, *options), request)

    # All kinds of calls are alike here.
    intercept_unary_unary: Any = _sent
    intercept_unary_stream: Any = _sent
    intercept_stream_unary: Any = _sent
    intercept_stream_stream: Any = _sent


def with_token(channel: grpc.Channel, token: str) -> grpc.Channel:
    """A channel whose calls all have the token."""
    return grpc.intercept_channel(channel, _Bearer(token))


def _read(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            return file.read(_LARGEST).strip()
    except FileNotFoundError:
        raise NotFoundError.of("TOKEN_FILE_NOT_FOUND", "token_file", shortened(str(path)), "an existing file") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
        found = f"{shortened(str(path))}: {reason}"
        raise InvalidError.of("TOKEN_FILE_INVALID", "token_file", found, "a file with a token") from None


def _checked(token: str, field: str) -> str:
    """The token, if it can go into a call's metadata and is whole; its text is never shown."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        found = "nothing" if not token else "characters that no token has"
        raise InvalidError.of("TOKEN_INVALID", field, found, "a token, as the server or `tokens create` wrote it")
    if token.startswith(PREFIX) and not is_well_formed(token):
        found = "a token that is not whole"
        raise InvalidError.of("TOKEN_INVALID", field, found, "all of it", "Copy it again: its checksum is wrong.")
    return token


def _is_of_this_machine(address: str) -> bool:
    return address.startswith(("unix:", "localhost:", "127.", "[::1]:"))


def _is_private(path: Path) -> bool:
    """Whether it is a file that only this user may read, and no link to one."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
