"""The class of each record in a release, for the ledger: later releases are judged together with it by that."""

from __future__ import annotations

from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, collected, column, number, sql
from tableveil.classes import WITHOUT_ROW
from tableveil.policy import SuppressedRecords
from tableveil.release.plan import ReleasePlan
from tableveil.state.persons import SHOWN


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
        shown_class = exp.Coalesce(this=class_, expressions=[number(shown)])
    wanted = [alias(column(person, "source"), "person"), alias(cast(shown_class, "INTEGER"), "class")]
    if plan.policy.record_column:
        wanted.append(alias(column(plan.policy.record_column, "source"), "record"))
    return collected(session, "people_with_classes", records.select(*wanted))
