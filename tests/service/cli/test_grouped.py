"""The options of a command are the fields of a dataclass: its types, its defaults, its nested groups."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import click
import pytest
from click.testing import CliRunner

from tableveil.cli.grouped import grouped
from tableveil.endpoint.settings import EndpointSettings, QueryLimits, UseLimits
from tableveil.loading import LoadDirectory
from tableveil.serving.settings import LogFormat, ServeSettings


def stated(kind: type[Any], *arguments: str) -> Any:
    """The instance that a command gets of these arguments."""
    made = []

    @click.command()
    @grouped(kind, "settings")
    def command(settings: Any) -> None:
        made.append(settings)

    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    return made.pop()


def test_defaults_are_those_of_the_settings() -> None:
    assert stated(ServeSettings, "--database", "a.duckdb") == ServeSettings(Path("a.duckdb"))
    least = EndpointSettings(published=Path("p"), audit_file=Path("a.jsonl"))
    assert stated(EndpointSettings, "--published", "p", "--audit-file", "a.jsonl") == least


def test_each_type() -> None:
    given = "--database a --address unix:x --address 127.0.0.1:1 --allow-remote --keep-days 3 --log-format json"
    directories = "--load-directory clinic=/data --load-directory /tmp --needs-approval * --backup-directory b"
    expected = replace(
        ServeSettings(Path("a"), ("unix:x", "127.0.0.1:1"), allow_remote=True, keep_days=3, log_format=LogFormat.JSON),
        load_directories=(LoadDirectory(Path("/data"), "clinic"), LoadDirectory(Path("/tmp"))),
        needs_approval=("*",),
        backup_directory=Path("b"),
    )
    assert stated(ServeSettings, *given.split(), *directories.split()) == expected


def test_groups_in_groups_and_their_units() -> None:
    numbers = "--query-memory 2 --query-seconds 7 --query-spill 3 --queries 5"
    settings = stated(EndpointSettings, "--published", "p", "--audit-file", "a", *numbers.split())
    assert settings.limits == QueryLimits(memory=2 * 2**20, spill=3 * 2**20, seconds=7.0)
    assert settings.use == UseLimits(queries=5)


def test_all_options_are_settings() -> None:
    """The server's own limit of streams is no option; all else can be stated."""
    command = click.command()(grouped(ServeSettings, "settings")(lambda settings: None))
    assert len(command.params) == len(fields(ServeSettings)) - 1


@pytest.mark.parametrize("wrong", ["--concurrent-jobs=0", "--log-format=xml", "--keep-days=x"])
def test_what_does_not_fit_a_type_is_refused(wrong: str) -> None:
    command = click.command()(grouped(ServeSettings, "settings")(lambda settings: None))
    result = CliRunner().invoke(command, ["--database", "a", wrong])
    assert result.exit_code == 2
    assert wrong.partition("=")[0] in result.output


def test_decorators_of_click() -> None:
    @dataclass(frozen=True, slots=True)
    class Inner:
        names: Annotated[tuple[str, ...], click.option("--name", "names", multiple=True)]

    @dataclass(frozen=True, slots=True)
    class Outer:
        place: Annotated[str, click.argument("place")]
        inner: Inner
        unstated: int = 3

    # Annotations are texts here: the classes have to be seen where they are resolved.
    globals().update(Inner=Inner, Outer=Outer)
    assert stated(Outer, "here", "--name", "a", "--name", "b") == Outer("here", Inner(("a", "b")))
