"""The subject of a classifier assessment: a release, its policy, its source, and the columns."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tableveil.backend import Session
from tableveil.counting import class_size_histogram
from tableveil.dictionary import listed_levels
from tableveil.errors import ConflictError, Fault, InfeasibleError, InternalError, InvalidError, NearestNames, shortened
from tableveil.features.class_labels import check_as_written
from tableveil.hierarchy import InlineLevels
from tableveil.hierarchy.definition import ListedHierarchy
from tableveil.pipelines.full_domain import chosen_plan
from tableveil.pipelines.microaggregation import Clusterable, clusterable, clustered_plan
from tableveil.pipelines.read import Counted, Dictionaries, FoundHierarchies, dictionaries_of
from tableveil.pipelines.released_rows import PolicyOf, current_release, other_source, rows_of
from tableveil.pipelines.work import JobContext
from tableveil.policy import Analysis, Policy, Recoded, Role
from tableveil.release.plan import ReleasePlan
from tableveil.requests.classification import ClassificationRequest
from tableveil.risk import ClassSizes
from tableveil.source import Column, Source, columns_of, fingerprint, resolve_source
from tableveil.state import hierarchies
from tableveil.state.migrate import fingerprint_key
from tableveil.state.release_objects import ObjectKind
from tableveil.state.releases import Release


@dataclass(frozen=True, slots=True)
class Assessed:
    """A current release; `policy` has a role for every column of `source`; the columns to predict, and from which."""

    release: Release
    policy: Policy
    source: Source
    classes: tuple[str, ...]
    features: tuple[str, ...]

    @property
    def as_released(self) -> Policy:
        """The policy with the released transformation as the only one."""
        generalized = {attribute.column for attribute in self.policy.quasi_identifiers}
        levels = tuple(
            (each_attribute.column, each_attribute.level)
            for each_attribute in self.release.attributes
            if each_attribute.column in generalized
        )
        return replace(self.policy, search=replace(self.policy.search, levels=levels, time_limit_seconds=None))


def resolve_assessed(session: Session, request: ClassificationRequest, policy_of: PolicyOf) -> Assessed:
    """Resolves everything that does not need the source's rows.

    Raises:
        NotFoundError: there is no such release, or its tables are gone.
        ConflictError: it was replaced, or its source has other columns now.
        InvalidError: its columns do not fit the request, or it cannot be assessed.
    """
    assert request.release is not None, "the request was checked"
    release = current_release(session, request.release)
    source, policy, faults = resolve_source(session, policy_of(release.policy))
    if source is None or faults:
        raise other_source(release, faults)
    faults = [*_check_kind(policy, request), *_check_columns(policy, request)]
    if faults:
        raise unfit(faults)
    quasi_identifiers = [a.column for a in policy.attributes if a.role is Role.QUASI_IDENTIFIER]
    return Assessed(release, policy, source, request.classes, request.features or tuple(quasi_identifiers))


def unfit(faults: list[Fault]) -> InvalidError:
    """The error of a request that does not fit the release."""
    return InvalidError.about("CLASSIFICATION_INVALID", "classifiers cannot be assessed as asked", faults)


def check_unchanged(session: Session, assessed: Assessed) -> str:
    """The source's fingerprint, which is that of the release; raises `ConflictError` if it is not."""
    mark = fingerprint(session, assessed.source, fingerprint_key(session.ledger))
    if mark != assessed.release.source_fingerprint:
        raise other_source(assessed.release)
    return mark


def count_again(session: Session, assessed: Assessed, source: Source, policy: Policy) -> Counted:
    """Counts a source by the hierarchies of the release's evidence: all of its source, or some of it."""
    read = dictionaries_of(session, source, policy, hierarchies_then(session, assessed.release, assessed.policy))
    base = read.counted(session)
    sizes = ClassSizes(*class_size_histogram(session, base))
    return Counted(policy, read.source, base, read.lattice, sizes)


def read_again(session: Session, assessed: Assessed) -> Counted | Clusterable | Dictionaries:
    """Reads the release's input again, and counts it if the release can be rebuilt: a local recoding cannot."""
    recoded = assessed.policy.method.recoded
    if recoded is Recoded.BY_VALUE:
        return count_again(session, assessed, assessed.source, assessed.as_released)
    read = dictionaries_of(
        session, assessed.source, assessed.policy, hierarchies_then(session, assessed.release, assessed.policy)
    )
    return clusterable(session, assessed.policy, read) if recoded is Recoded.CLUSTERS else read


def written_rows(session: Session, assessed: Assessed) -> Source:
    """The released rows as they were written, without those of suppressed records.

    Raises:
        ConflictError: they are gone, or were changed.
    """
    check_as_written(session, assessed.release, ObjectKind.ROWS)
    rows = rows_of(session, assessed.release, assessed.policy)
    names = {attribute.column for attribute in assessed.policy.attributes}
    there = (column for column in columns_of(session, rows.table) if isinstance(column, Column))
    return Source(rows.table, tuple(column for column in there if column.name in names), marker=rows.marker)


def rebuilt_plan(job: JobContext, assessed: Assessed, read: Counted | Clusterable) -> ReleasePlan:
    """The plan that the release was written with.

    Raises:
        ConflictError: the population has changed.
        InternalError: it does not suppress as many records as the release did, or has other clusters.
    """
    if isinstance(read, Counted):
        return _rebuilt_classes(job, assessed, read)
    return _rebuilt_clusters(job, assessed.release, read)


def _rebuilt_clusters(job: JobContext, release: Release, read: Clusterable) -> ReleasePlan:
    plan, score = clustered_plan(job, read)
    if not math.isclose(score, release.score, rel_tol=1e-9, abs_tol=1e-12):
        message = f"releases/{release.number} has the score {release.score:g}, rebuilt it has {score:g}"
        raise InternalError("REBUILD_FAILED", message)
    return plan


def _rebuilt_classes(job: JobContext, assessed: Assessed, counted: Counted) -> ReleasePlan:
    try:
        plan = chosen_plan(job, counted)
    except InfeasibleError:
        plan = None
    release = assessed.release
    if plan is not None and plan.suppressed_records == release.suppressed_records:
        return plan
    if assessed.source.population is not None:
        actual = f"a population whose rows changed since releases/{release.number} was made"
        raise ConflictError.of(
            "SOURCE_CHANGED", "release", actual, "a release whose population is as it was", "Release it again."
        )
    actual = "nothing" if plan is None else f"{plan.suppressed_records} suppressed records"
    message = f"releases/{release.number} has {release.suppressed_records} suppressed records, rebuilt it has {actual}"
    raise InternalError("REBUILD_FAILED", message)


def _check_kind(policy: Policy, request: ClassificationRequest) -> Iterator[Fault]:
    method, analyses = policy.method, policy.method.analyses
    if Analysis.CLASSIFICATION not in analyses:
        actual = f"releases/{request.release}, whose records have levels of their own"
        hint = "Combinations of values that it suppresses have no levels by which they could be released."
        yield Fault("release", actual, "a release of one transformation", hint)
    elif request.choose_inside_folds and Analysis.CLASSIFICATION_INSIDE_FOLDS not in analyses:
        actual = f"true for releases/{request.release}, of {method.name}"
        yield Fault("choose_inside_folds", actual, "false: records of other folds fit several of its classes, or none")
    if policy.release.left_behind is not None:
        actual = f"releases/{request.release}, which was judged together with earlier ones"
        hint = "The ledger may have changed, by which its records were suppressed."
        yield Fault("release", actual, "a release that was judged alone", hint)


def _check_columns(policy: Policy, request: ClassificationRequest) -> Iterator[Fault]:
    roles = {attribute.column: attribute.role for attribute in policy.attributes}
    as_they_are = [name for name, role in roles.items() if role in (Role.SENSITIVE, Role.INSENSITIVE)]
    released = [name for name, role in roles.items() if role is not Role.IDENTIFYING]
    for field, names, fitting, expected in (
        ("classes", request.classes, as_they_are, "a sensitive or insensitive column, which is released as it is"),
        ("features", request.features, released, "a released column"),
    ):
        hint = NearestNames(fitting)
        for i, name in enumerate(names):
            if name not in fitting:
                role = f", which is {roles[name].replace('_', ' ').lower()}" if name in roles else ""
                yield Fault(f"{field}[{i}]", f"{shortened(name)}{role}", expected, hint(name))


def hierarchies_then(session: Session, release: Release, policy: Policy) -> FoundHierarchies:
    """The hierarchies in a release's evidence: a stored one may have newer versions, a table other rows."""
    used = {each_attribute.column: each_attribute.hierarchy for each_attribute in release.attributes}
    result = FoundHierarchies()
    for i, attribute in enumerate(policy.attributes):
        definition, column = attribute.hierarchy, attribute.column
        if isinstance(definition, ListedHierarchy):
            if "@" in used.get(column, ""):
                stored = hierarchies.version_of(session.ledger, used[column])
                result.found[column] = (InlineLevels(hierarchies.rows(session.ledger, stored)), stored.reference)
                continue
            field = f"attributes[{i}].hierarchy"
            levels, reference, faults = listed_levels(session, definition, field, column)
            result.faults.extend(faults)
            if levels is not None:
                result.found[column] = (levels, reference)
        elif definition is not None:
            result.found[column] = (definition, str(definition))
    return result
