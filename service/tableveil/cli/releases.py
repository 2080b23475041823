"""The commands about releases: `releases`, `show`, `export` and `withdraw`."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Annotated

import click
from rich.console import Group, RenderableType

from tableveil import wording
from tableveil.cli.account import account
from tableveil.cli.chart_option import CHART
from tableveil.cli.commands import SHOWN
from tableveil.cli.dry_run import advise
from tableveil.cli.explanation import explanation
from tableveil.cli.files import NewFile
from tableveil.cli.grouped import grouped
from tableveil.cli.guarantees import guarantees
from tableveil.cli.interruptible import interruptible
from tableveil.cli.jobs import job_details
from tableveil.cli.request_options import option, request_option, request_options
from tableveil.cli.tables import listing
from tableveil.cli.verb import DATABASE, LIMIT, ONCE, CommandSession, verb
from tableveil.client import ExportFormat
from tableveil.client.names import JOBS
from tableveil.errors import DeniedError
from tableveil.serving.setting import Setting
from tableveil.v1 import release_service_pb2 as v1

_DATABASE_SUFFIXES = {".duckdb", ".ddb", ".db"}


@click.command()
@click.argument("names", nargs=-1, metavar="[RELEASE]…")
@click.option("--together", is_flag=True, help="Show how many people the named releases tell apart together.")
@request_options(v1.ListReleasesRequest, "wanted", option("states", "--state"), option("target_schema", "--schema"))
@LIMIT
@DATABASE
@verb
def releases(
    session: CommandSession, names: tuple[str, ...], together: bool, wanted: v1.ListReleasesRequest, limit: int
) -> None:
    """List releases, newest first; or judge some of them together."""
    output = session.output
    if together:
        joint = session.client.get_joint_classes(names)
        output.result("joint_classes", joint, joint_classes)
        return
    if names:
        raise click.UsageError("names of releases are for --together: show takes one")
    entries = list(islice(session.client.list_releases(wanted.states, wanted.target_schema), limit))
    output.answer(v1.ListReleasesResponse(releases=entries), listed(entries))


def joint_classes(found: v1.JointClasses) -> RenderableType:
    """The people whom some releases tell apart together, as sentences and a table of small combinations of classes."""
    text = f"{', '.join(found.releases)} have {found.people:,} people."
    if found.smallest:
        text += f" A joint class of {found.releases[-1]} has {found.smallest:,} people or more."
    if found.left_behind:
        text += f" Left behind are {found.left_behind:,} people, by {found.smallest_left_behind:,} or more."
    rows = [tuple(f"{one:,}" for one in (each.size, each.joint_classes, each.left_behind)) for each in found.sizes]
    columns = ("people", "joint classes", "left behind")
    return Group(text, listing(columns, rows, "No combination of classes is small.", numbers=columns))


def listed(found: Iterable[v1.Release]) -> RenderableType:
    """Releases as a table."""
    found = list(found)
    columns = ["release", "source", "target", "created", "records", "suppressed", "score", "optimal", "current"]
    matched = ["same people"] if any(release.matches for release in found) else []
    rows = [
        (
            release.name,
            wording.table_name(release.source),
            wording.target_name(release.target),
            wording.moment(release.create_time),
            wording.count(release.records) if wording.has_evidence(release) else "",
            wording.count(release.suppressed_records),
            wording.score(release.score) if wording.has_evidence(release) else "",
            ("yes" if release.proof.optimal else "not proven") if wording.has_evidence(release) else "",
            wording.standing(release),
            *(", ".join(_others(release)) for _ in matched),
        )
        for release in found
    ]
    return listing([*columns, *matched], rows, "No releases yet.", numbers=("records", "suppressed", "score"))


def _others(release: v1.Release) -> list[str]:
    return [match.other if match.release == release.name else match.release for match in release.matches]


_PUBLIC = "Show it without options, or ask a steward of its tables."


@dataclass(frozen=True, slots=True)
class _Parts:
    """The part of a release that is shown."""

    explain: Annotated[bool, Setting("Show why a release has its levels, instead of its account.")] = False
    privacy: Annotated[bool, Setting("Show what a release or a dry run reaches of every privacy model.")] = False
    policy: Annotated[bool, Setting("Show the policy that a release used, as a document to submit again.")] = False
    everything: Annotated[bool, Setting("Show the whole account: all warnings, risks and proofs.", "all")] = False
    advice: Annotated[bool, Setting("Try the policy of a release again, and tell what would keep more.")] = False

    @property
    def alone(self) -> list[str]:
        """The options that show one part alone."""
        return [f"--{part}" for part in ("explain", "privacy", "policy", "advice") if getattr(self, part)]


@click.command()
@click.argument("name", metavar="RELEASE|JOB|…")
@grouped(_Parts, "asked")
@CHART
@DATABASE
@verb
def show(session: CommandSession, name: str, asked: _Parts, chart: NewFile | None) -> None:
    """Show what there is of a name.

    A release (3 or releases/3), a job (jobs/3), or the result of any other job, such as frontiers/3.
    """
    output, client = session.output, session.client
    collection = name.rpartition("/")[0]
    parts = asked.alone
    show_result = import_module(f"tableveil.cli.{SHOWN[collection]}").show_result if collection in SHOWN else None
    # A kind of result has those options of this command that showing it takes.
    takes = signature(show_result).parameters.keys() if show_result is not None else set()
    if parts and (collection == JOBS or show_result is not None) and not {part[2:] for part in parts} <= takes:
        raise click.UsageError(f"{parts[0]} is for releases")
    if len(parts) > 1:
        raise click.UsageError(f"{' and '.join(parts)} show different things: use one of them")
    if chart is not None and "chart" not in takes:
        raise click.UsageError("--chart is for payout sweeps")
    if show_result is not None:
        stated = {"privacy": asked.privacy, "everything": asked.everything, "chart": chart}
        show_result(session, name, **{option: value for option, value in stated.items() if option in takes})
        return
    if collection == JOBS:
        job = client.get_job(name)
        output.result("job", job, job_details)
        return
    release = client.get_release(name)
    if parts and not wording.has_evidence(release):
        actual = f"the evidence of {release.name}"
        raise DeniedError.of("PERMISSION_DENIED", parts[0], actual, "what is public of it", _PUBLIC)
    if asked.advice:
        advise(session, release.policy)
    elif output.as_json:
        output.json({"policy": release.policy} if asked.policy else {"release": release})
    elif asked.policy:
        # It is loaded where it is needed: most commands only ask the server.
        from tableveil.convert.names import BOUND_TO, without_loads
        from tableveil.document import to_yaml

        policy, loads = without_loads(release.policy)
        head = f"# {BOUND_TO.format(loads)}\n" if loads else ""
        click.echo(head + to_yaml(policy), nl=False)
    else:
        output.show(_of_release(release, asked))


@click.command()
@click.argument("release")
@request_option(v1.PromoteReleaseRequest, "repeat_reason", default="", metavar="TEXT")
@request_option(v1.PromoteReleaseRequest, "other_people", metavar="RELEASE")
@ONCE
@verb
def promote(session: CommandSession, release: str, repeat_reason: str, other_people: tuple[str, ...]) -> None:
    """Make a release of a trial of yours.

    Its table must have the same rows still. Releases of the same people, guards and approval are asked now.
    """
    promoted = session.client.promote_release(release, repeat_reason, other_people)
    if session.output.as_json:
        session.output.json({"release": promoted})
    elif promoted.current:
        session.output.show(f"{promoted.name} is public as {wording.target_name(promoted.target)}.")
    else:
        session.output.show(f"{promoted.name} waits until another person approves it.")


@click.command()
@click.argument("release")
@request_option(v1.WithdrawReleaseRequest, "reason", metavar="TEXT")
@ONCE
@verb
def withdraw(session: CommandSession, release: str, reason: str) -> None:
    """Drop what a release wrote, and note why.

    Its evidence stays, and it counts as an earlier release of its source. An object that was changed after it was
    written is left where it is.
    """
    withdrawn = session.client.withdraw_release(release, reason)
    lines = [f"{withdrawn.name} is withdrawn; its evidence stays."]
    lines += [f"Kept {wording.printable(name)}: it is not what was written." for name in withdrawn.kept_objects]
    session.output.answer({"release": withdrawn}, "\n".join(lines))


def _of_release(release: v1.Release, asked: _Parts) -> RenderableType:
    if asked.privacy:
        return guarantees(release)
    return explanation(release) if asked.explain else account(release, everything=asked.everything)


@click.command()
@click.argument("release")
@click.option(
    "--output", "path", required=True, type=click.Path(path_type=Path), help="Where to write; nothing may be there yet."
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice([known.value for known in ExportFormat]),
    help="parquet: a directory with a file per object. csv: the same, where spreadsheets take no text for a formula. "
    "duckdb: a fresh database file. Default: duckdb if the output ends in .duckdb, .ddb or .db, else parquet.",
)
@click.option("--overwrite", is_flag=True, help="Replace an earlier export of the same format.")
@click.option(
    "--storage-version",
    metavar="VERSION",
    default="",
    help="The oldest DuckDB that can read the file, such as v1.0.0; with the format duckdb only.",
)
@DATABASE
@verb
def export(
    session: CommandSession, release: str, path: Path, format_name: str | None, overwrite: bool, storage_version: str
) -> None:
    """Write a release's public objects to files.

    There is nothing at the output until everything is there.
    """
    by_suffix = ExportFormat.DUCKDB if path.suffix.lower() in _DATABASE_SUFFIXES else ExportFormat.PARQUET
    export_format = ExportFormat(format_name) if format_name else by_suffix
    client = session.client
    files = interruptible(client, lambda: client.export(release, path, export_format, overwrite, storage_version))
    if session.output.as_json:
        session.output.json({"files": [str(file) for file in files]})
        return
    for file in files:
        click.echo(wording.printable(str(file)))
