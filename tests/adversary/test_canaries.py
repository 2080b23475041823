"""Runs every kind of work on a table of canaries, with failures in the middle: nothing that is kept holds a value.

DuckDB's own messages quote data, and so may the literals of a statement.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tableveil.backend import redacted
from tableveil.backend.session import Session
from tableveil.client import Client
from tableveil.errors import TableveilError
from tableveil.server import Settings, TableveilServer
from tableveil.v1 import classification_service_pb2, hierarchy_service_pb2, risk_service_pb2
from tests.adversary import samples
from tests.adversary.publishing import Document, changed, create_source, policy_of
from tests.adversary.samples import attribute, canary
from tests.adversary.test_messages import hidden, logging_to

PAY, WEIGHT, STATES = 480_151_623, 48.1516234375, [canary("state", i) for i in range(4)]

Work = Callable[[Client, str], object]
"""Does some work under a name that is new each time; a returned text names the job that does it."""


def source() -> pa.Table:
    """The patients, with numbers and dates that occur nowhere else."""
    table = samples.patients()
    rows = range(len(table))
    table = table.append_column("pay", pa.array([PAY + 7_919 * i for i in rows], pa.int64()))
    return table.append_column("weight", pa.array([WEIGHT + i for i in rows], pa.float64()))


def canaries() -> set[str]:
    """All texts that nothing may hold."""
    rows = range(len(source()))
    return hidden() | {str(PAY + 7_919 * i) for i in rows} | {repr(WEIGHT + i) for i in rows} | set(STATES)


def policy(name: str, **fields: object) -> Document:
    """The columns pay, weight and state are sensitive."""
    document = samples.policy()
    document["attributes"] += [attribute(column, "SENSITIVE", acknowledged=True) for column in ("pay", "weight")]
    document["attributes"].append(attribute("state", "SENSITIVE"))
    document["privacy_models"].append({"distinct_l_diversity": {"column": "state", "l": 2}})
    return changed(document, release={"name": name}, repeat_reason="a test", **fields)


def view(name: str) -> Document:
    return changed(policy(name), release={"name": name, "kind": "VIEW"}, suppressed_records=samples.BLANK)


def clustered(name: str) -> Document:
    document = policy(name, microaggregation={})
    age, sex, city = document["attributes"][2:5]
    for column in (age, sex, city):
        column.pop("minimum_level", None)
        column.pop("maximum_level", None)
    del age["hierarchy"]
    age["aggregation"] = {"function": "INTERVAL", "grid": "5"}
    sex["aggregation"] = city["aggregation"] = {"scale": "NOMINAL", "function": "COMMON_LABEL"}
    return document


def game(name: str) -> Document:
    stakes = {"publisher_benefit": "100", "publisher_loss": "400", "adversary_gain": "400", "adversary_cost": "60"}
    document = policy(name)
    document["attributes"][-1] = attribute("state", "QUASI_IDENTIFIER", hierarchy={"suppression_only": {}})
    return changed(
        document,
        privacy_models=[{"profitability": {"success": "JOURNALIST"}}],
        quality_model={"publisher_payout": {"success": "JOURNALIST"}},
        game=stakes,
        population={"table": {"table": "everybody"}},
    )


def submit(document: Callable[[str], Document]) -> Work:
    return lambda client, name: client.submit(policy_of(document(name))).name


def risks(client: Client, _: str) -> str:
    asked = risk_service_pb2.RiskRequest(quasi_identifiers=["age", "city", "pay", "weight"], records=True)
    asked.table.table = "patients"
    return client.submit_risk_analysis(asked).name


def classifiers(client: Client, _: str) -> str:
    asked = classification_service_pb2.ClassificationRequest(
        release="releases/1", classes=["state"], features=["pay", "weight", "city"], folds=3
    )
    return client.assess_classifiers(asked).name


def preview(client: Client, _: str) -> None:
    asked = hierarchy_service_pb2.PreviewHierarchyRequest(column="city")
    asked.table.table = "patients"
    asked.hierarchy.redaction.length, asked.hierarchy.redaction.alphabet_size = 20, 99
    client.preview_hierarchy(asked)


def withdraw(client: Client, _: str) -> None:
    newest = next(release for release in client.list_releases() if release.current)
    client.withdraw_release(newest.name, "a test")


# The first one makes the release that the others are about.
WORK: dict[str, Work] = {
    "a release": submit(policy),
    "a view": submit(view),
    "microaggregation": submit(clustered),
    "record level": submit(lambda name: changed(game(name), record_level={})),
    "a frontier": lambda client, name: client.submit_frontier(policy_of(policy(name)), [2, 3]).name,
    "a payout sweep": lambda client, name: client.submit_payout_sweep(policy_of(game(name)), ["0", "300"]).name,
    "a utility report": lambda client, _: client.submit_utility_report("releases/1").name,
    "a risk analysis": risks,
    "an assessment of classifiers": classifiers,
    "a load": lambda client, name: client.load(source(), name),
    "a check": lambda client, name: client.checked(policy_of(policy(name))),
    "a draft": lambda client, _: client.draft_policy("SELECT * FROM patients"),
    "a description": lambda client, _: client.describe_table("patients"),
    "a preview": preview,
    "a withdrawal": withdraw,
}


class Injection:
    """Fails one statement, as DuckDB fails: with values in the message."""

    def __init__(self) -> None:
        self.statements: set[str] = set()
        self._left = 0

    @property
    def is_due(self) -> bool:
        """Whether the failing statement is still to come."""
        return self._left > 0

    def fail(self, number: int) -> None:
        """Fails the statement of this number, counted from now on; 0 fails none."""
        self._left = number

    def before(self, text: str, parameters: Sequence[object]) -> None:
        """Notes a statement, and fails it if its turn has come."""
        self.statements.add(text)
        self._left -= 1
        if self._left == 0:
            raise duckdb.ConversionException(f"Could not convert '{STATES[0]}': {text} {parameters}")


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


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Account:
    path = tmp_path_factory.mktemp("canaries") / "clinic.duckdb"
    members = ", ".join("'" + state.replace("'", "''") + "'" for state in STATES)
    create_source(
        path,
        source(),
        f"ALTER TABLE patients ADD COLUMN state ENUM({members})",
        f"UPDATE patients SET state = ([{members}])[1 + pay % 4]",
        "CREATE TABLE everybody AS SELECT * REPLACE (state::VARCHAR AS state) FROM patients",
    )
    injection, outcomes = Injection(), dict[str, list[str]]()
    with pytest.MonkeyPatch.context() as patch, logging_to(io.StringIO()) as log:
        server = TableveilServer(Settings(path, address="127.0.0.1:0", threads=1))
        try:
            inject(patch, injection)
            with Client(server.address) as client:
                for number, (title, work) in enumerate(WORK.items()):
                    outcomes[title] = list(attempts(client, work, f"made_{number}", injection))
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


def attempts(client: Client, work: Work, name: str, injection: Injection) -> Iterator[str]:
    """The outcomes of attempts that fail later and later; no failure is injected into the last one.

    Each has a name of its own: an attempt may succeed although one of its statements failed, such as one that only
    stores progress.
    """
    for attempt in itertools.count():
        injection.fail(int(2.5**attempt))
        outcome = attempted(client, work, f"{name}_{attempt}")
        was_left_alone = injection.is_due
        injection.fail(0)
        yield outcome
        if was_left_alone:
            return


def attempted(client: Client, work: Work, name: str) -> str:
    try:
        job = work(client, name)
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


@pytest.mark.parametrize("title", WORK)
def test_every_kind_of_work_failed_and_then_went_well(account: Account, title: str) -> None:
    *failures, last = account.outcomes[title]
    assert sum(map(bool, failures)) >= 2
    assert last == ""


def test_nothing_that_is_told_or_kept_has_a_value(account: Account) -> None:
    assert account.logged.count("statement failed") >= 3 * len(WORK)
    said = "\n".join(itertools.chain.from_iterable(account.outcomes.values()))
    for told in (said, account.logged, account.kept):
        assert told
        assert not [value for value in canaries() if value in told]


def test_no_failing_statement_would_be_logged_with_a_value(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statements of all the work, each as it would be logged if it failed and if logs were not cut off."""
    monkeypatch.setattr(redacted, "LONGEST_LOGGED", None)
    assert len(account.statements) > 300
    logged = "\n".join(map(redacted.without_literals, account.statements))
    assert "cannot be read" not in logged
    assert not [value for value in canaries() if value in logged]


def test_values_are_bound(account: Account) -> None:
    """Except members of ENUMs, which are a part of their type."""
    text = "\n".join(statement for statement in account.statements if "ENUM(" not in statement)
    assert not [value for value in canaries() if value in text]


def test_the_search_would_find_a_value(account: Account) -> None:
    """The control: the statements that are run do hold values, in the types of columns."""
    assert any(state in statement for statement in account.statements for state in STATES)
