"""Refuses the parts of a policy that count records, for a source in which people have several."""

from collections.abc import Iterator

from tableveil.errors import Fault
from tableveil.policy.methods import methods_of
from tableveil.policy.model import Policy
from tableveil.policy.privacy import PRIVACY_FIELDS, Dominance, KAnonymity, PrivacyModel, SafeHarbor, SensitiveModel

COUNT_PEOPLE = KAnonymity | Dominance | SafeHarbor | SensitiveModel
"""The models that hold of people, or of labels; docs/explanations/people.md says in which sense."""


def check_repeating(policy: Policy, people: int, records: int) -> Iterator[Fault]:
    """The faults of a policy for so many people with more records: nothing may count a person twice in silence."""
    actual = f"although {people:,} people have {records:,} records"
    hint = "Ask for k_anonymity and dominance, or let a source_query make one row of each person's."
    for i, model in enumerate(policy.privacy_models):
        if not isinstance(model, COUNT_PEOPLE):
            yield Fault(
                f"privacy_models[{i}].{_field(model)}",
                f"{model}, which takes every record for another person, {actual}",
                "models that count people",
                hint,
            )
    parts = {"population": policy.population, "game": policy.game}
    fields = [field for field, part in parts.items() if part is not None]
    for field in (*fields, *(method.field for method in methods_of(policy) if not method.people)):
        yield Fault(field, f"{field}, which takes every record for another person, {actual}", "none", hint)

    if policy.release.suppressed_by:
        yield Fault("release.suppressed_by", f"numbers of records {actual}", "none", hint)


def _field(model: PrivacyModel) -> str:
    return PRIVACY_FIELDS[type(model)]
