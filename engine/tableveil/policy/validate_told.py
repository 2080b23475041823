"""The checks of what a release tells beyond its rows: closed ends, suppressed records by label, and estimates."""

from collections.abc import Iterator

from tableveil.errors import Fault, shortened
from tableveil.hierarchy import Combination
from tableveil.hierarchy.rules import Intervals
from tableveil.policy.methods import methods_of
from tableveil.policy.model import AttributePolicy, Choose, NullHandling, Policy, SuppressedRecords
from tableveil.policy.privacy import PRIVACY_FIELDS, SensitiveModel

FIELD = "release.suppressed_by"
CLOSED = "release.close_open_ends"
ESTIMATES = "release.estimates"
LEAST_K = 3
"""With a smaller k, "fewer than k" would be 1."""


def check_told(policy: Policy) -> Iterator[Fault]:
    """Faults of `release.close_open_ends`, `release.suppressed_by` and `release.estimates`."""
    release = policy.release
    of_labels = (
        (CLOSED, release.close_open_ends),
        (FIELD, bool(release.suppressed_by)),
        (ESTIMATES, release.estimates),
    )
    for field, wanted in of_labels:
        if wanted and not release.label_columns:
            yield Fault(field, f"{field.partition('.')[2]} without label_columns", "label_columns, which tell of it")
    if release.close_open_ends and not any(map(closed_ends, policy.attributes)):
        yield Fault(CLOSED, "true without intervals that have codings", "a quasi-identifier with such open ends")
    if release.estimates and policy.suppressed_records is not SuppressedRecords.DROP:
        actual = f"{policy.suppressed_records} with {ESTIMATES}"
        yield Fault("suppressed_records.handling", actual, "DROP", "Nothing is known of suppressed rows to estimate.")
    if release.suppressed_by:
        yield from _check_columns(policy)
        yield from _check_beside(policy)


def closed_ends(attribute: AttributePolicy) -> Intervals | None:
    """The intervals of a quasi-identifier that have open ends, which a release may close."""
    rule = attribute.hierarchy
    if isinstance(rule, Combination):
        rule = rule.rest
    return rule if isinstance(rule, Intervals) and (rule.bottom_coding or rule.top_coding) else None


def _check_columns(policy: Policy) -> Iterator[Fault]:
    declared = {attribute.column for attribute in policy.quasi_identifiers}
    for i, column in enumerate(policy.release.suppressed_by):
        if column not in declared:
            yield Fault(f"{FIELD}[{i}]", shortened(column), "a generalized quasi-identifier")
        elif column in policy.release.suppressed_by[:i]:
            yield Fault(f"{FIELD}[{i}]", f"{shortened(column)} once more", "each column once")


def _check_beside(policy: Policy) -> Iterator[Fault]:
    """Whatever lets a reader find out more by the numbers of suppressed records."""
    if (policy.k or 0) < LEAST_K:
        yield Fault(FIELD, f"k = {policy.k}" if policy.k else "no k_anonymity", f"k_anonymity of at least {LEAST_K}")
    for method in methods_of(policy):
        if not method.together:
            hint = "Only one transformation for all records gives every suppressed record a label."
            yield Fault(FIELD, f"suppressed_by with {method.called}", "one of them", hint)
    if policy.search.choose is not Choose.QUASI_IDENTIFIERS_ONLY:
        for i, model in enumerate(policy.privacy_models):
            if isinstance(model, SensitiveModel):
                actual = f"{PRIVACY_FIELDS[type(model)]} with {FIELD}"
                hint = "Sensitive values would decide what is suppressed, and the numbers would tell of them."
                yield Fault(f"privacy_models[{i}]", actual, f"search.choose: {Choose.QUASI_IDENTIFIERS_ONLY}", hint)
    if policy.release.left_behind is not None:
        yield Fault(FIELD, "suppressed_by with left_behind", "one of them")
    if policy.suppressed_records is SuppressedRecords.KEEP:
        yield Fault("suppressed_records.handling", f"KEEP with {FIELD}", "DROP or BLANK")
    for i, attribute in enumerate(policy.attributes):
        if attribute.nulls is NullHandling.SUPPRESS:
            actual = f"SUPPRESS with {FIELD}"
            yield Fault(f"attributes[{i}].nulls", actual, "VALUE or ERROR", "Records that are withheld have no label.")
