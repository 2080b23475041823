"""Small tables, and the base histograms that the database makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pyarrow as pa

from tableveil.backend import Session
from tableveil.counting import BaseHistogram, build_base
from tableveil.dictionary import build_dictionary
from tableveil.hierarchy import InlineLevels, Intervals, RuleHierarchy
from tableveil.policy import AttributePolicy, KAnonymity, NullHandling, Policy, ReleaseTarget, Role, TableReference
from tableveil.source import resolve_source

Value = int | str | None


@dataclass(frozen=True)
class Table:
    """Rows of quasi-identifiers, each with its type, hierarchy and what NULL means."""

    types: tuple[str, ...]
    hierarchies: tuple[InlineLevels | RuleHierarchy, ...]
    nulls: tuple[NullHandling, ...]
    rows: tuple[tuple[Value, ...], ...]

    @property
    def counted(self) -> list[tuple[Value, ...]]:
        """The rows that are not withheld."""
        suppressing = [j for j, handling in enumerate(self.nulls) if handling is NullHandling.SUPPRESS]
        return [row for row in self.rows if all(row[j] is not None for j in suppressing)]


def base_of(session: Session, table: Table) -> BaseHistogram:
    """The real base histogram of the table in the database."""
    names = [f"q{j}" for j in range(len(table.types))]
    columns = ", ".join(f"{name} {type_}" for name, type_ in zip(names, table.types, strict=True))
    session.execute(f"CREATE OR REPLACE TABLE t ({columns})")
    with session.relation("rows_", pa.table(dict(zip(names, zip(*table.rows, strict=True), strict=True)))):
        session.execute("INSERT INTO t SELECT * FROM rows_")
    listed = tuple(
        AttributePolicy(name, Role.QUASI_IDENTIFIER, hierarchy, nulls=nulls)
        for name, hierarchy, nulls in zip(names, table.hierarchies, table.nulls, strict=True)
    )
    release = ReleaseTarget("main", "out")
    policy = Policy(TableReference("", "main", "t"), listed, None, (KAnonymity(2),), release)
    source, _, faults = resolve_source(session, policy)
    assert source is not None, faults
    dictionaries = []
    for j, (attribute, hierarchy) in enumerate(zip(listed, table.hierarchies, strict=True)):
        dictionary, found = build_dictionary(session, source, attribute, hierarchy, "", j, "")
        assert dictionary is not None, found
        dictionaries.append(dictionary)
    return build_base(session, source, dictionaries)


def random_table(rows: int, width: int, values: int, seed: int) -> Table:
    random = Random(seed)
    rule = Intervals("0", str(values - 1), ("10", "100", "1000"))
    drawn = tuple(tuple(random.randrange(values) for _ in range(width)) for _ in range(rows))
    value = (NullHandling.VALUE,) * width
    return Table(("INTEGER",) * width, (rule,) * width, value, drawn)
