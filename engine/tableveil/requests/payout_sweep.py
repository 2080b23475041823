"""The request of a policy's payout sweep, and its checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tableveil.errors import Fault
from tableveil.hierarchy import SAFE_HARBOR_LEVEL, SafeHarborHierarchy
from tableveil.lattice import Transformation
from tableveil.policy.game import Success
from tableveil.policy.methods import MethodTraits, methods_of
from tableveil.policy.model import NO_LIMIT, Policy
from tableveil.policy.privacy import PRIVACY_FIELDS, NoAttack, Profitability, SafeHarbor
from tableveil.policy.quality import PublisherPayoutModel
from tableveil.policy.validate_game import LARGEST, is_amount

MOST_GAINS = 200
"""More than any chart shows; the work grows with the gains."""

DEFAULT_GAINS = tuple(Decimal(100 * i) for i in range(21))
"""The gains that were swept by Wan et al. 2015."""


@dataclass(frozen=True, slots=True)
class SweptGains:
    """The values, ascending, of the adversary's gain and the publisher's loss, in place of the game's own.

    `if_method_known` also asks for the payouts of record-level releases against an adversary who knows the method.
    """

    gains: tuple[Decimal, ...]
    if_method_known: bool = False

    @classmethod
    def of(cls, gains: Sequence[Decimal], if_method_known: bool = False) -> SweptGains:
        """These values, given in any order; the default ones if there are none."""
        return cls(tuple(sorted(gains)) or DEFAULT_GAINS, if_method_known)


def safe_harbor_of(policy: Policy) -> Transformation | None:
    """The levels of Safe Harbor alone, other columns at their minimum levels; None if it concerns no column."""
    columns = policy.quasi_identifiers
    if not any(isinstance(column.hierarchy, SafeHarborHierarchy) for column in columns):
        return None
    return tuple(
        SAFE_HARBOR_LEVEL if isinstance(column.hierarchy, SafeHarborHierarchy) else column.minimum_level
        for column in columns
    )


def can_be_swept(method: MethodTraits[Any]) -> bool:
    """Whether a method can be scored by a payout: a sweep compares these, and tries all such methods."""
    return PublisherPayoutModel in method.quality


def check_sweep(policy: Policy) -> Iterator[Fault]:
    """Faults of a sound policy that make a sweep impossible."""
    if policy.game is None:
        example = "For example: {publisher_benefit: 1200, adversary_cost: 4}."
        yield Fault("game", "nothing", "the worth of records and the cost of attacks", example)
    for method in methods_of(policy):
        for field in method.fields(policy) if not can_be_swept(method) else ():
            expected = "nothing, because a sweep tries all transformations"
            hint = "Give the quasi-identifiers hierarchies."
            yield Fault(field, f"{method.called} for a payout sweep", expected, hint)
    for i, model in enumerate(policy.privacy_models):
        field = f"privacy_models[{i}].{PRIVACY_FIELDS[type(model)]}"
        if not isinstance(model, Profitability | NoAttack | SafeHarbor):
            hint = "A sweep judges by what is paid alone: leave it out."
            yield Fault(f"privacy_models[{i}]", PRIVACY_FIELDS[type(model)], "models of the game, or none", hint)
        elif not isinstance(model, SafeHarbor) and model.success is Success.MARKETER:
            hint = "A marketer's success depends on all records at once; a sweep decides each by itself."
            yield Fault(f"{field}.success", "MARKETER", "PROSECUTOR or JOURNALIST", hint)
    if policy.search.time_limit_seconds not in (None, NO_LIMIT):
        hint = "Leave it out: a sweep has no result before its end. It can be cancelled."
        yield Fault("search.time_limit_seconds", f"{policy.search.time_limit_seconds:f}", "nothing", hint)


def check_number(gains: int) -> Iterator[Fault]:
    """The fault of asking for too many values."""
    if gains > MOST_GAINS:
        yield Fault("gains", f"{gains:,} values", f"at most {MOST_GAINS}", "Ask for fewer, or for several sweeps.")


def check_gains(gains: Sequence[Decimal | None]) -> Iterator[Fault]:
    """Faults of the values by themselves, with field paths as in the proto; None is an unreadable value."""
    for i, gain in enumerate(gains):
        if gain is None:
            continue
        if not is_amount(gain):
            expected = f"an exact decimal of at least 0, up to {LARGEST:,}, of no more than nine places"
            yield Fault(f"gains[{i}]", f"{gain:f}", expected)
        elif gain in gains[:i]:
            yield Fault(f"gains[{i}]", f"{gain:f} more than once", "each value once")
