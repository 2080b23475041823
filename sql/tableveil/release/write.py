"""Writes the released rows and the public tables made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    in_one_spelling,
    in_order,
    number,
    row_number,
    table,
    text,
)
from tableveil.counting.base import joined_code
from tableveil.dictionary import AggregatedDictionary
from tableveil.hierarchy import ValueKind
from tableveil.policy import SuppressedRecords
from tableveil.release.aggregated import aggregated_label, member_rows, split, stage_aggregates
from tableveil.release.class_ids import with_class_ids
from tableveil.release.label_columns import CLASS_ID
from tableveil.release.labels import label_table, stage_labels, with_labels
from tableveil.release.listed_rows import listable, write_listed_rows
from tableveil.release.own_levels import label_at_own_level, stage_own_levels, with_own_levels
from tableveil.release.plan import Members, ReleasedColumn, ReleasePlan
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.source.spelling import has_spellings, spelling
from tableveil.state.release_risks import RiskMeasure, risk_measures
from tableveil.verification.written import AGGREGATES, ClassColumns

SUPPRESSED = "suppressed_classes"

UNRANKED = "unranked_rows"

ENTROPY_DIGITS = 9
"""Decimal places of an entropy l in the table of classes."""


def stage(session: WarehouseSession, plan: ReleasePlan) -> None:
    """Puts the tables that the rows are joined to into temporary tables, before the transaction that writes.

    These are the keys of the suppressed classes, or the own levels of combinations, or the aggregates of classes.
    """
    if plan.aggregated is not None:
        stage_aggregates(session.embedded, plan, plan.aggregated)
        return
    if plan.own_levels is not None:
        stage_own_levels(session.embedded, plan.own_levels)
        return
    gone = ~plan.kept
    columns = {f"w{word}": pa.array(keys[gone]) for word, keys in enumerate(plan.classes.words)}
    with session.embedded.relation("suppressed_keys", pa.table(columns)):
        query = exp.select("*").from_(table("suppressed_keys"))
        session.embedded.stage(SUPPRESSED, query)
    session.lend(SUPPRESSED)


def write_rows(session: WarehouseSession, plan: ReleasePlan, target: exp.Table) -> None:
    """Creates the table of released rows, sorted by all of its columns so that their order reveals nothing."""
    if listable(plan):
        kept, groups = _kept_of_groups(plan, with_groups=True)
        values = {released.name: _label(released, 0, {}) for released in plan.columns()}
        write_listed_rows(session, plan, kept, groups, values, target)
        return
    rows = released_rows(session, plan)
    ranks: dict[str, str] = {}
    if plan.label_columns:
        # The rank of a label depends on all released ones.
        session.view(UNRANKED, rows)
        stage_labels(session, plan, UNRANKED)
        rows = with_labels(plan, UNRANKED)
        ranks = {columns.name: columns.rank for columns in plan.label_columns}
    if plan.policy.release.class_id:
        rows = with_class_ids(session, plan, rows)
    order = [column(ranks.get(released.name, released.name)) for released in plan.columns()]
    marker = [column(plan.marker)] if plan.marker else []
    session.write(target, in_order(rows, [*marker, *order]))
    if plan.label_columns:
        session.forget(UNRANKED)


def released_rows(session: WarehouseSession, plan: ReleasePlan) -> exp.Query:
    """The released rows, in any order."""
    numbered = plan.aggregated is not None and plan.aggregated.members is not None and split(session.embedded)
    kept = _kept_rows(plan, numbered)
    rows: exp.Query = kept
    if plan.marker:
        rows = kept.select(alias(exp.false(), plan.marker))
        for others in _suppressed_rows(session, plan):
            marked = _all_columns(plan, others).select(alias(exp.true(), plan.marker))
            rows = exp.Union(this=rows, expression=marked, distinct=False)
    return rows


def _all_columns(plan: ReleasePlan, rows: exp.Select) -> exp.Select:
    """The rows with NULL in the released columns that they lack, in the order of these."""
    shown = {named.alias: named for named in rows.expressions}
    nothing = {released.name: alias(cast(exp.null(), released.type), released.name) for released in plan.columns()}
    return rows.select(*(shown.get(name, null) for name, null in nothing.items()), append=False)


def write_view(session: Session, view: exp.Table, snapshot: exp.Table) -> None:
    """Creates the view that shows the snapshot."""
    names = [name for name, _ in session.described(exp.select("*").from_(snapshot))]
    query = exp.select(*map(column, names)).from_(snapshot.copy())
    session.execute(exp.Create(this=view, kind="VIEW", expression=query))


def write_classes(session: WarehouseSession, plan: ReleasePlan, rows: exp.Table, target: exp.Table) -> None:
    """Creates the table of released classes, from the released rows alone.

    Labels, `class_size`, `risk`, and per sensitive column the number of different values in a class, and the
    exponential of their entropy: with that l, distinct and entropy l-diversity just hold. NULL counts for neither.
    `class_id` numbers the classes in the order of their labels, unless the policy leaves it out.
    """
    labels = [released.name for released in plan.quasi_identifiers()]
    names = class_columns(plan)
    # Ranks are counted many times as fast as texts, and each is of one label.
    ranks = {columns.name: (columns.rank, j) for j, columns in enumerate(plan.label_columns)}
    keys = [ranks[label][0] if label in ranks else label for label in labels]
    places = enumerate(labels)
    shown = [column("label", f"l{ranks[n][1]}") if n in ranks else column(f"v{i}", "counted") for i, n in places]
    spreads = [
        collected(session, spread_table(s), _spread(plan, rows, keys, sensitive))
        for s, (sensitive, *_) in enumerate(names.diversity)
    ]
    if spreads:
        # The rows of a class by their values, NULL included, are all of its rows.
        first, *_ = names.diversity[0]
        sizes: exp.Expr = _diversity(session, plan, rows, first, spreads[0], len(keys)).subquery("counted")
    else:
        sizes = collected(
            session, "counted", _by_keys(plan, rows, keys, "v").select(alias(exp.Count(this=exp.Star()), "n"))
        )
    risk = exp.Div(this=cast(number(1), "DOUBLE"), expression=column("n", "counted"))
    query = exp.select(
        *(alias(label, name) for label, name in zip(shown, labels, strict=True)),
        alias(column("n", "counted"), names.size),
        alias(risk, names.risk),
    ).from_(sizes)
    for i, label in enumerate(labels):
        if label in ranks:
            of = f"l{ranks[label][1]}"
            ranked = exp.EQ(this=column(f"v{i}", "counted"), expression=column("place", of))
            query = query.join(table(label_table(ranks[label][1]), alias=of), on=ranked, join_type="LEFT")
    for s, (sensitive, distinct, entropy) in enumerate(names.diversity):
        of = f"values{s}" if s else "counted"
        if s:
            diversity = _diversity(session, plan, rows, sensitive, spreads[s], len(keys))
            same = [
                exp.NullSafeEQ(this=column(f"v{i}", "counted"), expression=column(f"v{i}", of))
                for i, _ in enumerate(labels)
            ]
            query = query.join(diversity.subquery(of), on=exp.and_(*same))
        query = query.select(
            alias(column("different", of), distinct),
            alias(exp.Coalesce(this=column("achieved", of), expressions=[number(0)]), entropy),
        )
    order = [exp.Ordered(this=label.copy(), nulls_first=False) for label in shown]
    if names.id:
        query = query.select(alias(row_number(order), names.id))
    session.create(target, query.order_by(*(key.copy() for key in order)))


def spread_table(sensitive: int) -> str:
    """The embedded session's table in which `write_classes` collects the released rows of a warehouse.

    They are counted as `n` by the classes' keys `v0`, `v1`, … and the `value` of a sensitive column, by its position.
    """
    return f"spread{sensitive}"


def collect_spreads(session: WarehouseSession, plan: ReleasePlan) -> None:
    """Collects the tables of `spread_table` without writing any rows."""
    session.view(UNRANKED, released_rows(session, plan))
    labels = [released.name for released in plan.quasi_identifiers()]
    for s, sensitive in enumerate(plan.diverse()):
        session.collect(spread_table(s), _spread(plan, table(UNRANKED), labels, sensitive.name))
    session.forget(UNRANKED)


def _spread(plan: ReleasePlan, rows: exp.Table, keys: list[str], sensitive: str) -> exp.Select:
    """How often each class has each value."""
    spread = _by_keys(plan, rows, keys, "v")
    spread = spread.select(alias(column(sensitive, "r"), "value"), alias(exp.Count(this=exp.Star()), "n"))
    return spread.group_by(column(sensitive, "r"))


def _diversity(
    session: WarehouseSession, plan: ReleasePlan, rows: exp.Table, sensitive: str, spread: exp.Expr, labels: int
) -> exp.Select:
    """Per class its `n` rows, the number of `different` values, and the l that their entropy has `achieved`.

    Spellings of a value are one value. Values are grouped before they are counted: an aggregate that holds all values
    of a class does not spill.
    """
    keys = [column(f"v{i}") for i in range(labels)]
    of = plan.source.column(sensitive)
    values = exp.select(alias(column(sensitive), "value")).from_(rows.copy())
    if session.embedded is not session:
        values = exp.select("value").from_(spread.copy())
    # Few columns have several spellings of a value: only then the values of all classes are grouped once more.
    if has_spellings(session.embedded, values, of):
        spelled = spelling(column("value"), of)
        united = exp.select(*keys, alias(spelled, "value"), alias(exp.Sum(this=column("n")), "n")).from_(spread)
        spread = united.group_by(*(key.copy() for key in keys), spelled.copy()).subquery("spread")
    present = exp.Where(this=exp.not_(column("value").is_(exp.null())))

    def over_values(found: exp.Expr) -> exp.Expr:
        return exp.Filter(this=exp.Sum(this=found), expression=present.copy())

    logarithms = over_values(exp.Mul(this=column("n"), expression=exp.Ln(this=column("n"))))
    total = over_values(column("n"))
    bits = exp.Sub(this=exp.Ln(this=total), expression=exp.Div(this=logarithms, expression=total.copy()))
    # The last digits depend on the order of summation.
    achieved = exp.Round(this=exp.Exp(this=bits), decimals=number(ENTROPY_DIGITS))
    return (
        exp.select(
            *(key.copy() for key in keys),
            alias(cast(exp.Sum(this=column("n")), "BIGINT"), "n"),
            alias(exp.Count(this=column("value")), "different"),
            alias(achieved, "achieved"),
        )
        .from_(spread)
        .group_by(*(key.copy() for key in keys))
    )


def _by_keys(plan: ReleasePlan, rows: exp.Table, keys: list[str], prefix: str) -> exp.Select:
    """The released rows grouped by columns that identify their class, which are named by prefix and position."""
    # Qualified: columns may have these names.
    named = [alias(column(key, "r"), f"{prefix}{i}") for i, key in enumerate(keys)]
    query = exp.select(*named).from_(exp.alias_(rows.copy(), "r", table=True))
    if plan.marker:
        query = query.where(exp.Not(this=column(plan.marker, "r")))
    return query.group_by(*(column(key, "r") for key in keys))


def class_columns(plan: ReleasePlan) -> ClassColumns:
    """The names of the other columns; none equals a quasi-identifier's or another one."""
    taken = {released.name.casefold() for released in plan.quasi_identifiers()}

    def free(name: str) -> str:
        while name.casefold() in taken:
            name = f"{name}_"
        taken.add(name.casefold())
        return name

    numbered = plan.policy.release.label_columns or plan.policy.release.class_id
    return ClassColumns(
        free(CLASS_ID) if numbered else "",
        free("class_size"),
        free("risk"),
        tuple((c.name, free(f"distinct_l_{c.name}"), free(f"entropy_l_{c.name}")) for c in plan.diverse()),
    )


def class_sizes(session: WarehouseSession, plan: ReleasePlan, classes: exp.Table) -> ClassSizes:
    """The histogram of the sizes of the released classes."""
    size = class_columns(plan).size
    query = (
        exp.select(alias(column(size), "size"), alias(exp.Count(this=exp.Star()), "classes"))
        .from_(classes.copy())
        .group_by(column(size))
        .order_by(column(size))
    )
    found = session.arrays(query)
    return ClassSizes(found["size"], found["classes"])


def write_risk(session: WarehouseSession, risk: ProsecutorRisk, suppressed: int, target: exp.Table) -> int:
    """Creates the table of risk measures and returns its number of rows.

    Columns: `measure`, `threshold` (a decimal as text, or NULL), `value`.
    """
    rows = [*risk_measures(risk), RiskMeasure("suppressed_records", None, float(suppressed))]
    data = pa.table(
        {
            "measure": pa.array([row.measure for row in rows], pa.string()),
            "threshold": pa.array([row.threshold for row in rows], pa.string()),
            "value": pa.array([row.value for row in rows], pa.float64()),
        }
    )
    _write_arrow(session, data, target)
    return len(rows)


def write_risk_histogram(session: WarehouseSession, sizes: ClassSizes, target: exp.Table) -> None:
    """Creates the table of class sizes: `class_size`, `classes`, `records`, `risk`."""
    data = pa.table(
        {
            "class_size": pa.array(sizes.sizes, pa.int64()),
            "classes": pa.array(sizes.classes, pa.int64()),
            "records": pa.array(sizes.sizes * sizes.classes, pa.int64()),
            "risk": pa.array(1.0 / sizes.sizes, pa.float64()),
        }
    )
    _write_arrow(session, data, target)


def distinct_labels(session: WarehouseSession, plan: ReleasePlan, classes: exp.Table) -> dict[str, int]:
    """Per quasi-identifier, how many different labels (NULL is one) the released classes have."""
    counts = {}
    for released in plan.quasi_identifiers():
        distinct = exp.select(column(released.name)).distinct().from_(classes.copy())
        counts[released.name] = session.value(exp.select(exp.Count(this=exp.Star())).from_(distinct.subquery("labels")))
    return counts


def _kept_rows(plan: ReleasePlan, numbered: bool) -> exp.Select:
    """The released rows; `numbered` if records with equal values may be in different classes."""
    if plan.aggregated is not None and plan.aggregated.members is not None:
        return _clustered_rows(plan, plan.aggregated.members, numbered)
    query, _ = _kept_of_groups(plan, with_groups=False)
    positions = {dictionary.column.name: j for j, dictionary in enumerate(plan.dictionaries)}
    return query.select(*(alias(_released(plan, released, positions), released.name) for released in plan.columns()))


def _kept_of_groups(plan: ReleasePlan, with_groups: bool) -> tuple[exp.Select, dict[int, exp.Expr]]:
    """The released rows without a select list yet, and their groups: see `joined_rows`."""
    suppresses = bool((~plan.kept).any())
    with_groups = with_groups or suppresses or plan.own_levels is not None or plan.aggregated is not None
    query, groups = joined_rows(plan, with_groups)
    if plan.own_levels is not None:
        query = with_own_levels(query, groups)
    elif plan.aggregated is not None:
        query = of_classes(plan, query, groups, AGGREGATES, "INNER")
    elif suppresses:
        query = of_classes(plan, query, groups, SUPPRESSED, "ANTI")
    return query.where(*(exp.Not(this=condition) for condition in withheld(plan))), groups


def clustered_rows(plan: ReleasePlan, members: Members, numbered: bool) -> tuple[exp.Select, dict[str, int]]:
    """The rows of clusters without a select list yet; and by name the positions of columns released unchanged."""
    own = [released for released in plan.columns() if released.aggregated is None]
    query = member_rows(plan, members, [_label(released, 0, {}) for released in own], numbered)
    return query, {released.name: i for i, released in enumerate(own)}


def _clustered_rows(plan: ReleasePlan, members: Members, numbered: bool) -> exp.Select:
    query, positions = clustered_rows(plan, members, numbered)
    for released in plan.columns():
        if released.aggregated is None:
            query = query.select(alias(column(f"v{positions[released.name]}", "rows"), released.name))
        else:
            query = query.select(alias(_aggregate(plan, released.aggregated), released.name))
    return query


def _suppressed_rows(session: WarehouseSession, plan: ReleasePlan) -> Iterator[exp.Select]:
    """The rows of suppressed records, with the source's columns that they show."""
    blank = plan.policy.suppressed_records is SuppressedRecords.BLANK
    if blank and session.embedded is session:
        yield exp.select().from_(exp.GenerateSeries(end=number(plan.suppressed_records), is_end_exclusive=True))
        return
    shown = [alias(_released(plan, c, {}), c.name) for c in plan.columns() if c.dictionary is None and not blank]
    nulls = withheld(plan)
    if nulls:
        yield exp.select(*shown).from_(plan.source.table("source")).where(exp.or_(*nulls))
    if (~plan.kept).any():
        query, groups = joined_rows(plan, with_groups=True)
        if plan.own_levels is not None:
            query = with_own_levels(query, groups, "ANTI")
        else:
            query = of_classes(plan, query, groups, SUPPRESSED, "SEMI")
        yield query.where(*(exp.Not(this=condition) for condition in nulls)).select(*shown)


def joined_rows(plan: ReleasePlan, with_groups: bool) -> tuple[exp.Select, dict[int, exp.Expr]]:
    """The source joined to the dictionaries of its labels, and each row's groups, if there are any.

    With `with_groups`, all quasi-identifiers of more than one group have them, and the combinations of earlier classes.
    """
    query = exp.select().from_(plan.source.table("source"))
    groups: dict[int, exp.Expr] = {}
    for j, dictionary in enumerate(plan.dictionaries):
        # The top has one label for all, and level 0 has the value itself: neither needs the dictionary for its label.
        labelled = any(0 < level < dictionary.levels.top for level in plan.levels_of(j))
        if (with_groups and plan.classes.layout.radices[j] > 1) or labelled:
            query, groups[j] = joined_code(query, dictionary, "source", f"d{j}", plan.classes.at[j])
    if with_groups and plan.earlier is not None:
        query, groups[len(plan.dictionaries)] = plan.earlier.joined(query, "source", "earlier")
    return query, groups


def of_classes(
    plan: ReleasePlan, query: exp.Select, groups: Mapping[int, exp.Expr], staged: str, join: str
) -> exp.Select:
    """The rows joined to the staged table, with or without the key of their class in it."""
    layout = plan.classes.layout
    words: list[exp.Expr] = [cast(number(0), "BIGINT") for _ in range(layout.words)]
    for j, group in groups.items():
        part = exp.Mul(this=cast(group, "BIGINT"), expression=number(layout.stride[j]))
        words[layout.word[j]] = exp.Add(this=words[layout.word[j]], expression=part)
    same = exp.and_(*(exp.EQ(this=column(f"w{w}", staged), expression=word) for w, word in enumerate(words)))
    return query.join(table(staged), on=same, join_type=join)


def labels_of(plan: ReleasePlan) -> list[exp.Expr]:
    """The released labels of `joined_rows`, which are joined to their own levels if they have some."""
    positions = {dictionary.column.name: j for j, dictionary in enumerate(plan.dictionaries)}
    return [_released(plan, released, positions) for released in plan.generalized()]


def withheld(plan: ReleasePlan) -> list[exp.Expr]:
    """Conditions on a row of the source: if any holds, the row is suppressed in any class."""
    return [column(d.column.name, "source").is_(exp.null()) for d in plan.dictionaries if d.withholds]


def _released(plan: ReleasePlan, released: ReleasedColumn, positions: dict[str, int]) -> exp.Expr:
    if released.aggregated is not None:
        return _aggregate(plan, released.aggregated)
    if not released.mixed:
        return _label(released, released.level, positions)
    position = positions[released.name]
    return label_at_own_level({level: _label(released, level, positions) for level in released.levels}, position)


def _aggregate(plan: ReleasePlan, dictionary: AggregatedDictionary) -> exp.Expr:
    return aggregated_label(plan.aggregated_columns.index(dictionary))


def _label(released: ReleasedColumn, level: int, positions: dict[str, int]) -> exp.Expr:
    dictionary = released.dictionary
    if dictionary is None or level == 0:
        value: exp.Expr = column(released.name, "source")
        if released.column.kind is ValueKind.FLOAT:
            value = in_one_spelling(value)
        return value if released.type == released.column.type else cast(value, released.type)
    if level == dictionary.levels.top:
        return text(dictionary.top_label)
    return column(dictionary.label_name(level), f"d{positions[released.name]}")


def _write_arrow(session: WarehouseSession, data: pa.Table, target: exp.Table) -> None:
    with session.embedded.relation("written", data):
        session.create(target, exp.select("*").from_(table("written")))
