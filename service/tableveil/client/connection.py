"""A connection to a server: calls, pages of answers, and the errors of failed calls."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Protocol, Self, TypeVar

import grpc

from tableveil.client.encryption import find_encryption
from tableveil.client.failures import UnreachableError, error_of_call
from tableveil.client.listing import Item, Listing
from tableveil.client.token import find_token, with_token
from tableveil.errors import BusyError, TableveilError

DEFAULT_ADDRESS = "127.0.0.1:50651"

# Checking a policy may read a large table; any other answer takes milliseconds.
SECONDS_TO_ANSWER = 300.0

_REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")

_CHANNEL_OPTIONS = (
    # Tables must not pass through a proxy that is meant for the web.
    ("grpc.enable_http_proxy", 0),
    # The client asked for the server's answers; the server limits its own input.
    ("grpc.max_receive_message_length", -1),
    # A restarted server is found again within a second.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Distinguishes a quiet stream from a machine that is gone; servers count more than one ping in five minutes as
    # abuse.
    ("grpc.keepalive_time_ms", 310_000),
)

Request = TypeVar("Request")
Response = TypeVar("Response")
Answer = TypeVar("Answer")


def with_name(request: Request) -> Request:
    """The request, with the name that `once` gives it if it can have one and has none of its own."""
    if (name := _REQUEST_ID.get()) and getattr(request, "request_id", None) == "":
        setattr(request, "request_id", name)  # noqa: B010 - not every request has one
    return request


class _PageRequest(Protocol):
    page_token: str


class _Page(Protocol):
    next_page_token: str


PageRequest = TypeVar("PageRequest", bound=_PageRequest)
Page = TypeVar("Page", bound=_Page)


class Connection:
    """A connection to a server, to which a client adds verbs; use it as a context manager, or close it."""

    def __init__(
        self,
        address: str | None = None,
        token: str | None = None,
        *,
        token_file: Path | None = None,
        database: Path | None = None,
        ca_certificate: Path | None = None,
        client_certificate: Path | None = None,
        client_key: Path | None = None,
    ) -> None:
        """Without an address, the server is that of TABLEVEIL_SERVER, or of this machine at the usual port.

        Without a token, or a file that has one, it is found as `find_token` says.

        With the authorities that certify the server, it speaks TLS; some servers need a certificate of the client. The
        files may be named by the environment, as `find_encryption` says.

        Raises:
            NotFoundError: there is no such file.
            InvalidError: what was found is no token, or a file for TLS cannot work.
        """
        address = address or os.environ.get("TABLEVEIL_SERVER") or DEFAULT_ADDRESS
        self._address = address
        self._encryption = find_encryption(address, ca_certificate, client_certificate, client_key)
        self._closed = threading.Event()
        find = partial(find_token, address, token, token_file, database)
        if self._encryption:
            channel = grpc.secure_channel(address, self._encryption.credentials(), options=_CHANNEL_OPTIONS)
        else:
            channel = grpc.insecure_channel(address, options=_CHANNEL_OPTIONS)
        self._channel = with_token(channel, find)
        self._open_stubs()

    def _open_stubs(self) -> None:
        """Makes the stubs that the verbs call."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection and all running calls, in any thread."""
        self._closed.set()
        self._channel.close()

    def wait_until_ready(self, seconds: float) -> None:
        """Returns as soon as the server accepts calls.

        Raises:
            UnreachableError: It did not within that time.
        """
        try:
            grpc.channel_ready_future(self._channel).result(timeout=seconds)
        except grpc.FutureTimeoutError:
            message = f"no server at {self._address} within {seconds:g} seconds"
            raise UnreachableError("UNREACHABLE", message) from None

    @contextmanager
    def once(self, request_id: str) -> Iterator[None]:
        """Names the changes that are asked for inside of the block, so that none of them is made twice.

        A repeated change of one name is answered as it was the first time: after a broken connection, ask again.
        """
        named = _REQUEST_ID.set(request_id)
        try:
            yield
        finally:
            _REQUEST_ID.reset(named)

    def _ask(self, method: grpc.UnaryUnaryMultiCallable[Request, Response], request: Request) -> Response:
        def call() -> Response:
            with self._failures():
                return method(with_name(request), timeout=SECONDS_TO_ANSWER)

        return self._patiently(call)

    def _patiently(self, call: Callable[[], Answer]) -> Answer:
        """The answer of a call that is made again while it is one too many."""
        until = time.monotonic() + SECONDS_TO_ANSWER
        while True:
            try:
                return call()
            except BusyError as busy:
                # One call too many: nothing was done, and the server says when it takes the next one.
                if busy.code != "RATE_LIMITED" or time.monotonic() + busy.retry_seconds > until:
                    raise
                self._closed.wait(busy.retry_seconds)

    def _listed(
        self,
        method: grpc.UnaryUnaryMultiCallable[PageRequest, Page],
        request: PageRequest,
        items: Callable[[Page], Sequence[Item]],
    ) -> Listing[Item]:
        """The list that a request asks for; `items` are those of a page."""

        def fetch(token: str) -> tuple[Sequence[Item], str]:
            request.page_token = token
            page = self._ask(method, request)
            return items(page), page.next_page_token

        return Listing(fetch)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Translates the error of a call that fails inside."""
        try:
            yield
        except grpc.RpcError as error:
            raise self._error_of(error) from None

    def _error_of(self, error: grpc.RpcError) -> TableveilError:
        return error_of_call(error, self._address, self._encryption)
