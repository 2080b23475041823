"""The policy that a command is about: a file or standard input, with fields that options set over it."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from tableveil.client.names import RELEASES, resource_name, source_reference
from tableveil.document import load_policy, set_field
from tableveil.errors import Fault
from tableveil.v1 import policy_pb2


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """The file and, by their paths, the fields that options set, in YAML."""

    path: Path
    fields: Sequence[tuple[str, str]]

    def load(self) -> tuple[policy_pb2.Policy, list[Fault]]:
        """The policy with these fields, and its faults; files that it names are relative to its own."""
        policy, faults = load_policy(self.path)
        for path, value in self.fields:
            faults = [*faults, *set_field(policy, path, value)]
        return policy, faults

    @property
    def directory(self) -> Path:
        """Where the files lie that the policy names."""
        return self.path.parent


def _fields(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, str]]:
    fields = []
    for value in values:
        path, equals, text = value.partition("=")
        if not (path and equals):
            raise click.BadParameter(f"{value!r} is not FIELD=VALUE")
        fields.append((path, text))
    return fields


def policy_argument(function: Callable[..., None]) -> Callable[..., None]:
    """Gives a command its policy as a `PolicyFile`, from the argument and the options that set fields."""

    @click.argument("policy", metavar="POLICY|-", type=click.Path(path_type=Path, allow_dash=True))
    @click.option("--release-name", metavar="NAME", help="Release under this name instead of the policy's.")
    @click.option("--source", metavar="TABLE", help="Take this table, also as SCHEMA.TABLE, instead of the policy's.")
    @click.option(
        "--source-load",
        "source_loads",
        multiple=True,
        metavar="LOAD",
        help="Refuse the source unless its table has the rows of this load, such as loads/5. May be repeated, for the "
        "tables of a query.",
    )
    @click.option(
        "--fail-on",
        type=click.Choice(["decide"]),
        help="Hold the release back if a warning must be decided: nothing is written (exit code 12).",
    )
    @click.option("--repeat-reason", metavar="TEXT", help="Why these people are released once more.")
    @click.option(
        "--other-people",
        multiple=True,
        metavar="RELEASE",
        help="State that the people of this release are others. May be repeated.",
    )
    @click.option(
        "--set",
        "fields",
        multiple=True,
        callback=_fields,
        metavar="FIELD=VALUE",
        help="Set a field of the policy, such as suppression_limit=0.1 or privacy_models[0].k_anonymity.k=7; the "
        "value is YAML, and null takes the field out. May be repeated.",
    )
    @functools.wraps(function)
    def run(
        policy: Path,
        release_name: str | None,
        source: str | None,
        source_loads: tuple[str, ...],
        fail_on: str | None,
        repeat_reason: str | None,
        other_people: tuple[str, ...],
        fields: list[tuple[str, str]],
        **options: object,
    ) -> None:
        stated = []
        if release_name is not None:
            stated.append(("release.name", json.dumps(release_name)))
        if source is not None:
            table = source_reference(source, None)
            stated += [("source_query", "null"), ("source", json.dumps({"schema": table.schema, "table": table.table}))]
        if source_loads:
            first, *others = source_loads
            # A server that knows of one load only refuses it beside a query.
            stated += [("source.load", json.dumps(first)), ("source.loads", json.dumps(others))]
        if fail_on is not None:
            stated.append(("release.guards.hold_undecided", "true"))
        if repeat_reason is not None:
            stated.append(("repeat_reason", json.dumps(repeat_reason)))
        if other_people:
            stated.append(
                ("other_people", json.dumps([resource_name(RELEASES, name, "other_people") for name in other_people]))
            )
        function(policy=PolicyFile(policy, (*stated, *fields)), **options)

    return run
