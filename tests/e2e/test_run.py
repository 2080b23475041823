"""`tableveil run`: one job on a file without a server, with the same answers, and nothing left if it is stopped."""

import json
import signal
from pathlib import Path

import duckdb
import pytest

from tests.e2e import samples
from tests.e2e.forked import Command
from tests.e2e.process import Serve


class Runs:
    """Runs policies on a database, as a pipeline does."""

    def __init__(self, directory: Path) -> None:
        self.database = directory / "people.duckdb"
        self.sockets = directory / "tmp"
        self.sockets.mkdir()
        self.said = directory / "said.log"

    def start(self, document: samples.Document, *options: str) -> Command:
        """A run, with JSON output."""
        policy = self.database.with_name("policy.json")
        policy.write_text(json.dumps(document))
        self.said.unlink(missing_ok=True)
        arguments = ("run", str(policy), "--database", str(self.database), "--json", *options)
        return Command(*arguments, log=self.said, environment={"TMPDIR": str(self.sockets)})

    def __call__(self, document: samples.Document, *options: str) -> tuple[int, list[samples.Document], str]:
        """A run, with JSON output."""
        code, out = self.start(document, *options).ended()
        return code, [json.loads(line) for line in out.splitlines()], self.said.read_text()

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The contents of the database, once nobody has it open."""
        with duckdb.connect(self.database, read_only=True) as connection:
            return connection.execute(query).fetchall()

    @property
    def left_behind(self) -> list[str]:
        """Files beside the database and the policy, and in the directory for temporary ones."""
        kept = {self.database.name, f".{self.database.name}.ledger", f"{self.database.name}.audit.jsonl"}
        expected = {*kept, "policy.json", self.sockets.name, self.said.name}
        beside = {path.name for path in self.database.parent.iterdir()} - expected
        return sorted(beside | {path.name for path in self.sockets.iterdir()})


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    made = Runs(tmp_path)
    samples.create(made.database, people=samples.PEOPLE, wide=samples.wide(24))
    return made


def test_a_release_and_its_repetition(runs: Runs) -> None:
    code, documents, _ = runs(samples.policy(), "--request-id", "tuesday")
    assert code == 0
    *changes, last = documents
    assert changes[-1]["job"]["state"] == "JOB_STATE_SUCCEEDED"
    release = last["release"]
    (released,) = runs.rows("SELECT count(*) FROM released")
    assert released == (int(release["records"]) - int(release["suppressed_records"]),)
    assert runs.left_behind == []
    # A pipeline that does not know whether its first attempt succeeded asks again, and is given the same release.
    code, documents, _ = runs(samples.policy(), "--request-id", "tuesday")
    assert (code, documents[-1]["release"]) == (0, release)
    # Without the id it is a second release, in place of the first.
    code, documents, said = runs(samples.policy())
    assert (code, documents[-1]["failure"]["code"]) == (6, "TARGET_EXISTS")
    assert "if_exists: REPLACE" in said


def test_a_second_release_judged_together(runs: Runs) -> None:
    """The error of a second release has the way out in its hint, from the command line to the ledger and back."""
    first = runs(samples.policy())[1][-1]["release"]
    code, documents, said = runs(samples.policy(target="again"))
    assert (code, documents[-1]["failure"]["code"]) == (2, "REPEATED_RELEASE")
    assert "write left_behind: REPORT below release" in " ".join(said.split())
    code, documents, _ = runs(samples.policy(target="again"), "--set", "release.left_behind=REPORT")
    assert code == 0
    told = documents[-1]["release"]["warnings"]
    assert any(text.startswith(f"Judged together with {first['name']}: ") for text in told), told
    together = "SELECT release, other FROM tableveil.release_together"
    assert runs.rows(together) == [(2, 1)]


def test_what_a_run_says_of_bad_input(runs: Runs) -> None:
    document = samples.policy(person_column="idd")
    code, documents, said = runs(document)
    assert code == 2
    assert documents[-1]["failure"]["faults"][0]["field"] == "person_column"
    assert "did you mean" in said.lower()
    document = samples.policy(privacy_models=[{"k_anonymity": {"k": 1000}}])
    assert runs(document)[0] == 3
    assert runs.left_behind == []


def test_a_file_that_a_server_has_open(runs: Runs, serve: Serve) -> None:
    server = serve(runs.database)
    code, documents, said = runs(samples.policy())
    assert (code, documents[-1]["failure"]["code"]) == (7, "DATABASE_LOCKED")
    assert "connect to the server" in said
    server.terminate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped(runs: Runs, number: signal.Signals) -> None:
    process = runs.start(samples.wide_policy(24), "--request-id", "long")
    for line in process.stdout:
        if json.loads(line)["job"]["phase"] == "JOB_PHASE_SEARCHING":
            break
    process.send_signal(number)
    code, _ = process.ended()
    assert code == (-9 if number is signal.SIGKILL else 128 + number)
    if number is signal.SIGINT:
        assert "jobs/1" in runs.said.read_text()
    if number is not signal.SIGKILL:
        assert runs.left_behind == []
        assert runs.rows("SELECT state FROM tableveil.job_outcomes") == [("INTERRUPTED",)]
        return
    # The next run finds a whole database.
    code, documents, _ = runs(samples.policy(), "--request-id", "other")
    assert (code, documents[-1]["release"]["job"]) == (0, "jobs/2")
    assert runs.rows("SELECT job, state FROM tableveil.job_outcomes ORDER BY job") == [
        (1, "INTERRUPTED"),
        (2, "SUCCEEDED"),
    ]
