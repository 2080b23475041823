"""The public tables that explain a release, and the comments on its tables and columns.

They are made of names, roles, levels, parameters of privacy models and numbers of the written rows: never of a policy's
text, the source's name, a reason, or a row of a hierarchy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from importlib import metadata

import duckdb
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, catalog, create_from, identifier, render, table, text
from tableveil.hierarchy import ValueKind
from tableveil.policy import JobPart, NullHandling, RelativeTime, ReleaseKind, ReleaseTarget, Role, SuppressedRecords
from tableveil.release.columns import AggregateColumn, LabelledColumn, ReleasedColumn
from tableveil.release.estimates import EstimatedColumn
from tableveil.release.label_columns import CLASS_ID, LabelColumns
from tableveil.release.plan import ReleasePlan
from tableveil.release.related import RelatedRelease
from tableveil.release.suppressed import told_suppressed
from tableveil.state.jobs import now

_DAYS = "days"
_UNITS = {
    ValueKind.INTEGER: "whole numbers",
    ValueKind.FLOAT: "numbers",
    ValueKind.DATE: _DAYS,
    ValueKind.TIMESTAMP: "timestamps in UTC",
}
_SECONDS_PER_DAY = 86_400
_WIDTHS = {ValueKind.DATE: "days", ValueKind.TIMESTAMP: "days"}
_INCLUDED = (ValueKind.INTEGER, ValueKind.DATE)
"""Bounds of these are values themselves."""


@dataclass(frozen=True, slots=True)
class _Meaning:
    """A row of the table of columns."""

    column_name: str
    type: str
    role: str
    description: str
    describes: str | None = None
    levels: str | None = None
    star_means: str | None = None
    blank_means: str | None = None
    null_means: str | None = None
    end_included: bool | None = None
    unit: str | None = None


_TYPES = {"end_included": pa.bool_()}


def write_columns(
    session: WarehouseSession, plan: ReleasePlan, target: exp.Table, estimated: Sequence[EstimatedColumn] = ()
) -> int:
    """Creates the table of the columns' meanings and returns its number of rows.

    With estimates it says in which share of the rows a column is estimated, and how wide its labels are.
    """
    meanings = list(_meanings(plan))
    names = _Meaning.__slots__
    rows = [astuple(meaning) for meaning in meanings]
    data = {name: pa.array([row[i] for row in rows], _TYPES.get(name, pa.string())) for i, name in enumerate(names)}
    if estimated:
        of = {column.name: column for column in estimated}
        told = [of.get(meaning.column_name) for meaning in meanings]
        data["estimated_share"] = pa.array([column and column.share for column in told], pa.float64())
        data["typical_width"] = pa.array([column and column.width for column in told], pa.float64())
    return create_from(session, target, pa.table({"position": pa.array(range(1, len(rows) + 1), pa.int32()), **data}))


def write_about(
    session: WarehouseSession, plan: ReleasePlan, number: int, classes: int, known_as: ReleaseTarget, target: exp.Table
) -> int:
    """Creates the table of facts about the release of that number and returns its number of rows."""
    day, version = now().date().isoformat(), metadata.version("tableveil")
    models = [str(model) for model in plan.policy.privacy_models]
    drawn = plan.source.drawn
    promised = [f"epsilon {drawn.epsilon}, delta {drawn.delta}, T {drawn.removed}"] if drawn else []
    by = "; ".join([*promised, *models])
    cite = f"{known_as.name}, release {number} of {day}, anonymized with Tableveil {version} ({by})"
    facts = [
        ("name", known_as.name),
        ("release", str(number)),
        ("day", day),
        ("source_records", str(plan.records)),
        ("records", str(plan.kept_records)),
        ("suppressed_records", str(plan.suppressed_records)),
        *(told_suppressed(session.embedded, plan) if JobPart.SUPPRESSED_BY in plan.policy.parts else ()),
        *(plan.related.told() if plan.related is not None else ()),
        ("classes", str(classes)),
        *([("people", "several records each: class sizes and risks count records")] if plan.repeating else ()),
        *((plan.policy.method.field, promise) for promise in promised),
        *(("privacy_model", model) for model in models),
        *(("lists", f"models judge each element of {name}") for name in plan.columns_of_lists),
        ("tableveil_version", version),
        ("duckdb_version", duckdb.__version__),
        ("cite", cite),
    ]
    data = {name: pa.array([fact[i] for fact in facts], pa.string()) for i, name in enumerate(("fact", "value"))}
    return create_from(session, target, pa.table(data))


# --- comments -------------------------------------------------------------------------------------------------------


def comment(
    session: Session, plan: ReleasePlan, known_as: ReleaseTarget, estimated: Sequence[EstimatedColumn] = ()
) -> None:
    """Comments on the written tables and on the columns of the rows."""
    place, database = plan.policy.release, plan.source.reference.catalog
    explained = f"{known_as.columns_name}, {known_as.labels_name} and {known_as.about_name} explain them"
    of_tables = {
        place.name: f"Anonymized records; {explained}.",
        place.classes_name: f"The classes of {known_as.name}: records with equal labels, with their sizes and risks.",
        place.risk_name: f"Re-identification risks of {known_as.name}.",
        place.risk_histogram_name: f"The classes of {known_as.name} by size.",
        place.columns_name: f"The meaning of each column of {known_as.name}.",
        place.labels_name: f"Every label of {known_as.name}, with its bounds, rank and number of records.",
        place.about_name: f"Facts about {known_as.name}: its privacy models, and how to cite it.",
    }
    if estimated:
        of_tables |= _estimated_comments(place, known_as)
    comments = []
    for name, words in of_tables.items():
        kind = "VIEW" if place.kind is ReleaseKind.VIEW and name == place.name else "TABLE"
        comments.append(_comment(kind, table(name, place.schema, database), words))
    comments += _column_comments(plan.of_rows, table(place.name, place.schema, database))
    for name in (place.estimated_name, *place.spread_names) if estimated else ():
        of_table = table(name, place.schema, database)
        comments += [
            _comment("COLUMN", _column(of_table, column.name), words)
            for column in estimated
            if (words := _estimated_words(column))
        ]
    session.execute("; ".join(comments))


def comment_events(session: Session, plan: ReleasePlan, related: RelatedRelease, known_as: ReleaseTarget) -> None:
    """Comments on the tables of events and of known rows, and on the columns of the events."""
    place, database = plan.policy.release, plan.source.reference.catalog
    words = {place.known_rows_name: f"How many people of {known_as.name} few keys fit, by the rows that are known."}
    comments = []
    for events in related.events:
        rows = known_as.event_name(events.name)
        words[place.event_name(events.name)] = f"Anonymized events of the people in {known_as.name}, joined by the key."
        if place.label_columns:
            words[place.event_columns_name(events.name)] = f"The meaning of each column of {rows}."
            words[place.event_labels_name(events.name)] = f"Every label of {rows}, with its bounds, rank and rows."
        of_rows = table(place.event_name(events.name), place.schema, database)
        comments += _column_comments(events.plan, of_rows)
    comments += [_comment("TABLE", table(name, place.schema, database), text_) for name, text_ in words.items()]
    session.execute("; ".join(comments))


def _column_comments(plan: ReleasePlan, of_table: exp.Table) -> list[str]:
    return [_comment("COLUMN", _column(of_table, each.column_name), each.description) for each in _meanings(plan)]


def copy_comments(session: Session, copied: exp.Table, target: exp.Table, *, is_view: bool) -> None:
    """Gives a copy of a table or view, and its columns, the comments of the original."""
    kind = "VIEW" if is_view else "TABLE"
    comments = [
        _comment("COLUMN", _column(target, name), words) if name else _comment(kind, target, words)
        for name, words in catalog.comments(session, copied.db)[copied.name].items()
    ]
    if comments:
        session.execute("; ".join(comments))


def _column(of: exp.Table, name: str) -> exp.Expr:
    return exp.Dot(this=of.copy(), expression=identifier(name))


def _comment(kind: str, of: exp.Expr, words: str) -> str:
    return f"COMMENT ON {kind} {render(of)} IS {render(text(words))}"


def _estimated_comments(place: ReleaseTarget, known_as: ReleaseTarget) -> dict[str, str]:
    """The comments on the estimated tables, by their names in that place."""
    words = (
        f"Estimates: each value is one that its label in {known_as.name} allows, drawn by assumption. "
        "Rows are not people: never look one up, never join on these values. "
        "Totals by label are exact, and assumed inside of labels."
    )
    other = f"{known_as.estimated_name} under another assumption: how far they differ says how far a result may be off."
    return {place.estimated_name: words, **dict.fromkeys(place.spread_names, other)}


def _estimated_words(column: EstimatedColumn) -> str:
    """The comment on a column; none on one that is as in the release."""
    if not column.estimates:
        return "The label, as in the release." if column.labels else ""
    if not column.share:
        return "No row is estimated: every label stands for one value."
    share = f"{column.share:.0%}" if column.share >= 0.01 else "under 1%"
    within = ""
    if column.width is not None:
        width = column.width / _SECONDS_PER_DAY if column.kind is ValueKind.TIMESTAMP else column.width
        within = f", half of them within {width:,.4g}{f' {_WIDTHS[column.kind]}' if column.kind in _WIDTHS else ''}"
    return f"{share.replace('%', ' %')} of the rows are estimated{within}."


# --- meanings of columns --------------------------------------------------------------------------------------------


def _meanings(plan: ReleasePlan) -> Iterator[_Meaning]:
    roles = {attribute.column: attribute.role for attribute in plan.policy.attributes}
    companions = {columns.name: columns for columns in plan.label_columns}
    for released in plan.columns():
        if released.name == plan.key:
            words = (
                "The random key of a person, fresh in this release: it joins the release's tables, and no others. "
                "Exported files have it as text."
            )
            yield _Meaning(released.name, released.type, "KEY", words)
            continue
        meaning = _released(plan, released, roles[released.name])
        if released.name not in companions:
            yield meaning
        else:
            yield replace(meaning, description=f"{meaning.description} {_trap(companions[released.name])}")
            yield from _companions(companions[released.name], _DAYS if meaning.unit else None)
    if plan.marker:
        yield _Meaning(plan.marker, "BOOLEAN", "SUPPRESSED", "True for records whose labels are suppressed.")
    if plan.policy.release.class_id:
        words = "The number of the record's class, in the order of labels."
        yield _Meaning(CLASS_ID, "BIGINT", "CLASS_ID", words, null_means="a suppressed record" if plan.marker else None)


def _trap(columns: LabelColumns) -> str:
    """The warning that labels have no order of values."""
    if columns.bounds is None:
        return f"Text: sort by {columns.rank}."
    return f"Text: sort by {columns.rank}, compare and compute by {columns.low} and {columns.high}."


def _relative(plan: ReleasePlan, name: str) -> RelativeTime | None:
    """The anchor of the days that replaced a column's dates; None for other columns."""
    related = plan.policy.related
    return related.relative_time if related is not None and name in plan.days else None


def _released(plan: ReleasePlan, released: ReleasedColumn, role: Role) -> _Meaning:
    shows = plan.policy.suppressed_records is not SuppressedRecords.KEEP or role is Role.QUASI_IDENTIFIER
    suppressed = "a suppressed record" if plan.marker and shows else ""
    attribute = next(attribute for attribute in plan.policy.attributes if attribute.column == released.name)
    time = _relative(plan, released.name)
    no_value = "no value in the source" if time is None else time.null_means
    absent = "" if role is Role.QUASI_IDENTIFIER and attribute.nulls is not NullHandling.VALUE else no_value
    null_means = " or ".join(part for part in (absent, suppressed) if part) or None
    blank_means = "an empty text, which is a value as any other" if released.type == "VARCHAR" else None
    star = "any value" if released.recognizes and released.type == "VARCHAR" else None
    words, levels = _cells(plan, released, role)
    means = star, blank_means, null_means
    unit = None if time is None else _DAYS
    return _Meaning(released.name, released.type, role.value, words, None, levels, *means, unit=unit)


def _cells(plan: ReleasePlan, released: ReleasedColumn, role: Role) -> tuple[str, str | None]:
    """The content of a column's cells in words, and its levels."""
    match released:
        case AggregateColumn():
            function = released.dictionary.values.aggregation.function.replace("_", " ").lower()
            return f"Quasi-identifier: the {function} of the values of all records of a class.", None
        case LabelledColumn():
            drawn = plan.source.drawn
            levels = ", ".join(map(str, released.levels if drawn is None else drawn.levels[released.name][:1]))
            many = "s" if released.mixed else ""
            time = _relative(plan, released.name)
            of, value = ("", "the value itself") if time is None else (f"{time.means}, in ", "their number")
            return f"Quasi-identifier: {of}labels of level{many} {levels}; level 0 is {value}.", levels
        case _:
            return f"{'Sensitive' if role is Role.SENSITIVE else 'Insensitive'}: the values of the source.", None


def _companions(columns: LabelColumns, unit: str | None) -> Iterator[_Meaning]:
    name = columns.name
    types = dict(columns.types)
    if columns.bounds is not None:
        included, unit = columns.bounds in _INCLUDED, unit or _UNITS[columns.bounds]
        ends = "included" if included else "included only where to_included in the table of labels is true"
        yield _Meaning(
            columns.low,
            types[columns.low],
            "LOWER_BOUND",
            f"The least value that the label in {name} stands for, included.",
            describes=name,
            null_means=f"the label in {name} has no lower bound; estimates take its upper one",
            end_included=True,
            unit=unit,
        )
        yield _Meaning(
            columns.high,
            types[columns.high],
            "UPPER_BOUND",
            f"The greatest value that the label in {name} stands for, {ends}.",
            describes=name,
            null_means=f"the label in {name} has no upper bound; estimates take its lower one",
            end_included=True if included else None,
            unit=unit,
        )
    yield _Meaning(
        columns.rank,
        types[columns.rank],
        "RANK",
        f"The place of the label in {name} among all released ones, to sort by.",
        describes=name,
        null_means=f"{name} is NULL",
    )
