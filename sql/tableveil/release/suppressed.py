"""Which records were suppressed, by the released labels of single columns: the owner's evidence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, table
from tableveil.dictionary import Dictionary
from tableveil.release.plan import ReleasePlan
from tableveil.state.release_suppressions import SuppressedLabel

MOST_LABELS = 10
"""Per column, the labels with most suppressed records are kept."""


def suppressed_labels(session: Session, plan: ReleasePlan) -> Iterator[SuppressedLabel]:
    """Per generalized column its labels with most suppressed records.

    Records that a NULL withholds are in no class, and in no number here. Where classes have levels of their own, a
    suppressed record has no released label.
    """
    if plan.own_levels is not None or plan.kept.all():
        return
    for j, dictionary in enumerate(plan.dictionaries):
        groups = plan.classes.groups(j)
        records = np.bincount(groups, plan.classes.counts).astype(np.int64)
        suppressed = np.bincount(groups, plan.classes.counts * ~plan.kept).astype(np.int64)
        most = np.argsort(-suppressed, kind="stable")[:MOST_LABELS]
        found = [int(group) for group in most if suppressed[group]]
        labels = _labels(session, dictionary, plan.classes.at[j], found)
        for group in found:
            yield SuppressedLabel(dictionary.column.name, labels[group], int(records[group]), int(suppressed[group]))


def _labels(session: Session, dictionary: Dictionary, level: int, groups: list[int]) -> dict[int, str | None]:
    """The labels of groups at a level."""
    if level == dictionary.levels.top:
        return dict.fromkeys(groups, dictionary.top_label)
    label = cast(column(dictionary.label_name(level) if level else "value"), "VARCHAR")
    group = column(dictionary.group_name(level))
    query = exp.select(alias(group, "number"), alias(label, "label")).distinct().from_(table(dictionary.table_name))
    wanted = exp.In(this=group.copy(), expressions=[exp.Literal.number(one) for one in groups])
    return dict(session.embedded.rows(query.where(wanted)))
