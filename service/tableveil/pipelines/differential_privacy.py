"""Differential privacy: charges the budget, reads the table once, and draws the rows that all else is made from.

Whatever is computed from the drawn rows is post-processing, which keeps the promise (Dwork and Roth 2014, proposition
2.1). So the rest of a release runs on them as on any table, and nothing that it tells has another source.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tableveil.backend import Session, WarehouseSession, drop, table
from tableveil.dictionary.values import check_fit
from tableveil.differential_privacy import Below, Drops, Gains, draw_transformation, drops, eta, values_of
from tableveil.drawing import ColumnValues, check_people, combinations, read_values, write_drawn
from tableveil.errors import Fault, InternalError, InvalidError, Warned, by_rank
from tableveil.hierarchy import InlineLevels, RuleHierarchy, ValueKind, label_values
from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.lattice import Lattice, Transformation
from tableveil.lifecycle import Evidence, writing
from tableveil.pipelines.full_domain import FullDomainMethod
from tableveil.pipelines.lattice import lattice_of
from tableveil.pipelines.read import FoundHierarchies
from tableveil.pipelines.work import JobContext
from tableveil.policy import AttributePolicy, Policy, Role
from tableveil.policy.methods.differential_privacy import DIFFERENTIAL_PRIVACY, DifferentialPrivacy
from tableveil.source import Column, Source
from tableveil.source.model import DRAWN, Drawn
from tableveil.state import privacy_budgets
from tableveil.state.lineage import remember
from tableveil.state.releases import Proof
from tableveil.verification.drawn import covers

FIELD = "differential_privacy"

_KINDS = (ValueKind.INTEGER, ValueKind.DECIMAL, ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.BOOLEAN, ValueKind.TEXT)
"""Equal values of these have equal texts, and the other way round."""

_MADE_OF = "loss of the drawn rows"


@dataclass(frozen=True, slots=True)
class _Column:
    """A released column: its attribute at its position in the policy, and its hierarchy with the name of that."""

    attribute: AttributePolicy
    hierarchy: InlineLevels | RuleHierarchy
    reference: str
    top: int


class DifferentialPrivacyMethod(FullDomainMethod):
    """Full-domain generalization of drawn rows. See `Method`."""

    def admit(self, session: WarehouseSession, policy: Policy, source: Source) -> None:
        """The table has a budget that the release may be charged to."""
        check_private(session, policy, source)

    def drawn(
        self, job: JobContext, source: Source, policy: Policy, hierarchies: FoundHierarchies
    ) -> tuple[Source, Policy, FoundHierarchies]:
        """Charges the budget; see `draw`."""
        return draw(job, source, policy, hierarchies)

    def account(self, evidence: Evidence, policy: Policy, source: Source) -> Evidence:
        """The draw in place of the search."""
        assert source.drawn is not None, "the rows were drawn"
        return told(evidence, source.drawn, policy)


def check_private(session: WarehouseSession, policy: Policy, source: Source) -> None:
    """Raises `InvalidError` unless the table has a budget that a release may be charged to; reads no rows."""
    options, faults = DIFFERENTIAL_PRIVACY.options(policy), []
    if not session.traits.keeps_ledger:
        faults.append(Fault("source.catalog", "a table of a warehouse", "a table of the server's database"))
    for i, attribute in enumerate(policy.attributes):
        if attribute.role is Role.QUASI_IDENTIFIER and (kind := source.column(attribute.column).kind) not in _KINDS:
            actual, hint = f"a column of kind {kind}", "Store the column as DECIMAL or VARCHAR."
            faults.append(Fault(f"attributes[{i}].column", actual, f"a column of kind {' or '.join(_KINDS)}", hint))
    try:
        _drops(options)
    except ValueError as error:
        faults.append(Fault(f"{FIELD}.delta", str(error), "a larger epsilon or delta"))
    if not faults:
        faults = _unpaid(session.embedded, source, options)
    if faults:
        raise InvalidError.about("POLICY_INVALID", "the policy's promise cannot be kept", faults)


def draw(
    job: JobContext, source: Source, policy: Policy, hierarchies: FoundHierarchies, below: Below = secrets.randbelow
) -> tuple[Source, Policy, FoundHierarchies]:
    """The drawn rows as a source, with the policy that releases them as they are, but for classes of fewer than k.

    Raises:
        InvalidError: the policy does not fit the table, or the budget does not hold it; or, once it is charged, people
            have several records.
    """
    options, session = DIFFERENTIAL_PRIVACY.options(policy), job.session
    check_private(job.rows, policy, source)
    columns, lattice = _resolved(source, policy, hierarchies)
    _charge(job, source, options)
    try:
        with session.transaction():
            if policy.person_column is not None:
                check_people(session, source, policy.person_column)
            drawn = _drawn(job, source, options, columns, lattice, below)
    except InternalError as error:
        if error.code == "DRAW_FAILED":
            raise
        # Its text could tell of the table.
        raise _failed() from None
    released = replace(
        source,
        columns=tuple(Column(column.attribute.column, "VARCHAR", ValueKind.TEXT) for column in columns),
        drawn=drawn,
    )
    of_rows = replace(
        policy,
        attributes=tuple(_as_it_is(column.attribute) for column in columns),
        default_role=None,
        person_column=None,
        suppression_limit=Decimal(1),
        search=replace(policy.search, linked=()),
    )
    rule = SuppressionOnly()
    return released, of_rows, FoundHierarchies({column.attribute.column: (rule, str(rule)) for column in columns})


def _as_it_is(attribute: AttributePolicy) -> AttributePolicy:
    """The column of drawn rows, whose labels are released unchanged."""
    return replace(attribute, hierarchy=SuppressionOnly(), minimum_level=0, maximum_level=0, acknowledged=True)


def told(evidence: Evidence, drawn: Drawn, policy: Policy) -> Evidence:
    """The evidence of a release of drawn rows, in place of that of a search which had nothing to choose."""
    losses = tuple(drawn.losses[attribute.column] for attribute in policy.quasi_identifiers)
    how = f"levels drawn by {drawn.search_epsilon} of epsilon" if drawn.search_epsilon else "the levels of the scheme"
    noted = Warned(
        f"The release is ({drawn.epsilon}, {drawn.delta})-differentially private: T is {drawn.removed}. All figures "
        "are of the drawn rows; those that are not released for k are suppressed. Nothing is kept of the others. The "
        "times of the job are not private.",
        field="differential_privacy",
    )
    solution = replace(
        evidence.solution,
        score=float(np.average(losses, weights=[a.weight for a in policy.quasi_identifiers])),
        parts=(),
        losses=losses,
        quality_model=_MADE_OF,
        explanation=None,
        proof=Proof(False, 0.0, how, 0.0, "", "", None),
        warnings=by_rank((noted, *evidence.solution.warnings)),
    )
    return replace(evidence, solution=solution)


def _drops(options: DifferentialPrivacy) -> Drops:
    return drops(Fraction(options.epsilon) - Fraction(options.search_epsilon or 0), Fraction(options.delta))


def _resolved(source: Source, policy: Policy, hierarchies: FoundHierarchies) -> tuple[tuple[_Column, ...], Lattice]:
    """The columns and the transformations; no rows are read for them."""
    faults, columns = list(hierarchies.faults), []
    for i, attribute in enumerate(policy.attributes):
        hierarchy, reference = hierarchies.found.get(attribute.column, (None, ""))
        if attribute.role is not Role.QUASI_IDENTIFIER or hierarchy is None:
            continue
        kind = source.column(attribute.column).kind
        unfit = check_fit(attribute, hierarchy, kind, f"attributes[{i}].hierarchy")
        faults += unfit
        if not unfit:
            top = len(label_values(hierarchy, kind, [], []).labels)
            columns.append(_Column(attribute, hierarchy, reference, top))
    if faults:
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the table", faults)
    tops = {column.attribute.column: column.top for column in columns}
    faults += [
        Fault(f"{FIELD}.scheme[{name}]", str(level), f"a level up to {tops[name]}, the hierarchy's top")
        for name, level in DIFFERENTIAL_PRIVACY.options(policy).scheme
        if level > tops[name]
    ]
    lattice, found = lattice_of(policy, [column.top for column in columns])
    faults += found
    if faults or lattice is None:
        raise InvalidError.about("POLICY_INVALID", "the policy does not fit the table", faults)
    return tuple(columns), lattice


def _unpaid(session: Session, source: Source, options: DifferentialPrivacy) -> list[Fault]:
    """The fault of a table without a budget, or of one that does not hold the release."""
    budget = privacy_budgets.of_table(session.ledger, source.reference)
    asked = f"epsilon {options.epsilon:f} and delta {options.delta:f}"
    if budget is None:
        hint = "An admin sets it by tableveil privacy-budgets set."
        return [Fault(FIELD, f"{source.shown}, which has no privacy budget", "a table of people with one", hint)]
    if budget.outdated:
        hint = "Charges since then may be missing. An admin sets the budget again, for what is left of it."
        return [Fault(FIELD, "a privacy budget from before the ledger went back in time", "a newer one", hint)]
    if not budget.holds(options.epsilon, options.delta):
        spent = (
            f"{budget.spent_epsilon:f} of {budget.epsilon:f} and {budget.spent_delta:f} of {budget.delta:f} are spent"
        )
        return [Fault(FIELD, f"{asked}, where {spent}", "at most what is left of the privacy budget")]
    return []


def _charge(job: JobContext, source: Source, options: DifferentialPrivacy) -> None:
    """Spends the budget for good, before the table is read: whatever becomes of the job."""
    with writing(job.database, job.session), job.session.transaction():
        before = privacy_budgets.charges_of(job.session.ledger, job.number)
        faults = _unpaid(job.session, source, options)
        budget = privacy_budgets.of_table(job.session.ledger, source.reference)
        if faults or budget is None:
            raise InvalidError.about("POLICY_INVALID", "the policy's promise cannot be kept", faults)
        charged = (budget, source.reference, options.epsilon, options.delta)
        privacy_budgets.charge(job.session.ledger, job.number, *charged)
    # A commit that reports success may have written nothing.
    with job.database.session() as fresh:
        remember(job.database.path, fresh.ledger)
        if privacy_budgets.charges_of(fresh.ledger, job.number) != before + 1:
            raise InternalError("COMMIT_LOST", "the charge to the privacy budget left nothing behind: nothing was read")


def _drawn(
    job: JobContext,
    source: Source,
    options: DifferentialPrivacy,
    columns: Sequence[_Column],
    lattice: Lattice,
    below: Below,
) -> Drawn:
    session, removed = job.session, _drops(options)
    names = [column.attribute.column for column in columns]
    values = [read_values(session, source, n, columns[j].hierarchy, j) for j, n in enumerate(names)]
    codes, records = combinations(session, source, list(zip(names, values, strict=True)))
    weights = [Fraction(column.attribute.weight) for column in columns]
    worth = [values_of(of.levels, w / sum(weights)) for of, w in zip(values, weights, strict=True)]
    if options.search_epsilon is None:
        scheme = dict(options.scheme)
        at: Transformation = tuple(scheme[name] for name in names)
    else:
        gains = Gains([of.levels.groups for of in values], worth, codes, records, removed)
        rate = eta(Fraction(options.search_epsilon), gains.range)
        at = draw_transformation(gains, lattice, rate, below, job.control.raise_if_stopped)
    groups = [of.levels.groups[level][own] for of, level, own in zip(values, at, codes, strict=True)]
    classes, sizes = _classes(groups, records)
    # Every class has a draw of its own.
    left = np.array([max(0, int(size) - removed.draw(below)) for size in sizes], np.int64)
    kept = left > 0
    classes, left = classes[kept], left[kept]
    labels = [
        [named[group] for group in classes[:, j]]
        for j, named in enumerate(of.labels(level) for of, level in zip(values, at, strict=True))
    ]
    write_drawn(session, names, labels, left)
    if not _verified(session, source, names, values, at):
        raise _failed()
    return Drawn(
        epsilon=f"{options.epsilon:f}",
        delta=f"{options.delta:f}",
        search_epsilon="" if options.search_epsilon is None else f"{options.search_epsilon:f}",
        removed=removed.middle,
        levels={name: (at[j], columns[j].top, columns[j].reference) for j, name in enumerate(names)},
        losses={
            name: _loss(of, at[j], classes[:, j], left) for j, (name, of) in enumerate(zip(names, values, strict=True))
        },
    )


def _classes(
    groups: Sequence[NDArray[np.int32]], records: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The classes by the groups of their columns, with their sizes."""
    found, of_class = np.unique(np.stack(groups, axis=1), axis=0, return_inverse=True)
    sizes = np.zeros(len(found), np.int64)
    np.add.at(sizes, of_class.reshape(-1), records)
    return found, sizes


def _loss(values: ColumnValues, level: int, groups: NDArray[np.int32], left: NDArray[np.int64]) -> float:
    """The mean share of the drawn rows in a column; that of the top is 1, whatever |H| is."""
    if not left.sum() or level == 0:
        return 0.0
    if level == values.levels.top:
        return 1.0
    return float(np.average(np.clip(values.levels.shares(level), 0.0, 1.0)[groups], weights=left))


def _verified(
    session: Session, source: Source, names: Sequence[str], values: Sequence[ColumnValues], at: Transformation
) -> bool:
    """Whether every drawn row stands for a record, by code that shares nothing with the writer's."""
    listed = []
    for j, (name, of, level) in enumerate(zip(names, values, at, strict=True)):
        labels_name = f"drawing_labels_{j}"
        by_group, groups = of.labels(level), of.levels.groups[level]
        data = {
            "code": pa.array(range(len(groups)), pa.int32()),
            "label": pa.array([by_group[g] for g in groups], pa.string()),
        }
        session.execute(drop("TABLE", table(labels_name), if_exists=True))
        with session.relation("labelled", pa.table(data)):
            session.stage(labels_name, "SELECT * FROM labelled")
        listed.append((name, of.table_name, labels_name))
    reference = source.reference
    of_source = (reference.catalog, reference.schema, reference.table)
    return covers(session, of_source, (DRAWN.catalog, DRAWN.schema, DRAWN.table), listed)


def _failed() -> InternalError:
    """The one error of everything that goes wrong after the charge: another text could tell of the table."""
    return InternalError("DRAW_FAILED", "the draw of the rows failed; nothing was released, and its budget is spent")
