"""The class of each record in a release, for the ledger: later releases are judged together with it by that."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, collected, column, number
from tableveil.classes import WITHOUT_ROW, KeyLayout
from tableveil.policy import SuppressedRecords
from tableveil.release.own_levels import with_own_levels
from tableveil.release.plan import ReleasePlan
from tableveil.release.write import joined_rows, labels_of, of_classes, withheld
from tableveil.state.persons import SHOWN
from tableveil.verification.written import OWN_LEVELS

CLASSES = "numbered_classes"


def people_with_classes(session: WarehouseSession, plan: ReleasePlan, person: str) -> exp.Expr:
    """The `person` and the `class` of each of the source's records, for the FROM clause of a statement of the ledger.

    With a record column, each has its `record` as well. Without one, people who have several records are named once
    each, without a class. The class is NULL for the record level and for aggregates, too: their classes are not those
    of labels alone.
    """
    if plan.repeating and not plan.policy.record_column:
        whose, nothing = alias(column(person, "source"), "person"), alias(cast(exp.null(), "INTEGER"), "class")
        # An erasure finds those of whom all records were set aside, too.
        people = exp.select(whose, nothing).distinct().from_(plan.source.with_all().table("source"))
        return collected(session, "people_with_classes", people)
    found: exp.Expr
    if plan.policy.record_level is not None or plan.aggregated is not None:
        records, found = exp.select().from_(plan.source.with_all().table("source")), exp.null()
    elif plan.own_levels is not None:
        records, found = _with_own_classes(plan)
    else:
        records, found = _with_classes(session, plan)
    wanted = [alias(column(person, "source"), "person"), alias(cast(found, "INTEGER"), "class")]
    if plan.policy.record_column:
        wanted.append(alias(column(plan.policy.record_column, "source"), "record"))
    return collected(session, "people_with_classes", records.select(*wanted))


def _with_classes(session: WarehouseSession, plan: ReleasePlan) -> tuple[exp.Select, exp.Expr]:
    """The source's records under the alias `source`, without a select list yet, and the class of each."""
    words = {f"w{word}": pa.array(keys[plan.kept]) for word, keys in enumerate(plan.classes.words)}
    numbers = pa.array(_numbers(plan)[plan.kept], pa.int32())
    with session.embedded.relation("numbered_keys", pa.table({**words, "class": numbers})):
        session.embedded.stage(CLASSES, "SELECT * FROM numbered_keys")
    session.lend(CLASSES)
    query, groups = joined_rows(plan, with_groups=True)
    query = of_classes(plan, query, groups, CLASSES, "LEFT")
    shown = SHOWN if plan.policy.suppressed_records is SuppressedRecords.KEEP else WITHOUT_ROW
    found = exp.Coalesce(this=column("class", CLASSES), expressions=[number(shown)])
    nulls = withheld(plan)
    return query, exp.Case(ifs=[exp.If(this=exp.or_(*nulls), true=number(shown))], default=found) if nulls else found


def _with_own_classes(plan: ReleasePlan) -> tuple[exp.Select, exp.Expr]:
    """The source's records as in `_with_classes`, where classes have levels of their own: their labels number them."""
    query, groups = joined_rows(plan, with_groups=True)
    query = with_own_levels(query, groups, "LEFT")
    shown = number(SHOWN if plan.policy.suppressed_records is SuppressedRecords.KEEP else WITHOUT_ROW)
    gone = exp.or_(column("l0", OWN_LEVELS).is_(exp.null()), *withheld(plan))
    labels = [exp.Ordered(this=label) for label in labels_of(plan)]
    numbered = exp.Window(this=exp.DenseRank(), partition_by=[gone], order=exp.Order(expressions=labels))
    return query, exp.Case(ifs=[exp.If(this=gone.copy(), true=shown)], default=numbered)


def _numbers(plan: ReleasePlan) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Per class the number of its labels, from 1: joint classes may share their labels."""
    attributes = range(len(plan.dictionaries))
    layout = KeyLayout.of([plan.classes.layout.radices[j] for j in attributes])
    keys = layout.pack([plan.classes.groups(j) for j in attributes])
    _, numbers = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    return numbers.reshape(-1) + 1
