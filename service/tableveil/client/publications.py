"""Waiting until the targets of a release have it: a release that no reader gets is no success."""

import time
from collections.abc import Callable, Iterator

from tableveil.client.failures import UnpublishedError
from tableveil.errors import Fault, shortened
from tableveil.v1 import release_service_pb2 as v1

SECONDS_BETWEEN_LOOKS = 0.2
"""At first; then a tenth more each time, up to `MOST_SECONDS_BETWEEN_LOOKS`."""

MOST_SECONDS_BETWEEN_LOOKS = 3.0

SECONDS_OF_FAILURES = 60.0
"""How long the server may try again after a target's first failure: what passes by itself mostly passes sooner."""

SECONDS_WITHOUT_FAILURE = 3600.0
"""How long a target may take that did not fail: large releases do take their time."""


def wait_until_published(get: Callable[[], v1.Release], sleep: Callable[[float], object]) -> v1.Release:
    """The release once all its targets have it, or will have it because it waits for approval.

    `get` gives the release as it is.

    Raises:
        UnpublishedError: A target did not take it. The release stands all the same.
    """
    started, first_failure, pause = time.monotonic(), dict[str, float](), SECONDS_BETWEEN_LOOKS
    while True:
        release, now = get(), time.monotonic()
        for one in release.publications:
            if one.attempts:
                first_failure.setdefault(one.target, now)
        last = {target: failed + SECONDS_OF_FAILURES for target, failed in first_failure.items()}
        under_way = [one.target for one in release.publications if _is_under_way(release, one)]
        if all(now >= last.get(target, started + SECONDS_WITHOUT_FAILURE) for target in under_way):
            break
        sleep(pause)
        pause = min(1.1 * pause, MOST_SECONDS_BETWEEN_LOOKS)
    if faults := list(_faults(release)):
        raise UnpublishedError.about("UNPUBLISHED", f"{release.name} is not published everywhere", faults)
    return release


def _is_under_way(release: v1.Release, publication: v1.Publication) -> bool:
    """Whether the server still tries to publish a release."""
    waits = publication.wanted and publication.state == v1.PUBLICATION_STATE_WAITING
    return waits and release.current


def _faults(release: v1.Release) -> Iterator[Fault]:
    """The targets that ought to have a release and have not; one that was replaced has been there, or never came."""
    if release.state == v1.RELEASE_STATE_PENDING:
        return
    for one in release.publications:
        is_there = one.state == v1.PUBLICATION_STATE_PUBLISHED if release.current else one.HasField("publish_time")
        if one.wanted and not is_there:
            yield fault_at(release, one)


def fault_at(release: v1.Release, publication: v1.Publication) -> Fault:
    """The fault of a target that does not have a release, or that still has one that was taken back."""
    expected = release.name if publication.wanted else f"no {release.name}"
    actual = f"{publication.problem} ({publication.code})" if publication.code else "no attempt yet"
    hint = "The server tries again; after `run`, the next server or run that has the target does."
    if not release.current:
        hint = "It was rejected, replaced or withdrawn before the target took it."
    elif publication.state == v1.PUBLICATION_STATE_FAILED:
        hint = f"Once that is solved: tableveil publish {release.name} --to {publication.target}."
    return Fault(f"target {shortened(publication.target)}", actual, expected, hint)
