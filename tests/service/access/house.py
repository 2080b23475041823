"""A server with two wards, ward_a and ward_b, each with a steward of its own, and other principals."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import Any

import duckdb
import grpc
from google.protobuf import json_format
from google.protobuf.descriptor_pool import Default
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tableveil import backend
from tableveil.access import Access, AccessRole, Scope, WantedGrant
from tableveil.client import Client
from tableveil.identity import AuthenticatedBy, Principal
from tableveil.identity.tokens import Tokens
from tableveil.loading import LoadDirectory
from tableveil.server import ServeSettings, TableveilServer
from tableveil.state.migrate import migrate
from tableveil.v1 import job_service_pb2

Fields = dict[str, Any]
"""A message as JSON has it."""

ADMIN = Principal("admin", frozenset(), AuthenticatedBy.TOKEN, frozenset(AccessRole))

GRANTS = {
    "ann": [(AccessRole.STEWARD, Scope("ward_a"))],
    "bob": [(AccessRole.STEWARD, Scope("WARD_b"))],
    "tab": [(AccessRole.STEWARD, Scope("ward_a", "PATIENTS"))],
    "eve": [(AccessRole.ANALYST, Scope("ward_a"))],
    "rel": [(AccessRole.ANALYST, Scope(release=1))],
    "aud": [(AccessRole.AUDITOR, Scope("ward_b"))],
    "app": [(AccessRole.APPROVER, Scope("ward_b"))],
    "ops": [(AccessRole.OPERATOR, Scope())],
    "non": [],
    "pat": [],
}

PATIENTS = (
    "SELECT {0} * 20 + i % 3 AS age, ({0} + i % 2)::VARCHAR AS ward, '{0}, ' || i % 5 AS illness, {0} * i AS code "
    "FROM range(60) r(i)"
)


@dataclass(frozen=True)
class House:
    """The running server, a client for each principal, and the server's own knowledge of grants."""

    server: TableveilServer
    clients: Mapping[str, Client]
    channels: Mapping[str, grpc.Channel]
    access: Access
    files: Path

    def token_file(self, who: str) -> Path:
        """The file with a principal's token."""
        return self.files.parent / f"{who}.token"

    def ask(self, who: str, method: str, **fields: Any) -> tuple[str, str]:
        """The answer to a principal."""
        return answer(self.channels[who], method, fields)


@contextmanager
def opened(place: Path, **settings: Any) -> Iterator[House]:
    """A house that begins here."""
    prepare(place)
    with served(place, **settings) as house:
        yield house


def prepare(place: Path) -> None:
    """Makes the database with the tokens, which are in files beside it, and the files to load."""
    shutil.copytree(_prepared(), place, dirs_exist_ok=True)


@cache
def _prepared() -> Path:
    """A place that is copied, with the grants as well: making them takes several times as long."""
    place = Path(tempfile.mkdtemp(prefix="tableveil-house-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    path, files = place / "clinic.duckdb", place / "files"
    files.mkdir()
    (files / "rows.csv").write_text("age,ward,illness,code\n1,2,3,4\n")
    with duckdb.connect(path) as connection:
        for schema, factor in (("ward_a", 1), ("ward_b", 7)):
            connection.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.patients AS {PATIENTS.format(factor)}")
        for statement in (
            "CREATE TABLE ward_b.zips AS SELECT ward, '*' AS top FROM ward_b.patients GROUP BY ALL",
            "CREATE TABLE ward_a.zips AS FROM ward_b.zips",
            "CREATE TABLE ward_a.copied AS FROM ward_b.patients",
            "CREATE TYPE ward_b.secret AS ENUM ('first', 'second')",
            "CREATE VIEW ward_a.window AS FROM ward_b.patients",
            "CREATE MACRO ward_b.look() AS TABLE FROM ward_b.patients",
        ):
            connection.execute(statement)
    database = backend.Database(backend.Settings(path, threads=1))
    with database.ledger() as ledger:
        migrate(ledger)
    tokens = Tokens(database)
    secrets = {name: tokens.create(name, "test", (), None)[1] for name in GRANTS}
    secrets["admin"] = tokens.create("admin", "test", list(AccessRole), None)[1]
    tokens.close()
    _grant(Access(database))
    database.close()
    for name, secret in secrets.items():
        (place / f"{name}.token").write_text(secret)
        (place / f"{name}.token").chmod(0o600)
    return place


@contextmanager
def served(place: Path, **settings: Any) -> Iterator[House]:
    """The server on what was prepared, with its grants."""
    path, files = place / "clinic.duckdb", place / "files"
    secrets = {file.stem: file.read_text() for file in place.glob("*.token")}
    with ExitStack() as stack:
        directories = (LoadDirectory(files, "ward_b"),)
        server = TableveilServer(
            ServeSettings(path, ("127.0.0.1:0",), threads=1, load_directories=directories, **settings)
        )
        stack.callback(server.close)
        clients = {name: stack.enter_context(Client(server.address, secret)) for name, secret in secrets.items()}
        house = House(server, clients, {n: c._channel for n, c in clients.items()}, server.access, files)
        # A test may have taken one away, and serve the place again.
        _grant(house.access)
        yield house


def _grant(access: Access) -> None:
    for name, grants in GRANTS.items():
        for role, scope in grants:
            if scope.release is None:
                access.add(ADMIN, WantedGrant(name, False, role, scope))


def policy(schema: str, name: str = "released", **changes: Any) -> Fields:
    """A policy for the patients of a ward; changes are top-level fields."""
    document = {
        "source": table(schema),
        "attributes": [
            {"column": "age", "role": "ROLE_QUASI_IDENTIFIER", "hierarchy": {"suppression_only": {}}},
            {"column": "ward", "role": "ROLE_QUASI_IDENTIFIER", "hierarchy": {"suppression_only": {}}},
            {"column": "illness", "role": "ROLE_SENSITIVE"},
            {"column": "code", "role": "ROLE_IDENTIFYING"},
        ],
        "rows_are_people": True,
        "privacy_models": [{"k_anonymity": {"k": 3}}],
        "suppression_limit": "0.5",
        "release": {"schema": schema, "name": name},
        "repeat_reason": "a test",
        **changes,
    }
    if "source_query" in changes:
        del document["source"]
    return document


def table(schema: str, name: str = "patients") -> Fields:
    """A reference to a table."""
    return {"schema": schema, "table": name}


def proposal(schema: str, name: str = "patients") -> Fields:
    """A request for a proposal for a table whose rows are people."""
    return {"table": table(schema, name), "rows_are_people": True}


def untried(schema: str) -> Fields:
    """A request for a proposal that has no time to try its policies: for tests of who sees it."""
    return {**proposal(schema), "time_limit_seconds": "0.001"}


def message(method: str, fields: Fields) -> Message:
    """The request of a method with these fields."""
    service, _, name = method.partition("/")
    descriptor: Any = Default().FindServiceByName(f"tableveil.v1.{service}").FindMethodByName(name)
    return json_format.ParseDict(fields, GetMessageClass(descriptor.input_type)())


def answer(channel: grpc.Channel, method: str, fields: Fields) -> tuple[str, str]:
    """The code and everything that the caller is told, whether as an error or in the answer."""
    call: Any = channel.stream_stream(f"/tableveil.v1.{method}", methodcaller("SerializeToString"), bytes)
    try:
        return "OK", repr(b"".join(call(iter([message(method, fields)]), timeout=60)))
    except grpc.RpcError as error:
        found: Any = error
        (details,) = (value for key, value in found.trailing_metadata() if key == "grpc-status-details-bin")
        return found.code().name, f"{found.details()} {details!r}"


def submitted(house: House, who: str, method: str, **fields: Any) -> job_service_pb2.Job:
    """The job that a principal submitted, once it has ended."""
    code, told = house.ask(who, method, **fields)
    assert code == "OK", told
    *_, job = house.clients[who].watch_job(next(house.clients[who].list_jobs()).name)
    return job
