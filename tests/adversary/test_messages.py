"""Shows that logs, errors, progress and tables of jobs hold no value of the source."""

import hashlib
import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from tableveil.client import Client
from tableveil.errors import TableveilError
from tableveil.server import ServeSettings, TableveilServer
from tests.adversary import samples
from tests.adversary.publishing import Document, create_source, in_schema, policy_of, texts
from tests.adversary.samples import attribute, inline
from tests.once import once

Change = Callable[[Document], None]


@dataclass(frozen=True, slots=True)
class Job:
    """A job that ends with `code`; the code is empty if it succeeds."""

    code: str
    change: Change = lambda document: None
    statements: tuple[str, ...] = ()


def at(position: int, **fields: object) -> Change:
    """Changes one attribute of the policy."""
    return lambda document: document["attributes"][position].update(fields)


def new(column: str, role: str, **fields: object) -> Change:
    """Adds an attribute to the policy."""
    return lambda document: document["attributes"].append(attribute(column, role, **fields))


def top(**fields: object) -> Change:
    """Changes fields of the policy itself."""
    return lambda document: document.update(fields)


# A column that is computed when it is read: DuckDB fails in the server, with the value in its message.
FAILING = (
    "CREATE TABLE others AS FROM patients; DROP TABLE patients; SET VARIABLE loading = true; "
    "CREATE TABLE patients (id VARCHAR, name VARCHAR, age BIGINT, sex VARCHAR, city VARCHAR, diagnosis VARCHAR, "
    "ward VARCHAR, bad INTEGER AS (CASE WHEN getvariable('loading') THEN 0 ELSE CAST({} AS INTEGER) END)); "
    "INSERT INTO patients FROM others; DROP TABLE others"
)

JOBS = {
    "nothing wrong": Job(""),
    "blank rows in a view": Job("", top(suppressed_records=samples.BLANK, release=samples.VIEW)),
    "values that a written-out hierarchy misses": Job(
        "POLICY_INVALID", at(4, hierarchy=inline([("Rome", "south", "*")]))
    ),
    "values that a rule misses": Job(
        "POLICY_INVALID",
        at(4, hierarchy={"redaction": {"length": 3, "alphabet_size": 10}}, minimum_level=0, maximum_level=None),
    ),
    "several records of one person": Job("", statements=("INSERT INTO patients FROM patients ORDER BY id LIMIT 1",)),
    "records of nobody": Job("POLICY_INVALID", statements=("UPDATE patients SET id = NULL WHERE age > 40",)),
    "a NULL that must not be": Job(
        "POLICY_INVALID", at(4, nulls="ERROR"), ("UPDATE patients SET city = NULL WHERE age > 40",)
    ),
    "a nearly unique column": Job("POLICY_INVALID", at(5, acknowledged=False)),
    "a column that gives a hidden one away": Job(
        "COLUMN_DISCLOSES",
        new("home", "INSENSITIVE"),
        ("ALTER TABLE patients ADD COLUMN home VARCHAR", "UPDATE patients SET home = 'in ' || city"),
    ),
    "nothing that would be private": Job("INFEASIBLE", top(privacy_models=[{"k_anonymity": {"k": 50}}])),
    "more asked than there are": Job("TOO_FEW_RECORDS", top(privacy_models=[{"k_anonymity": {"k": 500}}])),
    "a target that exists": Job("TARGET_EXISTS", statements=("CREATE TABLE released_risk AS FROM patients",)),
    "a type that is not released": Job(
        "POLICY_INVALID",
        new("visits", "SENSITIVE"),
        ("ALTER TABLE patients ADD COLUMN visits VARCHAR[]", "UPDATE patients SET visits = [diagnosis, name]"),
    ),
    "a sensitive value that the database cannot read": Job(
        "DATABASE_ERROR", new("bad", "SENSITIVE"), (FAILING.format("diagnosis"),)
    ),
    "an identifier that the database cannot read": Job(
        "DATABASE_ERROR", new("bad", "IDENTIFYING"), (FAILING.format("name"),)
    ),
    "a quasi-identifier that the database cannot read": Job(
        "DATABASE_ERROR", new("bad", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}}), (FAILING.format("city"),)
    ),
}

ORDINARY = [
    "nothing wrong",
    "values that a written-out hierarchy misses",
    "records of nobody",
    "a column that gives a hidden one away",
    "nothing that would be private",
    "a sensitive value that the database cannot read",
    "a quasi-identifier that the database cannot read",
]
"""The jobs of `make test`."""


@dataclass(frozen=True, slots=True)
class Account:
    """All answers and logs about jobs on one server, by their titles, and the database that they left."""

    codes: dict[str, str]
    said: dict[str, str]
    logged: dict[str, str]
    database: Path


@pytest.fixture(
    scope="module",
    params=once([ORDINARY, [title for title in JOBS if title not in ORDINARY]]),
    ids=["ordinary", "others"],
)
def account(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Account:
    path = tmp_path_factory.mktemp("messages") / "clinic.duckdb"
    documents = {}
    for number, title in enumerate(request.param):
        job = JOBS[title]
        create_source(path, samples.patients(), *job.statements, schema=f"clinic_{number}")
        document = samples.policy()
        job.change(document)
        documents[title] = in_schema(document, f"clinic_{number}")
    codes, said, logged = {}, {}, {}
    with logging_to(io.StringIO()) as log:
        server = TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=2))
        try:
            with Client(server.address) as client:
                for title, document in documents.items():
                    start = log.tell()
                    codes[title], said[title] = run(client, document)
                    logged[title] = log.getvalue()[start:]
        finally:
            server.close()
    return Account(codes, said, logged, path)


@contextmanager
def logging_to(log: io.StringIO) -> Iterator[io.StringIO]:
    """All logs are written there, with tracebacks."""
    handler, root = logging.StreamHandler(log), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield log
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def hidden() -> set[str]:
    """The values of the source that nothing may reveal."""
    source = samples.patients()
    values = texts([source]) - {*source.column_names, "F", "M", "east", "west"}
    assert len(values) > 3 * len(source)
    return values


def test_what_is_said_about_a_job(account: Account) -> None:
    for title, code in account.codes.items():
        assert code == JOBS[title].code, title
        assert account.said[title], title
        assert account.logged[title], title
        told = account.said[title] + account.logged[title]
        assert not [value for value in hidden() if value in told], title


def test_what_is_kept_about_jobs(account: Account) -> None:
    kept: list[str] = []
    with duckdb.connect(account.database, read_only=True) as connection:
        # Except the policy, which is the owner's own text.
        for query in (
            "SELECT * EXCLUDE (policy) FROM tableveil.jobs",
            "FROM tableveil.job_events",
            "FROM tableveil.job_outcomes",
            "SELECT * EXCLUDE (policy) FROM tableveil.releases",
        ):
            rows = connection.execute(query).fetchall()
            assert rows, query
            kept += map(str, rows)
    told = "\n".join([*kept, *account.said.values(), *account.logged.values()])
    assert not [value for value in hidden() if value in told]
    assert not secrets_in(account.database, told)


def run(client: Client, document: Document) -> tuple[str, str]:
    """The code with which the job ended, and everything that clients are told about it."""
    said = []
    with suppress(TableveilError):
        said += [str(fault) for fault in client.check_policy(policy_of(document))]
    try:
        changes = list(client.watch_job(client.submit(policy_of(document)).name))
    except TableveilError as error:
        return error.code, "\n".join([*said, error.message, *map(str, error.faults)])
    return changes[-1].failure.code, "\n".join([*said, *map(str, changes)])


def secrets_in(path: Path, text: str) -> list[str]:
    """Forms of the database's key that are in the text."""
    with duckdb.connect(path, read_only=True) as connection:
        (key,) = connection.execute("SELECT value FROM tableveil.secrets").fetchone() or (b"",)
    assert len(key) == 32
    forms = [key.hex(), repr(key), hashlib.sha256(key).hexdigest(), hashlib.sha256(b"rows" + key).hexdigest()]
    return [form for form in forms if form in text]


def test_the_search_would_find_a_value(tmp_path: Path) -> None:
    """The control: the failing statement's own message does hold the values."""
    source = samples.patients()
    path = tmp_path / "clinic.duckdb"
    create_source(path, source, FAILING.format("diagnosis"))
    with duckdb.connect(path) as connection, pytest.raises(duckdb.ConversionException) as raised:
        connection.execute("SELECT bad FROM patients").fetchall()
    assert any(value in str(raised.value) for value in source["diagnosis"].to_pylist())
