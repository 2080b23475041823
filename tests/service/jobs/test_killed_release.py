"""A server killed at any statement of a release's job: the earlier release is as it was, or all of the new one there.

A kill leaves the file and its log as they are at that moment. So a single run shows it: both are kept after every
statement, and opened afterwards. A kill in the middle of the commit leaves a part of its log.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tableveil.backend import Database, Session, Settings
from tableveil.policy import IfExists, KAnonymity, Policy, ReleaseKind, ReleaseTarget
from tableveil.state.releases import Release
from tests.service.jobs.managed import POLICY
from tests.service.jobs.unguarded import UNGUARDED

pytestmark = pytest.mark.long

Run = Callable[..., Release]

Files = tuple[bytes, bytes | None]
"""A database file and its log, if there is one."""

State = dict[str, tuple[int, int]]
"""Every table and view, those of the state included, with its number of rows, and public ones with a hash of these."""

PATIENTS = 130_000
"""More than a row group, so that a commit writes into the file as well as into the log."""

TORN = 5
"""Parts of the commit's log, of different lengths, that are all that was written of it."""


class Kept:
    """The files of a database after every statement of its sessions, as often as they changed."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = path
        self.files = [self._now()]
        # Statements that only read are left out, except those after the commit.
        for method in ("execute", "_unguarded", "close"):
            monkeypatch.setattr(Session, method, self._keeping(getattr(Session, method)))

    def _now(self) -> Files:
        log = self._path.with_name(f"{self._path.name}.wal")
        return self._path.read_bytes(), log.read_bytes() if log.exists() else None

    def _keeping(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            if (now := self._now()) != self.files[-1]:
                self.files.append(now)
            return result

        return called


def state_of(files: Files, path: Path) -> State:
    """The state that a server finds when it starts on these files."""
    file, log = files
    path.write_bytes(file)
    if log is not None:
        path.with_name(f"{path.name}.wal").write_bytes(log)
    database = Database(Settings(path, threads=1))
    with database.session() as session:
        names = session.rows(
            "SELECT schema_name, table_name FROM duckdb_tables() "
            "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        )
        counts = [
            f"SELECT '{schema}.{name}', count(*), {'bit_xor(hash(t))' if schema == 'main' else 0} "
            f"FROM {schema}.{name} AS t"
            for schema, name in names
            # The rights of a job are noted with its request.
            if name != "job_rights"
        ]
        found = {name: (rows, hashed) for name, rows, hashed in session.rows(" UNION ALL ".join(counts))}
    database.close()
    return found


def to(kind: ReleaseKind, k: int, if_exists: IfExists) -> Policy:
    target = ReleaseTarget("main", "released", kind, if_exists, guards=UNGUARDED)
    return replace(POLICY, release=target, privacy_models=(KAnonymity(k),))


@pytest.mark.parametrize("kind", ReleaseKind)
def test_killed_at_every_statement(
    database: Database, session: Session, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: ReleaseKind
) -> None:
    session.execute(
        "CREATE TABLE patients AS SELECT 20 + i % 3 AS age, i % 2 AS ward, hash(i) % 997 AS illness "
        f"FROM range({PATIENTS}) r(i)"
    )
    run(database, to(kind, 3, IfExists.FAIL))
    session.execute("CHECKPOINT")
    with monkeypatch.context() as patched:
        kept = Kept(database.path, patched)
        # No class is as large without generalizing.
        run(database, to(kind, PATIENTS // 4, IfExists.REPLACE))
    found = [state_of(files, tmp_path / f"{i}.duckdb") for i, files in enumerate(kept.files)]
    before, *_, requested, done = found
    assert requested == {**before, "tableveil.jobs": done["tableveil.jobs"]}
    assert done["tableveil.releases"] == (2, 0)
    assert done["main.released"] != requested["main.released"]
    # The job is asked for, then everything is there at once.
    asked = found.index(requested)
    assert found == [before] * asked + [requested] * (len(found) - asked - 1) + [done]
    (_, uncommitted), (file, log) = kept.files[-2:]
    assert uncommitted is not None
    assert log is not None
    assert log.startswith(uncommitted)
    for part in range(TORN):
        length = len(uncommitted) + (len(log) - len(uncommitted)) * part // TORN
        assert state_of((file, log[:length]), tmp_path / f"torn_{part}.duckdb") == requested
