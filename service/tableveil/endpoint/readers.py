"""The service tells whose a credential is, and which releases its principal may read; the endpoint remembers that."""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

from tableveil.backend import folded
from tableveil.client.connection import Connection
from tableveil.client.failures import UnreachableError
from tableveil.endpoint.remembered import Remembered
from tableveil.errors import BusyError, TableveilError, UnauthenticatedError
from tableveil.identity import Credentials
from tableveil.v1 import reader_service_pb2 as v1
from tableveil.v1.reader_service_pb2_grpc import ReaderServiceStub

SECONDS_REMEMBERED = 10.0
"""How long an answer counts. Without another one in that time, callers are refused."""

SECONDS_ANSWERED = 30.0
"""How long one answer of the service counts as readiness, unless a call fails: it records each question."""

SECONDS_TO_ANSWER = 5.0

STRANGERS_AT_ONCE = 4
"""Credentials that are asked about at once if nobody was known by them lately."""

_DELAY_SECONDS = 0.05
"""The time after which a wrong credential is refused: who tries many of them takes little from others."""

_MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Reader:
    """A principal, and the numbers of the releases that it may read. Nobody has the name ''.

    `withdrawn` has the schema and name of each release that it could read, and the day on which it was withdrawn.
    """

    principal: str
    authenticated_by: str
    releases: frozenset[int]
    withdrawn: tuple[tuple[str, str, str], ...] = ()


class Service(Protocol):
    """Knows readers by their credentials."""

    def reader(self, credentials: Credentials) -> Reader:
        """The reader, or one without a name; raises `TableveilError` if the service does not say."""


class RemoteService(Connection):
    """The service, over its own protocol. Its token needs the role endpoint."""

    def _open_stubs(self) -> None:
        super()._open_stubs()
        self._stub = ReaderServiceStub(self._channel)

    def reader(self, credentials: Credentials) -> Reader:
        """The reader; see `Service`."""
        request = v1.ListReadableReleasesRequest(
            bearer=credentials.bearer, certificate_names=credentials.certificate_names, peer=credentials.peer
        )
        with self._failures():
            answer = self._stub.ListReadableReleases(request, timeout=SECONDS_TO_ANSWER)
        releases = frozenset(int(release.name.rpartition("/")[2]) for release in answer.releases)
        withdrawn = tuple(
            (folded(gone.schema), folded(gone.table), gone.withdraw_time.ToDatetime().date().isoformat())
            for gone in answer.withdrawn
        )
        return Reader(answer.principal, answer.authenticated_by, releases, withdrawn)


@dataclass(frozen=True, slots=True)
class _Answer:
    reader: Reader
    asked: float
    stamp: object


class Readers:
    """Remembers the service's answers. Used from any thread."""

    def __init__(
        self, service: Service, stamp: Callable[[], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`stamp` changes when releases are published or withdrawn: then the service is asked again."""
        self._service = service
        self._stamp = stamp
        self._clock = clock
        self._lock = threading.Lock()
        self._answered_until = 0.0
        self._remembered: Remembered[_Answer] = Remembered(_MOST_REMEMBERED)
        self._strangers = threading.BoundedSemaphore(STRANGERS_AT_ONCE)

    def answers(self) -> bool:
        """Whether the service answers the endpoint, or did lately: it is asked about nobody, and records that."""
        with self._lock:
            if self._clock() < self._answered_until:
                return True
        try:
            self._service.reader(Credentials(None, (), ""))
        except TableveilError:
            return False
        with self._lock:
            self._answered_until = self._clock() + SECONDS_ANSWERED
        return True

    def reader(self, credentials: Credentials) -> Reader:
        """The reader by these credentials, and what it may read now.

        Raises:
            UnauthenticatedError: they prove nobody.
            BusyError: the service does not answer, and its last answer is too old.
        """
        remembered = self._remembered.get((credentials.bearer, credentials.certificate_names))
        with nullcontext() if remembered is not None and remembered.reader.principal else self._strangers:
            reader = self._looked_up(credentials)
            if not reader.principal:
                time.sleep(_DELAY_SECONDS)
        if not reader.principal:
            actual = "no token that the service accepts"
            raise UnauthenticatedError.of("UNAUTHENTICATED", "authorization", actual, "a valid token")
        return reader

    def _looked_up(self, credentials: Credentials) -> Reader:
        now, stamp, key = self._clock(), self._stamp(), (credentials.bearer, credentials.certificate_names)
        remembered = self._remembered.get(key)
        is_young = remembered is not None and now - remembered.asked < SECONDS_REMEMBERED
        if remembered is not None and is_young and remembered.stamp == stamp:
            return remembered.reader
        try:
            reader = self._service.reader(credentials)
        except TableveilError as error:
            with self._lock:
                self._answered_until = 0.0
            if remembered is not None and is_young and isinstance(error, UnreachableError | BusyError):
                return remembered.reader
            actual = f"no answer of the service about who you are ({error.code})"
            hint = "Try again; if it stays so, the operator has to look after the service, or the endpoint's token."
            raise BusyError.of("SERVICE_GONE", "service", actual, "one in the last 10 seconds", hint) from None
        self._remembered.keep(key, _Answer(reader, now, stamp))
        return reader
