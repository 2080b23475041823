"""Which records were suppressed, by the released labels of single columns: the owner's evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from sqlglot import exp

from tableveil.backend import Session, cast, column, number, table, united
from tableveil.release.plan import ReleasePlan
from tableveil.state.release_suppressions import SuppressedLabel

MOST_LABELS = 10
"""Per column, the labels with most suppressed records are kept."""


def suppressed_labels(session: Session, plan: ReleasePlan) -> Iterator[SuppressedLabel]:
    """Per generalized column its labels with most suppressed records.

    Records that a NULL withholds are in no class, and in no number here. Where classes have levels of their own, a
    suppressed record has no released label.
    """
    if not plan.recoding.same_labels or plan.kept.all():
        return
    found = []
    for j, _ in enumerate(plan.dictionaries):
        groups = plan.classes.groups(j)
        records = np.bincount(groups, plan.classes.counts).astype(np.int64)
        suppressed = np.bincount(groups, plan.classes.counts * ~plan.kept).astype(np.int64)
        most = np.argsort(-suppressed, kind="stable")[:MOST_LABELS]
        found += [(j, int(group), int(records[group]), int(suppressed[group])) for group in most if suppressed[group]]
    labels = _labels(session, plan, [(j, group) for j, group, *_ in found])
    for j, group, of_label, of_them in found:
        yield SuppressedLabel(plan.dictionaries[j].column.name, labels[j, group], of_label, of_them)


def _labels(
    session: Session, plan: ReleasePlan, groups: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], str | None]:
    """The labels of groups of quasi-identifiers, each at the level of its classes."""
    labels: dict[tuple[int, int], str | None] = {}
    codes = defaultdict(list)
    for j, group in groups:
        levels, level = plan.dictionaries[j].levels, plan.classes.at[j]
        if level == levels.top:
            labels[j, group] = plan.dictionaries[j].top_label
        elif level:
            labels[j, group] = levels.labels[level - 1][group]
        else:
            codes[j].append(number(group))
    values = [
        exp.select(number(j), "code", cast(column("value"), "VARCHAR"))
        .from_(table(plan.dictionaries[j].table_name))
        .where(exp.In(this=column("code"), expressions=wanted))
        for j, wanted in codes.items()
    ]
    rows = session.embedded.rows(united(values)) if values else []
    return labels | {(j, code): value for j, code, value in rows}
