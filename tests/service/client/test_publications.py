"""Waiting until a release is published: what counts as published, what as failed, and for how long."""

from collections.abc import Iterator
from typing import Any

import pytest

from tableveil.client import UnpublishedError, publications
from tableveil.client.publications import wait_until_published
from tableveil.v1 import release_service_pb2 as v1


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publications, "SECONDS_OF_FAILURES", 0.01)


def at(state: str, target: str = "shelf", *, published: bool = False, **fields: Any) -> v1.Publication:
    number = v1.PublicationState.Value(f"PUBLICATION_STATE_{state}")
    found = v1.Publication(target=target, state=number, **{"wanted": True, **fields})
    if published:
        found.publish_time.GetCurrentTime()
    return found


def release(*targets: v1.Publication, state: str = "APPROVED", current: bool = True) -> v1.Release:
    number = v1.ReleaseState.Value(f"RELEASE_STATE_{state}")
    return v1.Release(name="releases/3", state=number, current=current, publications=targets)


def waited(*stages: v1.Release) -> v1.Release:
    """The result of waiting while a release goes through stages, the last of which stays."""

    def each() -> Iterator[v1.Release]:
        yield from stages
        while True:
            yield stages[-1]

    found = each()
    return wait_until_published(lambda: next(found), lambda seconds: None)


@pytest.mark.parametrize(
    "last",
    [
        release(),
        release(at("PUBLISHED"), at("PUBLISHED", "lake")),
        release(at("WAITING"), state="PENDING", current=False),
        # Somebody took it back from there.
        release(at("REMOVED", wanted=False), at("PUBLISHED", "lake")),
        # A retry, long after a later release has taken its place.
        release(at("REMOVED", published=True), current=False),
    ],
)
def test_a_release_is_where_it_ought_to_be(last: v1.Release) -> None:
    assert waited(last) == last
    failing = at("WAITING", attempts=1, code="TARGET_BUSY", problem="no answer")
    assert waited(release(at("WAITING")), release(failing), last) == last


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (
            release(at("FAILED", attempts=1, code="TARGET_UNFIT", problem="no")),
            ["no (TARGET_UNFIT)", "tableveil publish"],
        ),
        (release(at("WAITING", attempts=2, code="TARGET_BUSY", problem="no")), ["no (TARGET_BUSY)", "tries again"]),
        (release(at("PUBLISHED"), at("FAILED", "lake", attempts=1)), ["target 'lake'"]),
        (release(at("WAITING"), current=False), ["replaced or withdrawn"]),
    ],
)
def test_a_target_that_does_not_take_it(last: v1.Release, said: list[str]) -> None:
    with pytest.raises(UnpublishedError) as raised:
        waited(release(at("WAITING")), last)
    assert raised.value.code == "UNPUBLISHED"
    assert all(text in str(raised.value) for text in said), raised.value
    assert "shelf" not in str(raised.value) or "lake" not in str(raised.value)


def test_a_target_that_does_nothing_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publications, "SECONDS_WITHOUT_FAILURE", 0.01)
    with pytest.raises(UnpublishedError, match="no attempt yet"):
        waited(release(at("WAITING")))
