"""The request of a policy's frontier, and its checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from tableveil.errors import Fault
from tableveil.policy.model import Policy
from tableveil.policy.privacy import KAnonymity
from tableveil.policy.ranges import LARGEST_K

MOST_PAIRS = 400
"""More than anyone reads; and the search keeps bounds per k for every open part of the lattice."""


@dataclass(frozen=True, slots=True)
class FrontierGrid:
    """Every `k` with every suppression limit, both in ascending order, in place of the policy's own."""

    ks: tuple[int, ...]
    suppression_limits: tuple[Decimal, ...]

    @classmethod
    def of(cls, ks: Sequence[int], suppression_limits: Sequence[Decimal]) -> FrontierGrid:
        """Makes the grid of these values, given in any order."""
        return cls(tuple(sorted(ks)), tuple(sorted(suppression_limits)))


def k_of(policy: Policy) -> int | None:
    """The k of the policy's k-anonymity."""
    return next((model.k for model in policy.privacy_models if type(model) is KAnonymity), None)


def with_k(policy: Policy, k: int) -> Policy:
    """The policy with another k; its other privacy models stay."""
    models = tuple(KAnonymity(k) if type(model) is KAnonymity else model for model in policy.privacy_models)
    return replace(policy, privacy_models=models)


def check_pairs(ks: int, suppression_limits: int) -> list[Fault]:
    """The fault of asking for too many pairs; without values, the policy's own value counts."""
    pairs = max(ks, 1) * max(suppression_limits, 1)
    if pairs <= MOST_PAIRS:
        return []
    actual = f"{ks:,} values with {suppression_limits:,} suppression limits, which are {pairs:,} pairs"
    hint = "Ask for fewer values, or for several frontiers."
    return [Fault("k" if ks > 1 else "suppression_limits", actual, f"at most {MOST_PAIRS} pairs", hint)]


def check_grid(ks: Sequence[int], suppression_limits: Sequence[Decimal | None]) -> Iterator[Fault]:
    """Faults of the values by themselves, with field paths as in the proto; None is an unreadable limit."""
    for i, k in enumerate(ks):
        if not 2 <= k <= LARGEST_K:
            yield Fault(f"k[{i}]", str(k), f"a number from 2 to {LARGEST_K}", "k = 1 would promise nothing.")
        elif k in ks[:i]:
            yield Fault(f"k[{i}]", f"{k} more than once", "each k once")
    for i, limit in enumerate(suppression_limits):
        if limit is None:
            continue
        if not 0 <= limit <= 1:
            yield Fault(f"suppression_limits[{i}]", f"{limit:f}", "an exact decimal from 0 to 1")
        elif limit in suppression_limits[:i]:
            yield Fault(f"suppression_limits[{i}]", f"{limit:f} more than once", "each limit once")
