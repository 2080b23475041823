"""The policy that a command is about: a file or standard input, with fields that options set over it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import click

from tableveil.cli.grouped import grouped
from tableveil.client.names import RELEASES, resource_name, source_reference
from tableveil.document import load_policy, set_field
from tableveil.errors import Fault, InvalidError
from tableveil.serving.setting import Setting
from tableveil.v1 import policy_pb2


def _fields(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, str]]:
    fields = []
    for value in values:
        path, equals, text = value.partition("=")
        if not (path and equals):
            raise click.BadParameter(f"{value!r} is not FIELD=VALUE")
        fields.append((path, text))
    return fields


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """The file, and what options set over it."""

    path: Annotated[Path, click.argument("path", metavar="POLICY|-", type=click.Path(path_type=Path, allow_dash=True))]
    release_name: Annotated[str | None, Setting("Release under this name instead of the policy's.", metavar="NAME")] = (
        None
    )
    source: Annotated[
        str | None, Setting("Take this table, also as SCHEMA.TABLE, instead of the policy's.", metavar="TABLE")
    ] = None
    source_loads: Annotated[
        tuple[str, ...],
        Setting(
            "Refuse the source unless its table has the rows of this load, such as loads/5. May be repeated, for the "
            "tables of a query.",
            "source_load",
            metavar="LOAD",
        ),
    ] = ()
    fail_on: Annotated[
        str | None,
        click.option(
            "--fail-on",
            type=click.Choice(["decide"]),
            help="Hold the release back if a warning must be decided: nothing is written (exit code 12).",
        ),
    ] = None
    repeat_reason: Annotated[str | None, Setting("Why these people are released once more.", metavar="TEXT")] = None
    other_people: Annotated[
        tuple[str, ...],
        Setting("State that the people of this release are others. May be repeated.", metavar="RELEASE"),
    ] = ()
    fields: Annotated[
        Sequence[tuple[str, str]],
        click.option(
            "--set",
            "fields",
            multiple=True,
            callback=_fields,
            metavar="FIELD=VALUE",
            help="Set a field of the policy, such as suppression_limit=0.1 or privacy_models[0].k_anonymity.k=7; the "
            "value is YAML, and null takes the field out. May be repeated.",
        ),
    ] = ()

    def load(self) -> tuple[policy_pb2.Policy, list[Fault]]:
        """The policy with these fields, and its faults; files that it names are relative to its own."""
        policy, faults = load_policy(self.path)
        stated = [(path, json.dumps(value)) for path, value in self._stated()]
        for path, value in (*stated, *self.fields):
            faults = [*faults, *set_field(policy, path, value)]
        return policy, faults

    def sound(self) -> policy_pb2.Policy:
        """The policy with these fields; raises `InvalidError` with all faults of the document."""
        policy, faults = self.load()
        if faults:
            raise InvalidError.about("POLICY_INVALID", "the policy is invalid", faults)
        return policy

    @property
    def directory(self) -> Path:
        """Where the files lie that the policy names."""
        return self.path.parent

    def _stated(self) -> Iterator[tuple[str, object]]:
        if self.release_name is not None:
            yield "release.name", self.release_name
        if self.source is not None:
            table = source_reference(self.source)
            yield "source_query", None
            yield "source", {"schema": table.schema, "table": table.table}
        if self.source_loads:
            first, *others = self.source_loads
            # A server that knows of one load only refuses it beside a query.
            yield "source.load", first
            yield "source.loads", others
        if self.fail_on is not None:
            yield "release.guards.hold_undecided", True
        if self.repeat_reason is not None:
            yield "repeat_reason", self.repeat_reason
        if self.other_people:
            yield "other_people", [resource_name(RELEASES, name, "other_people") for name in self.other_people]


policy_argument = grouped(PolicyFile, "policy")
"""Gives a command its policy, from the argument and the options that set fields."""
