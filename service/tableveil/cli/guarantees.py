"""The strictest parameters that a release meets of the privacy models, requested or not, before and after."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.text import Text

from tableveil import wording
from tableveil.cli.tables import listing
from tableveil.v1 import policy_pb2, release_service_pb2

LARGE = 1000
"""From this number on, which are sums of money, two decimal places are enough."""


def guarantees(release: release_service_pb2.Release, all_models: bool) -> RenderableType:
    """A table for a console, of the models that the policy asks for, with a hint at the others; or of all models."""
    shown = [one for one in release.guarantees if all_models or _asked(one, release.policy)]
    rows = [
        (
            wording.printable(one.model.replace("_", " ")),
            wording.short(one.column),
            wording.printable(one.parameter),
            _reached(one.before) if one.HasField("before") else "",
            _reached(one.after) if one.HasField("after") else "",
        )
        for one in shown
    ]
    none = "It was released before this was kept."
    found = listing(("model", "of", "parameter", "before", "after"), rows, none, numbers=("before", "after"))
    others = len(release.guarantees) - len(shown)
    if not others:
        return found
    more = Text(f"{others} more that the policy does not ask for: tableveil show {release.name} --privacy", style="dim")
    return Group(found, more) if rows else more


def _asked(one: release_service_pb2.Guarantee, policy: policy_pb2.Policy) -> bool:
    if one.model.startswith("effective_k"):
        return True
    if one.model.startswith("publisher_payout"):
        return policy.HasField("game")
    for model in policy.privacy_models:
        kind = model.WhichOneof("kind")
        if kind == one.model.partition(" ")[0] and getattr(getattr(model, kind), "column", "") == one.column:
            return True
    return False


def _reached(value: float) -> str:
    if math.isinf(value):
        return "without bound"
    if value.is_integer():
        return wording.count(int(value))
    return wording.score(value) if abs(value) < LARGE else f"{value:,.2f}"
