"""The bytes of released classes with the values of sensitive columns, estimated before any of them are collected."""

from collections.abc import Iterator

import numpy as np
from sqlglot import exp

from tableveil.backend import WarehouseSession, alias, cast, column, number
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.hierarchy import ValueKind
from tableveil.release.plan import LabelledClasses, ReleasePlan
from tableveil.source import Column

BYTES_BESIDE, BYTES_PER_TEXT = 17, 4
"""The bytes of a number of records, of a value that is no text and of a flag; those of a text, besides its letters."""


def check_spreads_collectible(session: WarehouseSession, plan: ReleasePlan) -> None:
    """Raises `InvalidError` if the classes with the values of a sensitive column take more than may be collected.

    The writing counts them in a warehouse, and the verification once more, with the labels as texts. A class of n
    records has about as many different values as n draws among all of the column: more only if values avoid each other.
    """
    most, sensitive = session.most_collected, [released.column for released in plan.diverse()]
    if most is None or not sensitive:
        return
    classes = plan.recoding.labelled(session, plan)
    unlabelled = [
        dictionary.column
        for dictionary, texts in zip(plan.dictionaries, classes.texts, strict=True)
        if texts is None and _is_text(dictionary.column)
    ]
    wanted: list[exp.Expr] = [exp.ApproxDistinct(this=column(each.name)) for each in sensitive]
    wanted += [_length(each) for each in (*sensitive, *unlabelled)]
    row = session.row(exp.select(*(alias(e, f"e{i}") for i, e in enumerate(wanted))).from_(plan.source.table()))
    distinct, lengths = row[: len(sensitive)], [float(length or 0) for length in row[len(sensitive) :]]
    records = classes.counts.astype(np.float64)
    labels = sum(_label_bytes(plan, classes)) + sum(BYTES_PER_TEXT + length for length in lengths[len(sensitive) :])
    for of, values, length in zip(sensitive, distinct, lengths, strict=False):
        # NULL is one more.
        different = max(int(values), 1) + 1
        groups = int((-different * np.expm1(records * np.log1p(-1 / different))).sum())
        size = int(groups * (BYTES_BESIDE + labels + (BYTES_PER_TEXT + length if _is_text(of) else 0)))
        if size > most:
            fault = Fault(
                "release",
                f"about {size:,} bytes to collect from the warehouse, for {groups:,} values of "
                f"{shortened(of.name)} in {len(records):,} classes",
                f"at most {most:,} bytes",
                "Raise the least levels, round or shorten the column's values in the table, make it IDENTIFYING, or "
                "give the server more memory.",
            )
            raise InvalidError.about("COLLECTS_TOO_MUCH", "the release has too many classes and values", [fault])


def _label_bytes(plan: ReleasePlan, classes: LabelledClasses) -> Iterator[float]:
    """Per generalized quasi-identifier, the mean bytes of its labels in the released classes."""
    for dictionary, texts, labels in zip(plan.dictionaries, classes.texts, classes.labels, strict=True):
        if texts is not None:
            lengths = np.array([len((label or "").encode()) for label in texts])
            yield BYTES_PER_TEXT + (float(lengths[labels].mean()) if len(labels) else 0.0)
        elif not _is_text(dictionary.column):
            yield float(BYTES_BESIDE // 2)


def _is_text(found: Column) -> bool:
    return found.kind in (ValueKind.TEXT, ValueKind.OTHER)


def _length(found: Column) -> exp.Expr:
    return exp.Avg(this=exp.Length(this=cast(column(found.name), "VARCHAR"))) if _is_text(found) else number(0)
