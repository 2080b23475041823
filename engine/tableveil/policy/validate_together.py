"""The checks of a release that is judged together with earlier ones."""

from collections.abc import Iterator

from tableveil.errors import Fault
from tableveil.policy.methods import methods_of
from tableveil.policy.model import Policy, SuppressedRecords
from tableveil.policy.privacy import (
    PRIVACY_FIELDS,
    AverageRisk,
    Dominance,
    KAnonymity,
    SafeHarbor,
    SampleUniqueness,
    SensitiveModel,
)
from tableveil.policy.quality import FIELDS, WITH_PARTS

FIELD = "release.left_behind"

_JUDGED = (KAnonymity, Dominance, AverageRisk, SampleUniqueness, SafeHarbor, *SensitiveModel.__args__)
"""The models that joint classes can meet by their own records: nobody counts a population by its earlier classes."""

_COUNT_RECORDS = (AverageRisk, SampleUniqueness)
"""The models among them that take every record for another person."""


def check_together(policy: Policy) -> Iterator[Fault]:
    """Faults of `other_people`, `release.together_with` and `release.left_behind`."""
    target = policy.release
    yield from _numbers(policy)
    if target.left_behind is None:
        if target.together_with:
            hint = "REQUIRE protects people who leave as well, and may cost much. REPORT counts them."
            yield Fault(FIELD, "nothing beside together_with", "REQUIRE or REPORT", hint)
    else:
        yield from _left_behind(policy, f"{target.left_behind} with")


def _numbers(policy: Policy) -> Iterator[Fault]:
    """Faults of the releases that are named twice."""
    target = policy.release
    for i, number in enumerate(policy.other_people):
        if number in policy.other_people[:i] or number in target.together_with:
            where = "once more" if number in policy.other_people[:i] else "beside together_with"
            yield Fault(f"other_people[{i}]", f"releases/{number} {where}", "each release once, as one or the other")
    for i, number in enumerate(target.together_with):
        if number in target.together_with[:i]:
            yield Fault(f"release.together_with[{i}]", f"releases/{number} once more", "each release once")


def _left_behind(policy: Policy, asked: str) -> Iterator[Fault]:
    """Faults of what is `asked` for people who left, with all else that the policy says."""
    for method in methods_of(policy):
        if not method.together:
            hint = "Only one transformation for all records is judged together with earlier releases."
            yield Fault(FIELD, f"{asked} {method.called}", "one of them", hint)
    if policy.person_column is None:
        hint = "The ledger finds people's earlier classes by it. Or give a repeat_reason instead of left_behind."
        yield Fault(FIELD, f"{asked} rows_are_people", "a person_column", hint)
    elif policy.no_person_digests:
        hint = "Without digests, no later release can be judged together with this one."
        yield Fault(FIELD, f"{asked} no_person_digests", "one of them", hint)
    if policy.k is None:
        yield Fault("privacy_models", f"no k_anonymity with {FIELD}", "k_anonymity, which judges those left behind")
    judged = tuple(kind for kind in _JUDGED if not policy.record_column or kind not in _COUNT_RECORDS)
    for i, model in enumerate(policy.privacy_models):
        if not isinstance(model, judged):
            allowed = ", ".join(PRIVACY_FIELDS[kind] for kind in judged)
            actual = f"{PRIVACY_FIELDS[type(model)]} with {FIELD}"
            yield Fault(f"privacy_models[{i}]", actual, f"models that judge classes by their records: {allowed}")
    if policy.suppressed_records is SuppressedRecords.KEEP:
        hint = "Shown records would be one more class of every combination of earlier classes."
        yield Fault("suppressed_records.handling", f"KEEP with {FIELD}", "DROP or BLANK", hint)
    if not isinstance(policy.quality_model, WITH_PARTS):
        expected = f"{', '.join(FIELDS[kind] for kind in WITH_PARTS)}, whose scores do not count classes"
        yield Fault("quality_model", f"{FIELDS[type(policy.quality_model)]} with {FIELD}", expected)
