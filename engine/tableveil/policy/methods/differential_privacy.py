"""Differential privacy: its options in a policy, all that can be wrong with them, and what it works with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from tableveil.errors import Fault, Warned, nearest, shortened
from tableveil.hierarchy.definition import (
    Combination,
    HierarchyDefinition,
    InlineLevels,
    SafeHarborZip,
    StoredLevels,
    TableLevels,
)
from tableveil.hierarchy.rules import Grouping, OrderBased
from tableveil.policy.guards import ReleaseGuards
from tableveil.policy.methods.traits import MethodTraits
from tableveil.policy.privacy import KAnonymity
from tableveil.policy.quality import Aggregate, LossModel

if TYPE_CHECKING:
    from tableveil.policy.model import AttributePolicy, Policy

FIELD = "differential_privacy"

LARGEST_EPSILON = 100
"""With more nobody is protected: e^100 is no promise."""

LARGE_EPSILON = 10
"""With more the owner is warned."""

_LISTS = (InlineLevels, StoredLevels, TableLevels, SafeHarborZip, Grouping, OrderBased, Combination)
"""The hierarchies that are lists of values, which somebody may have taken from the table."""


@dataclass(frozen=True, slots=True)
class DifferentialPrivacy:
    """A release that is (epsilon, delta)-differentially private for each person who is in the table or not.

    `scheme` gives every released column its level; without it the levels are drawn, by a part of epsilon:
    `search_epsilon`. The columns in `public_lists` have hierarchies whose lists of values, or loss ranges, do
    not come from the table.
    `people` is the number of people in the table as it is publicly known; None if it is not.
    """

    # In place of one that cannot be read: no search_epsilon is refused because of it.
    epsilon: Decimal = field(metadata={"placeholder": Decimal(LARGEST_EPSILON)})
    delta: Decimal
    scheme: tuple[tuple[str, int], ...] = ()
    search_epsilon: Decimal | None = None
    public_lists: tuple[str, ...] = ()
    people: int | None = None


def weak_promise(options: DifferentialPrivacy) -> Iterator[Warned]:
    """The warning about a large epsilon."""
    if options.epsilon > LARGE_EPSILON:
        page = "docs/explanations/differential_privacy.md"
        text = f"epsilon is {options.epsilon}: above {LARGE_EPSILON} the promise is weak ({page})."
        yield Warned(text, field="differential_privacy.epsilon")


def lists_values(hierarchy: HierarchyDefinition | None) -> bool:
    """Whether a hierarchy may have been made from the values of a table."""
    return isinstance(hierarchy, _LISTS)


def check_differential_privacy(policy: Policy, options: DifferentialPrivacy) -> Iterator[Fault]:
    """Faults of a policy whose promise could not be kept."""
    yield from _check_parameters(options)
    yield from _check_scheme(policy, options)
    yield from _check_lists(policy, options)
    for i, attribute in enumerate(policy.attributes):
        yield from _check_attribute(policy, options, attribute, i)
    yield from _check_rest(policy)


def _check_parameters(options: DifferentialPrivacy) -> Iterator[Fault]:
    epsilon, delta, part = options.epsilon, options.delta, options.search_epsilon
    # Decimals raise an error when they are compared with NaN.
    sound = epsilon.is_finite() and 0 < epsilon <= LARGEST_EPSILON
    if not sound:
        yield Fault(f"{FIELD}.epsilon", str(epsilon), f"an exact decimal above 0, up to {LARGEST_EPSILON}")
    if not (delta.is_finite() and 0 < delta < 1):
        yield Fault(f"{FIELD}.delta", str(delta), "an exact decimal above 0 and below 1")
    elif options.people is not None and options.people > 0 and delta * options.people >= 1:
        hint = "A mechanism with such a delta may publish somebody's record as it is."
        yield Fault(f"{FIELD}.delta", str(delta), f"less than 1/{options.people}, for as many people", hint)
    if options.people is not None and options.people < 1:
        yield Fault(f"{FIELD}.people", str(options.people), "a number of at least 1, or nothing")
    if part is not None and not (part.is_finite() and part > 0 and (not sound or part < epsilon)):
        yield Fault(f"{FIELD}.search_epsilon", str(part), "an exact decimal above 0 and below epsilon")


def _check_scheme(policy: Policy, options: DifferentialPrivacy) -> Iterator[Fault]:
    scheme = dict(options.scheme)
    if bool(scheme) == (options.search_epsilon is not None):
        actual = "a scheme beside search_epsilon" if scheme else "neither a scheme nor a search_epsilon"
        hint = "A scheme fixes the level of every column; search_epsilon is the part of epsilon that draws them."
        yield Fault(f"{FIELD}.scheme", actual, "one of them", hint)
    if not scheme:
        return
    attributes = {attribute.column: attribute for attribute in policy.quasi_identifiers}
    for column in attributes:
        if column not in scheme:
            yield Fault(f"{FIELD}.scheme", f"no level for {shortened(column)}", "a level for every released column")
    for column, level in scheme.items():
        field = f"{FIELD}.scheme[{shortened(column)}]"
        if column not in attributes:
            hint = nearest(column, list(attributes))
            yield Fault(field, f"{shortened(column)}, which is none", "a quasi-identifier with a hierarchy", hint)
            continue
        attribute = attributes[column]
        most = attribute.maximum_level
        if level < max(0, attribute.minimum_level) or (most is not None and level > most):
            yield Fault(field, str(level), "a level from the column's minimum_level to its maximum_level")


def _check_lists(policy: Policy, options: DifferentialPrivacy) -> Iterator[Fault]:
    columns = [attribute.column for attribute in policy.quasi_identifiers]
    for i, column in enumerate(options.public_lists):
        if column not in columns:
            field, hint = f"{FIELD}.public_lists[{i}]", nearest(column, columns)
            yield Fault(field, f"{shortened(column)}, which is none", "a quasi-identifier with a hierarchy", hint)


def _check_attribute(
    policy: Policy, options: DifferentialPrivacy, attribute: AttributePolicy, i: int
) -> Iterator[Fault]:
    if attribute.role in ("SENSITIVE", "INSENSITIVE"):
        hint = "Every published column is generalized by the scheme; others are IDENTIFYING, and are not released."
        expected = "QUASI_IDENTIFIER or IDENTIFYING, because of differential_privacy"
        yield Fault(policy.role_field(i), str(attribute.role), expected, hint)
    if attribute.role != "QUASI_IDENTIFIER":
        return
    if attribute.nulls != "VALUE":
        hint = "An error or a record that is set aside depends on the table. NULL is released as NULL."
        yield Fault(f"attributes[{i}].nulls", str(attribute.nulls), "VALUE, because of differential_privacy", hint)
    if lists_values(attribute.hierarchy) and attribute.column not in options.public_lists:
        hint = f"If no value in it was taken from the table, name {shortened(attribute.column)} in public_lists."
        actual = "a list of values that may come from the table"
        yield Fault(f"attributes[{i}].hierarchy", actual, "a rule, or a list that is declared public", hint)
    rule = attribute.hierarchy
    for name in ("loss_range", "loss_days"):
        if getattr(rule, name, None) and attribute.column not in options.public_lists:
            # Drafts and proposals write the span that occurs, and the choice of the levels follows from it.
            hint = f"If it does not come from the table, name {shortened(attribute.column)} in public_lists."
            actual = "a span that may come from the table"
            yield Fault(f"attributes[{i}].hierarchy.{name}", actual, "nothing, or one that is declared public", hint)


def _check_rest(policy: Policy) -> Iterator[Fault]:
    because = "because of differential_privacy"
    model, target = policy.quality_model, policy.release
    if isinstance(model, LossModel) and model != LossModel(aggregate=Aggregate.ARITHMETIC_MEAN):
        hint = "One person changes it by a known amount."
        yield Fault("quality_model.loss", "another loss", f"the arithmetic mean, {because}", hint)
    weights = [attribute.weight for attribute in policy.quasi_identifiers]
    if weights and not any(weights):
        yield Fault("attributes[0].weight", "0 for every column", "a weight above 0")
    if policy.source_query:
        hint = "A query may give one person several rows, or rows that depend on those of others."
        yield Fault("source_query", "a query", f"a table, {because}", hint)
    if policy.record_column:
        yield Fault("record_column", "a column", f"nothing, {because}", "Everybody has one record.")
    if policy.suppression_limit:
        hint = "Nobody may learn how many rows were removed, so that nothing can be limited by it."
        yield Fault("suppression_limit", str(policy.suppression_limit), f"nothing, {because}", hint)
    if policy.suppressed_records == "BLANK":
        yield Fault("suppressed_records.handling", "BLANK", f"DROP, {because}", "Removed rows leave no trace.")
    if target.class_id:
        yield Fault("release.class_id", "true", f"nothing, {because}", "Rows of a class are all the same.")
    if target.suppressed_by:
        hint = "Nobody may learn how many rows were removed."
        yield Fault("release.suppressed_by", "numbers of suppressed records", f"nothing, {because}", hint)
    if target.close_open_ends:
        hint = "Whether a value lies beyond the range tells of the table."
        yield Fault("release.close_open_ends", "true", f"nothing, {because}", hint)
    if target.estimates:
        hint = "Its own tables would have to be drawn from the rows that are left, which nobody measured."
        yield Fault("release.estimates", "true", f"nothing, {because}", hint)
    if target.left_behind is not None or target.together_with:
        hint = "The privacy_budget of the people bounds what several releases tell together."
        yield Fault("release.left_behind", "releases judged together", f"nothing, {because}", hint)
    if target.guards != ReleaseGuards():
        hint = "Whether a guard holds tells of the table."
        yield Fault("release.guards", "guards of the release", f"nothing, {because}", hint)


DIFFERENTIAL_PRIVACY = MethodTraits(
    name="differential privacy",
    called="differential_privacy",
    field="differential_privacy",
    kind=DifferentialPrivacy,
    check=check_differential_privacy,
    warns=weak_promise,
    models=(KAnonymity,),
    models_hint="It only removes more of what is left by chance. Others look at the table again.",
    quality=(LossModel,),
    search=("linked",),
    search_hint="The levels are those of the scheme, or drawn to the end.",
    refuses=(("population", "population"), ("game", "game")),
    shows_suppressed_hint="Removed rows leave no trace.",
    people=False,
    interim=False,
    budgeted=True,
)
