"""Queries at an endpoint over Flight SQL, by pyarrow alone."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from google.protobuf import any_pb2
from google.protobuf.message import Message
from pyarrow import flight

from tableveil.client.encryption import SPEAKS_TLS, find_encryption
from tableveil.client.failures import UnreachableError
from tableveil.client.token import find_token
from tableveil.errors import BusyError, DeniedError, InvalidError, NotFoundError, TableveilError, UnauthenticatedError
from tableveil.flight_sql import flight_sql_pb2 as sql

HINT = b"tableveil.hint"
"""The key of a hint in the metadata of an answer's schema."""

_CODE = re.compile(r"(.*?) \[([A-Z][A-Z_]+)\]", re.DOTALL)
_ERRORS: dict[type[Exception], type[TableveilError]] = {
    flight.FlightUnauthenticatedError: UnauthenticatedError,
    flight.FlightUnauthorizedError: DeniedError,
    flight.FlightUnavailableError: BusyError,
    pa.ArrowKeyError: NotFoundError,
    pa.ArrowInvalid: InvalidError,
}


@contextmanager
def query(
    address: str,
    statement: str,
    token_file: Path | None = None,
    ca_certificate: Path | None = None,
    *,
    spread: bool = False,
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema and the rows of a statement at an endpoint; with authorities, given or in the environment, by TLS.

    With `spread`, numbers from estimated tables come with how far reasonable assumptions differ.

    Raises:
        TableveilError: the endpoint's error, with its code; `UnreachableError` if it does not answer.
    """
    token = find_token(address, file=token_file)
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    headers += [(b"tableveil-spread", b"true")] if spread else []
    options = flight.FlightCallOptions(headers=headers)
    encryption = find_encryption(address, ca_certificate, None, None)
    tls = {"tls_root_certs": encryption.authorities()} if encryption else {}
    with _errors(address), flight.connect(f"grpc{'+tls' if tls else ''}://{address}", **tls) as client:
        command = flight.FlightDescriptor.for_command(_packed(sql.CommandStatementQuery(query=statement)))
        (place,) = client.get_flight_info(command, options).endpoints
        reader = client.do_get(place.ticket, options)
        yield reader.schema, (chunk.data for chunk in reader)


def _packed(message: Message) -> bytes:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed.SerializeToString()


@contextmanager
def _errors(address: str) -> Iterator[None]:
    try:
        yield
    except (flight.FlightError, pa.ArrowException, KeyError) as error:
        text = str(error.args[0]) if error.args else str(error)
        match = _CODE.match(text.removeprefix("Flight error: "))
        if match is None:
            raise UnreachableError(
                "UNREACHABLE", f"the endpoint at {address} does not answer ({type(error).__name__}). {SPEAKS_TLS}"
            ) from None
        kind = next((of for base, of in _ERRORS.items() if isinstance(error, base)), TableveilError)
        raise kind(match[2], match[1]) from None
