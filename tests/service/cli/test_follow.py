"""Ctrl-C while a job is watched: the choice between the best so far, an end, and going on."""

import sys
import threading
from concurrent.futures import wait
from typing import Any

import pytest

from tableveil.cli.follow import follow
from tableveil.cli.output import Output
from tableveil.cli.verb import CommandSession
from tableveil.errors import ConflictError
from tableveil.v1 import job_service_pb2
from tests.service.client import samples


class Asked:
    """A client that sends a job which searches, and its end once that is asked for."""

    def __init__(self, best: float | None, refused: bool = False) -> None:
        self.kept, self.ends, self.seen = threading.Event(), threading.Event(), threading.Event()
        self._best, self._refused = best, refused

    def watch_job(self, name: str) -> Any:
        yield samples.searching(name, 12, self._best)
        self.seen.set()
        self.ends.wait(10)
        yield samples.succeeded(name, "releases/1")

    def cancel_job(self, name: str, *, keep_best: bool) -> None:
        assert keep_best
        self.ends.set()
        if self._refused:
            raise ConflictError("NOTHING_TO_KEEP", "nothing yet")
        self.kept.set()

    def close(self) -> None:
        self.ends.set()


def interrupted(client: Asked, answer: str, monkeypatch: pytest.MonkeyPatch, *, as_json: bool = False) -> Any:
    """Follows a job; Ctrl-C is pressed once, and answered."""
    pressed: list[bool] = []

    def pressing(futures: Any, timeout: float) -> Any:
        if not pressed and client.seen.wait(10):
            pressed.append(True)
            raise KeyboardInterrupt
        return wait(futures, timeout)

    def answered(*_: Any, **__: Any) -> str:
        if answer == "":
            client.ends.set()
        return answer

    monkeypatch.setattr("tableveil.cli.interruptible.wait", pressing)
    monkeypatch.setattr("tableveil.cli.follow.click.prompt", answered)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    session: Any = CommandSession(client, Output(as_json))  # type: ignore[arg-type]
    return follow(session, "jobs/1", session.output.err)


@pytest.mark.parametrize(("answer", "refused"), [("k", False), ("K ", True), ("", False)])
def test_going_on(monkeypatch: pytest.MonkeyPatch, answer: str, refused: bool) -> None:
    client = Asked(0.2, refused)
    assert interrupted(client, answer, monkeypatch).state == job_service_pb2.JOB_STATE_SUCCEEDED
    assert client.kept.is_set() == (answer == "k")


@pytest.mark.parametrize(("best", "as_json"), [(0.2, False), (None, False), (0.2, True)])
def test_an_end(monkeypatch: pytest.MonkeyPatch, best: float | None, as_json: bool) -> None:
    """By an answer; without one where nothing could be kept, or where no person looks."""
    client = Asked(best)
    with pytest.raises(SystemExit) as ended:
        interrupted(client, "s" if best and not as_json else "k", monkeypatch, as_json=as_json)
    assert (ended.value.code, client.kept.is_set()) == (130, False)
