"""The command `document`: policies from one notation to another, without a server."""

from pathlib import Path

import click
from google.protobuf import json_format

from tableveil.cli.files import NewFile, new_file
from tableveil.cli.output import Output
from tableveil.cli.policy_file import PolicyFile
from tableveil.document import to_yaml
from tableveil.errors import InvalidError
from tableveil.v1 import policy_pb2

_SYNTAXES = ("yaml", "json", "sql")
_SUFFIXES = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sql": "sql"}


@click.group()
def document() -> None:
    """Turn policies from one notation into another."""


@document.command()
@click.argument("file", metavar="FILE|-", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--to", "syntax", type=click.Choice(_SYNTAXES), help="Default: as the output's suffix says, or yaml.")
@new_file("output", "Where to write it. Default: stdout.")
def convert(file: Path, syntax: str | None, output: NewFile | None) -> None:
    """Write the policy in FILE, which is YAML, JSON, or a statement CREATE ANONYMIZED in a .sql file, anew.

    It means the same in each notation. Comments are lost. JSON is as protobuf libraries of any language read it.
    """
    with Output(as_json=False).reporting():
        if output is not None:
            output.require_free()
        text = _written(_read(file), syntax or _SUFFIXES.get(output.path.suffix.lower() if output else "", "yaml"))
        if output is None:
            click.echo(text, nl=False)
        else:
            output.write(text)


def _read(file: Path) -> policy_pb2.Policy:
    return _of_statement(file) if _SUFFIXES.get(file.suffix.lower()) == "sql" else PolicyFile(file).sound()


def _of_statement(file: Path) -> policy_pb2.Policy:
    # Parsing SQL loads DuckDB, which conversions between documents need not wait for.
    from tableveil.statements import parse
    from tableveil.statements.parse import split
    from tableveil.statements.statement import CreateAnonymized

    try:
        script = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidError.of("FILE_UNREADABLE", "file", f"{file}: {reason}", "a readable text in UTF-8") from None
    statements, rest = split(script)
    parsed = [parse(statement) for statement in (*statements, *filter(None, [rest]))]
    if len(parsed) != 1 or not isinstance(parsed[0], CreateAnonymized):
        expected = "one statement CREATE ANONYMIZED TABLE or VIEW"
        raise InvalidError.of("STATEMENT_INVALID", "file", f"{len(parsed)} statements, or another one", expected)
    return parsed[0].policy


def _written(policy: policy_pb2.Policy, syntax: str) -> str:
    if syntax == "yaml":
        return to_yaml(policy)
    if syntax == "json":
        # As clients of any language read it: with the full names of an enum's values.
        return json_format.MessageToJson(policy, preserving_proto_field_name=True, ensure_ascii=False) + "\n"
    from tableveil.statements.render import create_statement

    return create_statement(policy) + "\n"
