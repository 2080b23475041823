"""Groups of records that a release loses while it keeps the whole: a value, the empty cells, or all but the commonest.

The kept part of a group is released under a label that tells it: one under which at most half of the other records
fall. Groups of at least k people and `SMALLEST` of the table count.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.aggregation.aggregates import CommonLabels, MemberValues
from tableveil.backend import WarehouseSession, alias, cast, column, number, row_hash, sql, text, united
from tableveil.counting.base import joined_code
from tableveil.errors import Warned, must_decide, note, shortened, sole
from tableveil.hierarchy import AttributeLevels
from tableveil.release.by_combination import ByCombination
from tableveil.release.by_value import ByValue
from tableveil.release.clusters import Clusters
from tableveil.release.columns import LabelledColumn, ReleasedColumn
from tableveil.release.joined import not_withheld
from tableveil.release.plan import ReleasePlan

SMALLEST = 0.005
"""The share of the table's records that the smallest group has."""

MOST_LOST = 0.1
"""A release that loses this share of all records keeps no whole: then it is no news that groups are gone."""

_SAMPLED = 4096
_SURELY = 0.5
_COMMON = 0.75
"""A value of this share of the sampled records may be the commonest: all others are a group."""

_ROWS = "lost_rows"


class _Kind(Enum):
    VALUE = "one value of {}"
    EMPTY = "no value of {}"
    OTHERS = "another value of {} than the commonest"
    FILLED = "a value of {}"


@dataclass(frozen=True, slots=True)
class _Group:
    """A group of records in the source, and those of it that are released under a label that tells it."""

    kind: _Kind
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class _Hashed:
    """The hashes of a column's values, of NULL, and of the commonest one if a sample shows that there is one.

    `others` is the share of the sampled records that have another value than that.
    """

    position: int
    of: ReleasedColumn
    nothing: int
    commonest: int | None
    others: float

    def kind(self, value: int) -> _Kind:
        """The kind of the group that has this value."""
        return _Kind.EMPTY if value == self.nothing else _Kind.VALUE


def lost_groups(session: WarehouseSession, plan: ReleasePlan) -> Iterator[Warned]:
    """For each released column, the warning of the group that lost most, if that is more than half.

    Call it while the plan is staged. Nobody may be told what drawn rows lost. Averages tell no value of a record, and
    rows of a warehouse are not counted: the plan tells of columns whose values it has.
    """
    if plan.source.drawn is not None or not plan.kept_records:
        return
    least = max(plan.policy.k or 1, math.ceil(SMALLEST * plan.records))
    groups = defaultdict[str, list[_Group]](list)
    if not plan.repeating:
        for j, dictionary in enumerate(plan.dictionaries):
            groups[dictionary.column.name] += _counted(plan, j)
        for j, aggregated in enumerate(plan.aggregated_columns):
            groups[aggregated.column.name] += _of_clusters(plan, j)
    if session.traits.collects:
        yield from _found(plan, groups, least)
        yield from _not_looked_at(plan)
        return
    for name, of_label in _of_labels(session, plan, least).items():
        groups[name] += of_label
    # Records that a NULL sets aside or withholds are lost by the policy's own word.
    in_classes = int(plan.classes.counts[~plan.kept].sum())
    if least < 2 * in_classes and plan.suppressed_records < MOST_LOST * plan.records:
        for name, of_suppressed in _of_suppressed(session, plan, _leaving_values(plan), least).items():
            groups[name] += of_suppressed
    yield from _found(plan, groups, least)


def _found(plan: ReleasePlan, groups: Mapping[str, Sequence[_Group]], least: int) -> Iterator[Warned]:
    for name, of_column in groups.items():
        lost = [group for group in of_column if group.before >= least and 2 * group.after < group.before]
        if lost:
            yield _warning(plan, name, min(lost, key=lambda group: (group.after / group.before, -group.before)))


def _warning(plan: ReleasePlan, name: str, group: _Group) -> Warned:
    whose = group.kind.value.format(shortened(name))
    aggregated = any(name == dictionary.column.name for dictionary in plan.aggregated_columns)
    under = "an aggregate" if aggregated else "a label that tells it"
    local = "" if plan.policy.related is not None else ", a local recoding"
    return must_decide(
        f"The {group.before:,} records with {whose} are lost but for {group.after:,} under {under}, while "
        f"{plan.kept_records:,} of all {plan.records:,} records are released: the release says little of this group. "
        f"Other levels{local} or another suppression limit may keep it.",
        group.before,
        name,
    )


def _not_looked_at(plan: ReleasePlan) -> Iterator[Warned]:
    """The note on columns of a warehouse of which the plan has no values, if records are suppressed."""
    names = [one.name for one in _leaving_values(plan)]
    if names and plan.suppressed_records:
        yield note(
            f"Nobody looked whether the {plan.suppressed_records:,} suppressed records are most of a group of "
            f"{', '.join(map(shortened, names))}: the rows are in a warehouse.",
            plan.suppressed_records,
            sole(names),
        )


def _leaving_values(plan: ReleasePlan) -> list[ReleasedColumn]:
    """The columns of which suppression alone decides what is lost, in rows that have to be counted by their values."""

    def counts(of: ReleasedColumn) -> bool:
        if isinstance(of, LabelledColumn):
            below_top = of.level < of.dictionary.levels.top
            return below_top if plan.repeating else isinstance(plan.recoding, ByValue) and below_top and of.level > 0
        return True

    return [one for one in plan.columns() if counts(one)]


# --- by labels ----------------------------------------------------------------------------------------------------


def _counted(plan: ReleasePlan, j: int) -> Iterator[_Group]:
    """The groups of a quasi-identifier of which the plan has the records of each value: no statement is needed."""
    if isinstance(plan.recoding, ByCombination):
        return _of_combinations(plan, plan.recoding, j)
    if plan.transformation[j] or plan.classes.at[j]:
        return iter(())
    values, counts = plan.classes.groups(j), plan.classes.counts
    before, after = (np.bincount(values, of).astype(np.int64) for of in (counts, counts * plan.kept))
    return _groups(before, after, plan.dictionaries[j].levels.null_code)


def _of_combinations(plan: ReleasePlan, recoding: ByCombination, j: int) -> Iterator[_Group]:
    """The groups of a quasi-identifier whose values have labels of different levels."""
    codes, records = recoding.combinations.codes[j], recoding.combinations.records
    return _of_levels(plan.dictionaries[j].levels, codes, records, recoding.levels(j), recoding.kept)


def _of_clusters(plan: ReleasePlan, j: int) -> Iterator[_Group]:
    """The groups of a column in whose cells a value or a label of its class stands."""
    if not isinstance(plan.recoding, Clusters):
        return iter(())
    dictionary, aggregates = plan.recoding.aggregates[j]
    members = plan.recoding.members
    codes, records, of_class = members.codes[j], members.counts, members.classes
    if isinstance(aggregates, MemberValues):
        told = records * (aggregates.codes[of_class] == codes)
        before, after = (np.bincount(codes, of, dictionary.distinct).astype(np.int64) for of in (records, told))
        return _groups(before, after, None)
    if isinstance(aggregates, CommonLabels) and dictionary.values.levels is not None:
        kept = np.ones(len(records), np.bool_)
        return _of_levels(dictionary.values.levels, codes, records, aggregates.levels[of_class], kept)
    return iter(())


def _of_levels(
    levels_of: AttributeLevels,
    codes: NDArray[Any],
    records: NDArray[np.int64],
    level: NDArray[Any],
    kept: NDArray[np.bool_],
) -> Iterator[_Group]:
    """The groups of codes, of which so many records have each level, and are kept or not."""
    before = np.bincount(codes, records, len(levels_of.groups[0])).astype(np.int64)
    after, released = np.zeros_like(before), np.bincount(codes, records * kept, len(before))
    whole = released.sum()
    for each in np.unique(level[kept]):
        at = kept & (level == each)
        here = np.bincount(codes[at], records[at], len(before))
        label = np.bincount(levels_of.groups[each], here)[levels_of.groups[each]]
        # At most half of the other records have the label.
        after += np.where(2 * (label - here) <= whole - released, here, 0).astype(np.int64)
    return _groups(before, after, levels_of.null_code)


def _of_labels(session: WarehouseSession, plan: ReleasePlan, least: int) -> Mapping[str, list[_Group]]:
    """The groups below labels that most released records have: such a label tells its commonest value alone."""
    looked_at = dict(_widest(plan)) if isinstance(plan.recoding, ByValue) and not plan.repeating else {}
    if not looked_at:
        return {}
    queries = []
    for j, label in looked_at.items():
        dictionary, level = plan.dictionaries[j], plan.transformation[j]
        rows, group = joined_code(exp.select().from_(plan.source.table("source")), dictionary, "source", "d", level)
        _, code = joined_code(exp.select(), dictionary, "source", "d", 0)
        rows = rows.select(alias(code, "code")).where(exp.EQ(this=group, expression=number(label)))
        of_values = f"SELECT {j} AS j, code, count(*) AS n FROM $rows GROUP BY code"
        queries.append(sql(of_values, rows=rows.subquery("labelled")))
    counted = defaultdict[int, list[tuple[int, int]]](list)
    for j, code, n in session.rows(united(queries)):
        counted[j].append((n, code))
    names = {j: dictionary.column.name for j, dictionary in enumerate(plan.dictionaries)}
    return {
        names[j]: list(_of_label(plan, j, looked_at[j], sorted(of, reverse=True), least)) for j, of in counted.items()
    }


def _widest(plan: ReleasePlan) -> Iterator[tuple[int, int]]:
    """The quasi-identifiers with a label of several values that more than half of the released records have."""
    for j, (dictionary, level) in enumerate(zip(plan.dictionaries, plan.transformation, strict=True)):
        if 0 < level < dictionary.levels.top and plan.classes.at[j] == level:
            released = np.bincount(plan.classes.groups(j), plan.classes.counts * plan.kept)
            label = int(np.argmax(released))
            is_shared = np.count_nonzero(dictionary.levels.groups[level] == label) > 1
            if is_shared and 2 * released[label] > plan.kept_records:
                yield j, label


def _of_label(plan: ReleasePlan, j: int, label: int, values: Sequence[tuple[int, int]], least: int) -> Iterator[_Group]:
    """The groups of a label with so many records of each code, most first."""
    whole, (most, commonest) = sum(n for n, _ in values), values[0]
    in_classes = int(plan.classes.counts.sum())
    lost_of_whole = whole - most + plan.suppressed_records
    if 2 * (whole - most) > in_classes - most or lost_of_whole >= MOST_LOST * plan.records:
        return
    null = plan.dictionaries[j].levels.null_code
    for before, code in values[1:]:
        if before >= least and 2 * (whole - before) > in_classes - before:
            yield _Group(_Kind.EMPTY if code == null else _Kind.VALUE, before, 0)
    kind = _Kind.FILLED if commonest == null else _Kind.OTHERS
    told_apart = plan.classes.counts[plan.kept & (plan.classes.groups(j) != label)]
    yield _Group(kind, in_classes - most, int(told_apart.sum()))


def _groups(before: NDArray[np.int64], after: NDArray[np.int64], null: int | None) -> Iterator[_Group]:
    """A group per value, and one of all but the commonest; none if the whole is lost as well."""
    if not len(before) or after.sum() <= (1 - MOST_LOST) * before.sum():
        return
    commonest = int(np.argmax(before))
    for code in np.flatnonzero(2 * after < before):
        yield _Group(_Kind.EMPTY if code == null else _Kind.VALUE, int(before[code]), int(after[code]))
    kind = _Kind.FILLED if commonest == null else _Kind.OTHERS
    yield _Group(kind, int(before.sum() - before[commonest]), int(after.sum() - after[commonest]))


# --- by suppression -----------------------------------------------------------------------------------------------


def _of_suppressed(
    session: WarehouseSession, plan: ReleasePlan, columns: Sequence[ReleasedColumn], least: int
) -> Mapping[str, list[_Group]]:
    """The groups of columns whose released values tell them: what is lost is suppressed.

    Hashes stand for the values. A sample shows which value may be the commonest.
    """
    if not columns:
        return {}
    values = [alias(row_hash(column(one.name, "source")), f"v{i}") for i, one in enumerate(columns)]
    suppressed = session.embedded.collect(
        _ROWS, plan.recoding.suppressed(plan).where(*not_withheld(plan)).select(*values)
    )
    hashed = _hashed(session, plan, columns)
    per_value = [
        sql(
            f"SELECT {i} AS position, v{i} AS v, count(*) AS n FROM {_ROWS} GROUP BY v{i} "
            f"HAVING count(*) * 2 > $least{'' if one.commonest is None else f' OR v{i} = $commonest'}",
            least=number(least),
            commonest=_literal(one.commonest or 0),
        )
        for i, one in enumerate(hashed)
    ]
    lost = {(position, value): n for position, value, n in session.embedded.rows(united(per_value))}
    counted: dict[tuple[int, int, bool], int] = {
        (position, value, False): n for (position, value), n in lost.items() if 2 * n > least
    }
    for one in hashed:
        if one.commonest is not None:
            others = suppressed - lost.get((one.position, one.commonest), 0)
            if 2 * others > max(least, _SURELY * one.others * plan.records):
                counted[one.position, one.commonest, True] = others
    found = _sizes(session, plan, columns, list(counted))
    groups = defaultdict[str, list[_Group]](list)
    for ((position, value, is_rest), gone), (before, people) in zip(counted.items(), found, strict=True):
        one = hashed[position]
        if people < (plan.policy.k or 1):
            continue
        kind = one.kind(value)
        if is_rest:
            kind = _Kind.FILLED if kind is _Kind.EMPTY else _Kind.OTHERS
        groups[one.of.name].append(_Group(kind, before, before - gone))
    return groups


def _literal(value: int) -> exp.Expr:
    return cast(text(str(value)), "UBIGINT")


def _hashed(session: WarehouseSession, plan: ReleasePlan, columns: Sequence[ReleasedColumn]) -> list[_Hashed]:
    wanted = [alias(row_hash(column(one.name)), f"v{i}") for i, one in enumerate(columns)]
    sample = f"SELECT * FROM $rows USING SAMPLE reservoir({_SAMPLED} ROWS) REPEATABLE (1)"
    sampled = sql(sample, rows=plan.source.table("source")).subquery("sampled")
    nothing = alias(row_hash(exp.null()), "nothing")
    arrays = session.arrays(exp.select(*wanted, nothing).from_(sampled))
    hashed = []
    for i, one in enumerate(columns):
        values, counts = np.unique(arrays[f"v{i}"], return_counts=True)
        most = int(np.argmax(counts))
        commonest = int(values[most]) if counts[most] > _COMMON * counts.sum() else None
        rare = 1 - float(counts[most] / counts.sum())
        hashed.append(_Hashed(i, one, int(arrays["nothing"][0]), commonest, rare))
    return hashed


def _sizes(
    session: WarehouseSession,
    plan: ReleasePlan,
    columns: Sequence[ReleasedColumn],
    groups: Sequence[tuple[int, int, bool]],
) -> list[tuple[int, int]]:
    """The records of each group in the source, and its people."""
    if not groups:
        return []
    wanted: list[exp.Expr] = []
    for position, value, is_rest in groups:
        compare = exp.NEQ if is_rest else exp.EQ
        inside = compare(this=row_hash(column(columns[position].name)), expression=_literal(value))
        wanted.append(exp.CountIf(this=inside))
        if plan.repeating:
            whose = exp.Case(ifs=[exp.If(this=inside.copy(), true=column(plan.policy.person_column or ""))])
            wanted.append(exp.Count(this=exp.Distinct(expressions=[whose])))
    named = [alias(each, f"n{i}") for i, each in enumerate(wanted)]
    row = session.row(exp.select(*named).from_(plan.source.table()))
    return list(zip(row[::2], row[1::2], strict=True)) if plan.repeating else [(n, n) for n in row]
