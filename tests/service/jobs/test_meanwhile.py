"""A table or release goes away between two statements of a call: it sees one state, and no error is internal."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tableveil.backend import Database, Session
from tableveil.control import Control
from tableveil.errors import Checked, ConflictError, InvalidError, NotFoundError
from tableveil.lookups import Releases, Reports, RiskAnalyses, Tables
from tableveil.pipelines.anonymize import release_work
from tableveil.pipelines.draft import Drafts
from tableveil.pipelines.risk_analysis import risk_analysis_work
from tableveil.policy import TableReference
from tableveil.requests.risk_analysis import RiskRequest
from tableveil.runtime import JobManager
from tests.migrated import opened, passing
from tests.service.jobs.managed import LABELLED, SECONDS, ended, open_with, to

PATIENTS = TableReference("", "main", "patients")
ASKED = RiskRequest(PATIENTS, None, ("age", "ward"), records=True)
OF_RELEASE = replace(ASKED, table=None, release=1, records=False)


@dataclass(frozen=True)
class Place:
    """An open database, and its jobs."""

    database: Database
    jobs: JobManager

    def analyze(self, request: RiskRequest) -> int:
        """Submits a risk analysis."""
        return self.jobs.submit(risk_analysis_work(request, "{}", lambda _: LABELLED)).number

    def change(self, statement: str) -> None:
        """Changes tables in a session of its own."""
        with self.database.session() as session:
            session.execute(statement)

    def withdraw(self) -> None:
        """Withdraws the release, unless a submission of this thread would be waited for."""
        if not self.jobs.uses.submitting.locked():
            self.jobs.releases.withdraw(1, "it is wrong")

    def read(self) -> None:
        """Reads the rows of the release."""
        with Releases(self.database).read(1, "released") as reader:
            assert reader.read_all().num_rows

    def read_records(self) -> None:
        """Reads the risks of the analysis."""
        with RiskAnalyses(self.database).read_records(1) as reader:
            assert reader.read_all().num_rows


@contextmanager
def at(path: Path, original: Path) -> Iterator[Place]:
    for database in passing(path, original):
        jobs = open_with(database, policy_of=lambda _: LABELLED)
        yield Place(database, jobs)
        assert jobs.close(SECONDS)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, released_once: Path) -> Path:
    """A database with a release and a risk analysis of its source."""
    path = tmp_path_factory.mktemp("meanwhile") / "original.duckdb"
    for database in opened(path, released_once):
        jobs = open_with(database)
        assert ended(jobs, Place(database, jobs).analyze(ASKED)).result == 1
        jobs.close(SECONDS)
    return path


@dataclass
class Meanwhile:
    """Makes a change before the statement of that number of this thread."""

    change: Callable[[], object]
    number: int
    thread: threading.Thread = field(default_factory=threading.current_thread)

    def look(self) -> None:
        """A statement is about to run."""
        if threading.current_thread() is self.thread and self.number:
            self.number -= 1
            if not self.number:
                # Nothing that is in use goes away.
                with suppress(ConflictError):
                    self.change()


class _Watched:
    """A cursor that tells of its statements."""

    def __init__(self, cursor: Any, meanwhile: Meanwhile) -> None:
        self._cursor, self._meanwhile = cursor, meanwhile

    def execute(self, *given: Any) -> Any:
        self._meanwhile.look()
        return self._cursor.execute(*given)

    def sql(self, *given: Any) -> Any:
        self._meanwhile.look()
        return self._cursor.sql(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


def describe(place: Place) -> object:
    return Tables(place.database).describe(PATIENTS, 3, Control())


def report(place: Place) -> object:
    return Reports(place.database, Releases(place.database)).told(1, Control())


def draft_related(place: Place) -> object:
    return Drafts(place.database).related({"table": PATIENTS, "events[0]": PATIENTS}, Control())


def check(place: Place, *, rows: bool = True) -> Checked:
    return place.jobs.check(to("other"), rows=rows)


def submit_policy(place: Place) -> object:
    return place.jobs.submit(release_work(to("other"), "{}"))


def drop(place: Place) -> None:
    place.change("DROP TABLE patients")


def put_in_place(place: Place) -> None:
    place.change("CREATE OR REPLACE TABLE patients AS SELECT 'a' AS other FROM range(3)")


@pytest.mark.parametrize(
    ("call", "change", "refusal"),
    [
        (lambda place: place.analyze(OF_RELEASE), Place.withdraw, "RELEASE_WITHDRAWN"),
        (lambda place: place.analyze(ASKED), drop, "TABLE_NOT_FOUND"),
        (lambda place: place.analyze(ASKED), put_in_place, "COLUMN_NOT_FOUND"),
        (submit_policy, drop, "POLICY_INVALID"),
        (submit_policy, put_in_place, "POLICY_INVALID"),
        (check, drop, "CHECKED"),
        (check, put_in_place, "CHECKED"),
        (partial(check, rows=False), drop, "CHECKED"),
        (describe, drop, "TABLE_NOT_FOUND"),
        (describe, put_in_place, ""),
        (draft_related, drop, "TABLE_NOT_FOUND"),
        (Place.read, Place.withdraw, "RELEASE_WITHDRAWN"),
        (Place.read_records, lambda place: place.jobs.delete(2), "RISK_ANALYSIS_NOT_FOUND"),
        (report, Place.withdraw, ""),
    ],
)
def test_a_call_sees_one_state(
    original: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[Place], object],
    change: Callable[[Place], None],
    refusal: str,
) -> None:
    """The change comes before each statement of the call in turn: the first ones see it, and all others do not."""
    made, answers = Session.__init__, list[str]()
    for number in count(1):
        with at(tmp_path / f"{number}.duckdb", original) as place, monkeypatch.context() as patched:
            meanwhile = Meanwhile(partial(change, place), number)

            def watched(session: Session, cursor: Any, *given: Any, watch: Meanwhile = meanwhile) -> None:
                made(session, _Watched(cursor, watch), *given)  # type: ignore[arg-type]

            patched.setattr(Session, "__init__", watched)
            try:
                answer = call(place)
                answers.append("CHECKED" if isinstance(answer, Checked) and answer.faults else "")
            except (ConflictError, InvalidError, NotFoundError) as error:
                answers.append(error.code)
        if meanwhile.number:
            break
    seen = answers.count(refusal) if refusal else 0
    assert len(answers) > 5
    assert answers == [refusal] * seen + [""] * (len(answers) - seen)
    assert seen < 5
    assert seen or not refusal
