"""Runs every kind of work on a table of canaries, with failures in the middle: nothing that is kept holds a value.

DuckDB's own messages quote data, and so may the literals of a statement.
"""

import io
import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tableveil.backend import redacted
from tableveil.backend.session import Session
from tableveil.client import Client
from tableveil.errors import TableveilError
from tableveil.server import ServeSettings, TableveilServer
from tests import work
from tests.adversary.test_messages import hidden, logging_to
from tests.once import once

WORK = work.JOBS | work.CALLS

SOME = {title: WORK[title] for title in ("a release", "a view", "a payout sweep", "a check", "a draft", "a withdrawal")}
"""The kinds of `make test`: the cheapest jobs, and calls that read values."""


def canaries() -> set[str]:
    """All texts that nothing may hold."""
    return hidden() | work.values()


class Injection:
    """Fails one statement, as DuckDB fails: with values in the message.

    Checksums of earlier releases are made meanwhile, in a thread of their own. Each fifth statement of theirs fails:
    were they counted with the work's, they would take the failures that are meant for it.
    """

    def __init__(self) -> None:
        self.statements: set[str] = set()
        self._left = 0
        self._of_checksums = itertools.count(1)

    @property
    def is_to_come(self) -> bool:
        """Whether the work's failing statement is still to come."""
        return self._left > 0

    def fail(self, number: int) -> None:
        """Fails the statement of this number, counted from now on; 0 fails none."""
        self._left = number

    def before(self, text: str, parameters: Sequence[object]) -> None:
        """Notes a statement, and fails it if its turn has come."""
        self.statements.add(text)
        if self._is_due():
            raise duckdb.ConversionException(f"Could not convert '{work.STATES[0]}': {text} {parameters}")

    def _is_due(self) -> bool:
        if threading.current_thread().name == "tableveil-checksums":
            return next(self._of_checksums) % 5 == 0
        self._left -= 1
        return self._left == 0


class Cursor:
    """A cursor whose statements may fail."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, injection: Injection) -> None:
        self._cursor, self._injection = cursor, injection

    def execute(self, text: str, parameters: Sequence[object] = ()) -> object:
        self._injection.before(text, parameters)
        return self._cursor.execute(text, parameters)

    def sql(self, text: str) -> object:
        self._injection.before(text, ())
        return self._cursor.sql(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


@dataclass(frozen=True, slots=True)
class Account:
    """The outcome of each attempt at each kind of work, the logs and stored rows, and the statements that were run.

    An outcome is the text of a failure, or empty.
    """

    outcomes: dict[str, list[str]]
    logged: str
    kept: str
    statements: set[str]


@pytest.fixture(scope="module", params=once([SOME, WORK]), ids=["some", "all"])
def account(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Account:
    path = tmp_path_factory.mktemp("canaries") / "clinic.duckdb"
    work.create(path)
    injection, outcomes = Injection(), dict[str, list[str]]()
    with pytest.MonkeyPatch.context() as patch, logging_to(io.StringIO()) as log:
        server = TableveilServer(ServeSettings(path, ("127.0.0.1:0",), threads=1))
        try:
            inject(patch, injection)
            with Client(server.address) as client:
                for number, (title, asked) in enumerate(request.param.items()):
                    outcomes[title] = list(attempts(client, asked, f"made_{number}", injection))
        finally:
            server.close()
        logged = log.getvalue()
    return Account(outcomes, logged, kept(path), injection.statements)


def inject(patch: pytest.MonkeyPatch, injection: Injection) -> None:
    """From now on, all new sessions have cursors that may fail."""
    make = Session.__init__

    def failing(self: Session, cursor: Any, *others: Any) -> None:
        make(self, Cursor(cursor, injection), *others)  # type: ignore[arg-type]

    patch.setattr(Session, "__init__", failing)


def attempts(client: Client, asked: work.Work, name: str, injection: Injection) -> Iterator[str]:
    """The outcomes of attempts that fail later and later; no failure is injected into the last one.

    Each has a name of its own: an attempt may succeed although one of its statements failed, such as one that only
    stores progress.
    """
    for attempt in itertools.count():
        outcome, was_left_alone = "", False
        # The end of earlier work may take the failure that is meant for this one: then it is tried again.
        for again in range(3):
            injection.fail(4**attempt)
            outcome = attempted(client, asked, f"{name}_{attempt}_{again}")
            was_left_alone = injection.is_to_come
            injection.fail(0)
            if outcome or was_left_alone:
                break
        yield outcome
        if was_left_alone:
            return


def attempted(client: Client, asked: work.Work, name: str) -> str:
    try:
        job = asked(client, name)
    except TableveilError as error:
        return f"{error} {error.faults}"
    while isinstance(job, str):
        # Looking at the job may fail, too.
        with suppress(TableveilError):
            *_, ended = client.watch_job(job)
            return str(ended.failure) if ended.HasField("failure") else ""
    return ""


def kept(path: Path) -> str:
    """All rows of the tables about jobs and loads, except policies, which are the owner's own text."""
    with duckdb.connect(path, read_only=True) as connection:
        queries = ["SELECT * EXCLUDE (policy) FROM tableveil.jobs"]
        queries += [f"FROM tableveil.{name}" for name in ("job_events", "job_outcomes", "loads", "withdrawals")]
        return "\n".join(str(connection.execute(query).fetchall()) for query in queries)


def test_every_kind_of_work_failed_and_then_went_well(account: Account) -> None:
    for title, (*failures, last) in account.outcomes.items():
        assert sum(map(bool, failures)) >= 2, title
        assert last == "", title


def test_nothing_that_is_told_or_kept_has_a_value(account: Account) -> None:
    assert account.logged.count("statement failed") >= 3 * len(account.outcomes)
    said = "\n".join(itertools.chain.from_iterable(account.outcomes.values()))
    for told in (said, account.logged, account.kept):
        assert told
        assert not [value for value in canaries() if value in told]


def test_no_failing_statement_would_be_logged_with_a_value(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statements of all the work, each as it would be logged if it failed and if logs were not cut off."""
    monkeypatch.setattr(redacted, "LONGEST_LOGGED", None)
    assert len(account.statements) > 20 * len(account.outcomes)
    logged = "\n".join(map(redacted.without_literals, account.statements))
    assert "cannot be read" not in logged
    assert not [value for value in canaries() if value in logged]


def test_values_are_bound(account: Account) -> None:
    """Except members of ENUMs, which are a part of their type."""
    text = "\n".join(statement for statement in account.statements if "ENUM(" not in statement)
    assert not [value for value in canaries() if value in text]


def test_the_search_would_find_a_value(account: Account) -> None:
    """The control: the statements that are run do hold values, in the types of columns."""
    assert any(state in statement for statement in account.statements for state in work.STATES)
