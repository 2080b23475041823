"""The token that a client sends: where it is found, and how it goes with every call."""

import ipaddress
import os
import stat
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path
from typing import Any, Self

import grpc

from tableveil.errors import InvalidError, NotFoundError, shortened
from tableveil.identity.secret import PREFIX, is_well_formed, token_file

DEMO = "tableveil-demo"

PLACES = (Path(), Path(DEMO))
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
            private_token = _read(private[0])
            return private_token if len(private) == 1 and is_well_formed(private_token) else None
    return None


_Metadata = tuple[tuple[str, str], ...]


class _WithToken(grpc.Channel):
    """A channel whose calls all have a token. An interceptor of gRPC takes three times as long for each call."""

    def __init__(self, channel: grpc.Channel, find: Callable[[], str | None]) -> None:
        self._channel = channel
        self._find = find
        self._known = self._found()

    def _found(self) -> _Metadata:
        token = self._find()
        return () if token is None else (("authorization", f"Bearer {token}"),)

    def _metadata(self) -> _Metadata:
        # A server that starts leaves its first token a moment after a command was given.
        self._known = self._known or self._found()
        return self._known

    def subscribe(self, callback: Any, try_to_connect: bool | None = False) -> None:
        """Tells of the connection's state."""
        self._channel.subscribe(callback, bool(try_to_connect))

    def unsubscribe(self, callback: Any) -> None:
        """Tells no more."""
        self._channel.unsubscribe(callback)

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self, kind: str, *arguments: Any, **options: Any) -> Any:
        return _Sent(getattr(self._channel, kind)(*arguments, **options), self._metadata)

    # All kinds of calls are alike here.
    unary_unary: Any = partialmethod(_opened, "unary_unary")
    unary_stream: Any = partialmethod(_opened, "unary_stream")
    stream_unary: Any = partialmethod(_opened, "stream_unary")
    stream_stream: Any = partialmethod(_opened, "stream_stream")


class _Sent:
    """A method of a service, whose calls all have some metadata, asked for when they are made."""

    def __init__(self, method: Any, metadata: Callable[[], _Metadata]) -> None:
        self._method = method
        self._metadata = metadata

    def _call(self, call: Any, request: Any, timeout: float | None, metadata: Any, options: Any) -> Any:
        metadata = (*(metadata or ()), *self._metadata())
        try:
            return call(request, timeout, metadata, **options)
        except ValueError as error:
            # gRPC tells by the text alone that the channel is closed.
            if "closed" not in str(error):
                raise
            raise InvalidError("CLIENT_CLOSED", "the client is closed; make another one to ask further") from None

    def __call__(self, request: Any, timeout: float | None = None, metadata: Any = None, **options: Any) -> Any:
        return self._call(self._method, request, timeout, metadata, options)

    def future(self, request: Any, timeout: float | None = None, metadata: Any = None, **options: Any) -> Any:
        """The call, which goes on meanwhile."""
        return self._call(self._method.future, request, timeout, metadata, options)


def with_token(channel: grpc.Channel, find: Callable[[], str | None]) -> grpc.Channel:
    """A channel whose calls all have the token that is found now, or else the first that is found later.

    Raises:
        TableveilError: what is found now is no token.
    """
    return _WithToken(channel, find)


def _read(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            return file.read(_LARGEST).strip()
    except FileNotFoundError:
        raise NotFoundError.of("TOKEN_FILE_NOT_FOUND", "token_file", shortened(str(path)), "an existing file") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
        actual = f"{shortened(str(path))}: {reason}"
        raise InvalidError.of("TOKEN_FILE_INVALID", "token_file", actual, "a file with a token") from None


def _checked(token: str, field: str) -> str:
    """The token, if it can go into a call's metadata and is whole; its text is never shown."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        actual = "nothing" if not token else "characters that no token has"
        raise InvalidError.of("TOKEN_INVALID", field, actual, "a token, as the server or `tokens create` wrote it")
    if token.startswith(PREFIX) and not is_well_formed(token):
        actual = "a token that is not whole"
        raise InvalidError.of("TOKEN_INVALID", field, actual, "all of it", "Copy it again: its checksum is wrong.")
    return token


def _is_of_this_machine(address: str) -> bool:
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        # Not by its beginning: 127.0.0.1.example.com is elsewhere.
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_private(path: Path) -> bool:
    """Whether it is a file that only this user may read, and no link to one."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
