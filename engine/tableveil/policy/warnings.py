"""Warnings for the owner about a valid policy: it may protect less than it seems to."""

from collections.abc import Iterator

from tableveil.errors import Warned, note, shortened, sole
from tableveil.policy.documentation import says_something
from tableveil.policy.methods import methods_of
from tableveil.policy.model import Choose, Policy, Role
from tableveil.policy.privacy import SensitiveModel, SensitiveShare
from tableveil.policy.quality import FIELDS, ClassificationModel


def policy_warnings(policy: Policy) -> Iterator[Warned]:
    """Each warning is for the owner, in whole sentences.

    Columns that the policy does not list yet have no role here.
    """
    for method in methods_of(policy):
        yield from method.warns(method.options(policy))
    choosing = looking_at_values(policy)
    if choosing:
        yield Warned(
            f"Sensitive values help to choose the levels and the suppressed records ({', '.join(choosing)}). Somebody "
            "who knows everybody's quasi-identifiers can repeat the search, and may learn values that the privacy "
            f"models hide. {_instead(policy)}",
            field="search.choose" if "choose" in policy.method.search else sole(choosing),
        )


def early_warnings(policy: Policy) -> Iterator[Warned]:
    """The warnings, including those that a release replaces by figures once its classes are known."""
    yield from policy_warnings(policy)
    names = [shortened(attribute.column) for attribute in policy.unprotected]
    if names:
        lists = any(attribute.listed_elements is not None for attribute in policy.unprotected)
        of_lists = ", or probabilistic_l_diversity where cells are lists" if lists else ""
        advised = "distinct_l_diversity" if policy.related is None else "sensitive_share"
        yield Warned(
            f"No privacy model names these sensitive columns: {', '.join(names)}. If all records of a class have the "
            f"same value, it is known of everybody there. Add for each, to privacy_models: {advised}: "
            f"{{column: {policy.unprotected[0].column}, l: 2}}{of_lists}.",
            field=sole(attribute.column for attribute in policy.unprotected),
        )
    yield from _events_without_model(policy)
    yield from notes_of_next(policy)


def _events_without_model(policy: Policy) -> Iterator[Warned]:
    bounded = {(model.table, model.column) for model in policy.privacy_models if isinstance(model, SensitiveShare)}
    left = [
        (event, column.column)
        for event in (policy.related.events if policy.related is not None else ())
        for column in event.sensitive
        if (event.name, column.column) not in bounded
    ]
    if left:
        event, column = left[0]
        names = [each.qualified(name) for each, name in left]
        yield Warned(
            f"No privacy model names these sensitive columns of events: {', '.join(map(shortened, names))}. A reader "
            "who knows a row of a person may learn its value. Add for each, to privacy_models: sensitive_share: "
            f"{{table: {event.name}, column: {column}, l: 2}}.",
            field=sole(names),
        )


def notes_of_next(policy: Policy) -> Iterator[Warned]:
    """The note of what a later release of these people will need, where the policy prepares one or has readers."""
    target, person = policy.release, policy.person_column
    joint = target.left_behind is not None and person is not None
    needs: dict[str, str] = {}
    if joint:
        keys = " and ".join(shortened(name) for name in (person, policy.record_column) if name)
        listed = ", and this release in together_with" if target.together_with else ""
        with_keys = f"left_behind with the same keys in {keys}{listed}"
        needs["release.left_behind"] = f"{with_keys}, or a repeat_reason, which protects nobody"
    elif policy.related is not None and target.publish:
        needs["release.if_exists"] = "if_exists: REPLACE in release, for this name, and a repeat_reason"
    elif target.publish and not says_something(policy.repeat_reason):
        needs["release.left_behind"] = "left_behind, or a repeat_reason, which protects nobody"
    if target.publish and not says_something(target.publish_repeat_reason):
        readers = ", ".join(map(shortened, target.publish))
        judged = ", even judged together," if joint else ""
        own = "release.publish_repeat_reason"
        needs[own] = f"{own}{judged} since readers of {readers} have this one"
    if needs:
        lasts = " How many releases last, `tableveil propose --recurs` forecasts." if joint else ""
        text = f"A later release of these people needs {'; and '.join(needs.values())}.{lasts}"
        yield note(text, field=sole(needs))


def looking_at_values(policy: Policy) -> list[str]:
    """The fields by which sensitive values take part in choosing the release."""
    if policy.search.choose is Choose.QUASI_IDENTIFIERS_ONLY:
        return []
    fields = [f"privacy_models[{i}]" for i, m in enumerate(policy.privacy_models) if isinstance(m, SensitiveModel)]
    model = policy.quality_model
    if isinstance(model, ClassificationModel):
        sensitive = {attribute.column for attribute in policy.attributes if attribute.role is Role.SENSITIVE}
        fields += [f"quality_model.{FIELDS[ClassificationModel]}"] * (
            not sensitive.isdisjoint((*model.classes, *model.features))
        )
    return fields


def _instead(policy: Policy) -> str:
    if "choose" not in policy.method.search:
        return "Clusters are always chosen so: labels of hierarchies need not be."
    return f"search.choose: {Choose.QUASI_IDENTIFIERS_ONLY} prevents it."
