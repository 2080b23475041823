"""The ten rows of `examples/ten-rows`: released by real jobs, with what the search did at each transformation."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import duckdb

from tableveil.classes import Check
from tableveil.lattice import Transformation
from tableveil.search.findings import Findings
from tableveil.search.intervals import BY_QUALITY, BY_SUPPRESSION
from tableveil.search.outcome import Candidate
from tests.e2e.commands import tableveil

EXAMPLE = Path(__file__).parents[2] / "examples" / "ten-rows"
Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class Visit:
    """The fate of one transformation: it was checked, with a score if it is valid, or excluded for a reason."""

    checked: bool
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class TenRows:
    """The source, the release by one transformation with its search, and the release by local recoding.

    `releases` have age, town and diagnosis.
    """

    source: Rows
    released: Rows
    recoded: Rows
    best: Transformation
    visits: dict[Transformation, Visit]


def ten_rows() -> TenRows:
    """Runs both jobs in a directory of their own."""
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / "ten.duckdb"
        _run("load", EXAMPLE / "patients.csv", "patients", "--database", database)
        with _watched() as (visits, valid):
            _run("run", EXAMPLE / "policy.yaml", "--database", database)
        recoded = ("--set", "local_recoding={}", "--release-name", "patients_recoded")
        reason = ("--repeat-reason", "the same patients in another picture")
        _run("run", EXAMPLE / "policy.yaml", "--database", database, *recoded, *reason)
        with duckdb.connect(database, read_only=True) as connection:
            source, released, many = (
                connection.execute(f"SELECT {columns} FROM {table}").fetchall()
                for columns, table in (
                    ("name, age::VARCHAR, town, diagnosis", "patients"),
                    ("age, town, diagnosis", "patients_released"),
                    ("age, town, diagnosis", "patients_recoded"),
                )
            )
    best = min(valid, key=lambda at: valid[at].key)
    for at, candidate in valid.items():
        visits[at] = Visit(True, candidate.score)
    return TenRows(source, released, many, best, visits)


def _run(*words: str | Path) -> None:
    outcome = tableveil(*map(str, words))
    assert outcome.exit_code == 0, outcome.stderr


@contextmanager
def _watched() -> Iterator[tuple[dict[Transformation, Visit], dict[Transformation, Candidate]]]:
    """The visits of the searches meanwhile, and the candidates that they found valid."""
    visits: dict[Transformation, Visit] = {}
    valid: dict[Transformation, Candidate] = {}
    check, ruled_out, prune, candidate = Findings.check, Findings.ruled_out, Findings.prune, Findings.candidate

    def checks(self: Findings, at: Transformation) -> Check:
        visits[at] = Visit(True)
        return check(self, at)

    def rules_out(self: Findings, at: Transformation) -> bool:
        ruled = ruled_out(self, at)
        if ruled:
            visits[at] = Visit(True)
        return ruled

    def prunes(
        self: Findings, lo: Transformation, hi: Transformation, reason: str, left: Transformation | None = None
    ) -> None:
        for at in self.problem.lattice:
            if at != hi and below(lo, at) and below(at, hi) and not (left is not None and below(at, left)):
                visits.setdefault(at, Visit(False, reason=REASONS[reason]))
        prune(self, lo, hi, reason, left)

    def candidates(self: Findings, checked: Check) -> Candidate | None:
        found = candidate(self, checked)
        if found is not None:
            valid[checked.at] = found
        return found

    with (
        patch.object(Findings, "check", checks),
        patch.object(Findings, "ruled_out", rules_out),
        patch.object(Findings, "prune", prunes),
        patch.object(Findings, "candidate", candidates),
    ):
        yield visits, valid


def below(x: Transformation, y: Transformation) -> bool:
    """Whether no level of x is above that of y."""
    return all(mine <= other for mine, other in zip(x, y, strict=True))


REASONS = {BY_QUALITY: "cannot score better", BY_SUPPRESSION: "too many suppressed"}
