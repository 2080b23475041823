"""The ledger of releases with the owner's evidence, each release by its number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from tableveil.backend import Session
from tableveil.policy import ReleaseKind, TableReference
from tableveil.privacy.guarantees import Guarantee
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.state import guarantees, withdrawals
from tableveil.state.withdrawals import Withdrawal


class ObjectKind(StrEnum):
    """What a public object holds."""

    ROWS = "ROWS"
    CLASSES = "CLASSES"
    RISK = "RISK"
    RISK_HISTOGRAM = "RISK_HISTOGRAM"
    CLASSIFICATION = "CLASSIFICATION"


@dataclass(frozen=True, slots=True)
class ReleaseObject:
    """A public object in the target schema; by its `mark` it is known again, if not empty."""

    name: str
    kind: ObjectKind
    row_count: int
    mark: str = ""


@dataclass(frozen=True, slots=True)
class AttributeResult:
    """What became of one quasi-identifier.

    `loss` is the same whatever the quality model; `part` is what that counted before the weight, None if its score is
    not made of such parts. At the record level `levels` are those of the released records, ascending, each with how
    many have it, and `level` is the highest; else there are none. `aggregation` says what took the place of values, if
    they were aggregated instead of generalized: then there are no levels, and `loss` is their squared error as a share
    of that which a single class would have.
    """

    column: str
    level: int
    top_level: int
    loss: float
    distinct_before: int
    distinct_after: int
    hierarchy: str
    part: float | None
    levels: tuple[tuple[int, int], ...] = ()
    aggregation: str = ""


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """Another valid transformation that was checked."""

    levels: tuple[int, ...]
    score: float
    suppressed_records: int


@dataclass(frozen=True, slots=True)
class Proof:
    """What the search established; `pruned` counts transformations by reason, as decimals.

    `strategy` says which searched and why; classes were `counted` so often, by whom and from what says `counting`;
    `best_seconds` after it began the search had found the best (None in releases from before that was kept).
    """

    optimal: bool
    lower_bound: float
    lattice_size: str
    checked: int
    pruned: Mapping[str, str]
    runners_up: tuple[RunnerUp, ...]
    counter: str
    seconds: float
    strategy: str
    counted: int
    counting: str
    best_seconds: float | None


@dataclass(frozen=True, slots=True)
class Rejection:
    """What one privacy model rejects at a transformation, and what of that no other does.

    It `binds` if the transformation is not valid, and would be without it.
    """

    privacy_model: str
    classes: int
    records: int
    only_classes: int
    only_records: int
    binds: bool


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The transformation one level less or more (`step`) on the columns, several if they are linked.

    They have `level` there. With step 0 and no columns it is the released transformation itself. `score` is None if it
    is not valid: `records_over_limit` too many would be suppressed.
    """

    columns: tuple[str, ...]
    step: int
    level: int | None
    classes: int
    rejected_classes: int
    suppressed_records: int
    records_over_limit: int
    score: float | None
    rejections: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why not a neighbour. If not `complete`, there was no time for some."""

    itself: Neighbour
    neighbours: tuple[Neighbour, ...]
    complete: bool


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


def next_number(session: Session) -> int:
    """A number no release has."""
    number: int = session.value("SELECT nextval('tableveil.release_numbers')")
    return number


def insert(session: Session, release: Release, sizes_before: ClassSizes, sizes_after: ClassSizes) -> None:
    """Writes the ledger entry and the evidence; call it in the transaction that writes the release."""
    proof = release.proof
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
            proof.lattice_size,
            proof.checked,
            list(proof.pruned),
            list(proof.pruned.values()),
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
            proof.counted,
            proof.counting,
            proof.best_seconds,
            release.explanation.complete if release.explanation else None,
        ],
    )
    number = release.number
    tables = [(number, read.catalog, read.schema, read.table) for read in release.source_tables]
    _append(session, "release_sources", tables)
    _append(session, "release_objects", [(number, *_object(o)) for o in release.objects])
    _append(
        session,
        "release_attributes",
        [
            (
                *(number, position, a.column, a.level, a.top_level, a.loss),
                *(a.distinct_before, a.distinct_after, a.hierarchy, a.part, a.aggregation),
            )
            for position, a in enumerate(release.attributes)
        ],
    )
    _append(
        session,
        "release_runners_up",
        [
            (number, rank, list(other.levels), other.score, other.suppressed_records)
            for rank, other in enumerate(proof.runners_up, start=1)
        ],
    )
    levels = [(number, a.column, level, records) for a in release.attributes for level, records in a.levels]
    _append(session, "release_levels", levels)
    if release.explanation:
        _insert_explanation(session, number, release.explanation)
    guarantees.insert(session, number, release.guarantees)
    stages = (("before", release.risk_before, sizes_before), ("after", release.risk_after, sizes_after))
    measures = [(number, stage, *measure) for stage, risk, _ in stages for measure in risk_measures(risk)]
    _append(session, "release_risks", measures)
    for stage, _, sizes in stages:
        session.execute(
            "INSERT INTO tableveil.release_risk_histograms SELECT ?, ?, unnest(?::BIGINT[]), unnest(?::BIGINT[])",
            [number, stage, sizes.sizes.tolist(), sizes.classes.tolist()],
        )


def _insert_explanation(session: Session, number: int, explanation: Explanation) -> None:
    neighbours = list(enumerate([explanation.itself, *explanation.neighbours]))
    _append(
        session,
        "release_explanations",
        [
            (
                *(number, position, list(found.columns), found.step, found.level, found.classes),
                *(found.rejected_classes, found.suppressed_records, found.records_over_limit, found.score),
            )
            for position, found in neighbours
        ],
    )
    rows = [(number, position, *astuple(one)) for position, found in neighbours for one in found.rejections]
    _append(session, "release_rejections", rows)


def _append(session: Session, name: str, rows: Sequence[Sequence[object]]) -> None:
    """Appends rows to a table of the state by one statement; one a row takes a millisecond each."""
    if rows:
        values = ", ".join(f"({', '.join('?' * len(row))})" for row in rows)
        session.execute(f"INSERT INTO tableveil.{name} VALUES {values}", [value for row in rows for value in row])


def replace_object(session: Session, number: int, added: ReleaseObject) -> None:
    """Adds a public object to the release of that number, in place of the one of its kind; call it in a transaction."""
    session.execute("DELETE FROM tableveil.release_objects WHERE release = ? AND kind = ?", [number, added.kind.value])
    _append(session, "release_objects", [(number, *_object(added))])


def _object(item: ReleaseObject) -> tuple[str, str, int, str]:
    return item.name, item.kind.value, item.row_count, item.mark


def risk_measures(risk: ProsecutorRisk) -> list[tuple[str, str | None, float]]:
    """Rows (measure, threshold, value) of the risk tables; a threshold is the policy's decimal as text."""
    return [
        ("records", None, float(risk.records)),
        ("classes", None, float(risk.classes)),
        ("highest_risk", None, risk.highest),
        ("average_risk", None, risk.average),
        ("lowest_risk", None, risk.lowest),
        ("unique_records", None, float(risk.unique_records)),
        *(("records_above_threshold", str(t), float(records)) for t, records in risk.records_at_risk),
    ]


def find(session: Session, number: int) -> Release | None:
    """The release of that number, with its explanation and its guarantees."""
    found = _load(session, "WHERE r.number = ?", [number])
    if not found:
        return None
    return replace(
        found[0], explanation=_explanation(session, number), guarantees=guarantees.of_release(session, number)
    )


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


def owned_objects(session: Session, schema: str, name: str) -> dict[str, int]:
    """The objects that the latest release of that target wrote, with their numbers of rows; none if it is withdrawn."""
    rows = session.rows(
        "SELECT name, row_count FROM tableveil.release_objects ANTI JOIN tableveil.withdrawals USING (release) "
        "WHERE release = "
        "(SELECT max(number) FROM tableveil.releases WHERE target_schema = ? AND lower(target_name) = lower(?))",
        [schema, name],
    )
    return dict(rows)


def _load(session: Session, condition: str, parameters: list[object]) -> list[Release]:
    rows = session.rows(
        "SELECT r.number, r.job, r.created_at, r.source_catalog, r.source_schema, r.source_table, "
        "r.source_fingerprint, r.target_schema, r.target_name, r.kind, r.repeat_reason, r.records, "
        "r.suppressed_records, r.classes, r.score, r.optimal, r.lower_bound, r.lattice_size, r.checked, r.pruned, "
        "r.counter, r.search_seconds, r.seconds, r.phase_seconds, r.versions, r.warnings, r.policy, r.quality_model, "
        "r.strategy, coalesce(r.counted, r.checked), r.counting, r.best_seconds, "
        "NOT EXISTS (SELECT 1 FROM tableveil.releases l WHERE l.target_schema = r.target_schema "
        "AND lower(l.target_name) = lower(r.target_name) AND l.number > r.number) "
        f"FROM tableveil.releases r {condition}",
        parameters,
    )
    withdrawn = withdrawals.of_releases(session, [row[0] for row in rows])
    return [_withdrawn(_release(session, *row), withdrawn) for row in rows]


def _withdrawn(release: Release, withdrawn: Mapping[int, Withdrawal]) -> Release:
    withdrawal = withdrawn.get(release.number)
    return release if withdrawal is None else replace(release, current=False, withdrawal=withdrawal)


def _release(
    session: Session,
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
    current: bool,
) -> Release:
    runners_up = session.rows(
        "SELECT levels, score, suppressed_records FROM tableveil.release_runners_up WHERE release = ? ORDER BY rank",
        [number],
    )
    attributes = session.rows(
        "SELECT column_name, level, top_level, loss, distinct_before, distinct_after, hierarchy, part, "
        "aggregation FROM tableveil.release_attributes WHERE release = ? ORDER BY position",
        [number],
    )
    levels = defaultdict(list)
    for column, level, records in session.rows(
        "SELECT column_name, level, records FROM tableveil.release_levels WHERE release = ? ORDER BY level", [number]
    ):
        levels[column].append((level, records))
    objects = session.rows(
        "SELECT name, kind, row_count, mark FROM tableveil.release_objects WHERE release = ? ORDER BY rowid", [number]
    )
    tables = session.rows(
        "SELECT source_catalog, source_schema, source_table FROM tableveil.release_sources WHERE release = ? "
        "ORDER BY rowid",
        [number],
    )
    return Release(
        number=number,
        job=job,
        created_at=created_at,
        source=TableReference(catalog, schema, name),
        source_tables=tuple(TableReference(*read) for read in tables),
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
            optimal,
            lower_bound,
            lattice_size,
            checked,
            dict(pruned),
            tuple(RunnerUp(tuple(levels), other, gone) for levels, other, gone in runners_up),
            counter,
            search_seconds,
            strategy,
            counted,
            counting,
            best_seconds,
        ),
        attributes=tuple(
            AttributeResult(name, level, top, loss, before, after, how, part, tuple(levels[name]), aggregation)
            for name, level, top, loss, before, after, how, part, aggregation in attributes
        ),
        objects=tuple(ReleaseObject(name, ObjectKind(kind), *rest) for name, kind, *rest in objects),
        risk_before=_risk(session, number, "before"),
        risk_after=_risk(session, number, "after"),
        seconds=seconds,
        phase_seconds=dict(phase_seconds),
        versions=dict(versions),
        warnings=tuple(warnings),
        policy=policy,
        current=current,
    )


def _explanation(session: Session, number: int) -> Explanation | None:
    complete = session.value("SELECT explanation_complete FROM tableveil.releases WHERE number = ?", [number])
    if complete is None:
        return None
    rejections = defaultdict(list)
    for position, *row in session.rows(
        "SELECT position, privacy_model, classes, records, only_classes, only_records, binds "
        "FROM tableveil.release_rejections WHERE release = ? ORDER BY rowid",
        [number],
    ):
        rejections[position].append(Rejection(*row))
    rows = session.rows(
        "SELECT columns, step, level, classes, rejected_classes, suppressed_records, records_over_limit, score "
        "FROM tableveil.release_explanations WHERE release = ? ORDER BY position",
        [number],
    )
    itself, *neighbours = (
        Neighbour(tuple(columns), step, level, classes, rejected, suppressed, over, score, tuple(rejections[position]))
        for position, (columns, step, level, classes, rejected, suppressed, over, score) in enumerate(rows)
    )
    return Explanation(itself, tuple(neighbours), complete)


def _risk(session: Session, number: int, stage: str) -> ProsecutorRisk:
    rows = session.rows(
        "SELECT measure, threshold, value FROM tableveil.release_risks WHERE release = ? AND stage = ? ORDER BY rowid",
        [number, stage],
    )
    single = {measure: value for measure, threshold, value in rows if threshold is None}
    return ProsecutorRisk(
        records=int(single["records"]),
        classes=int(single["classes"]),
        highest=single["highest_risk"],
        average=single["average_risk"],
        lowest=single["lowest_risk"],
        unique_records=int(single["unique_records"]),
        records_at_risk=tuple((Decimal(t), int(value)) for _, t, value in rows if t is not None),
    )
