"""Small tables, and the base histograms that the database makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa

from tableveil.backend import Session
from tableveil.counting import BaseHistogram, CountedColumns, build_base
from tableveil.dictionary import build_aggregated, build_dictionary, build_pairs, build_people, build_sensitive
from tableveil.dictionary.values import CodedAttribute
from tableveil.hierarchy import InlineLevels, RuleHierarchy
from tableveil.hierarchy.rules import Intervals
from tableveil.policy import (
    Aggregation,
    AttributePolicy,
    KAnonymity,
    NullHandling,
    Policy,
    Population,
    ReleaseTarget,
    Role,
    TableReference,
)
from tableveil.source import resolve_source

Value = int | str | None


@dataclass(frozen=True)
class Table:
    """Rows of quasi-identifiers, each with its type, hierarchy and what NULL means.

    `sensitive` has, per sensitive column, its type and its value in each row, and `aggregated`, per aggregated one, its
    number in each row; `population` the rows of a population, and `people`, if people have several rows, whose each
    row is. `prefix` is how the names of all columns begin.
    """

    types: tuple[str, ...]
    hierarchies: tuple[InlineLevels | RuleHierarchy, ...]
    nulls: tuple[NullHandling, ...]
    rows: tuple[tuple[Value, ...], ...]
    sensitive: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    population: tuple[tuple[Value, ...], ...] | None = None
    prefix: str = ""
    aggregated: tuple[tuple[int, ...], ...] = ()
    people: tuple[int, ...] = ()

    @property
    def valued(self) -> list[tuple[Value, ...]]:
        """The columns whose values classes tell, in the order in which they are counted."""
        return [*(values for _, values in self.sensitive), *self.aggregated]

    @property
    def counted(self) -> list[tuple[Value, ...]]:
        """The rows that are not withheld."""
        return [row for row in self.rows if self.counts(row)]

    def counts(self, row: tuple[Value, ...]) -> bool:
        """Whether a row of the source or the population is in a class."""
        return all(
            value is not None or handling is not NullHandling.SUPPRESS
            for value, handling in zip(row, self.nulls, strict=True)
        )


def base_of(session: Session, table: Table) -> BaseHistogram:
    """The real base histogram of the table in the database."""
    names = [f"{table.prefix}q{j}" for j in range(len(table.types))]
    sensitive_names = [f"{table.prefix}s{s}" for s in range(len(table.sensitive))]
    sensitive_types, values = zip(*table.sensitive, strict=True) if table.sensitive else ((), ())
    aggregated_names = [f"{table.prefix}a{a}" for a in range(len(table.aggregated))]
    person = [f"{table.prefix}person"] * bool(table.people)
    columns = [*zip(*table.rows, strict=True), *values, *table.aggregated, *([table.people] if person else ())]
    types = [*table.types, *sensitive_types, *("INTEGER" for _ in (*table.aggregated, *person))]
    _create(session, "t", [*names, *sensitive_names, *aggregated_names, *person], types, columns)
    population = None
    if table.population is not None:
        _create(session, "everyone", names, table.types, list(zip(*table.population, strict=True)))
        population = Population(TableReference("", "main", "everyone"))
    listed = tuple(
        AttributePolicy(name, Role.QUASI_IDENTIFIER, hierarchy, nulls=nulls)
        for name, hierarchy, nulls in zip(names, table.hierarchies, table.nulls, strict=True)
    )
    sensitive = tuple(AttributePolicy(name, Role.SENSITIVE) for name in sensitive_names)
    aggregated = tuple(
        AttributePolicy(name, Role.QUASI_IDENTIFIER, aggregation=Aggregation()) for name in aggregated_names
    )
    release = ReleaseTarget("main", "out")
    attributes = (*listed, *sensitive, *aggregated, *(AttributePolicy(name, Role.IDENTIFYING) for name in person))
    policy = Policy(TableReference("", "main", "t"), attributes, None, (KAnonymity(2),), release, population=population)
    source, _, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    dictionaries = []
    for j, (attribute, hierarchy) in enumerate(zip(listed, table.hierarchies, strict=True)):
        dictionary, found = build_dictionary(session, source, CodedAttribute(attribute, hierarchy, "", j, ""))
        assert dictionary is not None, found
        dictionaries.append(dictionary)
    of_values = []
    for s, attribute in enumerate(sensitive):
        values_, found = build_sensitive(session, source, CodedAttribute(attribute, None, "", s, ""))
        assert values_ is not None, found
        of_values.append(values_)
    of_aggregated = []
    for a, attribute in enumerate(aggregated):
        positions, found = build_aggregated(session, source, CodedAttribute(attribute, None, "", a, ""))
        assert positions is not None, found
        of_aggregated.append(positions)
    people = build_people(session, source, person[0]) if person else None
    owned = [] if people is None else of_values
    pairs = [build_pairs(session, source, people, values, s) for s, values in enumerate(owned) if people is not None]
    counted = CountedColumns(tuple(of_values), tuple(of_aggregated), people=people, pairs=tuple(pairs))
    return build_base(session, source, dictionaries, counted)


def _create(
    session: Session, name: str, names: Sequence[str], types: Sequence[str], columns: Sequence[Sequence[Value]]
) -> None:
    defined = ", ".join(
        '"' + column.replace('"', '""') + f'" {type_}' for column, type_ in zip(names, types, strict=True)
    )
    session.execute(f"CREATE OR REPLACE TABLE {name} ({defined})")
    if columns:
        positions = [f"p{i}" for i in range(len(columns))]
        with session.relation("rows_", pa.table(dict(zip(positions, columns, strict=True)))):
            session.execute(f"INSERT INTO {name} SELECT * FROM rows_")


def random_table(rows: int, width: int, values: int, seed: int) -> Table:
    random = Random(seed)
    rule = Intervals("0", str(values - 1), ("10", "100", "1000"))
    drawn = tuple(tuple(random.randrange(values) for _ in range(width)) for _ in range(rows))
    value = (NullHandling.VALUE,) * width
    return Table(("INTEGER",) * width, (rule,) * width, value, drawn)


def with_details(table: Table, values: Sequence[int], seed: int) -> Table:
    """The table with so many values per sensitive column; the population has most of its rows, twice, and others."""
    random = Random(seed)
    sensitive = tuple(("INTEGER", tuple(random.randrange(number) for _ in table.rows)) for number in values)
    known = [row for row in table.rows if random.random() < 0.8]
    changed = [(*row[1:], row[0]) for row in known[:50]]
    aggregated = (tuple(random.randrange(90) for _ in table.rows),)
    people = tuple(random.randrange(len(table.rows) // 3) for _ in table.rows)
    population = (*known, *known, *changed)
    return replace(table, sensitive=sensitive, population=population, aggregated=aggregated, people=people)
