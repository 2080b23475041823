"""Stores how the source spreads over the values of the sensitive columns: models and verification judge by it."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, number, table, text
from tableveil.dictionary import AggregatedDictionary, SensitiveDictionary
from tableveil.source.tables import STATE_SCHEMA

TABLE = "sensitive_distributions"


def write_distribution(session: Session, dictionary: SensitiveDictionary, release: int) -> None:
    """Stores the distribution of a sensitive column in the whole source, suppressed records included."""
    values = dictionary.values
    position: exp.Expr = column("code")
    if values.null_code is not None and values.null_first:
        is_null = exp.EQ(this=column("code"), expression=number(values.null_code))
        after = exp.Add(this=column("code"), expression=number(1))
        position = exp.Case(ifs=[exp.If(this=is_null, true=number(0))], default=after)
    query = exp.select(
        alias(number(release), "release"),
        alias(text(values.column), "column_name"),
        alias(position, "position"),
        alias(cast(column("value"), "VARCHAR"), "value"),
        column("n"),
    ).from_(table(dictionary.table_name))
    session.execute(exp.Insert(this=table(TABLE, STATE_SCHEMA), expression=query))


def stage_labels(
    session: Session, dictionary: SensitiveDictionary | AggregatedDictionary
) -> tuple[str, tuple[str, ...]]:
    """A temporary table of the values and their labels by the column's hierarchy, for the verification.

    Returns its name and its columns from level 0, the value, to the top.
    """
    levels = dictionary.values.levels
    assert levels is not None, "there are no labels without a hierarchy"
    names = [f"l{level}" for level in range(1, levels.top + 1)]
    labels = {
        name: pa.array(levels.labels[level - 1], pa.string()).take(pa.array(levels.groups[level]))
        for level, name in enumerate(names, start=1)
    }
    labelled = f"{dictionary.table_name}_labels"
    with session.relation("labelled", pa.table({"code": pa.array(levels.groups[0]), **labels})):
        same = exp.EQ(this=column("code", "held"), expression=column("code", "labelled"))
        query = (
            exp.select(column("value", "held"), *(column(name, "labelled") for name in names))
            .from_(table(dictionary.table_name, alias="held"))
            .join(table("labelled"), on=same)
        )
        session.stage(labelled, query)
    return labelled, ("value", *names)
