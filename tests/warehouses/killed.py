"""Runs a release job over Spark in a process of its own, which kills itself at a step of the publication.

python -m tests.warehouses.killed DATABASE URL STEP
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

from sqlglot import exp

from tableveil.backend import Database, Settings
from tableveil.policy import Role
from tableveil.spark import SparkWarehouse, dialect
from tableveil.spark.session import SparkSession
from tests.service.jobs.elsewhere import POLICY, done
from tests.service.jobs.plain import plain_target

MOST_COLLECTED = 2**26
MILLISECONDS_PER_ROW = 60
SECONDS_TO_KILL = 2.0

RELEASE = replace(
    POLICY, attributes=POLICY.attributes[:4], default_role=Role.IDENTIFYING, release=plain_target("clinic", "released")
)


def main(database: str, url: str, step: str) -> None:
    """Does not return if the job comes to the step."""
    with STEPS[step]():
        opened = Database(Settings(Path(database), threads=1))
        opened.warehouses["lake"] = SparkWarehouse("lake", url, MOST_COLLECTED)
        print(done(opened, RELEASE))


def _kill(*_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it is dead")


def _while_writing() -> AbstractContextManager[object]:
    """Spark goes on writing rows for seconds after the kill."""
    dialect._FUNCTIONS = {**dialect._FUNCTIONS, "reflect": _as_it_is}
    write = SparkSession.write

    def slowly(self: SparkSession, target: exp.Table, query: exp.Query, *more: Any) -> None:
        threading.Timer(SECONDS_TO_KILL, _kill).start()
        sleep = f"reflect('java.lang.Thread', 'sleep', {MILLISECONDS_PER_ROW}::BIGINT)"
        rows = exp.select("*").from_(query.subquery("slow")).where(f"coalesce({sleep}, 'none') <> ''", dialect="duckdb")
        write(self, target, rows, *more)
        time.sleep(SECONDS_TO_KILL)

    return patch.object(SparkSession, "write", slowly)


def _as_it_is(values: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Anonymous(this="reflect", expressions=list(values))


def _at_second_renaming() -> AbstractContextManager[object]:
    rename, renamed = SparkSession.rename, list[exp.Table]()

    def one(self: SparkSession, written: exp.Table, to: exp.Table) -> None:
        if renamed:
            _kill()
        renamed.append(to)
        rename(self, written, to)

    return patch.object(SparkSession, "rename", one)


STEPS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "while rows are written": _while_writing,
    "once all is staged": lambda: patch("tableveil.lifecycle.publish.complete_all", _kill),
    "after the intent": lambda: patch.object(SparkSession, "rename", _kill),
    "between two renamings": _at_second_renaming,
    "before the end": lambda: patch("tableveil.lifecycle.swap.end_job", _kill),
}


if __name__ == "__main__":
    main(*sys.argv[1:])
