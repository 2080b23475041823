"""Related tables: people and their events are searched together, repaired, and released with fresh keys."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from tableveil.backend import Session, render, table
from tableveil.counting import open_counter
from tableveil.dictionary import Dictionary, build_dictionary, read_together
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import Fault, InfeasibleError, InvalidError, Warned, by_rank, must_decide, note, shortened
from tableveil.hierarchy import InlineLevels, RuleHierarchy, ValueKind, label_values
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.lattice import Lattice, Transformation
from tableveil.lifecycle import Solution
from tableveil.pipelines.advice import is_empty, says_nothing
from tableveil.pipelines.infeasible import no_levels_of_tables
from tableveil.pipelines.privacy import classes_before, guarantees_of
from tableveil.pipelines.read import Counted, Dictionaries, FoundHierarchies, count_classes, hierarchies_of
from tableveil.pipelines.relaxing import seconds_for
from tableveil.pipelines.solution import Method
from tableveil.pipelines.work import JobContext
from tableveil.policy import (
    Anchor,
    Choose,
    KnownFacts,
    Policy,
    RelativeTime,
    SensitiveShare,
    described,
    level_field,
    policy_warnings,
)
from tableveil.policy.methods.related_tables import RELATED_TABLES
from tableveil.related.staging import StagedEvents, codes_of_events, codes_of_people, stage_events, stage_people
from tableveil.related.values import check_named, values_of_events, values_of_people
from tableveil.release import ReleasePlan
from tableveil.release.by_value import ByValue
from tableveil.release.related import LabelledEvents, RelatedRelease, event_release, fresh_keys, people_plan
from tableveil.repair.account import RepairAccount, losers, moved
from tableveil.repair.anchor import AnchorColumn, AnchorLabels
from tableveil.repair.facts import RowFacts, capped, kept_rows
from tableveil.repair.problem import CodedCombinations, Evaluation, EventCombinations, RelatedProblem
from tableveil.repair.rules import MOST_LABELS
from tableveil.repair.search import RelatedOutcome, Repaired, repaired_at, search_related
from tableveil.repair.shares import Having, told, within_share
from tableveil.search.relaxing import Relaxed, UnmetPolicy, relax_judged
from tableveil.source.related_rows import check_related_rows
from tableveil.state.releases import Proof, Searched

Ints = NDArray[np.int32]

_REPAIRS = 20
"""The search for relaxations takes at least the time of so many repairs: large tables need hints, too."""

DICTIONARIES = 10_000
"""More than a table has columns: the dictionaries of each table are numbered from a multiple of it."""


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
class _Share:
    """A share of a sensitive value: who has which value, if it is of people, or the value of each row that is left."""

    model: SensitiveShare
    of_people: Having | None
    values: Ints


@dataclass(frozen=True, slots=True, eq=False)
class CountedRelated:
    """People as any source is counted, and the rows of their events.

    `fact_of` has the fact of each row that no cap leaves out, one table after the other. Chance decides by the
    `secret`, which is kept nowhere. `notes` are for the owner.
    """

    counted: Counted
    rows: tuple[_Rows, ...]
    problem: RelatedProblem
    fact_of: NDArray[np.intp]
    anchor: AnchorLabels | None
    shares: tuple[_Share, ...]
    secret: int
    notes: tuple[Warned, ...]
    raise_if_cancelled: Callable[[], None]

    def chosen(self, found: Repaired) -> NDArray[np.bool_]:
        """The rows that a repair keeps, of those that no cap leaves out; always the same ones."""
        fact_of, chance = found.fact_of[self.fact_of], np.random.default_rng(self.secret)
        return kept_rows(fact_of, found.facts.counts, found.kept, chance)

    def within_shares(self, found: Repaired) -> bool:
        """Whether a repair keeps all shares of sensitive values."""
        return all(self.within(share, found) for share in self.shares)

    def within(self, share: _Share, found: Repaired) -> bool:
        """Whether a repair keeps the share of a sensitive value."""
        facts, having = self._having(share, found)
        return within_share(share.model.l, having, facts, found.class_of, self.problem.m, self.raise_if_cancelled)

    def told(self, share: _Share, found: Repaired) -> int:
        """How many people have a row that tells a value of events, to somebody who knows that row."""
        facts, having = self._having(share, found)
        return told(having, facts, found.class_of)

    def _having(self, share: _Share, found: Repaired) -> tuple[RowFacts, Having]:
        kept = found.kept > 0
        facts = RowFacts(found.facts.people[kept], found.facts.labels[kept], found.kept[kept])
        if share.of_people is not None:
            return facts, share.of_people
        chosen = self.chosen(found)
        places = (np.cumsum(kept) - 1)[found.fact_of[self.fact_of[chosen]]]
        owners = places if not share.model.values else facts.people[places].astype(np.int64)
        return facts, Having.of(owners, share.values[chosen], of_facts=not share.model.values)


class RelatedTablesMethod(Method[CountedRelated]):
    """See `Method`."""

    def count(self, job: JobContext, policy: Policy, read: Dictionaries) -> CountedRelated:
        """The people's combinations, and the rows of events with theirs."""
        session, options, key = job.session, RELATED_TABLES.options(policy), policy.person_column or ""
        related = read.source.related
        faults, notes = check_related_rows(session, read.source, related, policy, options)
        for i, model in enumerate(policy.privacy_models):
            if isinstance(model, SensitiveShare):
                held = {each.name: of for each, of in zip(options.events, related, strict=True)}.get(model.table)
                field = f"privacy_models[{i}].sensitive_share"
                misfits, absent = check_named(session, held or read.source, model.column, model.values, field)
                faults, notes = [*faults, *misfits], [*notes, *absent]
        if faults:
            raise InvalidError.about("POLICY_INVALID", "the policy does not fit the tables", faults)
        counted = count_classes(job.rows, policy, read)
        number = stage_people(session, counted.source, key, options.relative_time)
        staged = stage_events(session, options.events, counted.source.related, options.relative_time)
        hierarchies = hierarchies_of(job.rows, policy)
        secret = secrets.randbits(128)
        rows = []
        for i, each in enumerate(staged, 1):
            found, unfit = _rows(job, each, hierarchies, i * DICTIONARIES)
            rows += [found] if found is not None else []
            faults += unfit
        if faults:
            raise InvalidError.about("POLICY_INVALID", "the policy does not fit the tables", faults)
        if options.most_rows_of_a_person is not None:
            rows = _capped(rows, options.most_rows_of_a_person, np.random.default_rng(secret))
        problem, fact_of = _problem(job, counted, number, rows)
        _check_rows_of_a_person(problem)
        anchor = _anchor(session, options.relative_time, len(counted.dictionaries), rows)
        shares = tuple(_share(session, counted, rows, model) for model in _shares(policy))
        return CountedRelated(
            counted, tuple(rows), problem, fact_of, anchor, shares, secret, tuple(notes), job.control.raise_if_cancelled
        )

    def solve(self, job: JobContext, counts: CountedRelated) -> Solution:
        """The best levels of all columns, and the repair of the rows."""
        policy = counts.counted.policy
        judges = policy.search.choose is Choose.QUASI_IDENTIFIERS_ONLY
        permits = (lambda found: True) if judges else counts.within_shares
        seconds, report = policy.search.seconds, job.report.on_progress
        outcome = search_related(counts.problem, counts.anchor, permits, job.control, seconds, report)
        if outcome.best is None:
            raise _nothing_valid(job, counts, outcome)
        if judges and not counts.within_shares(outcome.best):
            raise _unprotected(counts, outcome.best)
        return _solution(job, counts, outcome, outcome.best)


def _rows(
    job: JobContext, staged: StagedEvents, hierarchies: FoundHierarchies, first: int
) -> tuple[_Rows | None, list[Fault]]:
    """The rows of an event table, or the faults of its columns; dictionaries have numbers from the first one on."""
    session, source, event = job.session, staged.source, staged.event
    dictionaries, faults = [], list[Fault]()
    known = read_together(session, source, [source.column(a.column) for a in event.quasi_identifiers], {})
    for j, attribute in enumerate(event.attributes):
        if attribute.role != "QUASI_IDENTIFIER":
            continue
        hierarchy, reference = hierarchies.found.get(event.qualified(attribute.column), (None, ""))
        if hierarchy is None:
            continue
        of = CodedAttribute(attribute, hierarchy, reference, first + j, event.field(j))
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


def _check_rows_of_a_person(problem: RelatedProblem) -> None:
    """Raises `InvalidError` if somebody has more different rows than can be looked at in pairs."""
    if problem.m > 1 and np.bincount(problem.facts.people, minlength=1).max() > MOST_LABELS:
        actual = f"a person with more than {MOST_LABELS:,} different rows of events"
        fault = Fault("tables.most_rows_of_a_person", actual, f"at most {MOST_LABELS:,} with m = 2", "Set this limit.")
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the tables", [fault])


def _anchor(session: Session, time: RelativeTime | None, first_axis: int, rows: Sequence[_Rows]) -> AnchorLabels | None:
    """The columns of days, with the labels that an event at the anchor has; a person's own date has no such event."""
    if time is None or time.anchor is Anchor.COLUMN:
        return None
    columns, first, axis = list[AnchorColumn](), 0, first_axis
    for each in rows:
        names = [dictionary.attribute.column for dictionary in each.dictionaries]
        if each.staged.days:
            place = names.index(each.staged.days[0])
            dictionary, codes = each.dictionaries[place], each.combinations.codes[place]
            anchors = _anchors(session, time.anchor, dictionary)
            columns.append(AnchorColumn(axis + place, first, codes, dictionary.levels.groups, anchors))
        first += each.combinations.number
        axis += len(names)
    return AnchorLabels(tuple(columns))


def _anchors(session: Session, anchor: Anchor, days: Dictionary) -> tuple[int, ...]:
    """Per level the group of the first day, or of rows without a day before; -1 if there is none."""
    levels, hierarchy = days.levels, days.attribute.hierarchy
    if anchor is Anchor.PREVIOUS_EVENT:
        code = levels.null_code
        found = [-1 if code is None else int(groups[code]) for groups in levels.groups]
    else:
        rule = hierarchy if isinstance(hierarchy, InlineLevels | RuleHierarchy) else SuppressionOnly()
        labelled = label_values(rule, ValueKind.INTEGER, [0], ["0"])
        texts = [labels[0] for labels in labelled.labels] if labelled.covered.all() else []
        rows = session.rows("SELECT code FROM " + render(table(days.table_name)) + " WHERE value = 0")
        found = [rows[0][0] if rows else -1]
        for labels, text in zip(levels.labels, texts, strict=False):
            found.append(labels.index(text) if text in labels else -1)
    # At the top all rows have one label, that of the anchor, too.
    return (*found[:-1], *([-1] * (levels.top - len(found))), 0)[: levels.top + 1] if levels.top else (0,)


def _shares(policy: Policy) -> tuple[SensitiveShare, ...]:
    return tuple(model for model in policy.privacy_models if isinstance(model, SensitiveShare))


def _share(session: Session, counted: Counted, rows: Sequence[_Rows], model: SensitiveShare) -> _Share:
    key = counted.policy.person_column or ""
    if not model.table:
        people, values = values_of_people(session, counted.source, key, model.column, model.values)
        return _Share(model, Having.of(people.astype(np.int64), values, of_facts=False), values)
    found = []
    for each in rows:
        values = np.full(each.staged.rows, -1, np.int32)
        if each.staged.event.name == model.table:
            places, own = values_of_events(session, each.staged, model.column, model.values)
            values[places] = own
        found.append(values[each.places][each.left])
    return _Share(model, None, np.concatenate(found))


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
        parts=tuple((shares * best.losses).tolist()),
        proof=_proof(counts, outcome),
        losses=best.losses,
        quality_model=described(policy.quality_model),
        chosen_by=policy.privacy_models,
        explanation=None,
        sizes_before=counted.sizes_before,
        guarantees=guarantees_of(policy, counted.base, counter, before, plan),
        warnings=by_rank(
            (
                *policy_warnings(policy),
                *_erased(plan),
                *_gap(counts, outcome, best),
                *_told(job, counts, best),
                *counts.notes,
            )
        ),
    )


def _released(counts: CountedRelated, best: Repaired, plan: ReleasePlan) -> RelatedRelease:
    """The plans of the rows of all tables."""
    chosen = counts.chosen(best)
    key, problem = plan.policy.person_column or "", counts.problem
    events, first, begin, label = [], 0, len(plan.dictionaries), 0
    for i, each in enumerate(counts.rows):
        kept, own = np.zeros(each.staged.rows, np.bool_), int(each.left.sum())
        kept[each.left] = chosen[first : first + own]
        end, after = begin + len(each.dictionaries), label + each.combinations.number
        labels = best.labels[label:after]
        own_rows = LabelledEvents(each.staged, each.combinations, labels, each.people, each.places, each.of, kept)
        events.append(event_release(plan.policy, key, i, own_rows, each.dictionaries, best.at[begin:end]))
        first, begin, label = first + own, end, after
    left = best.kept > 0
    facts = RowFacts(best.facts.people[left], best.facts.labels[left], best.kept[left])
    number = len(problem.combination_of)
    keys = fresh_keys(number)
    had = np.bincount(np.concatenate([of.people for of in events]), minlength=number)
    have = np.bincount(facts.people, facts.counts, number)
    account = RepairAccount(tuple(losers(had, have)), moved(best.facts, best.kept, best.class_of, best.number))
    return RelatedRelease(
        key, people_plan(plan, key), tuple(events), keys, best.class_of, facts, problem.k, problem.m, account
    )


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


def _unprotected(counts: CountedRelated, found: Repaired) -> InfeasibleError:
    """The error of a choice that was made without the sensitive values, and does not protect them."""
    models = counts.counted.policy.privacy_models
    unmet = [each.model for each in counts.shares if not counts.within(each, found)]
    faults = [
        Fault(
            f"privacy_models[{models.index(model)}].sensitive_share",
            "a larger share of the people of some known rows, at the levels that were chosen without these values",
            str(model),
            "With search.choose: ALL_MODELS, the levels are chosen by it.",
        )
        for model in unmet
    ]
    return InfeasibleError("VALUES_UNPROTECTED", "the choice does not protect the sensitive values", faults)


def _told(job: JobContext, counts: CountedRelated, best: Repaired) -> Iterator[Warned]:
    """The warnings about sensitive columns of events that no model bounds, where rows tell their values."""
    bounded = {(share.model.table, share.model.column) for share in counts.shares if not share.model.values}
    for event in RELATED_TABLES.options(counts.counted.policy).events:
        for attribute in event.attributes:
            if attribute.role != "SENSITIVE" or (event.name, attribute.column) in bounded:
                continue
            model = SensitiveShare(attribute.column, Decimal(2), event.name)
            people = counts.told(_share(job.session, counts.counted, counts.rows, model), best)
            if people:
                name = event.qualified(attribute.column)
                yield must_decide(
                    f"A reader who knows one row of a person's events learns the value of {shortened(name)} in it, for "
                    f"{people:,} people: all of their class with such a row have one value there. Add to "
                    f"privacy_models: sensitive_share: {{table: {event.name}, column: {attribute.column}, l: 2}}.",
                    people,
                    name,
                )


def _erased(plan: ReleasePlan) -> Iterator[Warned]:
    """The warnings about columns of people and of events that have one label, and about a release without people."""
    if not plan.kept_records:
        yield is_empty(plan.records)
        return
    events = () if plan.related is None else plan.related.events
    tables = [
        (plan, "", plan.classes.selected(plan.kept)),
        *((of.plan, f"{of.name}.", of.plan.classes) for of in events),
    ]
    for of, name, classes in tables:
        for j, dictionary in enumerate(of.dictionaries):
            if len(dictionary.levels.groups[0]) > 1 and len(np.unique(classes.groups(j))) == 1:
                yield says_nothing(f"{name}{dictionary.attribute.column}")


def _gap(counts: CountedRelated, outcome: RelatedOutcome, best: Repaired) -> Iterator[Warned]:
    """The note on how far from the best the levels may be, if that is not proven and not all were tried."""
    size = counts.problem.lattice.size
    if not outcome.complete and outcome.repaired < size:
        lower = 100 * (best.score - outcome.lower_bound) / (best.score or 1.0)
        sampled = f", the best of {outcome.sampled:,} by a sample of people" if outcome.sampled else ""
        yield note(
            f"Other levels may have a score that is up to {lower:.2g} % below {best.score:.6g} (proven bound "
            f"{outcome.lower_bound:.6g}): {outcome.repaired:,} of {size:,} transformations were repaired wholly"
            f"{sampled}. To try others, name their levels.",
            field="search.levels",
        )


def _nothing_valid(job: JobContext, counts: CountedRelated, outcome: RelatedOutcome) -> InfeasibleError:
    """The error of a policy that no levels meet, with changes of it that some would meet."""
    problem, least = counts.problem, outcome.least
    relaxed, people = _relaxed(job, counts), len(problem.combination_of)
    suppressed, removed = (0, 0) if least is None else (least.suppressed, sum(least.removed))
    return no_levels_of_tables(counts.counted.policy, (suppressed, people), (removed, problem.rows), relaxed)


def _relaxed(job: JobContext, counts: CountedRelated) -> Relaxed:
    """The conflict in the policy and its relaxations, by repairs at the highest levels: a search tries these at last.

    Raises:
        CancelledError: the job was cancelled.
    """
    policy, problem = counts.counted.policy, counts.problem
    tables = (counts.counted.dictionaries, *(each.dictionaries for each in counts.rows))
    tops = [dictionary.levels.top for dictionaries in tables for dictionary in dictionaries]
    evaluation = Evaluation(problem)

    @lru_cache(maxsize=1)
    def repair(at: Transformation, k: int, m: int) -> Repaired:
        job.control.raise_if_cancelled()
        asked = replace(problem, k=k, m=m)
        return repaired_at(asked, evaluation.of(asked), counts.anchor if m else None, at, None)

    @cache
    def losses(at: Transformation, k: int, m: int) -> tuple[int, int, int]:
        """The suppressed people, the removed rows, and those that are removed at any levels."""
        found = repair(at, k, m)
        removed = sum(found.removed)
        forced = sum(evaluation.of(replace(problem, k=k)).evaluate(at).removed) if m else removed
        return found.suppressed, removed, forced

    def feasible(policy: Policy) -> bool | None:
        levels, at = dict(policy.search.levels), list[int]()
        for (name, attribute), top in zip(policy.leveled, tops, strict=True):
            most = top if attribute.maximum_level is None else attribute.maximum_level
            at.append(levels.get(name, most))
        m = next((model.m for model in policy.privacy_models if isinstance(model, KnownFacts)), 0)
        asked = tuple(at), policy.k or 1, m
        suppressed, removed, forced = losses(*asked)
        removable = RELATED_TABLES.options(policy).removable(problem.rows)
        if suppressed > policy.suppressible(len(problem.combination_of)) or forced > removable:
            return False
        shares = _shares(policy) if policy.search.choose is Choose.ALL_MODELS else ()
        of = [next(each for each in counts.shares if replace(each.model, l=model.l) == model) for model in shares]
        found = [replace(each, model=model) for each, model in zip(of, shares, strict=True)]
        # Other levels may lose less, and keep shares.
        return (removed <= removable and all(counts.within(share, repair(*asked)) for share in found)) or None

    began = job.control.now()
    feasible(policy)
    seconds = max(seconds_for(policy), _REPAIRS * (job.control.now() - began))
    return relax_judged(UnmetPolicy(policy, tops, len(problem.combination_of)), feasible, job.control, seconds)
