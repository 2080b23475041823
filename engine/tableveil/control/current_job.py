"""The job that the running thread works for, so that every line of its log can name it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_JOB: ContextVar[int | None] = ContextVar("job", default=None)


@contextmanager
def at_hand(number: int) -> Iterator[None]:
    """While the block runs, this thread's log lines are about the job of that number."""
    token = _JOB.set(number)
    try:
        yield
    finally:
        _JOB.reset(token)


def job_at_hand() -> int | None:
    """The number of the job that the running thread works for."""
    return _JOB.get()
