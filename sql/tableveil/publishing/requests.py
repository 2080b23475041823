"""Requests for publications, releases as targets will see them, and the steps that are due at a target."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tableveil.backend import Database, Ledger, Session
from tableveil.errors import Fault, NotFoundError, shortened
from tableveil.lifecycle import check_readers, refuse_trial, releases_of_same_people, require_current, writing
from tableveil.policy import AttributePolicy, Policy, Role
from tableveil.publishing.edition import Item, Target
from tableveil.release.label_columns import CLASS_ID, has_labels, label_columns
from tableveil.source import Source
from tableveil.source.model import Column
from tableveil.state import publications
from tableveil.state.jobs import now
from tableveil.state.publications import Publication, PublicationState
from tableveil.state.release_objects import ObjectKind
from tableveil.state.releases import RELEASES, Release, ReleaseState


@dataclass(frozen=True, slots=True)
class Due:
    """The releases to publish to a target, and then those to remove from it, by number."""

    published: tuple[int, ...]
    removed: tuple[int, ...]


def ask(database: Database, session: Session, number: int, publication: Publication) -> None:
    """Notes in the ledger that a release is to be published, anew if it was asked for before.

    The reason that was given for it at this target, by its policy or a request, counts until there is another one.

    Raises:
        ConflictError: it was rejected, withdrawn or replaced.
        InvalidError: the target's readers have a release of the same people, and no reason is given; or one that is
            said to be of others has rows that recur.
    """
    # Jobs that write releases of the same people note the targets that they are for, too.
    with writing(database, session), session.transaction():
        release = existing(session, number)
        require_current(release)
        refuse_trial(release)
        earlier = publications.find(session.ledger, number, publication.target)
        if earlier is not None:
            reason = publication.repeat_reason or earlier.repeat_reason
            others = tuple(sorted({*publication.other_people, *earlier.other_people}))
            publication = replace(
                publication, repeat_reason=reason, published_at=earlier.published_at, other_people=others
            )
        same = releases_of_same_people(session, release, publication.other_people)
        check_readers(session, publication.target, publication.repeat_reason, same, "repeat_reason")
        publications.store(session.ledger, number, publication)


def take_back(session: Session, number: int, target: str) -> None:
    """Notes in the ledger that a release is to be removed from a target; once it is, does nothing.

    Raises:
        NotFoundError: it was never to be published there.
    """
    with session.transaction():
        publication = publications.find(session.ledger, number, target)
        if publication is None:
            expected = f"a target of releases/{number}"
            raise NotFoundError.of("PUBLICATION_NOT_FOUND", "target", shortened(target), expected)
        publications.store(session.ledger, number, replace(publication, wanted=False))


def due_at(ledger: Ledger, target: str) -> Due:
    """The steps that are due at a target, by what the ledger says now."""
    asked = publications.at_target(ledger, target)
    suspended = {number for (number,) in ledger.rows("SELECT release FROM tableveil.suspended_releases")}
    return due(asked, RELEASES.among(ledger, list(asked)), suspended)


def due(found: Mapping[int, Publication], releases: Collection[Release], suspended: Collection[int]) -> Due:
    """The steps for the publications of a target, which are not removed yet, oldest release first.

    A release that was replaced stays until the later one, if that is to be published as well, is there.
    After a restore a release waits until it is confirmed.
    """
    published, removed = [], []
    for release in sorted(releases, key=lambda release: release.number):
        publication = found[release.number]
        if not publication.wanted or release.state in (ReleaseState.WITHDRAWN, ReleaseState.REJECTED):
            removed.append(release.number)
        elif release.waits or release.number in suspended:
            continue
        elif not release.current:
            later = [other for other in releases if _takes_the_place(other, release) and found[other.number].wanted]
            if all(found[other.number].state is PublicationState.PUBLISHED for other in later):
                removed.append(release.number)
        elif publication.state is PublicationState.WAITING:
            published.append(release.number)
    return Due(tuple(published), tuple(removed))


def _takes_the_place(other: Release, release: Release) -> bool:
    return (
        other.current
        and other.target_schema == release.target_schema
        and other.target_name.casefold() == release.target_name.casefold()
    )


def published(publication: Publication) -> Publication:
    """It after it was written to its target."""
    return replace(publication, state=PublicationState.PUBLISHED, attempts=0, code="", problem="", published_at=now())


def removed(publication: Publication) -> Publication:
    """It after it was removed from its target."""
    return replace(publication, state=PublicationState.REMOVED, attempts=0, code="", problem="")


def failed(publication: Publication, code: str, problem: str, passes: bool) -> Publication:
    """It after an attempt that failed; only a failure that `passes` is tried again."""
    lost = publication.state is PublicationState.WAITING and not passes
    state = PublicationState.FAILED if lost else publication.state
    return replace(publication, state=state, attempts=publication.attempts + 1, code=code, problem=problem)


def existing(session: Session, number: int) -> Release:
    """The release, if the session may see one of that number; raises `NotFoundError` else."""
    release = RELEASES.find(session.ledger, number)
    if release is None:
        raise NotFoundError.of("RELEASE_NOT_FOUND", "name", f"releases/{number}", "an existing release")
    return release


def planned_faults(target: Target, policy: Policy, source: Source) -> Iterator[Fault]:
    """Faults for which a target would refuse each release of the policy, by the policy's fields."""
    release, related = policy.release, policy.related
    columns, fields = _released(policy, source, [f"attributes[{i}]" for i in range(len(policy.attributes))])
    if policy.marker_column:
        columns.append((policy.marker_column, "BOOLEAN"))
        fields[policy.marker_column] = "marker_column"
    if release.class_id:
        columns.append((CLASS_ID, "BIGINT"))
    items = [Item(release.name, ObjectKind.ROWS, tuple(columns), fields=fields)]
    for event, rows in zip(related.events if related else (), source.related, strict=True):
        own = replace(policy, attributes=event.attributes)
        columns, fields = _released(own, rows, [event.field(i) for i in range(len(event.attributes))])
        items.append(Item(release.event_name(event.name), ObjectKind.EVENTS, tuple(columns), fields=fields))
    named = {item.name for item in items}
    items += [Item(name, ObjectKind.CLASSES, ()) for name in release.object_names if name not in named]
    yield from target.faults(items)


def _released(
    policy: Policy, source: Source, attribute_fields: Sequence[str]
) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """The columns of the source that are released, those beside labels, and the fields that they are of."""
    columns, fields = list[tuple[str, str]](), dict[str, str]()
    beside = {each.name: each.types for each in label_columns(policy, source)}
    attributes = {
        attribute.column: (field, attribute)
        for field, attribute in zip(attribute_fields, policy.attributes, strict=True)
        if attribute.role is not Role.IDENTIFYING
    }
    for column in source.columns:
        if column.name in attributes:
            field, attribute = attributes[column.name]
            own = [(column.name, _type(attribute, column)), *beside.get(column.name, ())]
            columns += own
            fields |= dict.fromkeys((name for name, _ in own), f"{field}.column")
    return columns, fields


def _type(attribute: AttributePolicy, column: Column) -> str:
    """The type of a released column; those of aggregates fit any target."""
    if attribute.aggregation is not None or (attribute.role is Role.QUASI_IDENTIFIER and has_labels(attribute)):
        return "VARCHAR"
    return column.released_type
