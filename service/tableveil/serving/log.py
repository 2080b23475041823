"""The server's log on standard error: a line for people or a JSON object for machines, and never a value of a table.

Exceptions are logged by their type and place: their texts may be data.
"""

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from types import TracebackType

from tableveil.control.current_job import job_at_hand
from tableveil.serving.settings import LogFormat

_FIELDS = ("method", "code", "correlation")
"""The fields that a record may have beside its message."""


def configure_log(form: LogFormat) -> None:
    """Sends all logging of this process to standard error, warnings and exceptions that end a thread included."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else ConsoleFormatter())
    handler.addFilter(_name_job)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda args: _log_uncaught(args.exc_type, args.exc_value, args.exc_traceback)


class ConsoleFormatter(logging.Formatter):
    """Time, level, logger and message; lines of a job name it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(about)s%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        job = getattr(record, "job", None)
        # Some messages name it themselves.
        record.about = f"[{job}] " if job and not record.getMessage().startswith(job) else ""
        return _in_one_line(super().format(record))

    def formatException(self, ei: object) -> str:  # noqa: N802
        """The exception's type and place, without its text."""
        return place_of(ei)


class JsonFormatter(logging.Formatter):
    """One object per line: `time` (UTC), `level`, `logger`, `message`, and `job` and others where they exist."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, in ASCII."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in ("job", *_FIELDS):
            if (value := getattr(record, name, None)) is not None:
                entry[name] = value
        if record.exc_info:
            entry["exception"] = place_of(record.exc_info)
        return json.dumps(entry)


def place_of(raised: object) -> str:
    """Type and frames of the result of `sys.exc_info`."""
    match raised:
        case (type() as kind, _, TracebackType() as trace):
            frames = reversed(traceback.extract_tb(trace))
            return f"{kind.__name__} at " + " < ".join(f"{f.filename}:{f.lineno} {f.name}" for f in frames)
    return "an exception of which nothing is known"


def _name_job(record: logging.LogRecord) -> bool:
    number = job_at_hand()
    if number is not None and not hasattr(record, "job"):
        record.job = f"jobs/{number}"
    return True


def _log_uncaught(kind: type[BaseException], _: BaseException | None, trace: TracebackType | None) -> None:
    # A thread may be ended on purpose.
    if not issubclass(kind, SystemExit):
        logging.getLogger("tableveil.server").error(
            "an exception that nobody caught: %s", place_of((kind, None, trace))
        )


def _in_one_line(text: str) -> str:
    """Texts from clients must not look like a line of the log."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
