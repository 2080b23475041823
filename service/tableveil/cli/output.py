"""Where a command's results and messages go: results to stdout, for people or as JSON; everything else to stderr."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import click
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.console import Console, RenderableType

from tableveil.cli.ended import of_error
from tableveil.cli.error_block import error_block
from tableveil.cli.exit_codes import ExitCode
from tableveil.client.failures import failure_of
from tableveil.errors import TableveilError

M = TypeVar("M", bound=Message)

# Files and pipes have no width of their own; most tables fit into this one.
_WIDTH_OF_FILES = 160


class _Console(Console):
    """Leaves broken pipes to `Output.reporting`."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """A console that prints texts unchanged: a name may look like markup."""
    made = _Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not made.is_terminal:
        made.width = _WIDTH_OF_FILES
    return made


def as_dict(message: Message) -> dict[str, Any]:
    """The message as proto JSON, with the proto's field names and all fields but unset messages and optionals."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


@dataclass(frozen=True, slots=True)
class Output:
    """One command's output; JSON replaces the text for people on stdout."""

    as_json: bool = False
    out: Console = field(default_factory=console)
    err: Console = field(default_factory=lambda: console(stderr=True))
    columns: list[str] = field(default_factory=list)
    """The columns of the command's policy, once it was read: faults name them by position only."""

    def show(self, content: RenderableType) -> None:
        """Writes a result for people."""
        click.echo(_rendered(self.out, content))

    def tell(self, content: RenderableType) -> None:
        """Writes a message for people that is not the result."""
        click.echo(_rendered(self.err, content), err=True)

    def json(self, document: Message | Mapping[str, object]) -> None:
        """Writes a JSON document in one line; a message, or any values by name, messages among them."""
        content = (
            as_dict(document)
            if isinstance(document, Message)
            else {name: as_dict(value) if isinstance(value, Message) else value for name, value in document.items()}
        )
        # Escaped to ASCII, so that every encoding can hold it and no terminal obeys its characters.
        click.echo(json.dumps(content))

    def answer(self, document: Message | Mapping[str, object], shown: RenderableType) -> None:
        """Writes an answer as a JSON document, or as it is shown to people."""
        if self.as_json:
            self.json(document)
        else:
            self.show(shown)

    def result(self, name: str, found: M, shown: Callable[[M], RenderableType]) -> None:
        """Writes a result as JSON under its name, or as it is shown to people."""
        if self.as_json:
            self.json({name: found})
        else:
            self.show(shown(found))

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Turns an error of a command into a message and the process's exit code."""
        try:
            yield
            sys.stdout.flush()
        except TableveilError as error:
            self.fail(error)
        except KeyboardInterrupt:
            sys.exit(ExitCode.CTRL_C)
        except BrokenPipeError:
            # The reader is gone; data that Python still holds must not fail when it is flushed at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(ExitCode.BROKEN_PIPE)

    def fail(self, error: TableveilError) -> NoReturn:
        """Reports the error and ends the process."""
        if self.as_json:
            self.json({"failure": as_dict(failure_of(error))})
        self.report(error)
        sys.exit(of_error(error))

    def report(self, error: TableveilError) -> None:
        """Shows an error to people."""
        self.tell(error_block(error, self.columns))


def _rendered(console: Console, content: RenderableType) -> str:
    """The content as text, without the blanks that fill rich's lines to the width of the console."""
    with console.capture() as capture:
        console.print(content)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
