"""Policies with the changes of a relaxation, followed by the paths of their fields, written anew."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from tableveil.errors import Change
from tableveil.policy import Inclusion, Policy, SuppressedRecords
from tableveil.policy.privacy import PRIVACY_FIELDS


def value_of(policy: Policy, field: str) -> Any:
    """The policy's value at a path."""
    if match := re.fullmatch(r"privacy_models\[(\d+)]\.(\w+)\.(\w+)", field):
        model = policy.privacy_models[int(match[1])]
        assert PRIVACY_FIELDS[type(model)] == match[2]
        return getattr(model, match[3])
    if match := re.fullmatch(r"attributes\[(\d+)]\.(\w+)", field):
        return getattr(policy.attributes[int(match[1])], match[2])
    if match := re.fullmatch(r"game\.(\w+)", field):
        return getattr(policy.game, match[1])
    assert field == "suppression_limit"
    return policy.suppression_limit


def changed(policy: Policy, field: str, value: str) -> Policy:
    """The policy with another value at a path."""
    related = policy.related
    if related is not None and field == "tables.rows_limit":
        return replace(policy, methods=(replace(related, rows_limit=Decimal(value)),))
    match = re.fullmatch(r"attributes\[(\d+)]\.(\w+)", field)
    if related is not None and match and int(match[1]) >= related.events[0].first:
        changes: dict[str, Any] = {match[2]: int(value)}
        events = tuple(
            replace(
                event,
                attributes=tuple(
                    replace(of, **changes) if event.field(j) == f"attributes[{match[1]}]" else of
                    for j, of in enumerate(event.attributes)
                ),
            )
            for event in related.events
        )
        return replace(policy, methods=(replace(related, events=events),))
    if field == "suppressed_records.handling":
        return replace(policy, suppressed_records=SuppressedRecords(value))
    if field == "search.levels":
        assert value == ""
        return replace(policy, search=replace(policy.search, levels=()))
    if match := re.fullmatch(r"search\.linked\[(\d+)]", field):
        assert value == ""
        kept = tuple(group for i, group in enumerate(policy.search.linked) if i != int(match[1]))
        return replace(policy, search=replace(policy.search, linked=kept))
    if match := re.fullmatch(r"search\.levels\[(\w+)]", field):
        given = tuple((name, int(value) if name == match[1] else old) for name, old in policy.search.levels)
        return replace(policy, search=replace(policy.search, levels=given))
    if match := re.fullmatch(r"privacy_models\[(\d+)]", field):
        assert value == ""
        assert isinstance(policy.privacy_models[int(match[1])], Inclusion)
        kept_models = tuple(model for i, model in enumerate(policy.privacy_models) if i != int(match[1]))
        return replace(policy, privacy_models=kept_models)
    own = value_of(policy, field)
    # A level limit may not have been there.
    number: Any = (int if own is None else type(own))(value)
    if match := re.fullmatch(r"privacy_models\[(\d+)]\.\w+\.(\w+)", field):
        models: list[Any] = list(policy.privacy_models)
        models[int(match[1])] = replace(models[int(match[1])], **{match[2]: number})
        return replace(policy, privacy_models=tuple(models))
    if match := re.fullmatch(r"attributes\[(\d+)]\.(\w+)", field):
        attributes: list[Any] = list(policy.attributes)
        attributes[int(match[1])] = replace(attributes[int(match[1])], **{match[2]: number})
        return replace(policy, attributes=tuple(attributes))
    if match := re.fullmatch(r"game\.(\w+)", field):
        game: Any = policy.game
        return replace(policy, game=replace(game, **{match[1]: number}))
    return replace(policy, suppression_limit=number)


def with_changes(policy: Policy, changes: Sequence[Change]) -> Policy:
    # Leaving something out moves what comes after it.
    for change in sorted(changes, key=lambda change: not change.value):
        policy = changed(policy, change.field, change.value)
    return policy


UNIT = Decimal("0.0001")

EARLIER: dict[str, tuple[int, Decimal]] = {
    # Towards what is stricter, and by how much.
    "k": (1, Decimal(1)),
    "n": (1, Decimal(1)),
    "maximum": (-1, UNIT),
    "minimum": (1, UNIT),
    "threshold": (-1, UNIT),
    "l": (1, UNIT),
    "t": (-1, UNIT),
    "c": (-1, UNIT),
    "delta": (-1, UNIT),
    "beta": (-1, UNIT),
    "publisher_loss": (1, UNIT),
    "adversary_gain": (1, UNIT),
    "suppression_limit": (-1, UNIT),
    "maximum_level": (-1, Decimal(1)),
    "minimum_level": (1, Decimal(1)),
}


def stricter(policy: Policy, change: Change) -> str | None:
    """The value one step before; None if that is the policy's own."""
    name = change.field.rpartition(".")[2]
    if not change.value or name not in EARLIER:
        return None
    own = value_of(policy, change.field)
    sign, unit = EARLIER[name]
    if isinstance(own, int):
        unit = Decimal(1)
    value = Decimal(change.value) + sign * unit
    beyond = value >= own if sign > 0 else value <= own
    return None if beyond else str(value)
