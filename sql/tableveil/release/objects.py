"""All public objects of a release: writes them, marks them, and lists them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, column, drop, number, row_hash, sql, table, text, united
from tableveil.dictionary import AggregatedDictionary, PeopleDictionary, SensitiveDictionary, listed_levels
from tableveil.estimates import ASSUMPTIONS
from tableveil.hierarchy import Combination, ListedHierarchy
from tableveil.policy import ReleaseKind, ReleaseTarget
from tableveil.release import about, labels, write
from tableveil.release.columns import LabelledColumn
from tableveil.release.estimated_matches import EstimatedMatches, MatchedEstimates
from tableveil.release.estimates import EstimatedColumn, EstimatedTables
from tableveil.release.known_rows import write_known_rows
from tableveil.release.label_columns import CLASS_ID, LabelColumns
from tableveil.release.plan import ReleasePlan
from tableveil.risk import ClassSizes, ProsecutorRisk, prosecutor_risk
from tableveil.source.tables import STATE_SCHEMA
from tableveil.state.release_objects import ObjectKind, ReleaseObject
from tableveil.state.seen import PUBLIC
from tableveil.verification.written import CompanionColumns, Labels, Written, WrittenAggregate, WrittenEvents

TABLE = "sensitive_distributions"


def write_distribution(session: Session, dictionary: SensitiveDictionary, release: int) -> None:
    """Stores the distribution of a sensitive column in the whole source, suppressed records included."""
    values = dictionary.values
    position = "code"
    if values.null_code is not None and values.null_first:
        position = "CASE WHEN code = $null THEN 0 ELSE code + 1 END"
    query = sql(
        f"SELECT $release AS release, $column AS column_name, {position} AS position, "
        "CAST(value AS VARCHAR) AS value, n FROM $dictionary",
        release=number(release),
        column=text(values.column),
        null=number(values.null_code or 0),
        dictionary=table(dictionary.table_name),
    )
    session.execute(exp.Insert(this=table(TABLE, STATE_SCHEMA), expression=query))


def stage_labels(
    session: Session, dictionary: SensitiveDictionary | AggregatedDictionary
) -> tuple[str, tuple[str, ...]]:
    """A temporary table of the values and their labels by the column's hierarchy, for the verification.

    Returns its name and its columns from level 0, the value, to the top.
    """
    levels = dictionary.values.levels
    assert levels is not None, "there are no labels without a hierarchy"
    names = [f"l{level}" for level in range(1, levels.top + 1)]
    labels = {
        name: pa.array(levels.labels[level - 1], pa.string()).take(pa.array(levels.groups[level]))
        for level, name in enumerate(names, start=1)
    }
    labelled = f"{dictionary.table_name}_labels"
    query = sql(
        "SELECT held.value, $labels FROM $dictionary AS held JOIN labelled ON held.code = labelled.code",
        labels=[column(name, "labelled") for name in names],
        dictionary=table(dictionary.table_name),
    )
    with session.relation("labelled", pa.table({"code": pa.array(levels.groups[0]), **labels})):
        session.stage(labelled, query)
    return labelled, ("value", *names)


if TYPE_CHECKING:
    from tableveil.release.related import RelatedRelease


@dataclass(frozen=True, slots=True)
class WrittenObjects:
    """The public objects of a release; the sizes of its classes, and their risks.

    `distinct` says how many different labels each quasi-identifier has, `matches` how people match estimates.
    """

    objects: tuple[ReleaseObject, ...]
    sizes: ClassSizes
    risk: ProsecutorRisk
    distinct: Mapping[str, int]
    matches: MatchedEstimates | None = None


def write_objects(
    session: WarehouseSession, plan: ReleasePlan, number: int, known_as: ReleaseTarget | None = None
) -> WrittenObjects:
    """Writes the public objects of the release of that number, and the distributions that its evidence needs.

    Readers will find them at the target `known_as`, if that is not where they are written. The plan is staged.
    """
    target = plan.policy.release
    rows, classes = public(plan, target.name), public(plan, target.classes_name)
    if target.kind is ReleaseKind.VIEW:
        write.write_rows(session, plan, snapshot(number))
        write.write_view(session.embedded, rows, snapshot(number))
    else:
        write.write_rows(session, plan.of_rows, rows)
    write.write_classes(session, plan, rows, classes)
    sizes = write.class_sizes(session, plan, classes)
    risk = prosecutor_risk(sizes, plan.policy.risk_thresholds)
    risk_rows = write.write_risk(session, risk, plan.suppressed_records, public(plan, target.risk_name))
    write.write_risk_histogram(session, sizes, public(plan, target.risk_histogram_name))
    write_distributions(session.embedded, plan, number)
    written_rows = plan.records if plan.marker else plan.kept_records
    objects = [
        ReleaseObject(target.name, ObjectKind.ROWS, written_rows),
        ReleaseObject(target.classes_name, ObjectKind.CLASSES, risk.classes),
        ReleaseObject(target.risk_name, ObjectKind.RISK, risk_rows),
        ReleaseObject(target.risk_histogram_name, ObjectKind.RISK_HISTOGRAM, len(sizes.sizes)),
    ]
    labelled: Mapping[str, int] = {}
    matches = None
    if target.label_columns:
        labelled, explanations, matches = _write_explanations(session, plan, number, risk.classes, known_as or target)
        objects += explanations
    if plan.related is not None:
        objects += _write_events(session, plan, plan.related)
        if target.label_columns and session.traits.comments:
            about.comment_events(session.embedded, plan, plan.related, known_as or target)
    distinct = write.distinct_labels(session, plan, classes, labelled)
    return WrittenObjects(tuple(objects), sizes, risk, distinct, matches)


def _write_events(session: WarehouseSession, plan: ReleasePlan, related: RelatedRelease) -> Iterator[ReleaseObject]:
    """Writes the tables of events, and what they tell to somebody who knows some of a person's rows."""
    target = plan.policy.release
    for events in related.events:
        own, name = events.plan, target.event_name(events.name)
        write.write_rows(session, own, public(plan, name))
        yield ReleaseObject(name, ObjectKind.EVENTS, own.kept_records)
        if target.label_columns:
            columns_name, labels_name = target.event_columns_name(events.name), target.event_labels_name(events.name)
            columns = about.write_columns(session, own, public(plan, columns_name))
            yield ReleaseObject(columns_name, ObjectKind.EVENT_COLUMNS, columns)
            labelled = labels.write_labels(session, own, public(plan, labels_name))
            yield ReleaseObject(labels_name, ObjectKind.EVENT_LABELS, sum(labelled.values()))
    rows = write_known_rows(session.embedded, plan, related, public(plan, target.known_rows_name))
    yield ReleaseObject(target.known_rows_name, ObjectKind.KNOWN_ROWS, rows)


def write_distributions(session: Session, plan: ReleasePlan, number: int) -> None:
    """Stores how the source spreads over the sensitive columns that models look at."""
    for dictionary in plan.protected():
        write_distribution(session, dictionary, number)


def _write_explanations(
    session: WarehouseSession, plan: ReleasePlan, number: int, classes: int, known_as: ReleaseTarget
) -> tuple[Mapping[str, int], list[ReleaseObject], MatchedEstimates | None]:
    """Writes the tables that explain the others; returns how many labels the columns have, and the tables.

    The last is how people match estimates, if there are some.
    """
    target = plan.policy.release
    labelled = labels.write_labels(session, plan, public(plan, target.labels_name))
    estimated, matches = _write_estimates(session.embedded, plan, number) if target.estimates else ([], None)
    columns = about.write_columns(session, plan.of_rows, public(plan, target.columns_name), estimated)
    about_rows = about.write_about(session, plan, number, classes, known_as, public(plan, target.about_name))
    if session.traits.comments:
        about.comment(session.embedded, plan, known_as, estimated)
    spread = target.spread_names if target.estimates else ()
    return (
        labelled,
        [
            ReleaseObject(target.columns_name, ObjectKind.COLUMNS, columns),
            ReleaseObject(target.labels_name, ObjectKind.LABELS, sum(labelled.values())),
            ReleaseObject(target.about_name, ObjectKind.ABOUT, about_rows),
            *(ReleaseObject(target.estimated_name, ObjectKind.ESTIMATED, plan.kept_records) for _ in spread[:1]),
            *(ReleaseObject(name, ObjectKind.SPREAD, plan.kept_records) for name in spread),
        ],
        matches,
    )


def _write_estimates(
    session: Session, plan: ReleasePlan, number: int
) -> tuple[list[EstimatedColumn], MatchedEstimates | None]:
    """Writes the estimated tables, and returns the columns that they have of the source, and how people match them.

    Columns whose estimates would find people too often keep their labels. Clusters are not told apart by labels.
    """
    target = plan.policy.release
    rows = snapshot(number) if target.kind is ReleaseKind.VIEW else public(plan, target.name)
    classes, id_ = public(plan, target.classes_name), write.class_columns(plan).id
    targets = [public(plan, name) for name in (target.estimated_name, *target.spread_names)]
    tables = EstimatedTables(session, plan, rows, classes, id_)
    tables.write(targets[:1], ASSUMPTIONS[:1])
    found = None
    if plan.recoding.by is None and not plan.aggregated_columns:
        with EstimatedMatches(session, plan, classes, id_) as matches:
            while (found := matches.count(targets[0], tables.estimated)).lifted:
                kept = matches.lifting(targets[0], tables.estimated)
                session.execute(drop("TABLE", targets[0]))
                tables = tables.keeping(kept)
                tables.write(targets[:1], ASSUMPTIONS[:1])
    tables.write(targets[1:], ASSUMPTIONS[1:])
    return tables.told, found


def written_objects(session: WarehouseSession, plan: ReleasePlan, number: int) -> Written:
    """The description of the written objects for the verification."""
    target, rows = plan.policy.release, plan.source.rows
    catalog, schema = plan.source.reference.catalog, target.schema
    return Written(
        release=number,
        together_with=plan.together_with,
        source=(rows.catalog, rows.schema, rows.table),
        subset=plan.source.subset,
        rows=(catalog, schema, target.name),
        classes=(catalog, schema, target.classes_name),
        risk=(catalog, schema, target.risk_name),
        risk_histogram=(catalog, schema, target.risk_histogram_name),
        kept=plan.kept_records,
        types=tuple(plan.of_rows.types()),
        source_types=tuple((column.name, column.type) for column in plan.source.columns),
        labels=tuple(_labels(session, plan, released, number) for released in plan.generalized()),
        sensitive=tuple(
            Labels(dictionary.values.column, *stage_labels(session.embedded, dictionary))
            for dictionary in plan.protected()
            if dictionary.values.levels is not None
        ),
        class_columns=write.class_columns(plan),
        complete=plan.source.complete,
        aggregated=tuple(_aggregate(session.embedded, dictionary) for dictionary in plan.aggregated_columns),
        members=_members(plan),
        people=_people(plan),
        companions=tuple(map(_companions, plan.label_columns)),
        explained=(catalog, schema, target.labels_name) if target.label_columns else None,
        class_id=CLASS_ID if target.class_id else "",
        person=(plan.policy.person_column or "") if plan.repeating else "",
        record=plan.policy.record_column,
        estimated=tuple(
            (catalog, schema, name) for name in (target.estimated_name, *target.spread_names) if target.estimates
        ),
        events=tuple(_written_events(session, plan, number)),
        curve=(catalog, schema, target.known_rows_name) if plan.related is not None else None,
    )


def _written_events(session: WarehouseSession, plan: ReleasePlan, number: int) -> Iterator[WrittenEvents]:
    target, catalog = plan.policy.release, plan.source.reference.catalog
    events = () if plan.related is None else plan.related.events
    for each, source in zip(events, plan.source.related, strict=True):
        own, days = each.plan, each.staged.days
        generalized = sorted(own.generalized(), key=lambda released: own.dictionaries.index(released.dictionary))
        explained = (catalog, target.schema, target.event_labels_name(each.name)) if target.label_columns else None
        yield WrittenEvents(
            name=each.name,
            source=(source.reference.catalog, source.reference.schema, source.reference.table),
            rows=(catalog, target.schema, target.event_name(each.name)),
            types=tuple(own.types()),
            source_types=tuple((c.name, "INTEGER" if c.name in days else c.type) for c in source.columns),
            labels=tuple(_labels(session, own, released, number) for released in generalized),
            companions=tuple(map(_companions, own.label_columns)),
            explained=explained,
        )


def _aggregate(session: Session, dictionary: AggregatedDictionary) -> WrittenAggregate:
    name, labels = dictionary.column.name, None
    if dictionary.values.levels is not None:
        labels = Labels(name, *stage_labels(session.embedded, dictionary), hierarchy=dictionary.hierarchy)
    return WrittenAggregate(name, dictionary.column.kind, dictionary.table_name, labels)


def _companions(of: LabelColumns) -> CompanionColumns:
    closed, rule = of.closed, of.attribute.hierarchy
    listed = [row[0].replace("'", "''") for row in rule.rows] if isinstance(rule, Combination) else []
    columns = (of.name, of.low, of.high, of.rank, of.bounds, of.bounds_type)
    return CompanionColumns(
        *columns,
        range=None if closed is None else (closed.minimum, closed.maximum),
        listed=tuple(f"'{value}'" for value in listed),
    )


def _members(plan: ReleasePlan) -> tuple[tuple[str, str], ...] | None:
    by = plan.recoding.by
    sensitive = [each for each in by or () if isinstance(each, SensitiveDictionary)]
    return None if by is None else tuple((each.column.name, each.table_name) for each in sensitive)


def _people(plan: ReleasePlan) -> str:
    by = plan.recoding.by or ()
    return next((dictionary.table_name for dictionary in by if isinstance(dictionary, PeopleDictionary)), "")


def _labels(session: WarehouseSession, plan: ReleasePlan, released: LabelledColumn, number: int) -> Labels:
    dictionary, unstored = released.dictionary, None
    hierarchy = dictionary.attribute.hierarchy
    if not number and plan.policy.game is not None and isinstance(hierarchy, ListedHierarchy):
        unstored = listed_levels(session, hierarchy, released.name, "")[0]
    names = [dictionary.label_name(level) for level in range(1, dictionary.levels.top + 1)]
    return Labels(
        released.name,
        dictionary.table_name,
        ("value", *names),
        released.level,
        dictionary.withholds,
        dictionary.hierarchy,
        released.levels,
        plan.dictionaries.index(dictionary),
        unstored,
    )


def drop_replaced(session: WarehouseSession, target: ReleaseTarget, existing: Mapping[str, str]) -> None:
    """Drops the earlier release's objects; `check_existing` made sure that they belong to it."""
    for name, kind in existing.items():
        session.execute(drop(kind.upper(), table(name, target.schema, session.catalog)))
    earlier = session.ledger.rows(
        f"SELECT number FROM tableveil.releases WHERE target_schema = ? AND lower(target_name) = lower(?) "
        f"AND kind = 'VIEW' AND {PUBLIC}",
        [target.schema, target.name],
    )
    for (release,) in earlier:
        session.execute(drop("TABLE", snapshot(release), if_exists=True))


def public(plan: ReleasePlan, name: str) -> exp.Table:
    """A public object by its full name: a shorter one could mean a temporary table."""
    return table(name, plan.policy.release.schema, plan.source.reference.catalog)


def snapshot(number: int) -> exp.Table:
    """The table of rows that a view shows."""
    return table(f"snapshot_{number}", STATE_SCHEMA)


def mark(session: WarehouseSession, schema: str, name: str) -> str:
    """SHA-256 in hexadecimal over the columns, types, number and hashes of the rows of a table or view, in any order.

    The hashes are the engine's: marks made by different versions of DuckDB cannot be compared.
    """
    return marks(session, schema, [name])[name]


def marks(session: WarehouseSession, schema: str, names: Sequence[str]) -> dict[str, str]:
    """The mark of each of these tables and views."""
    # By their full names: a job's own temporary table may have the short name.
    objects = [table(name, schema, session.catalog) for name in names]
    columns, totals = dict(zip(names, session.described_tables(objects), strict=True)), []
    for i, name in enumerate(names):
        hashed = row_hash(*(column(column_name) for column_name, _ in columns[name]))
        sums = (exp.Count(this=exp.Star()), exp.Sum(this=hashed), exp.BitwiseXorAgg(this=hashed.copy()))
        totals.append(exp.select(number(i), *sums).from_(objects[i]))
    rows = {names[i]: (*row,) for i, *row in session.rows(united(totals))}
    return {name: hashlib.sha256(repr((columns[name], rows[name])).encode()).hexdigest() for name in names}
