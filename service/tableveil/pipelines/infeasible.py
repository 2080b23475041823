"""The answer to a request that nothing meets: the conflicting requirements, and the least relaxations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import numpy as np

from tableveil.classes import EquivalenceClasses
from tableveil.errors import Change, Fault, InfeasibleError, Relaxation
from tableveil.policy import Choose, NullHandling, Policy, PrivacyModel, Role, SensitiveShare
from tableveil.policy.validate_search import level_field
from tableveil.privacy import ReleaseRule, suppressed_pool
from tableveil.search import Candidate, Infeasible, Problem
from tableveil.search.relaxing import Relaxed, RelaxedOutcome, Requirement, Unmet, refusal, ways_of

LIMIT = "suppression_limit"
TIME_LIMIT = "search.time_limit_seconds"


@dataclass(frozen=True, slots=True)
class Asked:
    """The policy of a search, the models of its rules in their order, and those of the policy that are `inherited`.

    Earlier releases' policies ask for these.
    """

    policy: Policy
    models: Sequence[PrivacyModel]
    inherited: Sequence[PrivacyModel] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """A choice of so many records: its classes, and suppressed records that are kept as one."""

    released: EquivalenceClasses
    pool: EquivalenceClasses | None
    records: int

    def refused(self, rule: ReleaseRule) -> str:
        """The classes, and suppressed records that are kept, that a rule refuses, in words; empty if there are none."""
        refused = int(np.count_nonzero(~rule.releasable(self.released)))
        classes = f"{refused:,} of {len(self.released.counts):,} classes" if refused else ""
        kept = "" if self.pool is None or rule.releasable(self.pool).all() else "the suppressed records, which are kept"
        return " and ".join(filter(None, [classes, kept]))


def nothing_valid(
    asked: Asked, why: Infeasible, withheld: int, relaxed: Relaxed, others: Sequence[Fault] = ()
) -> InfeasibleError:
    """The error for a search that found nothing.

    `withheld` records are suppressed because of NULLs. `others` are faults of other requirements.
    """
    policy = asked.policy
    if relaxed.valid is not None:
        return _found_too_late(asked, relaxed.valid)
    where = "at the levels that search.levels gives" if policy.search.levels else "even at the most general one"
    suppressed = _part(why.suppressed, why.records)
    actual = "meets the policy" if relaxed.proven else f"was found that meets the policy before {TIME_LIMIT} were over"
    faults = _faults(relaxed, partial(_found, asked, why))
    faults += _withheld(policy, withheld, why.allowed, why.records)
    faults += _not_asked(asked) if relaxed.relaxations else ()
    faults += others
    message = (
        f"no transformation {actual}{_conflict(relaxed)}: {where} {suppressed} would have to be suppressed, "
        f"and {why.allowed:,} may be"
    )
    smallest = policy.k or 1
    code = "TOO_FEW_RECORDS" if why.records < smallest else "INFEASIBLE"
    return InfeasibleError(code, message, faults, relaxed.relaxations)


def _conflict(relaxed: Relaxed) -> str:
    return f" ({', '.join(requirement.field for requirement in relaxed.conflict)})" if relaxed.conflict else ""


def _faults(relaxed: Relaxed, found: Callable[[Requirement], str]) -> list[Fault]:
    """One fault for each requirement that conflicts, or that conflicts with all numbers at their most lenient."""
    hopeless = [requirement.field for requirement in relaxed.hopeless]
    conflict = [requirement.field for requirement in relaxed.conflict]
    faults = [
        Fault(
            requirement.field,
            found(requirement),
            _expected(relaxed, requirement),
            _hint(requirement, relaxed.relaxations, hopeless),
        )
        for requirement in relaxed.conflict
    ]
    faults += [
        Fault(requirement.field, found(requirement), "what these records can meet", _hint(requirement, (), hopeless))
        for requirement in relaxed.hopeless
        if requirement.field not in conflict
    ]
    return faults


def _found_too_late(asked: Asked, levels: Sequence[int]) -> InfeasibleError:
    """The search's time was too short, and a later step found a transformation sooner, if not the best."""
    policy = asked.policy
    changes = tuple(
        Change(level_field(attribute.column), str(level))
        for attribute, level in zip(policy.quasi_identifiers, levels, strict=True)
    )
    relaxations = [Relaxation(changes, nearest=False)] if "levels" in policy.method.search else []
    fault = Fault(
        TIME_LIMIT,
        f"{policy.search.seconds:g}, in which no transformation that meets the policy was found",
        "more time: there is one",
        "".join(["Give more", *(f", or these levels: {relaxation}" for relaxation in relaxations), "."]),
    )
    return InfeasibleError("INFEASIBLE", str(fault), [fault, *_not_asked(asked)], relaxations)


def _not_asked(asked: Asked) -> Iterator[Fault]:
    """A relaxation only says what could be chosen; models that take no part in choosing may still refuse it."""
    policy, inherited = asked.policy, asked.inherited
    models = [(i, model) for i, model in enumerate(policy.privacy_models) if model not in asked.models]
    others = [f"{model} of earlier releases" if model in inherited else f"privacy_models[{i}]" for i, model in models]
    if others:
        yield Fault(
            "search.choose",
            f"{policy.search.choose}, so that {', '.join(others)} will judge only what is chosen",
            "models that take part in choosing, for what is said to be feasible to be so for all of them",
            f"These changes were found without asking {', '.join(others)}, which may refuse them.",
        )


def _found(asked: Asked, why: Infeasible, requirement: Requirement) -> str:
    policy = asked.policy
    where = "at these levels" if policy.search.levels else "at the most general transformation"
    if requirement.model is not None:
        model = policy.privacy_models[requirement.model]
        refusal = why.refusals[asked.models.index(model)]
        if refusal.vetoes:
            return f"{model}, which cannot hold whatever is suppressed"
        return f"{model}, which refuses {refusal.records:,} of {why.records:,} records {where}"
    if requirement.field == LIMIT:
        suppressed = _part(why.suppressed, why.records)
        return (
            f"{policy.suppression_limit}, which allows {why.allowed:,}; {suppressed} would have to be suppressed "
            f"{where}"
        )
    return requirement.asked


def _expected(relaxed: Relaxed, requirement: Requirement) -> str:
    others = [other.field for other in relaxed.conflict if other is not requirement]
    surely = "" if relaxed.minimal else ", if that could be found out in time"
    if not others:
        return f"what these records can meet, whatever else is asked{surely}"
    return f"what can be met together with {', '.join(others)}{surely}"


def _hint(requirement: Requirement, relaxations: Sequence[Relaxation], hopeless: Sequence[str]) -> str:
    alone = [
        relaxation
        for relaxation in relaxations
        if len(relaxation.changes) == 1 and requirement.has(relaxation.changes[0].field)
    ]
    if alone:
        return f"Feasible would be {', or '.join(map(_named, alone))}."
    together = [relaxation for relaxation in relaxations if any(requirement.has(c.field) for c in relaxation.changes)]
    if together:
        return f"Feasible, only together, would be {'; or '.join(map(str, together))}."
    if requirement.field in hopeless:
        others = [field for field in hopeless if field != requirement.field]
        with_others = f" together with {', '.join(others)}" if others else ""
        return f"No value that could be asked for would do{with_others}: leave it out."
    if hopeless:
        return f"Nothing less of it would do, because of {', '.join(hopeless)}."
    return "Nothing less of it that would do was found."


def _named(relaxation: Relaxation) -> str:
    """A change of one field, by its last name if the fault's field gives the rest."""
    (change,) = relaxation.changes
    name = change.field if change.field.startswith(("game.", "search.")) else change.field.rpartition(".")[2]
    so_far = "" if relaxation.nearest else " (found so far; less may do)"
    return f"{Change(name, change.value)}{so_far}"


def _withheld(policy: Policy, withheld: int, allowed: int, records: int) -> Iterator[Fault]:
    """The fault of records that nothing can release, if they alone are too many."""
    if withheld <= allowed:
        return
    actual = f"SUPPRESS: {withheld:,} of {records:,} records are suppressed for a NULL, whatever the transformation"
    for i, attribute in enumerate(policy.attributes):
        if attribute.role is Role.QUASI_IDENTIFIER and attribute.nulls is NullHandling.SUPPRESS:
            aggregated = attribute.aggregation is not None
            hint = "Fill in the values." if aggregated else "VALUE would keep them as a value of their own."
            yield Fault(f"attributes[{i}].nulls", actual, _at_most(policy, allowed), hint)


def too_few_released(policy: Policy, suppressed: int, records: int, withheld: int, relaxed: Relaxed) -> InfeasibleError:
    """The error for record-level generalization that suppresses more records than the policy allows."""
    allowed = policy.suppressible(records)

    def found(requirement: Requirement) -> str:
        if requirement.model is not None:
            return f"{policy.privacy_models[requirement.model]}, of every record at the best of the levels it may have"
        if requirement.field == LIMIT:
            part = _part(suppressed, records)
            return f"{policy.suppression_limit}, which allows {allowed:,}; {part} have to be suppressed"
        return requirement.asked

    faults = [*_faults(relaxed, found), *_withheld(policy, withheld, allowed, records)]
    message = (
        f"no levels of each record meet the policy{_conflict(relaxed)}: {_part(suppressed, records)} have to be "
        f"suppressed, and {allowed:,} may be"
    )
    return InfeasibleError("INFEASIBLE", message, faults, relaxed.relaxations)


def no_levels_of_tables(
    policy: Policy, people: tuple[int, int], rows: tuple[int, int], relaxed: Relaxed
) -> InfeasibleError:
    """The error for related tables of which people or rows are lost, so many of all, at the best levels found."""
    lost = f"{people[0]:,} of {people[1]:,} people and {rows[0]:,} of {rows[1]:,} rows of events"

    def found(requirement: Requirement) -> str:
        model = None if requirement.model is None else policy.privacy_models[requirement.model]
        if isinstance(model, SensitiveShare):
            return f"{model}, and a larger share of the people of some known rows at all levels that were repaired"
        if model is not None:
            return f"{model}, which takes {lost} at the best levels found"
        if requirement.field == LIMIT:
            return f"{policy.suppression_limit}, where {people[0]:,} of {people[1]:,} people have to go"
        if requirement.field == "tables.rows_limit" and policy.related is not None:
            return f"{policy.related.rows_limit}, where {rows[0]:,} of {rows[1]:,} rows have to go"
        return requirement.asked

    asking = policy.search.choose is Choose.ALL_MODELS
    models = [model for model in policy.privacy_models if asking or not isinstance(model, SensitiveShare)]
    faults = [*_faults(relaxed, found), *(_not_asked(Asked(policy, models)) if relaxed.relaxations else ())]
    message = f"no levels of people and of events meet the policy{_conflict(relaxed)}: the best found take {lost}"
    code = "TOO_FEW_RECORDS" if people[1] < (policy.k or 1) else "INFEASIBLE"
    return InfeasibleError(code, message, faults, relaxed.relaxations)


def unmet_limit(policy: Policy, suppressed: int, records: int, why: str) -> Unmet | None:
    """The limit, if any choice has to suppress more records than it allows."""
    allowed = policy.suppressible(records)
    if suppressed <= allowed:
        return None
    return Unmet(
        LIMIT,
        f"{_part(suppressed, records)} that have to be suppressed: {why}",
        _at_most(policy, allowed),
        # Suppressing everything releases nothing.
        ((Change(LIMIT, _rounded_up(suppressed, records)),),) if suppressed < records else (),
    )


def _part(records: int, of: int) -> str:
    share = f"{100 * records / of:.2f}".rstrip("0").rstrip(".")
    return f"{records:,} of {of:,} records ({share} %)"


def _at_most(policy: Policy, allowed: int) -> str:
    return f"at most {allowed:,} suppressed records, as suppression_limit {policy.suppression_limit} allows"


def _rounded_up(part: int, whole: int) -> str:
    """The least decimal of four places that is not below part / whole."""
    return f"{Decimal(-(-part * 10_000 // whole)).scaleb(-4).normalize():f}"


def unprotected_values(
    policy: Policy,
    problem: Problem,
    best: Candidate,
    models: Sequence[PrivacyModel],
    rule_of: Callable[[PrivacyModel], ReleaseRule],
    inherited: Sequence[PrivacyModel] = (),
) -> list[Unmet]:
    """The models that refuse a transformation that was chosen without them; see `refusing`."""
    classes = problem.counter.classes(best.transformation)
    kept = problem.privacy.releasable(classes)
    released = classes.selected(kept)
    pool = suppressed_pool(problem.counter, classes, kept) if problem.keeps_suppressed and best.suppressed else None
    return refusing(policy, Chosen(released, pool, problem.counter.records), models, rule_of, inherited)


def refusing(
    policy: Policy,
    chosen: Chosen,
    models: Sequence[PrivacyModel],
    rule_of: Callable[[PrivacyModel], ReleaseRule],
    inherited: Sequence[PrivacyModel] = (),
) -> list[Unmet]:
    """The models that refuse the choice made without them: some class, or the pool of suppressed records that are kept.

    The choice does not depend on them, so that each is judged by itself. The policy cannot change `inherited` ones.
    """
    unmet = []
    for model in models:
        refused = chosen.refused(rule_of(model))
        if refused:
            i = policy.privacy_models.index(model)
            actual = f"{model}, which does not hold of {refused}: they were chosen by quasi-identifiers only"
            if model in inherited:
                less = "earlier releases whose policies ask for what holds of all that is released"
                unmet.append(Unmet("release.together_with", actual, less, ()))
                continue
            ways = ways_of(i, model, chosen.records, lambda other: not chosen.refused(rule_of(other)))
            unmet.append(Unmet(f"privacy_models[{i}]", actual, "a model that holds of all that is released", ways))
    return unmet


def values_unprotected(
    policy: Policy, unmet: Sequence[Unmet], by_all: RelaxedOutcome, complete: bool
) -> InfeasibleError:
    """The error for values that a choice made without looking at them does not protect.

    `by_all` says whether all models together could choose something. If the search was not `complete`, another run may
    choose another transformation.
    """
    field = "search.choose"
    choosing = Relaxation((Change(field, Choose.ALL_MODELS),), nearest=True)
    relaxations = [choosing] if by_all.feasible else []
    if by_all.feasible:
        hint = f"Feasible would be {choosing}."
    elif by_all.proven:
        hint = f"{Choose.ALL_MODELS} would find nothing either."
    else:
        hint = f"Whether {Choose.ALL_MODELS} would find anything was not found out in time."
    fault = Fault(field, policy.search.choose, "models that take part in choosing, or that ask less", hint)
    fields = ", ".join(one.field for one in unmet)
    message = f"the choice by quasi-identifiers only does not protect the sensitive values ({fields})"
    return refusal("VALUES_UNPROTECTED", message, unmet, [(fault, relaxations)], nearest=complete)
