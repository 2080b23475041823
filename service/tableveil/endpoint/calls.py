"""The access control of an endpoint: a call is measured against the caller's credential and limits, and recorded."""

import base64
import binascii
import ipaddress
import logging
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
from pyarrow import flight

from tableveil import errors
from tableveil.audit import REFUSED, Recorder, Refused, without_port
from tableveil.endpoint.readers import Reader, Readers
from tableveil.endpoint.settings import UseLimits
from tableveil.errors import BusyError, CancelledError, InvalidError, TableveilError
from tableveil.fair_use import FairUse, Limits
from tableveil.identity import Credentials
from tableveil.metrics import Metrics
from tableveil.serving.front import Passages
from tableveil.state.audit_entries import AuditEntry, AuditEvent
from tableveil.state.jobs import now

HEADERS = "headers"
"""The name of the middleware, under which handlers find it."""


class Headers(flight.ServerMiddleware):  # type: ignore[misc]  # pyarrow has no types
    """The credential of one call, and whether it wants a spread. A password comes back as a token, as Flight has it."""

    def __init__(self, bearer: str | None, *, signs_in: bool, wants_spread: bool) -> None:
        self.bearer = bearer
        self.wants_spread = wants_spread
        self._signs_in = signs_in

    def sending_headers(self) -> dict[str, str]:
        """The headers of the answer."""
        return {"authorization": f"Bearer {self.bearer}"} if self._signs_in else {}


class HeadersFactory(flight.ServerMiddlewareFactory):  # type: ignore[misc]  # pyarrow has no types
    """Reads the headers `authorization` and `tableveil-spread` of each call."""

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, Sequence[str]]) -> Headers:
        """The credential; a header that cannot be read is a credential that proves nobody."""
        sent = _sent(headers, "authorization")
        kind, _, text = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
        bearer = text if kind.lower() == "bearer" and text.isascii() else "" if sent else None
        password = _password(text) if kind.lower() == "basic" and text.isascii() else ""
        wants_spread = [value.lower() for value in _sent(headers, "tableveil-spread")] == ["true"]
        return Headers(password or bearer, signs_in=bool(password), wants_spread=wants_spread)


class SignIn(flight.ServerAuthHandler):  # type: ignore[misc]  # pyarrow has no types
    """Lets clients sign in by Flight's handshake; every call is authenticated by its own header all the same."""

    def authenticate(self, outgoing: object, incoming: object) -> None:
        """Nothing: the middleware answers."""

    def is_valid(self, token: bytes) -> bytes:
        """Nobody: the handlers ask the service."""
        return b""


def _sent(headers: Mapping[str, Sequence[str]], wanted: str) -> Sequence[str]:
    return [value for name, values in headers.items() if name.lower() == wanted for value in values]


def _password(encoded: str) -> str:
    """The password of user and password; the token says whose it is."""
    try:
        # Clients written in Go leave the padding out.
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    password = text.partition(":")[2]
    return password if password.isprintable() else ""


logger = logging.getLogger("tableveil.endpoint")


class UnsupportedError(InvalidError):
    """A command that an endpoint does not answer."""


_ERRORS: dict[type[TableveilError], tuple[type[Exception], str]] = {
    errors.UnauthenticatedError: (flight.FlightUnauthenticatedError, "UNAUTHENTICATED"),
    errors.DeniedError: (flight.FlightUnauthorizedError, "PERMISSION_DENIED"),
    BusyError: (flight.FlightUnavailableError, "UNAVAILABLE"),
    CancelledError: (flight.FlightCancelledError, "CANCELLED"),
    errors.InternalError: (flight.FlightInternalError, "INTERNAL"),
    UnsupportedError: (pa.ArrowNotImplementedError, "UNIMPLEMENTED"),
    InvalidError: (pa.ArrowInvalid, "INVALID_ARGUMENT"),
    errors.NotFoundError: (pa.ArrowKeyError, "NOT_FOUND"),
    TableveilError: (flight.FlightServerError, "UNKNOWN"),
}
"""The error of pyarrow, and its status. Flight itself has none for what is invalid, unsupported or not there.

pyarrow sends the traceback of errors that are not Flight's to the client, with as many lines as `hide_tracebacks` lets.
"""


def hide_tracebacks() -> None:
    """Lets no traceback name a line: those that pyarrow sends would tell where the endpoint is installed."""
    sys.tracebacklimit = 0


@dataclass(slots=True)
class EndpointCall:
    """A call, its credentials and its reader; the handler names the releases that it reads, and counts the rows."""

    method: str
    peer: str
    credentials: Credentials
    reader: Reader
    began: float = field(default_factory=time.monotonic)
    correlation: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    releases: tuple[int, ...] = ()
    rows: int | None = None
    begun: bool = False


class Calls:
    """Lets calls in. Used from any thread."""

    def __init__(
        self, readers: Readers, recorder: Recorder, limits: UseLimits, metrics: Metrics, passages: Passages
    ) -> None:
        self._readers = readers
        self._passages = passages
        self._metrics = metrics
        self._recorder = recorder
        self._limits = limits
        self._use = FairUse(Limits(calls_per_second=limits.calls_per_principal))

    @contextmanager
    def passed(self, context: flight.ServerCallContext, method: str) -> Iterator[EndpointCall]:
        """A call whose caller is known and within the limits, while it is handled; its end is recorded.

        A failure in the block becomes an error of Flight.
        """
        seen: str = context.peer()
        peer = self._passages.peer(seen)
        call = EndpointCall(method, peer, Credentials(None, (), peer), Reader("", "", frozenset()))
        self._metrics.call_began()
        try:
            name = context.peer_identity().decode(errors="replace")
            names = (_with_kind(name),) if name else ()
            call.credentials = Credentials(context.get_middleware(HEADERS).bearer, names, peer)
            call.reader = self._readers.reader(call.credentials)
            self._use.count_call(call.reader.principal)
            most = self._limits.connections_per_principal
            if not self._passages.admits(seen, call.reader.principal, most):
                actual = f"{most} open connections of one principal, as many as the endpoint takes"
                hint = "Close some, or use one connection for many statements."
                raise BusyError.of("TOO_MANY_CONNECTIONS", "connections", actual, "fewer connections", hint)
            yield call
        except GeneratorExit:
            self._end(call, "CANCELLED", "CANCELLED")
            raise
        except TableveilError as error:
            kind, code = next(status for base, status in _ERRORS.items() if isinstance(error, base))
            self._end(call, code, error.code)
            raise kind(f"{error.message} [{error.code}]") from None
        except Exception as error:
            # The text may have values or paths.
            logger.error("%s failed [%s]: %s", method, call.correlation, type(error).__name__)
            self._end(call, "INTERNAL", "INTERNAL")
            message = f"an unexpected error; the endpoint's log tells more at [{call.correlation}]"
            raise flight.FlightInternalError(message) from None
        else:
            try:
                self._end(call, "OK", "")
            except BusyError as error:
                raise flight.FlightUnavailableError(error.message) from None

    def begin(self, call: EndpointCall) -> None:
        """Records that rows are about to be read; `BusyError` if that cannot be written."""
        self._recorder.record(self._entry(call, AuditEvent.BEGIN, "", ""))
        call.begun = True

    def _end(self, call: EndpointCall, code: str, reason: str) -> None:
        self._metrics.call_ended(call.method, code, time.monotonic() - call.began)
        name = call.reader.principal
        if call.begun:
            self._recorder.record_end(self._entry(call, AuditEvent.END, code, reason))
        elif not name or reason == "RATE_LIMITED":
            # Nobody can fill the disk by refused calls.
            self._recorder.count(Refused(without_port(call.peer), name, code, reason))
        else:
            self._recorder.record(self._entry(call, AuditEvent.CALL, code, reason))

    @staticmethod
    def _entry(call: EndpointCall, event: AuditEvent, code: str, reason: str) -> AuditEntry:
        ended = event is not AuditEvent.BEGIN
        return AuditEntry(
            *(now(), event, call.reader.principal, call.reader.authenticated_by, call.peer, call.method),
            tuple(f"releases/{number}" for number in call.releases),
            "ALLOWED" if code in ("", "OK", "CANCELLED") or call.begun else REFUSED,
            code,
            reason,
            correlation=call.correlation,
            seconds=time.monotonic() - call.began if ended else None,
            count=call.rows if ended else None,
        )


def _with_kind(name: str) -> str:
    """The name in a client's certificate with its kind: gRPC tells only the first name, and not its kind."""
    if "://" in name:
        return f"uri:{name}"
    if "@" in name:
        return f"email:{name}"
    try:
        return f"ip:{ipaddress.ip_address(name)}"
    except ValueError:
        return f"dns:{name}"
