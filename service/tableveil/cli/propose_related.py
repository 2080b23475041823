"""Proposals for people and their events: one draft of all tables, tried with one and with two known facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import click
from rich.console import Group
from rich.text import Text

from tableveil import wording
from tableveil.cli.files import require_free, write_text
from tableveil.cli.tables import listing
from tableveil.cli.verb import CommandSession
from tableveil.client import Client
from tableveil.client.names import source_reference
from tableveil.document import to_yaml
from tableveil.errors import Fault, InfeasibleError, InvalidError, shortened
from tableveil.v1 import dry_run_service_pb2 as v1
from tableveil.v1.policy_pb2 import (
    ANCHOR_PREVIOUS_EVENT,
    ORPHANS_DROP,
    ROLE_IDENTIFYING,
    ROLE_INSENSITIVE,
    ROLE_QUASI_IDENTIFIER,
    ROLE_SENSITIVE,
    Attribute,
    Policy,
)
from tableveil.v1.proposal_service_pb2 import (
    READERS_CONTRACT,
    READERS_INSIDE,
    READERS_PUBLIC,
    READERS_UNSPECIFIED,
    Readers,
)
from tableveil.v1.release_service_pb2 import Release

_SIZES = {READERS_UNSPECIFIED: 5, READERS_PUBLIC: 12, READERS_CONTRACT: 5, READERS_INSIDE: 3}
"""The k of releases for their readers, as in proposals for one table."""

_DAYS = (("31", "91"), ("31",))
"""Bounds of days since the event before: whether somebody came back within a month can be told at each level."""

_TRIES = 8
_REFUSED = re.compile(r"attributes\[(\d+)\]\.(role|column)")
_TOLD = re.compile(r"events|^Rows of |are left out")
_ORPHANS = re.compile(r"tables\.events\[(\d+)\]\.orphans")


@dataclass(frozen=True, slots=True)
class RelatedTablesAsked:
    """The tables of people and events that a proposal is asked for."""

    people: Annotated[
        str,
        click.option(
            "--people", metavar="TABLE", default="", help="A table of people; with --events in place of TABLE."
        ),
    ]
    events: Annotated[
        Sequence[str],
        click.option("--events", multiple=True, metavar="TABLE", help="A table of their events; may be repeated."),
    ]
    key: Annotated[
        str,
        click.option("--key", metavar="COLUMN", default="", help="With --people: the column that joins the tables."),
    ]


@dataclass(slots=True)
class _Tried:
    """A policy that was rehearsed: what came of it, or why nothing did; and the columns that are not released."""

    policy: Policy
    release: Release | None = None
    why: str = ""
    hidden: list[str] = field(default_factory=list)


def propose_related(
    session: CommandSession, asked: RelatedTablesAsked, readers: Readers.ValueType, prefix: Path, overwrite: bool
) -> None:
    """Tries a draft with one and with two known facts, and writes a file of each that makes a release."""
    if not asked.events:
        raise click.UsageError("name the tables of their events by --events")
    paths = [prefix.with_name(f"{prefix.name}-m{m}.yaml") for m in (1, 2)]
    for path in paths:
        require_free(path, "output", overwrite)
    client, policy = session.client, _draft(session.client, asked, _SIZES[readers])
    people = client.describe_table(source_reference(asked.people)).rows
    tried = []
    for m in (1, 2):
        policy.privacy_models[1].known_facts.m = m
        tried.append(_rehearsed(client, policy))
        # Columns that are refused with one known fact are with two.
        policy.CopyFrom(tried[-1].policy)
    hidden = list(dict.fromkeys(text for one in tried for text in one.hidden))
    for path, one in zip(paths, tried, strict=True):
        if one.release is not None:
            head = "# Bounds of hierarchies come from the data. Decide on every role.\n"
            write_text(path, head + to_yaml(one.policy), "output", overwrite)
    lines = [f"m = {m}: {text}" for m, one in zip((1, 2), tried, strict=True) for text in _account(one)]
    lines += [f"Not released: {text}" for text in hidden]
    lines += [f"Written: {path}." for path, one in zip(paths, tried, strict=True) if one.release is not None]
    if session.output.as_json:
        for one in tried:
            session.output.json(one.release or one.policy)
        return
    rows = [_row(one, people) for one in tried]
    shown = Text("\n".join(map(wording.printable, lines)))
    session.output.show(Group(listing(("known facts", "people", "score", "levels"), rows, ""), Text(), shown))


def _draft(client: Client, asked: RelatedTablesAsked, k: int) -> Policy:
    """One policy of the drafts of all tables."""
    drafts = [client.draft_policy(name).proposal for name in (asked.people, *asked.events)]
    key = asked.key or _shared_key(drafts)
    policy = Policy()
    people = source_reference(asked.people)
    policy.tables.people.schema, policy.tables.people.table, policy.tables.people.key = people.schema, people.table, key
    policy.tables.rows_limit = "0.5"
    for name, draft in zip(("", *asked.events), drafts, strict=True):
        table = source_reference(name).table if name else ""
        if name:
            policy.tables.events.add(schema=source_reference(name).schema, table=table)
        dated = False
        for column in draft.attributes:
            attribute = policy.attributes.add()
            attribute.CopyFrom(_plain(column, is_key=column.column == key))
            attribute.table = table
            if name and attribute.hierarchy.WhichOneof("kind") == "dates":
                dated = _as_days(policy, attribute, dated)
    policy.privacy_models.add().k_anonymity.k = k
    policy.privacy_models.add().known_facts.m = 1
    policy.suppression_limit = "0.05"
    policy.release.name = f"{people.table}_released"
    return policy


def _shared_key(drafts: Sequence[Policy]) -> str:
    """The first identifying column of the people that every table has."""
    others = [{column.column for column in draft.attributes} for draft in drafts[1:]]
    for column in drafts[0].attributes:
        if column.role == ROLE_IDENTIFYING and all(column.column in names for names in others):
            return column.column
    hint = "Name it by --key. Tables with other names for it need a policy of their own."
    raise InvalidError.of(
        "PROPOSAL_INVALID", "key", "no identifying column that all tables have", "the people's key", hint
    )


def _plain(drafted: Attribute, *, is_key: bool) -> Attribute:
    """The drafted column as related tables may have it."""
    attribute = Attribute(column=drafted.column, role=ROLE_IDENTIFYING if is_key else drafted.role)
    if attribute.role in (ROLE_INSENSITIVE, ROLE_QUASI_IDENTIFIER):
        attribute.role = ROLE_QUASI_IDENTIFIER
        if drafted.HasField("hierarchy"):
            attribute.hierarchy.CopyFrom(drafted.hierarchy)
        else:
            attribute.hierarchy.suppression_only.SetInParent()
    return attribute


def _as_days(policy: Policy, attribute: Attribute, dated: bool) -> bool:
    """Makes the first date of a table days since the event before, and hides the others."""
    attribute.ClearField("hierarchy")
    if dated:
        attribute.role = ROLE_IDENTIFYING
        return True
    policy.tables.relative_time.anchor = ANCHOR_PREVIOUS_EVENT
    days = attribute.hierarchy.intervals
    days.minimum, days.maximum, days.top_coding = "0", "36500", "366"
    for bounds in _DAYS:
        days.boundaries.add(values=bounds)
    return True


# --- what comes of it -----------------------------------------------------------------------------------------------


def _rehearsed(client: Client, drafted: Policy) -> _Tried:
    """A dry run of the policy, without the columns that are refused, and without orphans."""
    tried = _Tried(Policy())
    tried.policy.CopyFrom(drafted)
    for _ in range(_TRIES):
        try:
            job = client.submit_analysis(v1.SubmitDryRunRequest(policy=tried.policy))
            tried.release = client.get_result(v1.DryRun, client.wait(job.name).result).release
            return tried
        except InfeasibleError as error:
            tried.why = str(error.faults[0]) if error.faults else str(error)
            return tried
        except InvalidError as error:
            if not _mended(tried, error.faults):
                raise
    raise InvalidError.of("PROPOSAL_INVALID", "tables", "columns that are refused one after the other", "a policy")


def _mended(tried: _Tried, faults: Iterable[Fault]) -> bool:
    """Hides refused columns, and drops orphans; False if a fault is about something else."""
    mended = False
    for fault in faults:
        column, event = _REFUSED.match(fault.field), _ORPHANS.fullmatch(fault.field)
        if event:
            tried.policy.tables.events[int(event[1])].orphans = ORPHANS_DROP
        elif column:
            attribute = tried.policy.attributes[int(column[1])]
            if attribute.role != ROLE_IDENTIFYING:
                name = ".".join(filter(None, (attribute.table, attribute.column)))
                tried.hidden.append(f"{shortened(name)}: {fault.found}")
                attribute.role = ROLE_IDENTIFYING
                attribute.ClearField("hierarchy")
        elif fault.field == "attributes":
            _hide_sensitive(tried, fault)
        else:
            return False
        mended = True
    return mended


def _hide_sensitive(tried: _Tried, fault: Fault) -> None:
    for attribute in tried.policy.attributes:
        if attribute.role == ROLE_SENSITIVE and attribute.table:
            attribute.role = ROLE_IDENTIFYING
            tried.hidden.append(f"{attribute.table}.{attribute.column}: {fault.found}")


def _row(tried: _Tried, people: int) -> tuple[str, ...]:
    facts, release = str(tried.policy.privacy_models[1].known_facts.m), tried.release
    if release is None:
        return facts, "none", "", ""
    left = f"{wording.count(release.records - release.suppressed_records)} of {wording.count(people)}"
    return facts, left, f"{release.score:.4f}", ", ".join(_levels(release))


def _account(tried: _Tried) -> Iterator[str]:
    """The notes of a release for its owner on rows of events, or the reason why there is none."""
    if tried.release is None:
        yield tried.why
        return
    yield from (text for text in tried.release.warnings if _TOLD.search(text))


def _levels(release: Release) -> Iterator[str]:
    for result in release.attributes:
        yield f"{wording.short(result.column)} {result.level} of {result.top_level}"
