"""Which records were suppressed, by the released labels of single columns: for the owner, and for readers if asked."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Session, number, sql, table, united
from tableveil.privacy.told_suppression import LEAST_K, Told, told_suppression
from tableveil.release.plan import ReleasePlan
from tableveil.state.release_risks import SuppressedLabel

MOST_LABELS = 10
"""Per column, the labels with most suppressed records are kept."""


def suppressed_labels(session: Session, plan: ReleasePlan) -> Iterator[SuppressedLabel]:
    """Per generalized column its labels with most suppressed records, without labels of fewer than k.

    Such a label could be one person's, and would outlive an erasure. Where people have several records, only labels of
    released classes are of k people for certain. Records that a NULL withholds are in no class, and in no number here.
    Where classes have levels of their own, a suppressed record has no released label.
    """
    if not plan.recoding.same_labels or plan.kept.all():
        return
    most_suppressed, k = [], plan.policy.k or LEAST_K
    for j, _ in enumerate(plan.dictionaries):
        groups = plan.classes.groups(j)
        records = np.bincount(groups, plan.classes.counts).astype(np.int64)
        suppressed = np.bincount(groups, plan.classes.counts * ~plan.kept).astype(np.int64)
        stored = (suppressed > 0) & (records >= k) & ((suppressed < records) | (not plan.repeating))
        most = [int(group) for group in np.argsort(-suppressed, kind="stable") if stored[group]][:MOST_LABELS]
        most_suppressed += [(j, group, int(records[group]), int(suppressed[group])) for group in most]
    labels = _labels(session, plan, [(j, group) for j, group, *_ in most_suppressed])
    for j, group, of_label, of_them in most_suppressed:
        yield SuppressedLabel(plan.dictionaries[j].column.name, labels[j, group], of_label, of_them)


def told_suppressed(session: Session, plan: ReleasePlan) -> Iterator[tuple[str, str]]:
    """The facts about suppressed records that `release.suppressed_by` asks for: names, and numbers or words."""
    for name in plan.policy.release.suppressed_by:
        j = next(j for j, dictionary in enumerate(plan.dictionaries) if dictionary.column.name == name)
        groups = plan.classes.groups(j)
        suppressed = np.bincount(groups, plan.classes.counts * ~plan.kept).astype(np.int64)
        released = np.bincount(groups, plan.classes.counts * plan.kept).astype(np.int64)
        present = np.flatnonzero(suppressed + released)
        labels = _labels(session, plan, [(j, int(group)) for group in present])
        # By their labels: which of several comes first must not depend on the source's order.
        order = sorted(map(int, present), key=lambda group: (labels[j, group] is None, labels[j, group] or ""))
        k, room = plan.policy.k or LEAST_K, _room(plan, j)
        of_suppressed, of_released, of_room = ([int(of[at]) for at in order] for of in (suppressed, released, room))
        told = told_suppression(of_suppressed, of_released, of_room, k)
        if told and all(one is Told.NOTHING for one in told):
            # Even the labels would tell something.
            yield f"suppressed_by {name}", Told.NOTHING.value
            continue
        for group, one in zip(order, told, strict=True):
            words = {Told.FEWER: f"fewer than {k}", Told.NOTHING: Told.NOTHING.value}
            label = labels[j, group]
            called = f"{name} = {label}" if label is not None else f"{name} IS NULL"
            yield f"suppressed_by {called}", words[one] if isinstance(one, Told) else str(one)


def _room(plan: ReleasePlan, j: int) -> NDArray[np.int64]:
    """Per group of a column, k - 1 records for each released combination of the others that is not released with it."""
    others = np.column_stack([np.zeros(len(plan.kept), np.int64), *_groups_but(plan, j)])[plan.kept]
    groups = plan.classes.groups(j)
    taken = np.bincount(groups, plan.kept).astype(np.int64)
    return (len(np.unique(others, axis=0)) - taken) * ((plan.policy.k or LEAST_K) - 1)


def _groups_but(plan: ReleasePlan, j: int) -> list[NDArray[np.int64]]:
    return [plan.classes.groups(i) for i in range(len(plan.dictionaries)) if i != j]


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
    query = "SELECT $j, code, CAST(value AS VARCHAR) FROM $dictionary WHERE code IN ($wanted)"
    values = [
        sql(query, j=number(j), dictionary=table(plan.dictionaries[j].table_name), wanted=wanted)
        for j, wanted in codes.items()
    ]
    rows = session.embedded.rows(united(values)) if values else []
    return labels | {(j, code): value for j, code, value in rows}
