"""Stores how the source spreads over the values of the sensitive columns: models and verification judge by it."""

import pyarrow as pa
from sqlglot import exp

from tableveil.backend import Session, column, number, sql, table, text
from tableveil.dictionary import AggregatedDictionary, SensitiveDictionary
from tableveil.source.tables import STATE_SCHEMA

TABLE = "sensitive_distributions"


def write_distribution(session: Session, dictionary: SensitiveDictionary, release: int) -> None:
    """Stores the distribution of a sensitive column in the whole source, suppressed records included."""
    values = dictionary.values
    position = "code"
    if values.null_code is not None and values.null_first:
        position = "CASE WHEN code = $null THEN 0 ELSE code + 1 END"
    query = sql(
        f"SELECT $release AS release, $column AS column_name, {position} AS position, "
        "CAST(value AS VARCHAR) AS value, n FROM $dictionary",
        release=number(release),
        column=text(values.column),
        null=number(values.null_code or 0),
        dictionary=table(dictionary.table_name),
    )
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
    query = sql(
        "SELECT held.value, $labels FROM $dictionary AS held JOIN labelled ON held.code = labelled.code",
        labels=[column(name, "labelled") for name in names],
        dictionary=table(dictionary.table_name),
    )
    with session.relation("labelled", pa.table({"code": pa.array(levels.groups[0]), **labels})):
        session.stage(labelled, query)
    return labelled, ("value", *names)
