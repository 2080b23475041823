"""The command `sql`: statements of an argument or a file, or of a person at a terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import click

from tableveil import wording
from tableveil.cli.exit_codes import ExitCode
from tableveil.cli.follow import ON_UNPUBLISHED, follow
from tableveil.cli.policies import REQUEST_ID, show_result_of
from tableveil.cli.releases import listed
from tableveil.cli.schemas import rule_in_words
from tableveil.cli.verb import CommandSession, verb
from tableveil.errors import TableveilError
from tableveil.v1.release_service_pb2 import ReleaseState
from tableveil.wording.access import grant_in_words

_MOST_REMEMBERED = 1000

_HELP = """\
A semicolon ends a statement; docs/reference/statements.md has the grammar.
Ctrl-C drops what was typed, \\q or Ctrl-D leaves."""


@click.command()
@click.argument("bare", nargs=-1, metavar="")
@click.option("-c", "--command", "text", metavar="STATEMENTS", help="Statements, with semicolons between them.")
@click.option("-f", "--file", type=click.File(encoding="utf-8"), help="A file of statements; - reads stdin.")
@REQUEST_ID
@ON_UNPUBLISHED
@verb
def sql(
    session: CommandSession,
    bare: tuple[str, ...],
    text: str | None,
    file: TextIO | None,
    request_id: str,
    on_unpublished: str,
) -> None:
    """Execute statements, such as CREATE ANONYMIZED TABLE, one after the other until one fails.

    Jobs are waited for. Without -c and -f, a shell with a history asks for statements. With --json, one JSON object per
    line: the job at each change, then the release; or the answer.
    """
    if bare:
        raise click.UsageError("give the statements as one text after -c: tableveil sql -c 'SHOW RELEASES'")
    if text is not None and file is not None:
        raise click.UsageError("give either -c or -f")
    if text is None and file is None and sys.stdin.isatty():
        if request_id:
            raise click.UsageError("--request-id needs a statement, by -c or -f")
        _shell(session, on_unpublished)
        return
    if text is None:
        try:
            text = (file or sys.stdin).read()
        except UnicodeDecodeError:
            raise click.BadParameter("the file is not text in UTF-8") from None
    # It loads sqlglot.
    from tableveil.statements.parse import split

    closed, left = split(text)
    statements = list(filter(str.strip, (*closed, left)))
    if request_id and len(statements) != 1:
        raise click.UsageError(f"--request-id names one job: give one statement, not {len(statements)}")
    for statement in statements:
        _execute(session, statement, on_unpublished, request_id)


def _execute(session: CommandSession, statement: str, on_unpublished: str, request_id: str = "") -> None:
    answer, output = session.client.execute(statement, request_id), session.output
    result = answer.WhichOneof("result") or ""
    if result == "job":
        show_result_of(session, follow(session, answer.job.name, output.err), on_unpublished)
    elif output.as_json:
        output.json(answer.releases if result == "releases" else {result: getattr(answer, result)})
    elif result == "privacy":
        from tableveil.statements.render import privacy_statement

        declared = answer.privacy
        output.show(f"-- version {declared.version}, by {wording.printable(declared.declared_by)}")
        click.echo(privacy_statement(declared))
    elif result == "statement":
        click.echo(answer.statement)
    elif result == "releases":
        output.show(listed(answer.releases.releases))
    elif result == "release":
        state = wording.enum_word(ReleaseState.Name(answer.release.state), "RELEASE_STATE_")
        output.show(f"{answer.release.name} is {state}.")
    elif result == "schema":
        output.show(f"Schema {wording.printable(answer.schema.schema)} is there.")
    elif result == "schema_rule":
        output.show(rule_in_words(answer.schema_rule))
    elif result == "grant":
        output.show(f"{answer.grant.name}: {grant_in_words(answer.grant.rule)}.")
    else:
        output.show(f"{answer.removed_grant.name} is removed.")


def _shell(session: CommandSession, on_unpublished: str = "fail") -> None:
    """Asks for statements until there are no more; a failed one ends nothing."""
    from tableveil.statements.parse import split
    from tableveil.statements.tokens import UnfinishedError

    session.output.tell(_HELP)
    with _history():
        typed = ""
        while True:
            try:
                line = input("       -> " if typed else "tableveil> ")
            except EOFError:
                return
            except KeyboardInterrupt:
                typed = ""
                continue
            if not typed and line.strip() == "\\q":
                return
            typed += f"{line}\n"
            try:
                statements, typed = split(typed)
                for statement in statements:
                    _execute(session, statement, on_unpublished)
            except UnfinishedError:
                # The next line goes on.
                continue
            except TableveilError as error:
                session.output.report(error)
            except SystemExit as ended:
                # A job that failed was reported; an interrupt closed the connection.
                if ended.code == ExitCode.CTRL_C:
                    raise


@contextmanager
def _history() -> Iterator[None]:
    """Lines can be edited, and those of earlier shells are found again; the file is the user's own."""
    try:
        import readline
    except ImportError:
        yield
        return
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = home / "tableveil" / "history"
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        readline.read_history_file(file)
    try:
        yield
    finally:
        readline.set_history_length(_MOST_REMEMBERED)
        with suppress(OSError):
            readline.write_history_file(file)
