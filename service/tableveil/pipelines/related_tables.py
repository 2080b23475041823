"""Related tables: people and their events are searched together, repaired, and released with fresh keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import WarehouseSession
from tableveil.counting import open_counter
from tableveil.dictionary import Dictionary, build_dictionary, read_together
from tableveil.dictionary.coded import CodedAttribute
from tableveil.errors import Fault, InfeasibleError, InvalidError, by_rank
from tableveil.lattice import Lattice
from tableveil.lifecycle import Solution
from tableveil.pipelines.guarantees import classes_before, guarantees_of
from tableveil.pipelines.job import JobContext
from tableveil.pipelines.read import Counted, Dictionaries, FoundHierarchies, count_classes, hierarchies_of
from tableveil.pipelines.solution import Method
from tableveil.policy import KnownFacts, Policy, SensitiveShare, described, level_field, policy_warnings
from tableveil.policy.methods.related_tables import RELATED_TABLES
from tableveil.related.staging import StagedEvents, codes_of_events, codes_of_people, stage_events, stage_people
from tableveil.release import ReleasePlan
from tableveil.release.by_value import ByValue
from tableveil.release.related import RelatedRelease, event_release, fresh_keys, people_plan
from tableveil.repair.facts import RowFacts
from tableveil.repair.problem import CodedCombinations, EventCombinations, RelatedProblem
from tableveil.repair.rows import capped, kept_rows
from tableveil.repair.search import RelatedOutcome, Repaired, search_related
from tableveil.source import Source
from tableveil.source.related_rows import check_related_rows
from tableveil.state.releases import Proof, Searched

Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The staged rows of an event table as arrays: their people, places, and the number of their combination.

    `left` are those that no cap leaves out.
    """

    staged: StagedEvents
    dictionaries: tuple[Dictionary, ...]
    people: Ints
    places: Ints
    combinations: CodedCombinations
    of: Ints
    left: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class CountedRelated:
    """People as any source is counted, and the rows of their events.

    `fact_of` has the fact of each row that no cap leaves out, one table after the other. `chance` decides by a secret
    that is kept nowhere. `notes` are for the owner.
    """

    counted: Counted
    rows: tuple[_Rows, ...]
    problem: RelatedProblem
    fact_of: NDArray[np.intp]
    chance: np.random.Generator
    notes: tuple[str, ...]


class RelatedTablesMethod(Method[CountedRelated]):
    """See `Method`."""

    def admit(self, session: WarehouseSession, policy: Policy, source: Source) -> None:
        """Refuses what this version only checks."""
        options, faults = RELATED_TABLES.options(policy), []
        if options.relative_time is not None:
            faults.append(Fault("tables.relative_time", "days since an anchor", "nothing, in this version"))
        if any(isinstance(model, SensitiveShare) for model in policy.privacy_models):
            faults.append(Fault("privacy_models", "sensitive_share", "other models, in this version"))
        if faults:
            raise InvalidError.about("POLICY_INVALID", "no such release", faults)

    def count(self, job: JobContext, policy: Policy, read: Dictionaries) -> CountedRelated:
        """The people's combinations, and the rows of events with theirs."""
        session, options, key = job.session, RELATED_TABLES.options(policy), policy.person_column or ""
        related = read.source.related
        faults, notes = check_related_rows(session, read.source, related, policy, options)
        if faults:
            raise InvalidError.about("POLICY_INVALID", "the policy does not fit the tables", faults)
        counted = count_classes(job.rows, policy, read)
        number = stage_people(session, counted.source, key, options.relative_time)
        staged = stage_events(session, options.events, counted.source.related, options.relative_time)
        hierarchies = hierarchies_of(job.rows, policy)
        chance = np.random.default_rng()
        rows = []
        for each in staged:
            found, unfit = _rows(job, each, hierarchies)
            rows += [found] if found is not None else []
            faults += unfit
        if faults:
            raise InvalidError.about("POLICY_INVALID", "the policy does not fit the tables", faults)
        if options.most_rows_of_a_person is not None:
            rows = _capped(rows, options.most_rows_of_a_person, chance)
        problem, fact_of = _problem(job, counted, number, rows)
        return CountedRelated(counted, tuple(rows), problem, fact_of, chance, tuple(notes))

    def solve(self, job: JobContext, counts: CountedRelated) -> Solution:
        """The best levels of all columns, and the repair of the rows."""
        policy = counts.counted.policy
        outcome = search_related(
            counts.problem, None, lambda found: True, job.control, policy.search.seconds, job.report.on_progress
        )
        if outcome.best is None:
            raise _nothing_valid(counts, outcome)
        return _solution(job, counts, outcome, outcome.best)


def _rows(job: JobContext, staged: StagedEvents, hierarchies: FoundHierarchies) -> tuple[_Rows | None, list[Fault]]:
    """The rows of an event table, or the faults of its columns."""
    session, source, event = job.session, staged.source, staged.event
    dictionaries, faults = [], list[Fault]()
    known = read_together(session, source, [source.column(a.column) for a in event.quasi_identifiers], {})
    for j, attribute in enumerate(event.attributes):
        if attribute.role != "QUASI_IDENTIFIER":
            continue
        hierarchy, reference = hierarchies.found.get(event.qualified(attribute.column), (None, ""))
        if hierarchy is None:
            continue
        number = 1000 + event.first + j
        of = CodedAttribute(attribute, hierarchy, reference, number, event.field(j))
        dictionary, unfit = build_dictionary(session, source, of, known.get(attribute.column))
        faults += unfit
        dictionaries += [dictionary] if dictionary is not None else []
    if faults:
        return None, faults
    people, places, codes = codes_of_events(session, staged, dictionaries)
    levels = [dictionary.levels for dictionary in dictionaries]
    weights = [dictionary.attribute.weight for dictionary in dictionaries]
    combinations, of_rows = CodedCombinations.of(levels, codes, weights, staged.rows)
    left = np.ones(staged.rows, np.bool_)
    return _Rows(staged, tuple(dictionaries), people, places, combinations, of_rows, left), []


def _capped(rows: Sequence[_Rows], most: int, chance: np.random.Generator) -> list[_Rows]:
    left = capped(np.concatenate([of.people for of in rows]), most, chance)
    ends = np.cumsum([len(of.people) for of in rows])[:-1]
    return [replace(of, left=own) for of, own in zip(rows, np.split(left, ends), strict=True)]


def _problem(
    job: JobContext, counted: Counted, number: int, rows: Sequence[_Rows]
) -> tuple[RelatedProblem, NDArray[np.intp]]:
    policy, options = counted.policy, RELATED_TABLES.options(counted.policy)
    key, dictionaries = policy.person_column or "", counted.dictionaries
    numbers, codes = codes_of_people(job.session, counted.source, key, dictionaries)
    levels = [dictionary.levels for dictionary in counted.dictionaries]
    weights = [dictionary.attribute.weight for dictionary in counted.dictionaries]
    people, of = CodedCombinations.of(levels, codes, weights, number)
    combination_of = np.empty(number, np.int32)
    combination_of[numbers] = of
    labels, firsts = [np.zeros(0, np.int32)], 0
    for each in rows:
        labels.append(each.of[each.left] + np.int32(firsts))
        firsts += each.combinations.number
    owners = np.concatenate([np.zeros(0, np.int32), *(each.people[each.left] for each in rows)])
    ones = np.ones(len(owners), np.int32)
    facts, fact_of = RowFacts.grouped(owners, np.concatenate(labels), ones, max(firsts, 1))
    events = tuple(EventCombinations(each.combinations, each.staged.rows, int((~each.left).sum())) for each in rows)
    total = sum(each.staged.rows for each in rows)
    lattice = _lattice(policy, counted, rows)
    m = next(model.m for model in policy.privacy_models if isinstance(model, KnownFacts))
    problem = RelatedProblem(
        people,
        combination_of,
        events,
        facts,
        lattice,
        policy.k or 1,
        m,
        policy.suppressible(number),
        options.removable(total),
    )
    return problem, fact_of


def _lattice(policy: Policy, counted: Counted, rows: Sequence[_Rows]) -> Lattice:
    """The people's lattice, and the levels that columns of events may have.

    Raises:
        InvalidError: a given level is above the top of its hierarchy.
    """
    bottom, top, faults = [*counted.lattice.bottom], [*counted.lattice.top], []
    levels = dict(policy.search.levels)
    for each in rows:
        for dictionary in each.dictionaries:
            attribute, most = dictionary.attribute, dictionary.levels.top
            name = each.staged.event.qualified(attribute.column)
            if levels and levels[name] > most:
                expected = f"a level from 0 to {most}, the hierarchy's top"
                faults.append(Fault(level_field(name), str(levels[name]), expected))
            bottom.append(levels.get(name, attribute.minimum_level))
            top.append(levels.get(name, most if attribute.maximum_level is None else attribute.maximum_level))
    if faults:
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the tables", faults)
    return Lattice(tuple(bottom), tuple(top))


def _solution(job: JobContext, counts: CountedRelated, outcome: RelatedOutcome, best: Repaired) -> Solution:
    counted, policy = counts.counted, counts.counted.policy
    columns = len(counted.dictionaries)
    counter = open_counter(job.session, counted.base, counted.lattice.bottom)
    classes = counter.classes(best.at[:columns])
    plan = ReleasePlan(
        policy=policy,
        source=counted.source,
        dictionaries=counted.dictionaries,
        recoding=ByValue(best.at[:columns]),
        classes=classes,
        kept=classes.counts >= counts.problem.k,
        records=counter.records,
        sensitive=counted.base.columns.sensitive,
    )
    plan = replace(plan, related=_released(counts, best, plan))
    before = classes_before(counted.base, counter)
    weights = np.array([attribute.weight for _, attribute in policy.leveled])
    shares = weights / (weights.sum() or 1.0)
    return Solution(
        plan=plan,
        score=best.score,
        parts=tuple((shares * best.losses).tolist()[:columns]),
        proof=_proof(counts, outcome),
        losses=best.losses[:columns],
        quality_model=described(policy.quality_model),
        chosen_by=policy.privacy_models,
        explanation=None,
        sizes_before=counted.sizes_before,
        guarantees=guarantees_of(policy, counted.base, counter, before, plan),
        warnings=by_rank((*policy_warnings(policy), *counts.notes)),
    )


def _released(counts: CountedRelated, best: Repaired, plan: ReleasePlan) -> RelatedRelease:
    """The plans of the rows of all tables."""
    chosen = kept_rows(best.fact_of[counts.fact_of], best.facts.counts, best.kept, counts.chance)
    key, problem = plan.policy.person_column or "", counts.problem
    events, first, begin, label = [], 0, len(plan.dictionaries), 0
    for i, each in enumerate(counts.rows):
        kept, own = np.zeros(each.staged.rows, np.bool_), int(each.left.sum())
        kept[each.left] = chosen[first : first + own]
        end, after = begin + len(each.dictionaries), label + each.combinations.number
        labelled = (each.combinations, best.labels[label:after])
        rows = (each.people, each.places, each.of, kept)
        levels = best.at[begin:end]
        events.append(event_release(plan.policy, key, i, each.staged, each.dictionaries, levels, labelled, rows))
        first, begin, label = first + own, end, after
    left = best.kept > 0
    facts = RowFacts(best.facts.people[left], best.facts.labels[left], best.kept[left])
    keys = fresh_keys(len(problem.combination_of))
    return RelatedRelease(key, people_plan(plan, key), tuple(events), keys, best.class_of, facts, problem.k, problem.m)


def _proof(counts: CountedRelated, outcome: RelatedOutcome) -> Proof:
    how = "by forced losses" if counts.problem.m == 1 else "by forced losses, and repairs of the best few"
    searched = Searched(
        lattice_size=str(counts.problem.lattice.size),
        checked=outcome.evaluated,
        counted=outcome.repaired,
        pruned={},
        runners_up=(),
        best_seconds=None,
    )
    return Proof(outcome.complete, outcome.lower_bound, how, outcome.seconds, "numpy", "", searched)


def _nothing_valid(counts: CountedRelated, outcome: RelatedOutcome) -> InfeasibleError:
    """The error of limits that no levels keep, with those that would do."""
    problem, least = counts.problem, outcome.least
    if least is None or least.suppressed > problem.suppressible:
        suppressed = 0 if least is None else least.suppressed
        return InfeasibleError.of(
            "INFEASIBLE",
            "suppression_limit",
            f"{problem.suppressible:,} of {len(problem.combination_of):,} people, where {suppressed:,} have to go",
            f"at least {suppressed / max(len(problem.combination_of), 1):.4f}",
        )
    removed = sum(least.removed)
    return InfeasibleError.of(
        "INFEASIBLE",
        "tables.rows_limit",
        f"{problem.removable:,} of {problem.rows:,} rows, where {removed:,} have to go at the best levels found",
        f"at least {removed / max(problem.rows, 1):.4f}",
        "Or allow higher levels, ask for a smaller m, or keep fewer rows of a person (most_rows_of_a_person).",
    )
