"""The commands of approvers: `review`, `approve` and `reject`."""

from collections.abc import Iterator

import click
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tableveil import wording
from tableveil.cli.request_options import request_option
from tableveil.cli.tables import listing
from tableveil.cli.verb import ONCE, CommandSession, verb
from tableveil.client import Client
from tableveil.v1 import release_service_pb2
from tableveil.v1.release_service_pb2 import Release
from tableveil.v1.report_service_pb2 import REPORT_FORMAT_TEXT

Change = tuple[str, str, str]
"""A fact's name, and its values in the public release and in the one that waits."""


@click.command()
@click.argument("release")
@verb
def review(session: CommandSession, release: str) -> None:
    """Show a release to its approver: its report's first page, and what differs from the public release of its target.

    `show --all` has the whole account, `risk` the risks of single records, `utility` what is left.
    """
    output = session.output
    answer = session.client.get_release(release)
    public = _public(session.client, answer)
    if output.as_json:
        both = [answer] if public is None else [answer, public]
        output.json(release_service_pb2.ListReleasesResponse(releases=both))
        return
    heading = "Compared with the public release" if public is None else f"Compared with {public.name}, which is public"
    changes = list(_changes(public, answer)) if public else []
    nothing = "They differ in nothing that is listed here." if public else "There is none of this target."
    shown = listing(("", "public", "waits"), changes, nothing)
    page = session.client.get_report(release, report_format=REPORT_FORMAT_TEXT).content.decode()
    parts: list[RenderableType] = [Text(page), Text(heading, style="bold"), Padding(shown, (0, 0, 0, 2), expand=False)]
    if answer.policy.repeat_reason:
        said = wording.printable(" ".join(answer.policy.repeat_reason.split()))
        parts += [Text(""), Text(f"Reason to release these people again: {said}")]
    output.show(Group(*parts))


@click.command()
@click.argument("release")
@request_option(release_service_pb2.ApproveReleaseRequest, "note", metavar="TEXT")
@ONCE
@verb
def approve(session: CommandSession, release: str, note: str) -> None:
    """Make a release public that somebody else made, in place of an earlier one of its target."""
    approved = session.client.approve_release(release, note)
    session.output.answer(
        {"release": approved}, f"{approved.name} is public as {wording.target_name(approved.target)}."
    )


@click.command()
@click.argument("release")
@request_option(release_service_pb2.RejectReleaseRequest, "note", metavar="TEXT")
@ONCE
@verb
def reject(session: CommandSession, release: str, note: str) -> None:
    """Drop a release that waits for approval and that somebody else made; its evidence stays."""
    rejected = session.client.reject_release(release, note)
    session.output.answer({"release": rejected}, f"{rejected.name} is rejected; its evidence stays.")


def _public(client: Client, release: Release) -> Release | None:
    """The public release of the same target, if it is another one."""
    for other in client.list_releases(summary=True):
        if other.current and _place(other) == _place(release) and other.name != release.name:
            return client.get_release(other.name)
    return None


def _place(release: Release) -> tuple[str, str]:
    return release.target.schema, release.target.name.casefold()


def _changes(public: Release, waits: Release) -> Iterator[Change]:
    before, after = dict(_facts(public)), dict(_facts(waits))
    for name in [*after, *(name for name in before if name not in after)]:
        if before.get(name) != after.get(name):
            yield name, before.get(name, "none"), after.get(name, "none")


def _facts(release: Release) -> Iterator[tuple[str, str]]:
    """The facts that an approver compares, each by a name of its own."""
    # DuckDB is loaded with these, and other commands need not wait for it.
    from tableveil.convert import privacy_in_words

    policy = release.policy
    yield "source", wording.tables_read(release)
    yield "privacy", wording.printable("; ".join(map(privacy_in_words, policy.privacy_models)))
    yield "records", wording.count(release.records)
    yield "suppressed", wording.share(release.suppressed_records / release.records if release.records else 0.0)
    yield "classes", wording.count(release.classes)
    yield "highest risk", wording.share(release.risk_after.highest)
    yield "average risk", wording.share(release.risk_after.average)
    yield f"score ({wording.printable(release.quality_model)})", wording.score(release.score)
    for result in release.attributes:
        level = wording.short(result.aggregation) if result.aggregation else f"level {result.level}"
        yield wording.short(result.column), f"{level}, loss {wording.share(result.loss)}"
    for _, word, text in wording.ranked(release.warnings, release.warning_ranks):
        yield f"{word}: {wording.printable(text)}", "given"
