"""The shell of `sql`: statements end with semicolons, wherever lines do; errors and Ctrl-C leave it running.

Statements that are no option's are refused.
"""

import stat
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import pytest

from tableveil.cli import sql
from tableveil.cli.output import Output
from tableveil.cli.verb import CommandSession
from tableveil.client import Client
from tableveil.errors import InvalidError
from tableveil.v1.statement_service_pb2 import ExecuteStatementResponse
from tests.e2e.commands import tableveil

TYPED: list[str | BaseException] = [
    "SHOW",
    '  RELEASES; SHOW CREATE ANONYMIZED TABLE "a;',
    'b"; -- and; more',
    "DROP 'a",
    KeyboardInterrupt(),
    "nonsense;",
    "SHOW RELEASES;",
    " \\q ",
    "never read;",
]


def test_a_shell_executes_what_was_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    typed, prompts = iter(TYPED), []

    def answer(prompt: str) -> str:
        prompts.append(prompt.strip())
        line = next(typed)
        if isinstance(line, BaseException):
            raise line
        return line

    def execute(statement: str, request_id: str) -> ExecuteStatementResponse:
        if "nonsense" in statement:
            raise InvalidError.of("STATEMENT_INVALID", "line 1, column 1", "'nonsense'", "SHOW")
        return ExecuteStatementResponse(statement="shown")

    monkeypatch.setattr("builtins.input", answer)
    client = Mock(execute=Mock(side_effect=execute))
    sql._shell(CommandSession(cast(Client, client), Output()))
    executed = [" ".join(call.args[0].split()) for call in client.execute.call_args_list]
    assert executed == ["SHOW RELEASES", 'SHOW CREATE ANONYMIZED TABLE "a; b"', "nonsense", "SHOW RELEASES"]
    assert prompts == ["tableveil>", "->", "->", "tableveil>", "->", "tableveil>", "tableveil>", "tableveil>"]
    told = capsys.readouterr()
    assert told.out == "shown\n" * 3
    assert "'nonsense'" in told.err
    file = tmp_path / "tableveil" / "history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("arguments", [("SHOW RELEASES",), ("-c", "SHOW", "RELEASES")])
def test_statements_without_their_option_or_quotes(arguments: tuple[str, ...]) -> None:
    told = tableveil("sql", *arguments)
    assert told.exit_code == 2
    assert "one text after -c: tableveil sql -c 'SHOW RELEASES'" in told.stderr


def test_a_quote_without_an_end_is_invalid(tmp_path: Path) -> None:
    file = tmp_path / "statements.sql"
    file.write_text("SHOW RELEASES;\nDROP 'a\n")
    for given in (("-c", "DROP 'a"), ("-f", str(file))):
        told = tableveil("sql", *given)
        assert told.exit_code == 2
        assert "a text or a comment without an end" in told.stderr
