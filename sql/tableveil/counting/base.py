"""The base histogram: the distinct combinations of codes with their numbers of records, of source and population."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tableveil.backend import (
    Session,
    WarehouseSession,
    alias,
    cast,
    collected,
    column,
    conjunction,
    expression,
    left_join,
    number,
    sql,
    table,
)
from tableveil.classes import EarlierClasses, KeyLayout, SensitiveColumn
from tableveil.dictionary import (
    AggregatedDictionary,
    Dictionary,
    JointDictionary,
    PairsDictionary,
    PeopleDictionary,
    SensitiveDictionary,
    UnitsDictionary,
)
from tableveil.errors import Warned
from tableveil.hierarchy import AttributeLevels
from tableveil.policy import PrivacyModel
from tableveil.source import Source

EARLIER = "earlier_people"
"""The temporary table of a source's records with a row in the earlier releases, by `identifier`, with their `code`."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The combinations of earlier classes that records had; the source's column `identifier` finds them.

    Joint classes meet the `inherited` models, which the earlier policies ask for beyond the new one's; `met` names them
    with their releases. Others are `unjudged`. `renewed` says of whom rows recur there, by release, under other keys.
    """

    known: EarlierClasses
    identifier: str
    inherited: tuple[PrivacyModel, ...] = ()
    met: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    renewed: tuple[Warned, ...] = ()

    def joined(self, query: exp.Select, of: str, as_: str) -> tuple[exp.Select, exp.Expr]:
        """Joins the query to the people under the alias `as_`; returns it and the code of each row's combination."""
        same = exp.EQ(this=column(self.identifier, of), expression=column("identifier", as_))
        without_row = number(len(self.known.records))
        joined = left_join(query, table(EARLIER, alias=as_), same)
        return joined, exp.Coalesce(this=column("code", as_), expressions=[without_row])


BASE = "base"

Jointly = JointDictionary | PairsDictionary | UnitsDictionary
Counted = SensitiveDictionary | AggregatedDictionary | PeopleDictionary | Jointly


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The distinct combinations of codes in some records: a temporary table with columns `c0`, `c1`, … and `n`.

    `levels` has the groups of each column's codes. Rows in which column j has the code c, for any (j, c) of `withheld`,
    are in no class. `name` distinguishes a job's histograms; the table has `rows` rows, withheld ones included.
    """

    name: str
    levels: tuple[AttributeLevels, ...]
    withheld: tuple[tuple[int, int], ...]
    rows: int

    @property
    def table_name(self) -> str:
        """Name of the table."""
        return f"{self.name}_histogram"

    @property
    def columns(self) -> list[str]:
        """Names of the columns that hold codes."""
        return [f"c{j}" for j in range(len(self.levels))]

    def searchable(self) -> exp.Select:
        """The rows that are not withheld, without a select list yet."""
        return exp.select().from_(table(self.table_name, alias="base")).where(self.not_withheld())

    def not_withheld(self) -> exp.Expr:
        """The condition for rows that are in a class, with the table under the alias `base`."""
        return conjunction(exp.NEQ(this=column(f"c{j}", "base"), expression=number(code)) for j, code in self.withheld)


@dataclass(frozen=True, slots=True)
class CountedColumns:
    """The columns whose values are counted beside the combinations: those that models look at, of people and of units.

    With `earlier` releases, the combinations include records' classes in them.
    """

    sensitive: tuple[SensitiveDictionary, ...] = ()
    aggregated: tuple[AggregatedDictionary, ...] = ()
    joint: tuple[JointDictionary, ...] = ()
    people: PeopleDictionary | None = None
    pairs: tuple[PairsDictionary, ...] = ()
    units: tuple[UnitsDictionary, ...] = ()
    earlier: Earlier | None = None

    @property
    def by_value(self) -> list[Counted]:
        """All of them, in the order of their histograms."""
        people = () if self.people is None else (self.people,)
        return [*self.sensitive, *self.aggregated, *self.joint, *people, *self.pairs, *self.units]

    @property
    def counted(self) -> tuple[SensitiveColumn, ...]:
        """All of them, as columns whose values are counted in classes."""
        return tuple(map(_counted_values, self.by_value))

    @property
    def aggregates(self) -> list[tuple[int, AggregatedDictionary]]:
        """The aggregated columns, each with its position among all."""
        return [(i, each) for i, each in enumerate(self.by_value) if isinstance(each, AggregatedDictionary)]

    @property
    def joint_columns(self) -> list[tuple[int, JointDictionary]]:
        """The joint columns, each with its position among all."""
        return [(i, each) for i, each in enumerate(self.by_value) if isinstance(each, JointDictionary)]

    @property
    def tell_apart(self) -> bool:
        """Whether records of one combination may differ in a column by which people could be recognized."""
        return bool(self.aggregated) or self.earlier is not None


NO_COLUMNS = CountedColumns()


@dataclass(frozen=True, slots=True, eq=False)
class BaseHistogram:
    """The source's records by their combinations of codes; all searches count from it.

    `records` counts all of the source; `withheld` of them have a NULL which the policy suppresses, including those set
    aside. `by_value` has, per counted column, the source's combinations extended by the code of its value as one more
    attribute, the last, of a single level. `population` has the combinations of the population's rows, of which there
    are `population_records`. With earlier releases, the combination of a record's classes there is one more attribute,
    after the quasi-identifiers.
    """

    dictionaries: tuple[Dictionary, ...]
    histogram: Histogram
    records: int
    withheld: int
    columns: CountedColumns
    by_value: tuple[Histogram, ...] = ()
    population: Histogram | None = None
    population_records: int | None = None

    @property
    def combinations(self) -> int:
        """The number of distinct combinations."""
        return self.histogram.rows


def build_base(
    session: WarehouseSession,
    source: Source,
    dictionaries: Sequence[Dictionary],
    columns: CountedColumns = NO_COLUMNS,
    set_aside: int = 0,
) -> BaseHistogram:
    """Counts the distinct combinations, each histogram in one pass; they spill if they do not fit into memory.

    The histograms of a warehouse's rows are collected.

    `set_aside` is the number of records left out of `source`.
    """
    histogram = _counted(session, BASE, source.table("source"), dictionaries, earlier=columns.earlier)
    records, searchable = _totals(session.embedded, histogram)
    by_value = [
        _counted(session, f"values_{s}", source.table("source"), dictionaries, values, columns.earlier)
        for s, values in enumerate(columns.by_value)
    ]
    population, population_records = None, None
    if source.population is not None:
        population = _counted(session, "population", source.population.table("source"), dictionaries)
        population_records, _ = _totals(session.embedded, population)
    return BaseHistogram(
        dictionaries=tuple(dictionaries),
        histogram=histogram,
        records=records + set_aside,
        withheld=records - searchable + set_aside,
        columns=columns,
        by_value=tuple(by_value),
        population=population,
        population_records=population_records,
    )


def without_earlier(session: Session, base: BaseHistogram) -> BaseHistogram:
    """The base histogram as if there were no earlier releases, rolled up from the one with their classes."""
    at = len(base.dictionaries)

    def alone(histogram: Histogram) -> Histogram:
        names = [name for j, name in enumerate(histogram.columns) if j != at]
        levels = tuple(levels for j, levels in enumerate(histogram.levels) if j != at)
        rolled = replace(histogram, name=f"alone_{histogram.name}", levels=levels)
        codes = [alias(column(name), code) for name, code in zip(names, rolled.columns, strict=True)]
        query = sql(
            "SELECT $codes, CAST(sum(n) AS BIGINT) AS n FROM $rows GROUP BY $names",
            codes=codes,
            rows=table(histogram.table_name),
            names=[*map(column, names)],
        )
        return replace(rolled, rows=session.stage(rolled.table_name, query))

    return replace(
        base,
        histogram=alone(base.histogram),
        by_value=tuple(alone(values) for values in base.by_value),
        columns=replace(base.columns, earlier=None),
    )


def _counted(
    session: WarehouseSession,
    name: str,
    rows: exp.Expr,
    dictionaries: Sequence[Dictionary],
    values: Counted | None = None,
    earlier: Earlier | None = None,
) -> Histogram:
    """The histogram of rows under the alias `source`."""
    levels = [dictionary.levels for dictionary in dictionaries]
    packed = exp.select().from_(rows)
    codes: list[exp.Expr] = []
    for j, dictionary in enumerate(dictionaries):
        packed, code = joined_code(packed, dictionary, "source", f"d{j}", level=0)
        codes.append(code)
    if earlier is not None:
        packed, code = earlier.joined(packed, "source", "earlier")
        levels.append(_single_level(earlier.known.combinations))
        codes.append(code)
    if values is not None:
        counted_values = _counted_values(values)
        if isinstance(values, Jointly):
            packed, code = _joined_jointly(packed, values, "source", "v")
        else:
            packed, code = joined_value(packed, values, "source", "v")
        levels.append(_single_level(len(counted_values.counts), counted_values.null_code))
        codes.append(code)
    layout = KeyLayout.of([len(attribute.groups[0]) for attribute in levels])
    counted = counted_keys(packed, codes, layout)
    withheld = tuple(
        (j, dictionary.levels.null_code)
        for j, dictionary in enumerate(dictionaries)
        if dictionary.withholds and dictionary.levels.null_code is not None
    )
    histogram = Histogram(name, tuple(levels), withheld, rows=0)
    unpack = exp.select(*(alias(unpacked(layout, j), f"c{j}") for j in range(len(levels))), column("n")).from_(
        collected(session, "counted", counted)
    )
    combinations: int = session.embedded.stage(histogram.table_name, unpack)
    return replace(histogram, rows=combinations)


def _counted_values(dictionary: Counted) -> SensitiveColumn:
    return dictionary.counted if isinstance(dictionary, AggregatedDictionary) else dictionary.values


def _totals(session: Session, histogram: Histogram) -> tuple[int, int]:
    """The number of records, and the number of those that are not withheld."""
    totals = "SELECT coalesce(sum(n), 0), coalesce(sum(n) FILTER (WHERE $searchable), 0) FROM $rows AS base"
    rows = table(histogram.table_name)
    records, searchable = session.row(sql(totals, searchable=histogram.not_withheld(), rows=rows))
    return int(records), int(searchable)


def counted_keys(rows: exp.Select, codes: Sequence[exp.Expr], layout: KeyLayout) -> exp.Select:
    """The distinct combinations of the rows' codes, packed into words `w0`, `w1`, …; `n` rows have each.

    `rows` has no select list yet.
    """
    keys: list[list[exp.Expr]] = [[] for _ in range(layout.words)]
    for j, code in enumerate(codes):
        keys[layout.word[j]].append(exp.Mul(this=cast(code, "BIGINT"), expression=number(layout.stride[j])))
    packed = rows.select(*(alias(summed(parts), f"w{word}") for word, parts in enumerate(keys)))
    words = [column(f"w{word}") for word in range(layout.words)]
    query = "SELECT $words, count(*) AS n FROM $packed GROUP BY $words"
    return sql(query, words=words, packed=packed.subquery("packed"))


def _single_level(codes: int, null_code: int | None = None) -> AttributeLevels:
    """So many codes as an attribute that is never generalized."""
    groups = (np.arange(codes, dtype=np.int32),)
    return AttributeLevels(groups, (), (np.ones(codes),), float(codes), False, null_code)


def equal_records(session: Session, source: Source, base: BaseHistogram) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sizes of groups of the source's records with equal quasi-identifiers, ascending, and their numbers."""
    recognizing: list[Dictionary | AggregatedDictionary] = [*base.dictionaries, *base.columns.aggregated]
    if len(recognizing) == len(base.dictionaries):
        return class_size_histogram(session, base)
    # NULL equals NULL.
    names = [column(dictionary.column.name, "source") for dictionary in recognizing]
    counted = sql("SELECT count(*) AS n FROM $rows GROUP BY $names", rows=source.table("source"), names=names)
    return _sizes(session, counted.subquery("equal"))


def class_size_histogram(session: Session, base: BaseHistogram) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sizes of the source's classes at level 0, ascending, and the number of classes of each size."""
    counted = table(base.histogram.table_name)
    if base.columns.earlier is None:
        return _sizes(session, counted)
    labels = [column(name) for name in base.histogram.columns[:-1]]
    classes = sql("SELECT CAST(sum(n) AS BIGINT) AS n FROM $rows GROUP BY $labels", rows=counted, labels=labels)
    return _sizes(session, classes.subquery("classes"))


def _sizes(session: Session, groups: exp.Expr) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    query = "SELECT n AS size, count(*) AS classes FROM $groups GROUP BY n ORDER BY n"
    arrays = session.arrays(sql(query, groups=groups))
    return arrays["size"].astype(np.int64), arrays["classes"].astype(np.int64)


def joined_code(
    query: exp.Select, dictionary: Dictionary, of: str, as_: str, level: int
) -> tuple[exp.Select, exp.Expr]:
    """Joins the query to the dictionary under the alias `as_`; returns it and each row's group number at the level.

    NULL matches no dictionary row in an equality; its group, that of the last code, is filled in.
    """
    null_code = dictionary.levels.null_code
    null_group = None if null_code is None else int(dictionary.levels.groups[level][null_code])
    return _joined(query, dictionary, dictionary.group_name(level), null_group, of, as_)


def joined_value(
    query: exp.Select, dictionary: SensitiveDictionary | AggregatedDictionary | PeopleDictionary, of: str, as_: str
) -> tuple[exp.Select, exp.Expr]:
    """Joins the query to the dictionary under the alias `as_`; returns it and the code of each row's value or NULL."""
    null_code = dictionary.values.null_code if isinstance(dictionary, SensitiveDictionary) else None
    return _joined(query, dictionary, "code", null_code, of, as_)


def _joined(
    query: exp.Select,
    dictionary: Dictionary | SensitiveDictionary | AggregatedDictionary | PeopleDictionary,
    group_name: str,
    null_group: int | None,
    of: str,
    as_: str,
) -> tuple[exp.Select, exp.Expr]:
    value = exp.EQ(this=column(dictionary.column.name, of), expression=column("value", as_))
    joined = left_join(query, table(dictionary.table_name, alias=as_), value)
    group: exp.Expr = column(group_name, as_)
    if null_group is not None:
        group = expression("coalesce($group, $null_group)", group=group, null_group=number(null_group))
    return joined, group


def _joined_jointly(query: exp.Select, dictionary: Jointly, of: str, as_: str) -> tuple[exp.Select, exp.Expr]:
    same = conjunction(
        exp.NullSafeEQ(this=column(source_column.name, of), expression=column(f"v{j}", as_))
        for j, source_column in enumerate(dictionary.columns)
    )
    return query.join(table(dictionary.table_name, alias=as_), on=same), column("code", as_)


def unpacked(layout: KeyLayout, attribute: int) -> exp.Expr:
    """An attribute's group number, taken out of the key words `w0`, `w1`, …, in the smallest type that holds it."""
    radix = max(layout.radices[attribute], 1)
    return expression(
        f"CAST(($word // $stride) % $radix AS {code_type(radix)})",
        word=column(f"w{layout.word[attribute]}"),
        stride=number(layout.stride[attribute]),
        radix=number(radix),
    )


def code_type(codes: int) -> str:
    """The smallest type for codes from 0 to one below their number."""
    return "UTINYINT" if codes <= 2**8 else "USMALLINT" if codes <= 2**16 else "UINTEGER"


def summed(parts: Sequence[exp.Expr]) -> exp.Expr:
    """The sum of one or more terms."""
    return reduce(lambda total, part: exp.Add(this=total, expression=part), parts)
