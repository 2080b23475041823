"""The commands `publish` and `targets`, and how publications are shown."""

import time
from collections.abc import Iterable

import click
from rich.console import RenderableType

from tableveil import wording
from tableveil.cli.request_options import option, request_options
from tableveil.cli.tables import listing
from tableveil.cli.verb import ONCE, CommandSession, verb
from tableveil.client import UnpublishedError
from tableveil.client.publications import fault_at
from tableveil.v1 import release_service_pb2 as v1

_SECONDS_BETWEEN_LOOKS = 0.2

_REMOVED = v1.PUBLICATION_STATE_REMOVED

_STATES = {
    v1.PUBLICATION_STATE_WAITING: "waits",
    v1.PUBLICATION_STATE_PUBLISHED: "published",
    v1.PUBLICATION_STATE_FAILED: "failed",
    _REMOVED: "removed",
}


@click.command()
@click.argument("release")
@request_options(
    v1.PublishReleaseRequest,
    "asked",
    option("target", "--to", metavar="NAME"),
    option("repeat_reason", metavar="TEXT"),
    option("other_people", metavar="RELEASE"),
)
@click.option("--withdraw", is_flag=True, help="Remove the release from the target instead; the release itself stays.")
@click.option("--wait", default=60.0, show_default=True, metavar="SECONDS", help="How long to wait for the target.")
@ONCE
@verb
def publish(
    session: CommandSession, release: str, asked: v1.PublishReleaseRequest, withdraw: bool, wait: float
) -> None:
    """Publish a release to a target of the server, or try again where that failed.

    A release that waits for approval is published once it is approved.
    """
    if withdraw:
        answer = session.client.unpublish_release(release, asked.target)
    else:
        answer = session.client.publish_release(release, asked.target, asked.repeat_reason, asked.other_people)
    deadline = time.monotonic() + wait
    while _is_under_way(answer, found_there := _at(answer, asked.target)) and time.monotonic() < deadline:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
        answer = session.client.get_release(release)
    session.output.answer({"release": answer}, publications([found_there]))
    if found_there.attempts or found_there.state == v1.PUBLICATION_STATE_FAILED:
        raise UnpublishedError.about("UNPUBLISHED", f"{answer.name} is not published", [fault_at(answer, found_there)])


@click.command()
@verb
def targets(session: CommandSession) -> None:
    """List the places that releases are published to.

    Without a role on the whole server, they are those that releases of yours were to be published to.
    """
    entries = session.client.list_targets()
    rows = [
        (
            wording.short(one.name),
            *map(wording.count, (one.published, one.waiting, one.failed)),
            "" if one.declared else "not declared any more",
        )
        for one in entries
    ]
    numbers = ("published", "waiting", "failed")
    session.output.answer(
        v1.ListTargetsResponse(targets=entries),
        listing(("target", *numbers, "state"), rows, "No targets.", numbers=numbers),
    )


def publications(found: Iterable[v1.Publication]) -> RenderableType:
    """A line for each target."""
    rows = [
        (
            wording.short(one.target),
            _STATES.get(one.state, "") if one.wanted else "removed" if one.state == _REMOVED else "is to be removed",
            wording.moment(one.publish_time) if one.HasField("publish_time") else "",
            wording.count(one.attempts) if one.attempts else "",
            wording.printable(f"{one.code}: {one.problem}" if one.code else ""),
        )
        for one in found
    ]
    columns = ("target", "state", "published", "failed attempts", "last failure")
    return listing(columns, rows, "none", numbers=("failed attempts",))


def _at(release: v1.Release, target: str) -> v1.Publication:
    return next(one for one in release.publications if one.target == target)


def _is_under_way(release: v1.Release, publication: v1.Publication) -> bool:
    """Whether the server is about to do what was asked, and did not fail yet."""
    if publication.attempts or release.state == v1.RELEASE_STATE_PENDING:
        return False
    wanted = publication.wanted and release.current
    return publication.state == (v1.PUBLICATION_STATE_WAITING if wanted else v1.PUBLICATION_STATE_PUBLISHED)
