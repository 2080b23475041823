"""The page of errors: the cause and the remedy of each code, with its status and its exit code."""

from collections.abc import Collection, Iterator

from tableveil import errors
from tableveil.cli.ended import of_error
from tableveil.client import UnpublishedError, UnreachableError
from tableveil.errors.codes import TOPICS
from tableveil.runtime.model import Failure
from tableveil.server.status import status_of
from tests.reference.markdown import head
from tests.reference.raised import raised

OF_CLIENTS = {"UnreachableError": UnreachableError, "UnpublishedError": UnpublishedError}
"""They carry no status: no server answered, or the answer was no error."""

ABOVE = {"UnsupportedError": "InvalidError", "UnfinishedError": "InvalidError"}
"""Errors of one module, by the class that clients see."""

INTRODUCTION = """\
An error has a code, which is stable, and faults. Each fault names the field, the text that was there, the text that
was expected, and often a hint. The code stands behind the message, and in the reason of gRPC's `ErrorInfo`. The exit
code is that of the [command line](commands.md#exit-codes). Errors without a status are the client's own.

"Try again" marks what may pass by itself: the same request, with its request id, is worth another try. The client's
errors say so as `error.retryable`. All else needs a person.
"""


def page() -> Iterator[str]:
    """A section for each topic, with one for each code."""
    yield head("Errors", "This page has every error code, with its cause and what to do.", "`tableveil.errors.codes`")
    yield INTRODUCTION
    classes = raised()
    for topic, codes in TOPICS.items():
        yield f"## {topic}\n"
        for code, (cause, remedy) in sorted(codes.items()):
            yield f"### {code}\n"
            yield f"{cause} **What to do:** {remedy} ({_outcome(code, classes[code])})\n"


def _outcome(code: str, classes: Collection[str]) -> str:
    names = sorted({ABOVE.get(name, name) for name in classes})
    raised_errors = [(OF_CLIENTS[name] if name in OF_CLIENTS else getattr(errors, name))(code, "") for name in names]
    statuses = [f"`{status_of(Failure.of(e)).code.name}`" for e in raised_errors if type(e).__name__ not in OF_CLIENTS]
    exits = dict.fromkeys(str(of_error(error).value) for error in raised_errors)
    status = ", ".join(dict.fromkeys(statuses)) or "no status"
    again = "; try again" if any(error.retryable for error in raised_errors) else ""
    return f"gRPC {status}, exit code {', '.join(exits)}{again}"
