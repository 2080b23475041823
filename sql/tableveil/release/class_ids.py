"""The numbers of classes beside the released rows, and for the ledger: later releases are judged together by these."""

from sqlglot import exp

from tableveil.backend import (
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    conjunction,
    drop,
    expression,
    left_join,
    row_number,
    sql,
    table,
)
from tableveil.classes import WITHOUT_ROW
from tableveil.policy import SuppressedRecords
from tableveil.release.label_columns import CLASS_ID
from tableveil.release.plan import ReleasePlan
from tableveil.state.persons import SHOWN

NUMBERED = "numbered_classes"


def with_class_ids(session: WarehouseSession, plan: ReleasePlan, rows: exp.Query) -> exp.Select:
    """The rows with the number of their class, in the order of labels as in the table of classes."""
    labels = [column(released.name) for released in plan.quasi_identifiers()]
    order = [exp.Ordered(this=label, nulls_first=False) for label in labels]
    if session.traits.collects:
        return _joined_to_class_ids(session, plan, rows)
    number_ = expression("dense_rank() OVER (ORDER BY $order)", order=order)
    if plan.marker:
        ranked = "CASE WHEN NOT $marker THEN dense_rank() OVER (PARTITION BY $marker ORDER BY $order) END"
        number_ = expression(ranked, marker=column(plan.marker), order=order)
    return exp.select("*", alias(cast(number_, "BIGINT"), CLASS_ID)).from_(rows.subquery("unnumbered"))


def people_with_classes(session: WarehouseSession, plan: ReleasePlan, person: str) -> exp.Expr:
    """The `person` and the `class` of each of the source's records, for the FROM clause of a statement of the ledger.

    With a record column, each has its `record` as well. Without one, people who have several records are named once
    each, without a class. The class is NULL for the record level and for aggregates, too: their classes are not those
    of labels alone.
    """
    if plan.repeating and not plan.policy.record_column:
        # An erasure finds those of whom all records were set aside, too.
        people = "SELECT DISTINCT $person AS person, CAST(NULL AS INTEGER) AS class FROM $rows"
        query = sql(people, person=column(person, "source"), rows=plan.source.with_all().table("source"))
        return collected(session, "people_with_classes", query)
    numbered = plan.recoding.numbered(session, plan)
    if numbered is None:
        records = exp.select().from_(plan.source.with_all().table("source"))
        shown_class: exp.Expr = exp.null()
    else:
        shown = SHOWN if plan.policy.suppressed_records is SuppressedRecords.KEEP else WITHOUT_ROW
        records, class_ = numbered
        shown_class = exp.Coalesce(this=class_, expressions=[exp.convert(shown)])
    wanted = [alias(column(person, "source"), "person"), alias(cast(shown_class, "INTEGER"), "class")]
    if plan.policy.record_column:
        wanted.append(alias(column(plan.policy.record_column, "source"), "record"))
    return collected(session, "people_with_classes", records.select(*wanted))


def _joined_to_class_ids(session: WarehouseSession, plan: ReleasePlan, rows: exp.Query) -> exp.Select:
    """Numbers the classes in the embedded database: an engine that spreads rows would number all in one task."""
    names = [released.name for released in plan.quasi_identifiers()]
    shown = exp.select(*(alias(column(name), f"q{i}") for i, name in enumerate(names))).distinct()
    shown = shown.from_(rows.copy().subquery("unnumbered"))
    if plan.marker:
        shown = shown.where(exp.Not(this=column(plan.marker)))
    order = [exp.Ordered(this=column(f"q{i}"), nulls_first=False) for i in range(len(names))]
    numbered = exp.select("*", alias(row_number(order), "number")).from_(collected(session, "shown_classes", shown))
    session.embedded.execute(drop("TABLE", table(NUMBERED), if_exists=True))
    session.embedded.stage(NUMBERED, numbered)
    session.lend(NUMBERED)
    equal = f"$name IS NOT DISTINCT FROM {NUMBERED}."
    same = [expression(f"{equal}q{i}", name=column(name, "unnumbered")) for i, name in enumerate(names)]
    if plan.marker:
        same.append(exp.Not(this=column(plan.marker, "unnumbered")))
    query = sql(
        f"SELECT unnumbered.*, CAST({NUMBERED}.number AS BIGINT) AS {CLASS_ID} FROM $rows",
        rows=rows.subquery("unnumbered"),
    )
    return left_join(query, table(NUMBERED), conjunction(same))
