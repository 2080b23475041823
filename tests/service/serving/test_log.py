"""The log: one line each, with the job it is about, and without the texts of exceptions."""

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from tableveil.control.current_job import at_hand
from tableveil.serving.log import configure_log
from tableveil.serving.settings import LogFormat

logger = logging.getLogger("tableveil.tests")

Read = Callable[[], list[str]]


@pytest.fixture
def read(capsys: pytest.CaptureFixture[str]) -> Iterator[Read]:
    """Reads the lines that were logged; what the configuration of the log changes is put back."""
    root = logging.getLogger()
    handlers, level, hooks = root.handlers[:], root.level, (sys.excepthook, threading.excepthook)
    yield lambda: capsys.readouterr().err.splitlines()
    logging.captureWarnings(False)
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    sys.excepthook, threading.excepthook = hooks


def fail() -> None:
    raise ValueError("Could not convert 'Smith'")


def test_json(read: Read) -> None:
    configure_log(LogFormat.JSON)
    logger.info("one\nline with %s", "ünicode", extra={"method": "/x/Y", "code": "BUSY", "secret": "no"})
    with at_hand(7):
        logger.warning("of a job")
        with at_hand(8):
            logger.info("of another")
    try:
        fail()
    except ValueError:
        logger.exception("failed")
    lines = [json.loads(line) for line in read()]
    for line in lines:
        assert line.pop("time").endswith("+00:00")
        assert line.pop("logger") == "tableveil.tests"
    raised = lines.pop()
    assert lines == [
        {"level": "INFO", "message": "one\nline with ünicode", "method": "/x/Y", "code": "BUSY"},
        {"level": "WARNING", "message": "of a job", "job": "jobs/7"},
        {"level": "INFO", "message": "of another", "job": "jobs/8"},
    ]
    assert raised["exception"].startswith("ValueError at ")
    assert "fail" in raised["exception"]
    assert "Smith" not in str(raised)


def test_console(read: Read) -> None:
    configure_log(LogFormat.CONSOLE)
    with at_hand(7):
        logger.info("a statement")
        logger.info("jobs/7 started")
        logger.info("a name\n2026-01-01 INFO tableveil.jobs: forged")
    try:
        fail()
    except ValueError:
        logger.exception("failed")
    lines = [line.partition(" INFO tableveil.tests: ")[2] for line in read()]
    assert lines[:2] == ["[jobs/7] a statement", "jobs/7 started"]
    assert lines[2] == "[jobs/7] a name\\n2026-01-01 INFO tableveil.jobs: forged"
    assert len(lines) == 4, "one line per record"
    assert "Smith" not in str(lines)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ends_by_an_exception(read: Read) -> None:
    configure_log(LogFormat.JSON)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    (line,) = read()
    assert "ValueError at" in line
    assert "Smith" not in line
