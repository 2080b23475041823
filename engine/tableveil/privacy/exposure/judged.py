"""All judgements of columns that are released unchanged, and who is among few by what follows of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from tableveil.privacy.exposure.cells import Codes, Flags, ValuePairs, counted, counted_once
from tableveil.privacy.exposure.determined import Agreement, ValueReadings, determined_by, seen_in
from tableveil.privacy.exposure.fits import given_by
from tableveil.privacy.exposure.formulas import Formulas, Numbers, Reading, formulas_of_columns
from tableveil.privacy.exposure.pairs import OwnValues, PairEvidence, telling_pairs
from tableveil.privacy.exposure.ranges import by_ranges
from tableveil.privacy.exposure.rows import ByValues, ClassRows, HeldValues, Judgement, few_left
from tableveil.privacy.exposure.texts import Texts, concatenations
from tableveil.risk.unchanged import BINS

MORE = 1.1
"""Values of more quasi-identifiers are named for so many times as many people: what follows from age follows from it.
"""


@dataclass(frozen=True, eq=False)
class Readings:
    """A column as formulas read it: numbers, the most natural first, and texts, per row; and its values by code."""

    numbers: Sequence[Numbers]
    texts: Texts
    values: ValueReadings | None = None


@dataclass(frozen=True, eq=False)
class Unchanged:
    """The rows of a release with all own values, and the `columns` that are released unchanged, by their values.

    `cells` counts the pairs of the own values of a quasi-identifier and the values of a column, in all records: there
    may be more of them than rows here. `suppressed` marks the class of suppressed records, which is looked at if it is
    `shown`.
    """

    rows: ClassRows
    own: Sequence[OwnValues]
    columns: Sequence[HeldValues]
    cells: Callable[[int, int], ValuePairs]
    suppressed: Flags
    shown: bool

    def looked_at(self, knows: Sequence[int]) -> Flags:
        """The classes that hide something of these quasi-identifiers; shown suppressed records have no labels."""
        hidden = any(self.own[j].hidden for j in knows)
        return (~self.suppressed & hidden) | (self.suppressed & self.shown)

    @cached_property
    def one_each(self) -> Codes:
        """One row of each person."""
        people = self.rows.people
        return np.arange(len(self.rows)) if people is None else np.unique(people, return_index=True)[1]


@dataclass(frozen=True, slots=True)
class ColumnJudgement:
    """A judgement of `columns` by who `knows` these quasi-identifiers."""

    columns: frozenset[int]
    knows: frozenset[int]
    judgement: Judgement


@dataclass(frozen=True, eq=False)
class Judgements:
    """All `judgements`; and columns, each with a quasi-identifier of whose finer detail it tells, and how it does."""

    judgements: Sequence[ColumnJudgement]
    agree: Sequence[tuple[int, int, Agreement]]


@dataclass(frozen=True, eq=False)
class Follows:
    """Values of `columns` follow from quasi-identifiers that somebody `knows`: these rows are then among `few`."""

    columns: tuple[int, ...]
    knows: tuple[int, ...]
    few: Flags


def judge(table: Unchanged, own: Sequence[Readings], read: Callable[[int], Readings]) -> Judgements:
    """All judgements, by the readings of the `own` values, and those that `read` makes of a column."""
    read_own = [Reading(j, n, not r) for j, readings in enumerate(own) for r, n in enumerate(readings.numbers)]
    columns, texts = [read(i) for i, _ in enumerate(table.columns)], [readings.texts for readings in own]
    hidden = [one.hidden for one in table.own]
    agree, judged = list[tuple[int, int, Agreement]](), list[ColumnJudgement]()
    formulas, evidence = Formulas(table.rows, read_own, hidden), PairEvidence(table.columns, table.one_each)
    for knows, i, judgement in telling_pairs(table.own, read_own, evidence):
        judged.append(ColumnJudgement(frozenset([i]), knows, judgement))
    for i, readings in enumerate(columns):
        cells = {j: table.cells(j, i) for j, hides in enumerate(hidden) if hides}
        judged += _by_one(table, i, cells)
        found = [formula for numbers in readings.numbers[:1] for formula in formulas.of(numbers)]
        for formula in (*found, *concatenations(table.rows, readings.texts, texts, hidden)):
            judged.append(ColumnJudgement(frozenset([i]), frozenset(formula.knows), formula))
        agree += _determined(table, i, cells, readings.values)
    # Two columns may give a quasi-identifier together.
    numbers = [readings.numbers for readings in columns]
    for given, formula in formulas_of_columns(table.rows, numbers, read_own, hidden):
        judged.append(ColumnJudgement(frozenset(given), frozenset(formula.knows), formula))
    return Judgements(judged, agree)


def what_follows(table: Unchanged, judged: Judgements, k: int, groups: Sequence[Sequence[int]] = ()) -> list[Follows]:
    """Per column that leaves people among fewer than k, who knows what where most are; then of groups of columns.

    A group is named if it leaves more people among few than its columns, and the groups before, by themselves.
    """
    found = list[Follows]()
    for columns in (*([i] for i, _ in enumerate(table.columns)), *groups):
        before = np.zeros(len(table.rows), np.bool_)
        for each in found:
            if set(each.columns) <= set(columns):
                before |= each.few
        most = _most(table, [one for one in judged.judgements if one.columns <= set(columns)], k, before)
        found += [] if most is None else [most]
    return found


def _most(table: Unchanged, judged: Sequence[ColumnJudgement], k: int, before: Flags) -> Follows | None:
    """The knowledge that leaves most people among few that were not `before`; of more values, if `MORE` are left."""
    most, found = 0, None
    for knows in _known_together(judged):
        telling = [one for one in judged if one.knows <= knows]
        few = few_left(table.rows, table.looked_at(sorted(knows)), [one.judgement for one in telling], k)
        as_many = most if found is None or len(knows) == len(found.knows) else MORE * most
        if (number := table.rows.counted(few & ~before)) > as_many:
            columns = frozenset[int]().union(*(one.columns for one in telling))
            most, found = number, Follows(tuple(sorted(columns)), tuple(sorted(knows)), few)
    return found


def _known_together(judged: Sequence[ColumnJudgement]) -> list[frozenset[int]]:
    """The quasi-identifiers that are known together: those of judgements, and pairs of single ones that tell."""
    alone = sorted({j for one in judged if len(one.knows) == 1 for j in one.knows})
    pairs = (frozenset(pair) for pair in combinations(alone, 2))
    return sorted({*(one.knows for one in judged), *pairs}, key=lambda knows: (len(knows), sorted(knows)))


def _by_one(table: Unchanged, i: int, cells: Mapping[int, ValuePairs]) -> Iterator[ColumnJudgement]:
    """By single quasi-identifiers.

    Own values of one person are one under each label: nobody else shows what goes with them.
    """
    held, people = table.columns[i], table.rows.people
    for j, of_own in cells.items():
        own, of_records = table.own[j], of_own
        codes, label = own.codes, own.label
        if own.positions is not None:
            # Near own values are one: each of `BINS` ranges has as many of them.
            near = np.arange(of_own.owns) * min(BINS, of_own.owns) // max(of_own.owns, 1)
            codes, label = near[codes], np.zeros(int(near.max(initial=0)) + 1, np.int64)
            of_records = counted(near[of_own.own], of_own.value, of_own.records, len(label), of_own.values)
        of_people = of_records
        if people is not None:
            of_people = counted_once(codes, held.value, people, of_records.owns, of_records.values)
        rare = of_people.of_own == 1
        stratum = np.concatenate([label, np.arange(int(label.max(initial=0)) + 1)])
        given = given_by(of_people.pooled(rare, label), [stratum], minorities=True)
        if not given.any():
            continue
        if own.positions is None:
            codes = np.where(rare, len(label) + label, np.arange(len(label)))[codes]
            judgement = ByValues(codes, held, of_records.pooled(rare, label), given)
        else:
            judgement = by_ranges(own.codes, held, own.positions, of_own)
        yield ColumnJudgement(frozenset([i]), frozenset([j]), judgement)


def _determined(
    table: Unchanged, i: int, cells: Mapping[int, ValuePairs], values: ValueReadings | None
) -> Iterator[tuple[int, int, Agreement]]:
    """How a column tells of quasi-identifiers that have finer detail."""
    own = {j: one.finer for j, one in enumerate(table.own) if one.finer is not None}
    if values is None or not own:
        return
    value, people, seen = table.columns[i].value, table.rows.people, list[ValuePairs | None]()
    there = values.there[value] if people is not None else None
    for j, of in own.items():
        if people is None or there is None:
            seen.append(seen_in(cells[j], of, values.there))
        else:
            group = of.group[table.own[j].codes[there]]
            seen.append(counted_once(value[there], group, people[there], len(values.there), len(of.label)))
    codes = [table.own[j].codes for j in own]
    for j, how in zip(own, determined_by(values, value, table.one_each, seen, list(own.values()), codes), strict=True):
        if how is not None:
            yield i, j, how
