"""Writes the released rows and the public tables made from them, and shows a few of the rows."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    create_from,
    expression,
    identifier,
    in_order,
    left_join,
    number,
    row_number,
    sql,
    table,
)
from tableveil.policy import SuppressedRecords
from tableveil.release.by_value import kept_rows
from tableveil.release.class_ids import with_class_ids
from tableveil.release.joined import not_withheld, value_of, withheld
from tableveil.release.label_columns import CLASS_ID
from tableveil.release.labels import labels_at, stage_labels, with_labels
from tableveil.release.listed_rows import listable, write_listed_rows
from tableveil.release.plan import ReleasePlan
from tableveil.risk import ClassSizes, ProsecutorRisk
from tableveil.source.spelling import has_spellings, spelling
from tableveil.state.dry_runs import ShownRow
from tableveil.state.release_risks import RiskMeasure, risk_measures
from tableveil.verification.written import ClassColumns

UNRANKED = "unranked_rows"

MOST_ROWS = 20
_CHARACTERS = 200

ENTROPY_DIGITS = 9
"""Decimal places of an entropy l in the table of classes."""


def write_rows(session: WarehouseSession, plan: ReleasePlan, target: exp.Table) -> None:
    """Creates the table of released rows, sorted by all of its columns so that their order reveals nothing."""
    if listable(plan):
        kept, groups = kept_rows(plan, with_groups=True)
        values = {released.name: value_of(released) for released in plan.columns()}
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
    kept = plan.recoding.rows(session, plan)
    rows: exp.Query = kept
    if plan.marker:
        rows = kept.select(alias(exp.false(), plan.marker))
        for others in _suppressed_rows(plan):
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
        collected(session, spread_table(s), _counted(plan, rows, keys, sensitive))
        for s, (sensitive, *_) in enumerate(names.diversity)
    ]
    if spreads:
        # The rows of a class by their values, NULL included, are all of its rows.
        first, *_ = names.diversity[0]
        sizes: exp.Expr = _diversity(session, plan, rows, first, spreads[0], len(keys)).subquery("counted")
    else:
        sizes = collected(session, "counted", _counted(plan, rows, keys))
    query = sql(
        "SELECT $labels, counted.n AS $size, CAST(1 AS DOUBLE) / counted.n AS $risk FROM $sizes",
        labels=[alias(label, name) for label, name in zip(shown, labels, strict=True)],
        size=identifier(names.size),
        risk=identifier(names.risk),
        sizes=sizes,
    )
    for i, label in enumerate(labels):
        if label in ranks:
            of = f"l{ranks[label][1]}"
            ranked = expression(f"counted.v{i} = {of}.place")
            query = left_join(query, labels_at(plan, ranks[label][1], of), ranked)
    for s, (sensitive, distinct, entropy) in enumerate(names.diversity):
        of = f"values{s}" if s else "counted"
        if s:
            diversity = _diversity(session, plan, rows, sensitive, spreads[s], len(keys))
            same = [expression(f"counted.v{i} IS NOT DISTINCT FROM {of}.v{i}") for i, _ in enumerate(labels)]
            query = query.join(diversity.subquery(of), on=exp.and_(*same))
        achieved = expression(f"coalesce({of}.achieved, 0)")
        query = query.select(alias(column("different", of), distinct), alias(achieved, entropy))
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
        session.collect(spread_table(s), _counted(plan, table(UNRANKED), labels, sensitive.name))
    session.forget(UNRANKED)


def _counted(plan: ReleasePlan, rows: exp.Table, keys: list[str], sensitive: str | None = None) -> exp.Select:
    """How often each class, by the columns that identify it, has each value of a sensitive column, or just its size."""
    # Qualified: columns may have these names.
    named = [alias(column(key, "r"), f"v{i}") for i, key in enumerate(keys)]
    if sensitive is not None:
        named.append(alias(column(sensitive, "r"), "value"))
    kept = exp.select().from_(exp.alias_(rows, "r", table=True))
    if plan.marker:
        kept = kept.where(exp.Not(this=column(plan.marker, "r")))
    return kept.select(*named, expression("count(*) AS n")).group_by(*(each.this for each in named))


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
    if session.traits.collects:
        values = exp.select("value").from_(spread.copy())
    # Few columns have several spellings of a value: only then the values of all classes are grouped once more.
    if has_spellings(session.embedded, values, of):
        spelled = spelling(column("value"), of)
        united = "SELECT $keys, $spelled AS value, sum(n) AS n FROM $spread GROUP BY $keys, $spelled"
        spread = sql(united, keys=keys, spelled=spelled, spread=spread).subquery("spread")
    # The last digits depend on the order of summation.
    return sql(
        "SELECT $keys, CAST(sum(n) AS BIGINT) AS n, count(value) AS different, "
        "round(exp(ln(sum(n) FILTER (WHERE value IS NOT NULL)) - sum(n * ln(n)) FILTER (WHERE value IS NOT NULL) "
        "/ sum(n) FILTER (WHERE value IS NOT NULL)), $digits) AS achieved FROM $spread GROUP BY $keys",
        keys=keys,
        digits=number(ENTROPY_DIGITS),
        spread=spread,
    )


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
    query = "SELECT $size AS size, count(*) AS classes FROM $classes GROUP BY $size ORDER BY $size"
    arrays = session.arrays(sql(query, size=column(size), classes=classes))
    return ClassSizes(arrays["size"], arrays["classes"])


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
    return create_from(session, target, data)


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
    create_from(session, target, data)


def shown_rows(session: Session, rows: exp.Table, names: Sequence[str], count: int) -> tuple[ShownRow, ...]:
    """These columns of at most `MOST_ROWS` of the table's `count` rows, at equal distances: it reads the table once.

    Rows are sorted, so that neighbours are alike.
    """
    distance = max(1, -(-count // MOST_ROWS))
    cell = f"left(CAST($name AS VARCHAR), {_CHARACTERS + 1})"
    cells = [alias(expression(cell, name=column(name)), name) for name in names]
    query = "SELECT $cells FROM $rows QUALIFY (row_number() OVER () - 1) % $distance = 0"
    query_ = sql(query, cells=cells, rows=rows, distance=number(distance))
    taken = session.batches(query_, MOST_ROWS).read_all().to_pylist()
    return tuple(ShownRow({name: _cut(value) for name, value in row.items()}) for row in taken)


def distinct_labels(
    session: WarehouseSession, plan: ReleasePlan, classes: exp.Table, counted: Mapping[str, int]
) -> dict[str, int]:
    """Per quasi-identifier, how many different labels (NULL is one) the released classes have; `counted` has some."""
    names = [released.name for released in plan.quasi_identifiers() if released.name not in counted]
    if not names:
        return dict(counted)
    labels = [exp.select(column(name)).distinct().from_(classes.copy()).subquery("labels") for name in names]
    counts = session.row(exp.select(*(exp.select(exp.Count(this=exp.Star())).from_(of).subquery() for of in labels)))
    return {**counted, **dict(zip(names, counts, strict=True))}


def _suppressed_rows(plan: ReleasePlan) -> Iterator[exp.Select]:
    """The rows of suppressed records, with the source's columns that they show."""
    if plan.policy.suppressed_records is SuppressedRecords.BLANK:
        yield exp.select().from_(exp.GenerateSeries(end=number(plan.suppressed_records), is_end_exclusive=True))
        return
    shown = [alias(value_of(c), c.name) for c in plan.columns() if not c.recognizes]
    nulls = withheld(plan)
    if nulls:
        yield exp.select(*shown).from_(plan.source.table("source")).where(exp.or_(*nulls))
    if (~plan.kept).any():
        yield plan.recoding.suppressed(plan).where(*not_withheld(plan)).select(*shown)


def _cut(value: str | None) -> str | None:
    return f"{value[:_CHARACTERS]}…" if value is not None and len(value) > _CHARACTERS else value
