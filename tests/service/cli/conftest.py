"""A fake service, and the command line that talks to it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tableveil.cli.main import cli
from tests.file_modes import usual_umask
from tests.service.client.fake_service import FakeService

Run = Callable[..., Result]


@pytest.fixture
def service() -> Iterator[FakeService]:
    with FakeService() as running:
        yield running


@pytest.fixture
def run(service: FakeService) -> Run:
    """Runs a command against the service."""

    def command(*arguments: str, stdin: str | None = None) -> Result:
        with usual_umask():
            return CliRunner().invoke(cli, arguments, stdin, env={"TABLEVEIL_SERVER": service.address})

    return command


@pytest.fixture
def documents(run: Run) -> Callable[..., list[Any]]:
    """Runs a command with --json and returns what each line of its output says."""

    def command(*arguments: str, code: int = 0) -> list[Any]:
        result = run(*arguments, "--json")
        assert result.exit_code == code, result.output
        return [json.loads(line) for line in result.stdout.splitlines()]

    return command
