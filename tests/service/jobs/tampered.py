"""Problems that the verification finds in written rows after they were changed: one job is judged after each change."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tableveil.backend import Session
from tableveil.errors import InternalError


class _Judged(Exception):
    """Rolls the job back."""


def problems_after(statements: Iterable[str], job: Callable[[], object]) -> dict[str, str]:
    """The problems that the job's verification finds after each statement; without one, it passes.

    The job is rolled back in the end.
    """
    publishing: Any = importlib.import_module("tableveil.lifecycle.publish")
    verify, said = publishing.verify, dict[str, str]()

    def judge(session: Session, *judged: Any) -> None:
        verify(session, *judged)
        tables = session.rows("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT temporary")
        names = [f'main."{name}"' for (name,) in tables]
        for number, name in enumerate(names):
            session.execute(f"CREATE TEMPORARY TABLE unchanged_{number} AS FROM {name}")
        for statement in statements:
            session.execute(statement)
            said[statement] = ""
            try:
                verify(session, *judged)
            except InternalError as error:
                said[statement] = error.message
            for number, name in enumerate(names):
                session.execute(f"DELETE FROM {name}; INSERT INTO {name} FROM unchanged_{number}")
        verify(session, *judged)
        raise _Judged

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publishing, "verify", judge)
        with pytest.raises(_Judged):
            job()
    return said
