"""Every command that a page shows is one that there is, with options that it has: also where no test runs it."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tableveil.cli.main import cli
from tests.docs.words import ROOT, pages

BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:[$#] )?(?:[A-Z_]+=\S+ |sudo -u \w+ )*(?:\S*/)?tableveil (?=[a-z])")
END = ("#", ">", "&", "|", "&&", ";")


def shown(page: Path) -> Iterator[list[str]]:
    """The arguments of each command in the blocks of a page."""
    for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language not in ("", "console", "text", "sh"):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if (start := COMMAND.match(line)) is None or "[OPTIONS]" in line:
                continue
            try:
                words = shlex.split(line[start.end() :], comments=True)
            except ValueError:
                # A quoted text goes on in the next line, such as a statement.
                words = [*line[start.end() :].partition('"')[0].split(), "…"]
            ends = [i for i, word in enumerate(words) if word in END or word.startswith((">", "|"))]
            yield words[: min(ends, default=len(words))]


def check(words: list[str]) -> None:
    """Raises `click.UsageError` if there is no such command, or one of its options."""
    command: click.Command = cli
    context = click.Context(cli, info_name="tableveil")
    while isinstance(command, click.Group) and words:
        if words[0].startswith("-") or (found := command.get_command(context, words[0])) is None:
            if command is cli:
                raise click.UsageError(f"there is no command {words[0]}")
            break
        command, words = found, words[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    command.make_parser(context).parse_args(list(words))


def test_there_are_commands() -> None:
    assert sum(1 for page in pages() for _ in shown(page)) > 80
    assert ["tokens", "create", "airflow"] in [words[:3] for words in shown(ROOT / "docs" / "guides" / "operator.md")]


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.stem)
def test_commands_and_their_options_exist(page: Path) -> None:
    refused = []
    for words in shown(page):
        try:
            check(words)
        except click.UsageError as error:
            refused.append(f"{shlex.join(words)}: {error.format_message()}")
    assert not refused


@pytest.mark.parametrize(
    "words", [["sumbit", "x.yaml"], ["submit", "x.yaml", "--wiat"], ["tokens", "create", "--rolle", "x"]]
)
def test_others_are_refused(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        check(words)
