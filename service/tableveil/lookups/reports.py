"""Reads beside a release all else that its report tells, and keeps what reports were made."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from tableveil.backend import Database, Ledger, Session, column, render, table
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError, InvalidError, NotFoundError
from tableveil.lifecycle import JointFigures, joint_figures, place_of
from tableveil.lifecycle.row_checksum import stands, written_checksum
from tableveil.lookups.releases import Releases
from tableveil.source import Source, find_source, fingerprint
from tableveil.source.tables import find_table
from tableveil.state import jobs, persons, release_risks, reports
from tableveil.state.classifications import CLASSIFICATIONS, Classification
from tableveil.state.migrate import fingerprint_key
from tableveil.state.persons import judged_together
from tableveil.state.publications import PUBLICATIONS, Publication
from tableveil.state.release_objects import ObjectKind
from tableveil.state.releases import (
    STATES,
    Release,
    ReleaseState,
    StandingRelease,
    earlier_of_target,
    earlier_releases,
    seen_among,
)
from tableveil.state.reports import MadeReport
from tableveil.state.seen import Audience, Seen, results, waiting
from tableveil.state.utility_reports import UTILITY_REPORTS, StoredUtility

MOST_OTHERS, _AT_ONCE = 20, 200
"""Other releases of the same people that a report shows, and that are asked for at once."""

MOST_EXAMPLES = 4
"""Released labels of a column that a report shows."""


@dataclass(frozen=True, slots=True)
class ToldColumn:
    """A released column of the source: its type, its role, the labels that most records have, and their unit."""

    name: str
    type: str
    role: str
    labels: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class OtherRelease:
    """Another release of the same people: it shares digests of them, or else its table."""

    standing: StandingRelease
    publications: tuple[Publication, ...]
    by_digests: bool


@dataclass(frozen=True, slots=True)
class BesideLedger:
    """The facts about a release that are not in its ledger entry.

    `columns` and `checksum` are read from the public objects, and the sizes of the released classes follow from them.
    The rest is evidence: `people` of the source, if the ledger has digests of them, and `others`, the releases
    of the same people, or of the same table, whose evidence the caller sees, too. The `maker` submitted its job.
    `measured` is False for callers who may not see what was measured of the release. Whether the source is gone or
    changed is looked up for owners if nobody measured utility, and if it is no query.
    """

    columns: tuple[ToldColumn, ...]
    checksum: str
    sizes_after: tuple[tuple[int, int], ...]
    sizes_before: tuple[tuple[int, int], ...] = ()
    measured: bool = True
    utility: StoredUtility | None = None
    classification: Classification | None = None
    earlier: Release | None = None
    joint: JointFigures | None = None
    people: int | None = None
    others: tuple[OtherRelease, ...] = ()
    maker: str = ""
    source_gone: bool = False
    source_changed: bool = False


class Reports:
    """May be used from any thread."""

    def __init__(self, database: Database, releases: Releases) -> None:
        self._database, self._releases = database, releases

    def told(self, number: int, control: Control) -> tuple[Release, BesideLedger]:
        """A release, and the facts for a report, with the evidence that the caller may see.

        Raises:
            NotFoundError: there is no such release.
            CancelledError: `control` says to stop.
        """
        with self._database.session() as session:
            session.control = control
            try:
                with session.transaction():
                    release = self._releases.found(session.ledger, number)
                    return release, _facts(session, release)
            except Stopped:
                raise CancelledError("CANCELLED", "nobody waits for the report any more") from None

    def keep(self, made: MadeReport) -> None:
        """Keeps that a report was made."""
        with self._database.session() as session, session.transaction():
            reports.remember(session.ledger, made)


def _facts(session: Session, release: Release) -> BesideLedger:
    columns = tuple(_columns(session, release)) if stands(release) else ()
    if release.state is ReleaseState.PENDING and not _is_seen(session.ledger, release, waiting):
        columns = tuple(replace(one, labels=()) for one in columns)
    checksum = written_checksum(session, release)
    sizes = release_risks.sizes_of(session.ledger, release.number)
    facts = BesideLedger(columns, checksum, tuple(sizes[release_risks.AFTER]))
    if release.audience is Audience.PUBLIC:
        return facts
    return _with_evidence(session, release, replace(facts, sizes_before=tuple(sizes[release_risks.BEFORE])))


def _with_evidence(session: Session, release: Release, beside_ledger: BesideLedger) -> BesideLedger:
    ledger, newest = session.ledger, "ORDER BY number DESC LIMIT 1"
    utility = UTILITY_REPORTS.seen_where(ledger, "release = ?", [release.number], newest)
    classifications = CLASSIFICATIONS.seen_where(ledger, "release = ?", [release.number], newest)
    earlier = earlier_of_target(ledger, release)
    beside_ledger = replace(
        beside_ledger,
        measured=_is_seen(ledger, release, results),
        utility=next(iter(utility), None),
        classification=next(iter(classifications), None),
        earlier=None if earlier is None or earlier.audience is Audience.PUBLIC else earlier,
        joint=_joint(session, release) if _is_seen(ledger, release, waiting) else None,
        people=persons.count_people(ledger, release.number),
        others=tuple(_others(ledger, release)),
        maker=jobs.owner_of(ledger, release.job),
    )
    if release.audience is not Audience.OWNER or release.warehouse or beside_ledger.utility is not None:
        return beside_ledger
    if release.source_tables:
        gone = any(find_table(session, one, "source")[0] is None for one in release.source_tables)
        return replace(beside_ledger, source_gone=gone)
    source, _, _ = find_source(session, release.source, "", "source")
    if source is None:
        return replace(beside_ledger, source_gone=True)
    return replace(beside_ledger, source_changed=_is_changed(session, release, source))


def _is_changed(session: Session, release: Release, source: Source) -> bool:
    """Whether the table has other rows than those that were released."""
    if '"population"' in release.policy:
        # The source may be a part of the table.
        rows = table(release.source.table, release.source.schema, session.catalog)
        return bool(session.value(exp.select(exp.Count(this=exp.Star())).from_(rows)) < release.records)
    return fingerprint(session, source, fingerprint_key(session.ledger)) != release.source_fingerprint


def _joint(session: Session, release: Release) -> JointFigures | None:
    """The figures of the releases that it was judged together with; None if there are none, or none that is seen."""
    others = judged_together(session.ledger, [release.number])[release.number]
    try:
        return joint_figures(session, [release.number, *others]) if others else None
    except (InvalidError, NotFoundError):
        # The digests of a release are gone with it, or the caller may not see one of them.
        return None


def _others(ledger: Ledger, release: Release) -> Iterator[OtherRelease]:
    """The newest other releases that share people with this one, by digests or else by the table that was read.

    A reader of what is public of a release is not told: a table of one person would tell who is in its source.
    """
    number, read = release.number, release.source_tables or (release.source,)
    digests = persons.with_others(ledger, number)
    same_table = earlier_releases(ledger, read, release.source_fingerprint)
    newest_first = sorted({*digests, *same_table} - {number}, reverse=True)
    newest: list[int] = []
    # A table may have been read by thousands.
    for begin in range(0, len(newest_first), _AT_ONCE):
        newest += sorted(seen_among(ledger, newest_first[begin : begin + _AT_ONCE]), reverse=True)
        if len(newest) >= MOST_OTHERS:
            break
    standing = STATES.found(ledger, newest[:MOST_OTHERS])
    published = PUBLICATIONS.of(ledger, standing)
    for other in sorted(standing, reverse=True):
        yield OtherRelease(standing[other], tuple(published[other]), other in digests)


def _is_seen(ledger: Ledger, release: Release, by: Seen) -> bool:
    return release.number in seen_among(ledger, [release.number], by(ledger.visibility))


def _columns(session: Session, release: Release) -> Iterator[ToldColumn]:
    """The columns as the tables that explain the release tell them; none if it has no such tables."""
    names = {kind: [item.name for item in release.objects if item.kind is kind] for kind in ObjectKind}
    explained = [
        ("", *of_people) for of_people in zip(names[ObjectKind.COLUMNS], names[ObjectKind.LABELS], strict=False)
    ]
    kinds = (ObjectKind.EVENTS, ObjectKind.EVENT_COLUMNS, ObjectKind.EVENT_LABELS)
    for rows, *of_events in zip(*(names[kind] for kind in kinds), strict=False):
        explained.append((f"{rows.removeprefix(f'{release.target_name}_')}.", *of_events))
    for before, columns, labels in explained:
        query = exp.select(*map(column, ("column_name", "type", "role", "unit"))).from_(
            _object(session, release, columns)
        )
        query = query.where(column("describes").is_(exp.null())).order_by("position")
        examples = _labels(session, _object(session, release, labels))
        for name, type_, role, unit in session.rows(query):
            if role in ("QUASI_IDENTIFIER", "SENSITIVE", "INSENSITIVE"):
                yield ToldColumn(f"{before}{name}", type_, role, tuple(examples[name]), unit or "")


def _labels(session: Session, labels: exp.Table) -> defaultdict[str, list[str]]:
    """The labels of each column that most records have."""
    query = (
        "SELECT column_name, label, "
        "row_number() OVER (PARTITION BY column_name ORDER BY records DESC, rank NULLS FIRST) AS place "
        f"FROM {render(labels)} WHERE label IS NOT NULL QUALIFY place <= {MOST_EXAMPLES} ORDER BY place"
    )
    examples: defaultdict[str, list[str]] = defaultdict(list)
    for name, label, _ in session.rows(query):
        examples[name].append(label)
    return examples


def _object(session: Session, release: Release, name: str) -> exp.Table:
    schema, name = place_of(session, release, name)
    return table(name, schema, session.catalog)
