"""Releases random tables by whole jobs, and checks the results without trusting anything."""

import json
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tableveil.backend import Database
from tableveil.convert import canonical_json, policy_from_proto
from tableveil.document import read_policy
from tableveil.errors import TableveilError
from tableveil.pipelines.anonymize import release_work
from tableveil.runtime import JobSettings, open_jobs
from tests.campaign.attacker.cases import TAG, Case, Method, case
from tests.campaign.attacker.checks import Checks
from tests.campaign.attacker.columns import Document
from tests.campaign.attacker.local import transformable
from tests.migrated import opened

EXPECTED = frozenset({"INFEASIBLE", "TOO_FEW_RECORDS", "VALUES_UNPROTECTED", "COLUMN_DISCLOSES", "POLICY_INVALID"})
"""The permitted reasons for refusing a case."""

UNMET = frozenset({"INFEASIBLE", "TOO_FEW_RECORDS"})

SECONDS = 120.0
"""How long a job on so small a table may take."""

REPEATED = 20
"""One case of so many is tried once more, without a reason."""

RELEASES_PER_DATABASE = 100
"""A database's ledger grows with its releases, and checking it takes longer."""


@dataclass(slots=True)
class Report:
    """The number of checked releases, by method and by model, the ends of other jobs, and the findings."""

    releases: int = 0
    repeated: int = 0
    methods: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The report, for people."""
        yield f"{self.releases} releases, {len(self.broken)} broken; {self.repeated} refused once more without a reason"
        yield "by method: " + _counted(self.methods)
        yield "by model: " + _counted(self.models)
        yield "not released: " + _counted(self.refused)
        yield from self.broken


def attack(seed: int, seconds: float, releases: int) -> Report:
    """Draws cases from the seed on until enough were released, or until the time is over."""
    report, until = Report(), time.monotonic() + seconds
    while report.releases < releases and time.monotonic() < until:
        with tempfile.TemporaryDirectory() as directory:
            for database in opened(Path(directory) / "attacked.duckdb"):
                attacked = Attacked(database, report)
                enough = min(releases, report.releases + RELEASES_PER_DATABASE)
                while report.releases < enough and time.monotonic() < until:
                    attacked.try_case(seed)
                    seed += 1
                attacked.close()
    return report


class Attacked:
    """A database on which cases are released one after another."""

    def __init__(self, database: Database, report: Report) -> None:
        self._database = database
        self._jobs = open_jobs(database, JobSettings(1))
        self._report = report

    def close(self) -> None:
        """Closes the database."""
        self._jobs.close(SECONDS)

    def try_case(self, seed: int) -> None:
        """Releases one case, if it can be, and checks it."""
        drawn = case(seed, f"released_{seed}")
        try:
            self._try(drawn)
        except Exception:
            self._broken(seed, traceback.format_exc())

    def release(self, drawn: Case) -> int | None:
        """Makes the case's tables, and releases it; returns the release's number, or None after counting a refusal."""
        with self._database.session() as session:
            for statement in drawn.statements:
                session.execute(statement)
        ended = self._ended(drawn.policy)
        if isinstance(ended, int):
            return ended
        self._report.refused[ended.partition(":")[0]] += 1
        if ended.partition(":")[0] not in EXPECTED:
            self._broken(drawn.seed, ended)
        elif ended in UNMET and drawn.method is Method.LOCAL_RECODING and _unhurried(drawn) and transformable(drawn):
            self._broken(drawn.seed, f"{ended}, though a transformation could be released")
        return None

    def _try(self, drawn: Case) -> None:
        number = self.release(drawn)
        if number is None:
            return
        with self._database.session() as session:
            problems = Checks(drawn, number, session.rows).problems()
        self._report.releases += 1
        self._report.methods[drawn.method] += 1
        self._report.models.update(name for model in drawn.policy["privacy_models"] for name in model)
        if problems:
            self._broken(drawn.seed, "; ".join(sorted(set(problems))))
        if drawn.seed % REPEATED == 0 and "source" in drawn.policy:
            self._repeat(drawn)

    def _repeat(self, drawn: Case) -> None:
        """Released people must not be released again without a reason, even from a table with another name."""
        copied = f"copied_{drawn.seed}"
        with self._database.session() as session:
            session.execute(f"CREATE TABLE {copied} AS SELECT * FROM people ORDER BY hash({TAG})")
        for source in ("people", copied):
            policy = {**drawn.policy, "source": {"table": source}, "release": {"name": f"again_{source}"}}
            del policy["repeat_reason"]
            code = self._ended(policy)
            if code != "REPEATED_RELEASE":
                self._broken(drawn.seed, f"{source} was released once more without a reason: {code}")
        self._report.repeated += 1

    def _ended(self, document: Document) -> int | str:
        """The number of the release that a job makes, or the code of its failure, with more if needed."""
        message, wrong = read_policy(json.dumps(document), "json")
        policy, faults = policy_from_proto(message)
        if policy is None or wrong or faults:
            return f"INVALID: {[*wrong, *faults]}"
        try:
            job = self._jobs.submit(release_work(policy, canonical_json(message)))
        except TableveilError as error:
            return error.code
        until = time.monotonic() + SECONDS
        *_, ended = self._jobs.watch(job.number, lambda: time.monotonic() > until)
        if ended.failure is not None:
            code = ended.failure.code
            return code if code in EXPECTED | {"REPEATED_RELEASE"} else f"{code}: {ended.failure.message}"
        return ended.result if ended.result is not None else f"{ended.state}: after {SECONDS:.0f} s"

    def _broken(self, seed: int, problem: str) -> None:
        self._report.broken.append(f"seed {seed}: {problem}")


def _unhurried(drawn: Case) -> bool:
    """Whether the search has all the time that it needs: what it finds within a limit depends on the machine."""
    return "time_limit_seconds" not in drawn.policy["search"]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())
