"""Tries statements in this process where they bind quickly: a process for each costs more than most of such tests.

`tests/sql/source/test_query_growth.py` tries some in processes of their own, which have limits.
"""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tableveil.backend import trial, trial_process

_LOCK = threading.Lock()


@contextmanager
def tried_here() -> Iterator[None]:
    """While it is open, no statement is tried in a process of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "_answer", _answer)
        yield


def _answer(request: bytes, _: object) -> Any:
    """The answer that the process would write; it has no limits here."""
    out = io.StringIO()
    with _LOCK, pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_process, "sys", SimpleNamespace(stdin=io.StringIO(request.decode()), stdout=out))
        patch.setattr(trial_process, "_limit", lambda *limits: None)
        trial_process.main()
    return json.loads(out.getvalue())
