"""How many rows a released column leaves for each person: the effective k of columns released unchanged.

An attacker who knows a person's own values of quasi-identifiers looks for them among the released rows of the person's
class. The attacker leaves out rows with a value of the column that does not fit one of these values, or two of them
together, or a formula that gives the column. The remaining rows are counted; the least count over quasi-identifiers and
records is the column's effective k. Where people have several records, it is the least number of different people who
have these rows.

All columns and quasi-identifiers share one array of coded rows; `tableveil.privacy.exposure` judges them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, column, row_hash
from tableveil.disclosure.arrays import LoadedRows, Own, load
from tableveil.disclosure.coded_rows import drop_rows, stage_rows
from tableveil.disclosure.readings import read_column, read_own
from tableveil.errors import shortened
from tableveil.policy import AttributePolicy, Role
from tableveil.privacy.exposure.determined import Agreement, Hidden, determined_by, seen_in, seen_of_people
from tableveil.privacy.exposure.judged import OwnValues, Readings, Unchanged, judge, least
from tableveil.privacy.exposure.rows import HeldValues
from tableveil.release.columns import RecognizingColumn
from tableveil.release.plan import ReleasePlan
from tableveil.risk.unchanged import MOST_CELLS

BYTES_PER_ROW, BYTES_PER_CODES, BYTES_PER_HASH = 24, 8, 8
"""The bytes that a different row takes while it is collected: by itself, per quasi-identifier, and per value."""


@dataclass(frozen=True, slots=True)
class EffectiveK:
    """The effective k of released columns, with the quasi-identifiers `by` that they reveal most about.

    Sensitive columns `beside` them take part in it.
    """

    columns: tuple[AttributePolicy, ...]
    least: int
    by: tuple[str, ...]
    beside: tuple[str, ...] = ()

    @property
    def shown_by(self) -> str:
        """The quasi-identifiers, as a message names them, and the sensitive columns."""
        beside = f", beside the sensitive {' and '.join(map(shortened, self.beside))}" if self.beside else ""
        return " and ".join(map(shortened, self.by)) + beside


@dataclass(frozen=True, slots=True)
class Determined:
    """A column that tells more of a quasi-identifier than its labels do: so many `agree` where values are equal."""

    attribute: AttributePolicy
    released: RecognizingColumn
    agree: Agreement


@dataclass(frozen=True, slots=True)
class EffectiveKs:
    """The effective k of columns `singly` and `together`, and what columns `determined` of quasi-identifiers.

    Where people have several records, they are counted: `people` is the least number of different ones in a class.
    """

    singly: tuple[EffectiveK, ...] = ()
    together: EffectiveK | None = None
    people: int | None = None
    determined: tuple[Determined, ...] = ()


def effective_ks(rows: WarehouseSession, plan: ReleasePlan, hides: Sequence[bool]) -> EffectiveKs | None:
    """The effective k of every sensitive and insensitive column, and of all unacknowledged insensitive ones together.

    `hides` says for each of the plan's quasi-identifiers whether its labels hide anything; call it after the plan is
    staged. An empty release has none, nor one that hides nothing.

    The different rows of a warehouse are collected: codes, hashes of values, and their numbers of records. If they
    clearly take more than may be collected, nothing is, and the result is None.
    """
    session = rows.embedded
    roles = (Role.INSENSITIVE, Role.SENSITIVE)
    measured = [attribute for attribute in plan.policy.attributes if attribute.role in roles]
    pool = plan.shows_suppressed
    if not measured or not plan.kept_records + pool or not (any(hides) or pool):
        return EffectiveKs()
    if rows.most_collected is not None and _bytes(rows, plan, measured) > rows.most_collected:
        return None
    many = plan.records * (len(hides) + len(measured)) > MOST_CELLS
    counted_rows = stage_rows(rows, plan, measured, number_values=many)
    quasi_identifiers = plan.quasi_identifiers()
    loaded = load(session, counted_rows, quasi_identifiers, pool)
    columns = [HeldValues(loaded.rows, *loaded.values(i)) for i, _ in enumerate(measured)]
    hidden = [pool or hides_it for hides_it in hides]
    own = [_own(plan, loaded, j, hidden=hidden_one) for j, hidden_one in enumerate(hidden)]
    table = Unchanged(loaded.rows, own, columns, loaded.cells, loaded.suppressed, pool)
    read = [read_column(rows, plan, loaded, i, attribute) for i, attribute in enumerate(measured)]
    judged = judge(table, read_own(session, plan, loaded), lambda i: read[i])
    determined = tuple(_determined(plan, loaded, measured, read))
    drop_rows(session, counted_rows)

    # Sensitive columns are beside all others.
    beside = {i for i, a in enumerate(measured) if a.role is Role.SENSITIVE and not a.acknowledged}

    def effective_k(columns: Sequence[int]) -> EffectiveK:
        mine = [one for one in judged if one.columns & set(columns) and one.columns <= beside.union(columns)]
        left, by = least(table, mine)
        others = sorted(frozenset[int]().union(*(one.columns for one in mine)).difference(columns))
        if others and least(table, [one for one in mine if one.columns <= set(columns)])[0] == left:
            others = []
        return EffectiveK(
            tuple(measured[i] for i in columns),
            left,
            tuple(quasi_identifiers[j].name for j in by),
            tuple(measured[i].column for i in others),
        )

    joint = [i for i, a in enumerate(measured) if a.role is Role.INSENSITIVE and not a.acknowledged]
    kept = ~loaded.suppressed
    return EffectiveKs(
        tuple(effective_k([i]) for i, _ in enumerate(measured)),
        effective_k(joint) if len(joint) > 1 else None,
        int(loaded.rows.people_of[kept].min()) if plan.repeating and kept.any() else None,
        determined,
    )


def _determined(
    plan: ReleasePlan, loaded: LoadedRows, measured: Sequence[AttributePolicy], read: Sequence[Readings]
) -> Iterator[Determined]:
    """How the columns tell of quasi-identifiers; shown suppressed records have no labels, as at the top."""
    identifiers = plan.quasi_identifiers()
    shown = [released.at_top() if plan.shows_suppressed else released for released in identifiers]
    hiding = [(j, released, _hidden(released, loaded.own[j])) for j, released in enumerate(shown) if released.hides]
    rows, hidden = loaded.rows, [of for _, _, of in hiding]
    groups = [of.group[loaded.own[j].codes] for j, _, of in hiding]
    one_each = slice(None) if rows.people is None else np.unique(rows.people, return_index=True)[1]
    for i, attribute in enumerate(measured):
        values, value = read[i].values, loaded.values(i)[0]
        assert values is not None
        if rows.people is None:
            seen = [seen_in(loaded.cells(j, i), of, values.there) for j, _, of in hiding]
        else:
            there = values.there[value]
            seen = [seen_of_people(value[there], group[there], rows.people[there]) for group in groups]
        found = determined_by(values, value[one_each], seen, hidden, [group[one_each] for group in groups])
        for (_, released, _), agree in zip(hiding, found, strict=True):
            if agree is not None:
                yield Determined(attribute, released, agree)


def _hidden(released: RecognizingColumn, own: Own) -> Hidden:
    if own.positions is None:
        return Hidden.of(released.finer, released.groups)
    # Values that share a place are one.
    return Hidden.of(np.arange(own.owns), np.zeros(own.owns, np.int64))


def _bytes(rows: WarehouseSession, plan: ReleasePlan, measured: Sequence[AttributePolicy]) -> int:
    """The bytes that the different rows take, by the engine's estimate of their number."""
    labelled = [dictionary.column.name for dictionary in plan.dictionaries]
    columns = [column(name) for name in (*labelled, *(attribute.column for attribute in measured))]
    different = rows.value(exp.select(exp.ApproxDistinct(this=row_hash(*columns))).from_(plan.source.table()))
    return int(different) * (BYTES_PER_ROW + BYTES_PER_CODES * len(labelled) + BYTES_PER_HASH * len(measured))


def _own(plan: ReleasePlan, loaded: LoadedRows, j: int, *, hidden: bool) -> OwnValues:
    """A quasi-identifier's own values; they have one label where records have none."""
    released, own = plan.quasi_identifiers()[j], loaded.own[j]
    # Values that share a place are one.
    one_label = plan.shows_suppressed or own.positions is not None
    return OwnValues(own.codes, np.zeros(own.owns, np.int64) if one_label else released.groups, hidden, own.positions)
