"""Nothing that is shown of results changes by accident: a change that is meant renews the digests."""

import re
from pathlib import Path
from typing import Any

import pytest

from tableveil.backend import Session
from tests.recorded.digests import FILE, digests, written
from tests.recorded.made import READERS, made
from tests.recorded.shown import shown, told

MOST = {"ReleaseService/GetRelease": 8, "ReportService/GetReport": 30}
"""The statements that a server needs for the owner's answer, without those of transactions and of the audit."""


@pytest.mark.long
def test_what_is_shown_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with made(tmp_path) as house:
        found = written(digests(dict(shown(house)))).splitlines()
        statements: list[str] = []
        opened = Session.__init__

        def open_counted(session: Session, cursor: Any, *given: Any, **named: Any) -> None:
            opened(session, Counted(cursor, statements), *given, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(Session, "__init__", open_counted)
        for method, most in MOST.items():
            statements.clear()
            told(house, READERS["owner"], method, {"name": "releases/1"})
            asked = [one for one in statements if " " in one and not re.search("audit_entries|BEGIN ", one)]
            assert 0 < len(asked) <= most, asked
    known = set(FILE.read_text(encoding="utf-8").splitlines())
    changed = [line.partition(" ")[2] for line in found if line not in known]
    assert len(found) == len(known), "renew the digests: python -m tests.recorded"
    assert not changed, "look at both texts (python -m tests.recorded FOLDER), then renew: python -m tests.recorded"


class Counted:
    """A cursor whose statements are written down."""

    def __init__(self, cursor: Any, statements: list[str]) -> None:
        self._cursor, self._statements = cursor, statements

    def execute(self, text: object, *given: Any) -> Any:
        self._statements.append(str(text))
        return self._cursor.execute(text, *given)

    def sql(self, text: object, *given: Any) -> Any:
        self._statements.append(str(text))
        return self._cursor.sql(text, *given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)
