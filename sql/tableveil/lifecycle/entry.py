"""The parts of a release's ledger entry that its plan and its search tell: columns, and why it and no other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple

from tableveil.dictionary import AggregatedDictionary, Dictionary
from tableveil.policy import Policy, PrivacyModel
from tableveil.release.plan import ReleasePlan
from tableveil.search import explain
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.release_explanations import Explanation, Neighbour, Rejection


def attributes_of(
    plan: ReleasePlan, parts: Sequence[float], losses: Sequence[float], distinct_after: Mapping[str, int]
) -> Iterator[AttributeResult]:
    """The generalized columns, which have levels in other transformations, too, then the aggregated ones."""
    columns: list[Dictionary | AggregatedDictionary] = [*plan.dictionaries, *plan.aggregated_columns]
    # Quality models have parts for all, for the generalized ones, or for none.
    of_score: Iterator[float | None] = itertools.chain(parts, itertools.repeat(None))
    for j, (dictionary, loss, part) in enumerate(zip(columns, losses, of_score, strict=False)):
        column, is_aggregated = dictionary.attribute.column, isinstance(dictionary, AggregatedDictionary)
        level = 0 if is_aggregated else plan.transformation[j]
        top = 0 if isinstance(dictionary, AggregatedDictionary) else dictionary.levels.top
        hierarchy = dictionary.hierarchy
        if plan.source.drawn is not None:
            level, top, hierarchy = plan.source.drawn.levels[column]
        yield AttributeResult(
            column=column,
            level=level,
            top_level=top,
            loss=loss,
            distinct_before=dictionary.distinct,
            distinct_after=distinct_after[column],
            hierarchy=hierarchy,
            part=part,
            levels=() if is_aggregated else plan.recoding.records_at(j),
            aggregation=str(dictionary.attribute.aggregation or ""),
        )


def named_explanation(
    policy: Policy, explanation: explain.Explanation | None, chosen_by: tuple[PrivacyModel, ...]
) -> Explanation | None:
    """The explanation with the names of columns and of privacy models."""
    if explanation is None:
        return None
    # The rule of those left behind comes last, if there is one.
    names = [*map(str, chosen_by), f"left_behind: {policy.release.left_behind}"]

    def named(found: explain.Neighbour) -> Neighbour:
        return Neighbour(
            columns=tuple(policy.quasi_identifiers[j].column for j in found.axis),
            step=found.step,
            level=found.transformation[found.axis[0]] if found.axis else None,
            classes=found.classes,
            rejected_classes=found.rejected,
            suppressed_records=found.suppressed,
            records_over_limit=found.over,
            score=found.score,
            rejections=tuple(Rejection(name, *astuple(rule)) for name, rule in zip(names, found.rules, strict=False)),
        )

    return Explanation(named(explanation.itself), tuple(map(named, explanation.neighbours)), explanation.complete)
