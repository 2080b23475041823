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
from tableveil.lattice import Lattice
from tableveil.policy import Policy
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
from tableveil.search import Candidate, Progress, SearchOutcome, minimize
from tableveil.source import Source, check_facts, fingerprint, resolve_source
from tableveil.state.jobs import JobPhase
from tableveil.state.migrate import fingerprint_key


@dataclass(slots=True)
class Report:
    """What a running job tells: each phase as it begins, and the progress of the search. Measures the phases' seconds."""

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


@dataclass(frozen=True, slots=True)
class _Read:
    """What reading and counting the source gave, all of one snapshot."""

    policy: Policy
    source: Source
    fingerprint: str
    base: BaseHistogram
    sizes_before: ClassSizes

    @property
    def dictionaries(self) -> tuple[Dictionary, ...]:
        return self.base.dictionaries


def run_job(database: Database, session: Session, job: int, policy: Policy, document: str, report: Report) -> int:
    """Runs a job on a session of its own and returns the number of the release it wrote.

    Raises:
        TableveilError: nothing was written.
    """
    read = _read(session, policy, report)
    counter, found = _search(session, read, report)
    best = _best(found, policy)
    report.phase(JobPhase.WRITING)
    plan = _plan(read, counter, best)
    check_disclosure(session, plan)
    evidence = Evidence(
        job=job,
        document=document,
        fingerprint=read.fingerprint,
        search=found,
        best=best,
        counter=counter.name,
        sizes_before=read.sizes_before,
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
    """Raises what `run_job` would raise before it searches, and leaves nothing behind but the session's tables."""
    _read(session, policy, report)


def _read(session: Session, policy: Policy, report: Report) -> _Read:
    report.phase(JobPhase.READING)
    source, policy, faults = check_request(session, policy)
    if source is None or faults:
        raise _invalid(faults)
    check_existing(session, policy)
    hierarchies = _hierarchies(session, policy, faults)
    # One transaction, so that everything is read of the same rows.
    with session.transaction():
        mark = fingerprint(session, source, fingerprint_key(session))
        check_ledger(session, policy, source, mark)
        dictionaries = _dictionaries(session, source, policy, hierarchies, faults)
        if faults:
            raise _invalid(faults)
        report.phase(JobPhase.COUNTING)
        base = build_base(session, source, dictionaries)
        sizes_before = ClassSizes(*class_size_histogram(session))
    return _Read(policy, source, mark, base, sizes_before)


def _hierarchies(
    session: Session, policy: Policy, faults: list[Fault]
) -> dict[str, tuple[InlineLevels | RuleHierarchy, str]]:
    """Per quasi-identifier its hierarchy, with the rows of listed ones, and what the evidence calls it."""
    hierarchies: dict[str, tuple[InlineLevels | RuleHierarchy, str]] = {}
    for i, attribute in enumerate(policy.attributes):
        definition = attribute.hierarchy
        if isinstance(definition, ListedHierarchy):
            name = f"{policy.source.table}.{attribute.column}"
            levels, reference, found = listed_levels(session, definition, f"attributes[{i}].hierarchy", name)
            faults += found
            if levels is not None:
                hierarchies[attribute.column] = (levels, reference)
        elif definition is not None:
            hierarchies[attribute.column] = (definition, str(definition))
    return hierarchies


def _dictionaries(
    session: Session,
    source: Source,
    policy: Policy,
    hierarchies: dict[str, tuple[InlineLevels | RuleHierarchy, str]],
    faults: list[Fault],
) -> list[Dictionary]:
    facts = check_facts(session, source, policy)
    faults += facts.faults
    dictionaries = []
    for i, attribute in enumerate(policy.attributes):
        if attribute.column in hierarchies and facts.records:
            hierarchy, reference = hierarchies[attribute.column]
            field = f"attributes[{i}]"
            dictionary, found = build_dictionary(session, source, attribute, hierarchy, reference, i, field)
            faults += found
            dictionaries += [dictionary] if dictionary is not None else []
    return dictionaries


def _search(session: Session, read: _Read, report: Report) -> tuple[ClassCounter, SearchOutcome]:
    report.phase(JobPhase.SEARCHING)
    policy = read.policy
    counter = open_counter(session, read.base)
    attributes = policy.quasi_identifiers
    tops = [dictionary.levels.top for dictionary in read.dictionaries]
    lattice = Lattice(
        tuple(attribute.minimum_level for attribute in attributes),
        tuple(top if a.maximum_level is None else a.maximum_level for a, top in zip(attributes, tops, strict=True)),
    )
    weights = [attribute.weight for attribute in attributes]
    quality = Loss(policy.quality_model, counter.levels, weights, counter.marginals(), counter.withheld)
    assert session.control is not None
    limit = policy.search.time_limit_seconds
    found = minimize(
        lattice,
        counter,
        privacy_of(policy.privacy_models),
        quality,
        policy.suppressible(counter.records),
        session.control,
        time_limit=None if limit is None else float(limit),
        report=report.on_progress,
    )
    return counter, found


def _best(found: SearchOutcome, policy: Policy) -> Candidate:
    if found.best is not None:
        return found.best
    why = found.infeasible
    assert why is not None
    share = why.suppressed / why.records
    suppressed = f"{why.suppressed} of {why.records} records ({share:.2%}) would have to be suppressed"
    hints = [f"a suppression_limit of at least {_rounded_up(why.suppressed, why.records)}"]
    if why.nearest_k >= 2:
        hints.append(f"k = {why.nearest_k}")
    if any(attribute.maximum_level is not None for attribute in policy.quasi_identifiers):
        hints.append("higher maximum levels")
    raise InfeasibleError.of(
        "INFEASIBLE",
        "privacy_models",
        f"no transformation that meets them: even at the most general one {suppressed}",
        f"at most {why.allowed} suppressed records, as suppression_limit {policy.suppression_limit} allows",
        f"Feasible would be {', or '.join(hints)}.",
    )


def _rounded_up(part: int, whole: int) -> str:
    """The least decimal of four places that is not below part / whole."""
    return f"{-(-part * 10_000 // whole) / 10_000:.4f}"


def _plan(read: _Read, counter: ClassCounter, best: Candidate) -> ReleasePlan:
    classes = counter.classes(best.transformation, best.transformation)
    return ReleasePlan(
        policy=read.policy,
        source=read.source,
        dictionaries=read.dictionaries,
        transformation=best.transformation,
        classes=classes,
        kept=privacy_of(read.policy.privacy_models).releasable(classes),
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
            "The time limit ended the search: a transformation with up to "
            f"{found.gap:.6g} less loss may exist (proven bound {found.lower_bound:.6g})."
        )
    return tuple(warnings)


def _invalid(faults: list[Fault]) -> InvalidError:
    return InvalidError("POLICY_INVALID", "; ".join(map(str, faults)), faults)
