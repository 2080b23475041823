"""One job from policy to release: read, count, search, write, each by the layer that knows how."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tableveil.backend import Database, Session
from tableveil.classes import ClassCounter
from tableveil.counting import BaseHistogram, build_base, class_size_histogram, open_counter
from tableveil.dictionary import Dictionary, build_dictionary, listed_levels
from tableveil.errors import Fault, InfeasibleError, InvalidError
from tableveil.hierarchy import InlineLevels, RuleHierarchy
from tableveil.hierarchy.definition import ListedHierarchy
from tableveil.jobs.lattice import lattice_of
from tableveil.jobs.quality import quality_for
from tableveil.lattice import Lattice
from tableveil.policy import KAnonymity, LossModel, Policy
from tableveil.privacy import privacy_of
from tableveil.quality import Loss
from tableveil.release import (
    Evidence,
    ReleasePlan,
    check_disclosure,
    check_existing,
    check_ledger,
    check_target,
    publish,
)
from tableveil.risk import ClassSizes
from tableveil.search import Candidate, Problem, Progress, SearchOutcome, search
from tableveil.search.explain import Explanation, explain
from tableveil.source import Source, check_facts, fingerprint, resolve_source
from tableveil.state.jobs import JobPhase
from tableveil.state.migrate import fingerprint_key

SHARE_FOR_EXPLAINING = 0.1
LEAST_SECONDS_FOR_EXPLAINING = 1.0
"""With a time limit, the explanation may take this share of it, but at least so long."""


@dataclass(slots=True)
class Report:
    """What a running job tells: each phase as it begins, and the progress of the search; measures the phases."""

    on_phase: Callable[[JobPhase], None] = lambda phase: None
    on_progress: Callable[[Progress], None] = lambda progress: None
    started: float = field(default_factory=time.monotonic)
    _began: list[tuple[JobPhase, float]] = field(default_factory=list)

    def phase(self, phase: JobPhase) -> None:
        """A phase begins."""
        self._began.append((phase, time.monotonic()))
        self.on_phase(phase)

    def elapsed(self) -> float:
        """Seconds since the job started."""
        return time.monotonic() - self.started

    def seconds(self) -> dict[str, float]:
        """Seconds of each phase; the last one's up to now."""
        ends = [began for _, began in self._began[1:]] + [time.monotonic()]
        return {phase.value.lower(): end - began for (phase, began), end in zip(self._began, ends, strict=True)}


@dataclass(slots=True)
class _Hierarchies:
    """Per quasi-identifier its hierarchy, with the rows of listed ones, and what the evidence calls it; all faults."""

    found: dict[str, tuple[InlineLevels | RuleHierarchy, str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Counted:
    """What reading and counting the source gave, all of one snapshot."""

    policy: Policy
    source: Source
    fingerprint: str
    base: BaseHistogram
    lattice: Lattice
    sizes_before: ClassSizes

    @property
    def dictionaries(self) -> tuple[Dictionary, ...]:
        return self.base.dictionaries


def run_job(database: Database, session: Session, job: int, policy: Policy, document: str, report: Report) -> int:
    """Runs a job on a session of its own and returns the number of the release it wrote.

    Raises:
        TableveilError: nothing was written.
    """
    counted = _count(session, policy, report)
    problem, found = _search(session, counted, report)
    best = _best(found, policy)
    counting = problem.counter.account
    explanation = _explain(session, problem, best, policy)
    report.phase(JobPhase.WRITING)
    plan = _plan(counted, problem.counter, best)
    check_disclosure(session, plan)
    evidence = Evidence(
        job=job,
        document=document,
        fingerprint=counted.fingerprint,
        search=found,
        best=best,
        losses=_losses(problem.counter, plan),
        explanation=explanation,
        counter=problem.counter.name,
        counting=counting,
        sizes_before=counted.sizes_before,
        warnings=_warnings(plan, found),
        elapsed=report.elapsed,
        phases=report.seconds,
    )
    return publish(database, session, plan, evidence, verifying=lambda: report.phase(JobPhase.VERIFYING))


def check_request(session: Session, policy: Policy) -> tuple[Source | None, Policy, list[Fault]]:
    """Faults that show without reading the source's rows; the source and the policy with all roles as far as known."""
    source, policy, faults = resolve_source(session, policy)
    return source, policy, [*faults, *check_target(session, policy, source)]


def check_rows(session: Session, policy: Policy, report: Report) -> None:
    """Raises what `run_job` would raise before it counts."""
    report.phase(JobPhase.READING)
    source, policy, hierarchies = _resolve(session, policy, store=False)
    with session.transaction():
        _read(session, source, policy, hierarchies)


def _resolve(session: Session, policy: Policy, store: bool) -> tuple[Source, Policy, _Hierarchies]:
    """The source, the policy with a role for every column, and the hierarchies with the rows of listed ones."""
    source, policy, faults = check_request(session, policy)
    if source is None or faults:
        raise _invalid(faults)
    check_existing(session, policy)
    return source, policy, hierarchies_of(session, policy, store)


def _read(
    session: Session, source: Source, policy: Policy, hierarchies: _Hierarchies
) -> tuple[str, list[Dictionary], Lattice]:
    """The source's fingerprint, the dictionaries of its quasi-identifiers, and the transformations they allow."""
    mark = fingerprint(session, source, fingerprint_key(session))
    check_ledger(session, policy, source, mark)
    return mark, *dictionaries_of(session, source, policy, hierarchies)


def dictionaries_of(
    session: Session, source: Source, policy: Policy, hierarchies: _Hierarchies
) -> tuple[list[Dictionary], Lattice]:
    """The dictionaries of the source's quasi-identifiers, and the transformations they allow."""
    facts = check_facts(session, source, policy)
    faults = [*hierarchies.faults, *facts.faults]
    dictionaries = []
    for i, attribute in enumerate(policy.attributes):
        if attribute.column in hierarchies.found and facts.records:
            hierarchy, reference = hierarchies.found[attribute.column]
            dictionary, found = build_dictionary(
                session, source, attribute, hierarchy, reference, i, f"attributes[{i}]"
            )
            faults += found
            dictionaries += [dictionary] if dictionary is not None else []
    lattice = None
    if len(dictionaries) == len(policy.quasi_identifiers):
        lattice, found = lattice_of(policy, [dictionary.levels.top for dictionary in dictionaries])
        faults += found
    if faults or lattice is None:
        raise _invalid(faults)
    smallest = max([model.k for model in policy.privacy_models if isinstance(model, KAnonymity)], default=1)
    if facts.records < smallest:
        raise InfeasibleError.of(
            "TOO_FEW_RECORDS",
            "privacy_models",
            f"classes of at least {smallest} records asked of {facts.records} records",
            f"at most {facts.records}",
        )
    return dictionaries, lattice


def _count(session: Session, policy: Policy, report: Report) -> _Counted:
    report.phase(JobPhase.READING)
    source, policy, hierarchies = _resolve(session, policy, store=True)
    # One transaction, so that everything is read of the same rows.
    with session.transaction():
        mark, dictionaries, lattice = _read(session, source, policy, hierarchies)
        report.phase(JobPhase.COUNTING)
        base = build_base(session, source, dictionaries)
        sizes_before = ClassSizes(*class_size_histogram(session))
    return _Counted(policy, source, mark, base, lattice, sizes_before)


def hierarchies_of(session: Session, policy: Policy, store: bool) -> _Hierarchies:
    """The hierarchies of the quasi-identifiers; `store` keeps those with rows that are not in the store yet."""
    hierarchies = _Hierarchies()
    for i, attribute in enumerate(policy.attributes):
        definition = attribute.hierarchy
        if isinstance(definition, ListedHierarchy):
            name = f"{policy.source.table}.{attribute.column}"
            levels, reference, faults = listed_levels(session, definition, f"attributes[{i}].hierarchy", name, store)
            hierarchies.faults.extend(faults)
            if levels is not None:
                hierarchies.found[attribute.column] = (levels, reference)
        elif definition is not None:
            hierarchies.found[attribute.column] = (definition, str(definition))
    return hierarchies


def _search(session: Session, counted: _Counted, report: Report) -> tuple[Problem, SearchOutcome]:
    report.phase(JobPhase.SEARCHING)
    policy, lattice = counted.policy, counted.lattice
    counter = open_counter(session, counted.base, lattice.bottom)
    suppressible = policy.suppressible(counter.records)
    quality = quality_for(policy, counter, suppressible)
    problem = Problem(lattice, counter, privacy_of(policy.privacy_models, counter), quality, suppressible)
    assert session.control is not None
    return problem, search(problem, policy.search, session.control, report.on_progress)


def _explain(session: Session, problem: Problem, best: Candidate, policy: Policy) -> Explanation:
    assert session.control is not None
    limit = policy.search.time_limit_seconds
    # Whoever limits the search does not want to wait for its explanation instead.
    seconds = None if limit is None else max(float(limit) * SHARE_FOR_EXPLAINING, LEAST_SECONDS_FOR_EXPLAINING)
    return explain(problem, best.transformation, session.control, seconds)


def _losses(counter: ClassCounter, plan: ReleasePlan) -> tuple[float, ...]:
    """The loss of each quasi-identifier, by which releases can be compared whatever they were optimized for."""
    unweighted = [1.0] * len(counter.levels)
    loss = Loss(LossModel(), counter.levels, unweighted, counter.marginals(), counter.withheld)
    return loss.values(plan.transformation, plan.classes, plan.kept)


def _best(found: SearchOutcome, policy: Policy) -> Candidate:
    if found.best is not None:
        return found.best
    why = found.infeasible
    if why is None:
        raise InfeasibleError("INFEASIBLE", "no transformation within the level limits meets the privacy models")
    share = why.suppressed / why.records
    suppressed = f"{why.suppressed} of {why.records} records ({share:.2%}) would have to be suppressed"
    where = "at the levels that search.levels gives" if policy.search.levels else "even at the most general one"
    hints = [f"a suppression_limit of at least {_rounded_up(why.suppressed, why.records)}"]
    if why.nearest_k >= 2:
        hints.append(f"k = {why.nearest_k}")
    if policy.search.levels:
        hints.append("other levels")
    elif any(attribute.maximum_level is not None for attribute in policy.quasi_identifiers):
        hints.append("higher maximum levels")
    raise InfeasibleError.of(
        "INFEASIBLE",
        "privacy_models",
        f"no transformation that meets them: {where} {suppressed}",
        f"at most {why.allowed} suppressed records, as suppression_limit {policy.suppression_limit} allows",
        f"Feasible would be {', or '.join(hints)}.",
    )


def _rounded_up(part: int, whole: int) -> str:
    """The least decimal of four places that is not below part / whole."""
    return f"{-(-part * 10_000 // whole) / 10_000:.4f}"


def _plan(counted: _Counted, counter: ClassCounter, best: Candidate) -> ReleasePlan:
    classes = counter.classes(best.transformation)
    return ReleasePlan(
        policy=counted.policy,
        source=counted.source,
        dictionaries=counted.dictionaries,
        transformation=best.transformation,
        classes=classes,
        kept=privacy_of(counted.policy.privacy_models, counter).releasable(classes),
        records=counter.records,
    )


def _warnings(plan: ReleasePlan, found: SearchOutcome) -> tuple[str, ...]:
    warnings = []
    tops = [dictionary.levels.top for dictionary in plan.dictionaries]
    if list(plan.transformation) == tops:
        warnings.append("Every quasi-identifier is at its top: the release says nothing about them.")
    if plan.kept_records == 0:
        warnings.append("All records are suppressed: the release is empty.")
    if not found.complete:
        warnings.append(
            "The time limit ended the search: a transformation whose score is up to "
            f"{found.gap:.6g} lower may exist (proven bound {found.lower_bound:.6g})."
        )
    return tuple(warnings)


def _invalid(faults: list[Fault]) -> InvalidError:
    return InvalidError.about("POLICY_INVALID", "the policy does not fit the table", faults)
