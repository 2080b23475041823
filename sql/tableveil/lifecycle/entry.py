"""The ledger's entry of a release: made of its plan, its evidence, and the objects that were written."""

import itertools
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from importlib import metadata

import duckdb
import numpy as np

from tableveil.backend import Ledger, WarehouseSession
from tableveil.dictionary import AggregatedDictionary, Dictionary
from tableveil.errors import by_rank
from tableveil.lifecycle.evidence import Evidence
from tableveil.policy import Policy, PrivacyModel
from tableveil.privacy.accepted import above
from tableveil.release.objects import WrittenObjects
from tableveil.release.plan import ReleasePlan
from tableveil.release.suppressed import suppressed_labels
from tableveil.risk import prosecutor_risk
from tableveil.search import explain
from tableveil.state import jobs
from tableveil.state.jobs import Outcome
from tableveil.state.joint_texts import WHOLE, JointText
from tableveil.state.release_attributes import AttributeResult
from tableveil.state.release_explanations import Explanation, Neighbour, Rejection
from tableveil.state.releases import MethodFigures, Release


def release_of(
    session: WarehouseSession, plan: ReleasePlan, evidence: Evidence, number: int, made: WrittenObjects
) -> Release:
    """The ledger's entry of a written plan."""
    target, solution = plan.policy.release, evidence.solution
    risk_after = solution.risk_after or made.risk
    too_high = above(plan.policy, risk_after.highest, solution.guarantees)
    figures = {figure.name: getattr(solution, figure.name) for figure in fields(MethodFigures)}
    return Release(
        **figures | {"warnings": by_rank((*solution.warnings, *too_high))},
        number=number,
        job=evidence.job,
        created_at=jobs.now(),
        source=session.recorded(plan.source.reference),
        source_tables=plan.source.tables if plan.source.query is not None or plan.source.related else (),
        source_fingerprint=evidence.fingerprint.rows,
        target_schema=target.schema,
        target_name=target.name,
        kind=target.kind,
        repeat_reason=plan.policy.repeat_reason,
        needs_approval=False,
        records=plan.records,
        suppressed_records=plan.suppressed_records,
        classes=made.risk.classes,
        attributes=tuple(attributes_of(plan, solution.parts, solution.losses, made.distinct)),
        objects=made.objects,
        risk_before=solution.risk_before or prosecutor_risk(solution.sizes_before, plan.policy.risk_thresholds),
        risk_after=risk_after,
        risk_by_size=made.risk,
        seconds=evidence.elapsed(),
        phase_seconds=evidence.phases(),
        versions={
            "tableveil": metadata.version("tableveil"),
            "duckdb": duckdb.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            **session.versions,
        },
        policy=evidence.document,
        explanation=named_explanation(plan.policy, solution.explanation, solution.chosen_by),
        joint=(JointText(WHOLE, plan.together_with), *evidence.joint) if plan.together_with else evidence.joint,
        suppressed_labels=() if plan.kept.all() else tuple(suppressed_labels(session.embedded, plan)),
    )


def end_job(ledger: Ledger, release: Release) -> None:
    """Lets the job of a release succeed; call it in a transaction."""
    outcome = Outcome(jobs.JobState.SUCCEEDED, jobs.now(), release.number, None, release.warnings)
    jobs.insert_outcome(ledger, release.job, outcome)


def attributes_of(
    plan: ReleasePlan, parts: Sequence[float], losses: Sequence[float], distinct_after: Mapping[str, int]
) -> Iterator[AttributeResult]:
    """The generalized columns, which have levels in other transformations, too, then the aggregated ones.

    Columns of related tables come last, with the name of their table.
    """
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
    figures = zip(losses[len(columns) :], of_score, strict=False)
    for events in () if plan.related is None else plan.related.events:
        own = events.plan
        for j, (of_event, level) in enumerate(zip(own.dictionaries, own.transformation, strict=True)):
            loss, part = next(figures)
            yield AttributeResult(
                column=events.staged.event.qualified(of_event.attribute.column),
                level=level,
                top_level=of_event.levels.top,
                loss=loss,
                distinct_before=of_event.distinct,
                distinct_after=len(np.unique(own.classes.groups(j))),
                hierarchy=of_event.hierarchy,
                part=part,
            )


def named_explanation(
    policy: Policy, explanation: explain.NeighbourhoodExplanation | None, chosen_by: tuple[PrivacyModel, ...]
) -> Explanation | None:
    """The explanation with the names of columns and of privacy models."""
    if explanation is None:
        return None
    # The rule of those left behind comes last, if there is one.
    names = [*map(str, chosen_by), f"left_behind: {policy.release.left_behind}"]

    def named(checked: explain.CheckedNeighbour) -> Neighbour:
        return Neighbour(
            columns=tuple(policy.quasi_identifiers[j].column for j in checked.axis),
            step=checked.step,
            level=checked.transformation[checked.axis[0]] if checked.axis else None,
            classes=checked.classes,
            rejected_classes=checked.rejected,
            suppressed_records=checked.suppressed,
            records_over_limit=checked.over,
            score=checked.score,
            rejections=tuple(Rejection(name, *astuple(rule)) for name, rule in zip(names, checked.rules, strict=False)),
        )

    return Explanation(named(explanation.itself), tuple(map(named, explanation.neighbours)), explanation.complete)
