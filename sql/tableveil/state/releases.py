"""The ledger of releases with the owner's evidence, each release by its number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tableveil.backend import Session
from tableveil.policy import ReleaseKind, TableReference
from tableveil.privacy.guarantees import Guarantee
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.state import (
    guarantees,
    release_attributes,
    release_explanations,
    release_objects,
    release_risks,
    withdrawals,
)
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.release_explanations import Explanation
from tableveil.state.release_objects import ReleaseObject
from tableveil.state.release_risks import AFTER, BEFORE
from tableveil.state.rows import insert_rows
from tableveil.state.withdrawals import Withdrawal


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """Another valid transformation that was checked."""

    levels: tuple[int, ...]
    score: float
    suppressed_records: int


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search of the lattice did; `pruned` counts transformations by reason, as decimals.

    Classes were `counted` so often: for the checks, and for bounds. The best was found after `best_seconds`.
    """

    lattice_size: str
    checked: int
    counted: int
    pruned: Mapping[str, str] = field(default_factory=dict)
    runners_up: tuple[RunnerUp, ...] = ()
    best_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a release is the best, or how far from the best it may be: nothing valid scores less than `lower_bound`.

    `strategy` says which method or search was used and why, `counter` and `counting` who counted classes, from what.
    `searched` is None if the method does not search the lattice.
    """

    optimal: bool
    lower_bound: float
    strategy: str
    seconds: float
    counter: str
    counting: str
    searched: Searched | None


@dataclass(frozen=True, slots=True)
class Release:
    """A release and its evidence. `policy` is the document as JSON; seconds are of the whole job up to the commit.

    A `source` that is a query has no name; `source_tables` are those that it reads.

    Releases are listed without their explanation and guarantees, and those from before these were kept have none. A
    release is `current` until it is withdrawn, or replaced by a later one.
    """

    number: int
    job: int
    created_at: datetime
    source: TableReference
    source_fingerprint: str
    target_schema: str
    target_name: str
    kind: ReleaseKind
    repeat_reason: str
    records: int
    suppressed_records: int
    classes: int
    score: float
    quality_model: str
    proof: Proof
    attributes: tuple[AttributeResult, ...]
    objects: tuple[ReleaseObject, ...]
    risk_before: ProsecutorRisk
    risk_after: ProsecutorRisk
    seconds: float
    phase_seconds: Mapping[str, float]
    versions: Mapping[str, str]
    warnings: tuple[str, ...]
    policy: str
    explanation: Explanation | None = None
    guarantees: tuple[Guarantee, ...] = ()
    source_tables: tuple[TableReference, ...] = ()
    current: bool = field(default=True)
    withdrawal: Withdrawal | None = None


_NOT_SEARCHED = Searched("", 0, 0)


def next_number(session: Session) -> int:
    """A number no release has."""
    number: int = session.value("SELECT nextval('tableveil.release_numbers')")
    return number


def insert(session: Session, release: Release, sizes_before: ClassSizes, sizes_after: ClassSizes) -> None:
    """Writes the ledger entry and the evidence; call it in the transaction that writes the release."""
    proof = release.proof
    searched = proof.searched or _NOT_SEARCHED
    session.execute(
        "INSERT INTO tableveil.releases BY NAME SELECT "
        "? AS number, ? AS job, ? AS created_at, ? AS source_catalog, ? AS source_schema, ? AS source_table, "
        "? AS source_fingerprint, ? AS target_schema, ? AS target_name, ? AS kind, ? AS repeat_reason, ? AS records, "
        "? AS suppressed_records, ? AS classes, ? AS score, ? AS optimal, ? AS lower_bound, ? AS lattice_size, "
        "? AS checked, map(?::VARCHAR[], ?::VARCHAR[]) AS pruned, ? AS counter, ? AS search_seconds, ? AS seconds, "
        "map(?::VARCHAR[], ?::DOUBLE[]) AS phase_seconds, map(?::VARCHAR[], ?::VARCHAR[]) AS versions, "
        "?::VARCHAR[] AS warnings, ? AS policy, ? AS quality_model, ? AS strategy, ? AS counted, ? AS counting, "
        "? AS best_seconds, ? AS explanation_complete",
        [
            release.number,
            release.job,
            release.created_at,
            release.source.catalog,
            release.source.schema,
            release.source.table,
            release.source_fingerprint,
            release.target_schema,
            release.target_name,
            release.kind.value,
            release.repeat_reason,
            release.records,
            release.suppressed_records,
            release.classes,
            release.score,
            proof.optimal,
            proof.lower_bound,
            searched.lattice_size,
            searched.checked,
            list(searched.pruned),
            list(searched.pruned.values()),
            proof.counter,
            proof.seconds,
            release.seconds,
            list(release.phase_seconds),
            list(release.phase_seconds.values()),
            list(release.versions),
            list(release.versions.values()),
            list(release.warnings),
            release.policy,
            release.quality_model,
            proof.strategy,
            searched.counted,
            proof.counting,
            searched.best_seconds,
            release.explanation.complete if release.explanation else None,
        ],
    )
    number = release.number
    tables = [(number, read.catalog, read.schema, read.table) for read in release.source_tables]
    insert_rows(session, "release_sources", tables)
    release_objects.insert(session, number, release.objects)
    release_attributes.insert(session, number, release.attributes)
    insert_rows(
        session,
        "release_runners_up",
        [
            (number, rank, list(other.levels), other.score, other.suppressed_records)
            for rank, other in enumerate(searched.runners_up, start=1)
        ],
    )
    if release.explanation:
        release_explanations.insert(session, number, release.explanation)
    guarantees.insert(session, number, release.guarantees)
    risks = {BEFORE: release.risk_before, AFTER: release.risk_after}
    release_risks.insert(session, number, risks, {BEFORE: sizes_before, AFTER: sizes_after})


def find(session: Session, number: int) -> Release | None:
    """The release of that number, with its explanation and its guarantees."""
    found = _load(session, "WHERE r.number = ?", [number])
    if not found:
        return None
    explanation = release_explanations.of_release(session, number)
    return replace(found[0], explanation=explanation, guarantees=guarantees.of_release(session, number))


def page(session: Session, before: int | None, size: int) -> list[Release]:
    """The next `size` releases with numbers below `before`, newest first."""
    below = before if before is not None else 2**62
    return _load(session, "WHERE r.number < ? ORDER BY r.number DESC LIMIT ?", [below, size])


def earlier_releases(session: Session, tables: Sequence[TableReference], fingerprint: str | None) -> list[int]:
    """Numbers of the releases made of any of these tables, alone or in a query, or of rows with that fingerprint."""
    names = [(read.schema, read.table) for read in tables]
    rows = session.rows(
        "WITH read AS (SELECT unnest(?::VARCHAR[]) AS s, unnest(?::VARCHAR[]) AS t) "
        "SELECT number FROM tableveil.releases WHERE source_fingerprint = ? "
        "OR (source_schema, source_table) IN (FROM read) OR number IN (SELECT release FROM tableveil.release_sources "
        "WHERE (source_schema, source_table) IN (FROM read)) ORDER BY number",
        [[schema for schema, _ in names], [name for _, name in names], fingerprint or ""],
    )
    return [number for (number,) in rows]


def _load(session: Session, condition: str, parameters: list[object]) -> list[Release]:
    rows = session.rows(
        "SELECT r.number, r.job, r.created_at, r.source_catalog, r.source_schema, r.source_table, "
        "r.source_fingerprint, r.target_schema, r.target_name, r.kind, r.repeat_reason, r.records, "
        "r.suppressed_records, r.classes, r.score, r.optimal, r.lower_bound, r.lattice_size, r.checked, r.pruned, "
        "r.counter, r.search_seconds, r.seconds, r.phase_seconds, r.versions, r.warnings, r.policy, r.quality_model, "
        "r.strategy, coalesce(r.counted, r.checked), r.counting, r.best_seconds "
        f"FROM tableveil.releases r {condition}",
        parameters,
    )
    evidence = _Evidence(session, [row[0] for row in rows])
    return [_release(evidence, *row) for row in rows]


class _Evidence:
    """What is kept of some releases beside the ledger's entries, by number."""

    def __init__(self, session: Session, releases: Sequence[int]) -> None:
        self.attributes = release_attributes.of_releases(session, releases)
        self.objects = release_objects.of_releases(session, releases)
        self.risks = release_risks.of_releases(session, releases)
        self.withdrawals = withdrawals.of_releases(session, releases)
        # Asked by itself: in the entries' own query it would take as long as the rest of that.
        latest = session.rows("SELECT max(number) FROM tableveil.releases GROUP BY target_schema, lower(target_name)")
        self.latest = {number for (number,) in latest}
        self.source_tables = defaultdict(list)
        for release, *table in session.rows(
            "SELECT release, source_catalog, source_schema, source_table FROM tableveil.release_sources "
            "WHERE list_contains(?::BIGINT[], release) ORDER BY rowid",
            [list(releases)],
        ):
            self.source_tables[release].append(TableReference(*table))
        self.runners_up = defaultdict(list)
        for release, levels, score, suppressed in session.rows(
            "SELECT release, levels, score, suppressed_records FROM tableveil.release_runners_up "
            "WHERE list_contains(?::BIGINT[], release) ORDER BY rank",
            [list(releases)],
        ):
            self.runners_up[release].append(RunnerUp(tuple(levels), score, suppressed))


def _release(
    evidence: _Evidence,
    number: int,
    job: int,
    created_at: datetime,
    catalog: str,
    schema: str,
    name: str,
    fingerprint: str,
    target_schema: str,
    target_name: str,
    kind: str,
    repeat_reason: str,
    records: int,
    suppressed: int,
    classes: int,
    score: float,
    optimal: bool,
    lower_bound: float,
    lattice_size: str,
    checked: int,
    pruned: Mapping[str, str],
    counter: str,
    search_seconds: float,
    seconds: float,
    phase_seconds: Mapping[str, float],
    versions: Mapping[str, str],
    warnings: list[str],
    policy: str,
    quality_model: str,
    strategy: str,
    counted: int,
    counting: str,
    best_seconds: float | None,
) -> Release:
    return Release(
        number=number,
        job=job,
        created_at=created_at,
        source=TableReference(catalog, schema, name),
        source_tables=tuple(evidence.source_tables[number]),
        source_fingerprint=fingerprint,
        target_schema=target_schema,
        target_name=target_name,
        kind=ReleaseKind(kind),
        repeat_reason=repeat_reason,
        records=records,
        suppressed_records=suppressed,
        classes=classes,
        score=score,
        quality_model=quality_model,
        proof=Proof(
            optimal=optimal,
            lower_bound=lower_bound,
            strategy=strategy,
            seconds=search_seconds,
            counter=counter,
            counting=counting,
            searched=(
                Searched(lattice_size, checked, counted, dict(pruned), tuple(evidence.runners_up[number]), best_seconds)
                if lattice_size
                else None
            ),
        ),
        attributes=tuple(evidence.attributes[number]),
        objects=tuple(evidence.objects[number]),
        risk_before=evidence.risks[number, BEFORE],
        risk_after=evidence.risks[number, AFTER],
        seconds=seconds,
        phase_seconds=dict(phase_seconds),
        versions=dict(versions),
        warnings=tuple(warnings),
        policy=policy,
        current=number in evidence.latest and number not in evidence.withdrawals,
        withdrawal=evidence.withdrawals.get(number),
    )
