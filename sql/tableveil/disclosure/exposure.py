"""Exposure of people by columns that are released as they are: who is found by them, and what follows of them.

An attacker who knows a person's labels and a value of a column looks for both among the released rows. One who knows no
value, but a person's own values of quasi-identifiers, leaves out rows of the person's class with a value that does not
fit these, two of them together, or a formula.

All columns and quasi-identifiers share one array of coded rows; `tableveil.privacy.exposure` judges them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, column, row_hash
from tableveil.disclosure.arrays import load
from tableveil.disclosure.coded_rows import stage_rows
from tableveil.disclosure.readings import read_column, read_own
from tableveil.policy import AttributePolicy, Role
from tableveil.privacy.exposure.cells import Codes, Flags
from tableveil.privacy.exposure.determined import Agreement
from tableveil.privacy.exposure.found import Exposure, alone_and_few
from tableveil.privacy.exposure.judged import Unchanged, judge, what_follows
from tableveil.privacy.exposure.rows import ClassRows, HeldValues
from tableveil.release.columns import RecognizingColumn
from tableveil.release.plan import ReleasePlan
from tableveil.risk.unchanged import MOST_CELLS

BYTES_PER_ROW, BYTES_PER_CODES, BYTES_PER_HASH = 24, 8, 8
"""The bytes that a different row takes while it is collected: by itself, per quasi-identifier, and per value."""


@dataclass(frozen=True, slots=True)
class Determined:
    """A column that tells more of a quasi-identifier than its labels do: so many `agree` where values are equal."""

    attribute: AttributePolicy
    released: RecognizingColumn
    agree: Agreement


@dataclass(frozen=True, slots=True)
class ExposureFindings:
    """The plain counts, what follows, and what columns `determined`."""

    counts: tuple[Exposure, ...] = ()
    follows: tuple[Exposure, ...] = ()
    determined: tuple[Determined, ...] = ()


def exposed(rows: WarehouseSession, plan: ReleasePlan) -> ExposureFindings | None:
    """The exposure by every sensitive and insensitive column; call it after the plan is staged.

    An empty release has none. The different rows of a warehouse are collected: codes, hashes of values, and their
    numbers of records. If they clearly take more than may be collected, nothing is, and the result is None.
    """
    session = rows.embedded
    roles = (Role.INSENSITIVE, Role.SENSITIVE)
    measured = [attribute for attribute in plan.policy.attributes if attribute.role in roles]
    pool = plan.shows_suppressed
    if not measured or not plan.kept_records + pool:
        return ExposureFindings()
    if rows.most_collected is not None and _bytes(rows, plan, measured) > rows.most_collected:
        return None
    quasi_identifiers = plan.quasi_identifiers()
    many = plan.records * (len(quasi_identifiers) + len(measured)) > MOST_CELLS
    counted_rows = stage_rows(rows, plan, measured, many=many)
    loaded = load(session, counted_rows, quasi_identifiers, pool)
    coded = [loaded.coded(i) for i, _ in enumerate(measured)]
    columns = [HeldValues(loaded.rows, codes, len(different)) for different, codes in coded]
    shown = ~loaded.suppressed | pool
    # Without a k, a column must not lower the least class size.
    least = plan.policy.k or int(loaded.rows.people_of[shown].min(initial=len(loaded.rows)))
    follows, determined = tuple[Exposure, ...](), tuple[Determined, ...]()
    if any(released.hides for released in quasi_identifiers) or pool:
        joint = [i for i, a in enumerate(measured) if a.role is Role.INSENSITIVE and not a.acknowledged]
        groups = [group for group in (joint, range(len(measured))) if len(group) > 1]
        table = Unchanged(loaded.rows, loaded.own, columns, loaded.cells, loaded.suppressed, pool)
        read = read_own(session, plan, loaded)
        judged = judge(table, read, lambda i: read_column(rows, plan, loaded, i, measured[i]))
        following = what_follows(table, judged, least, groups)
        total = loaded.rows.counted(shown[loaded.rows.classes])
        follows = tuple(
            Exposure(
                tuple(measured[i].column for i in one.columns),
                tuple(quasi_identifiers[j].name for j in one.knows),
                0,
                loaded.rows.counted(one.few),
                total,
                least,
                plan.repeating,
            )
            for one in following
        )
        # Shown suppressed records have no labels, as at the top.
        identifiers = [released.at_top() if pool else released for released in quasi_identifiers]
        determined = tuple(Determined(measured[i], identifiers[j], agree) for i, j, agree in judged.agree)
    for name in counted_rows.staged:
        session.execute(f"DROP TABLE IF EXISTS temp.main.{name}")
    counts = tuple(
        _counts(loaded.rows, shown, [(a.column, c.value) for a, c in zip(measured, columns, strict=True)], least)
    )
    return ExposureFindings(counts, follows, determined)


def _counts(rows: ClassRows, shown: Flags, columns: Sequence[tuple[str, Codes]], least: int) -> Iterator[Exposure]:
    """By labels, by labels and each column, and by all: of rows, and, where these repeat, of people as well."""
    if not shown.all():
        # Suppressed records are the first class.
        at = slice(rows.first[1], None)
        of_people = None if rows.people is None else rows.people[at]
        rows = ClassRows(rows.classes[at], rows.records_of(at), of_people)
        columns = [(name, codes[at]) for name, codes in columns]
    known = [[], *([column] for column in columns), *([list(columns)] if len(columns) > 1 else [])]
    for people in (False, True) if rows.people is not None else (False,):
        total = (rows if people else replace(rows, people=None)).counted(np.ones(len(rows), np.bool_))
        for some in known:
            names = tuple(name for name, _ in some)
            found, few = alone_and_few(rows, [codes for _, codes in some], least, people=people)
            yield Exposure(names, (), found, few, total, least, people)


def _bytes(rows: WarehouseSession, plan: ReleasePlan, measured: Sequence[AttributePolicy]) -> int:
    """The bytes that the different rows take, by the engine's estimate of their number."""
    labelled = [dictionary.column.name for dictionary in plan.dictionaries]
    columns = [column(name) for name in (*labelled, *(attribute.column for attribute in measured))]
    different = rows.value(exp.select(exp.ApproxDistinct(this=row_hash(*columns))).from_(plan.source.table()))
    return int(different) * (BYTES_PER_ROW + BYTES_PER_CODES * len(labelled) + BYTES_PER_HASH * len(measured))
