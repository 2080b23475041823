"""The strictest parameters that a release meets of every privacy model, and those of its source, for the owner."""

from tableveil.classes import ClassCounter, EquivalenceClasses
from tableveil.counting import BaseHistogram
from tableveil.pipelines.privacy import facts_for
from tableveil.policy import Policy, SuppressedRecords
from tableveil.privacy import suppressed_pool, with_pool
from tableveil.privacy.among_released import RELEASED
from tableveil.privacy.guarantees import Guarantee, guarantees
from tableveil.release import ReleasePlan

LARGEST_BEFORE = 2_000_000
"""Distinct combinations up to which the source's own classes are read: they come as arrays, all at once."""


def guarantees_of(
    policy: Policy, base: BaseHistogram, counter: ClassCounter, before: EquivalenceClasses | None, plan: ReleasePlan
) -> tuple[Guarantee, ...]:
    """The guarantees of the source's own classes, if they are given, and of the released classes and pool."""
    facts = facts_for(policy, base, counter)
    after, pool = plan.classes.selected(plan.kept), shown_pool(policy, counter, plan)
    found = guarantees(facts, policy.privacy_models, before, after if pool is None else with_pool(after, pool))
    if base.columns.earlier is None:
        return found
    # Nobody sees the joint classes in the rows of this release.
    return tuple(one for one in found if not one.model.endswith(f"{RELEASED})"))


def shown_pool(policy: Policy, counter: ClassCounter, plan: ReleasePlan) -> EquivalenceClasses | None:
    """The suppressed records as a class, if there are any and they are shown."""
    shown = policy.suppressed_records is SuppressedRecords.KEEP and plan.suppressed_records
    return suppressed_pool(counter, plan.classes, plan.kept) if shown else None


def classes_before(base: BaseHistogram, counter: ClassCounter) -> EquivalenceClasses | None:
    """The source's own classes; None if they are too many, or if its people are separated by more.

    With aggregated columns, classes at level 0 are not those of the source: its people differ by these columns, too.
    """
    most = max([base.combinations, *(histogram.rows for histogram in base.by_value)])
    if most > LARGEST_BEFORE or base.columns.tell_apart:
        return None
    return counter.classes((0,) * len(counter.levels))
