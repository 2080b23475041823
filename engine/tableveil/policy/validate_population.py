"""The checks of a policy's population, of models that need one, and of sources in which people have several rows."""

from collections.abc import Iterator

from tableveil.errors import Fault
from tableveil.policy import privacy
from tableveil.policy.methods import methods_of
from tableveil.policy.model import Policy, Population, Role

_BY_ROWS = (privacy.KMap, privacy.DeltaPresence, privacy.Inclusion)
_BY_SIZE = (privacy.EstimatedKMap, privacy.PopulationUniqueness)


def check_population(policy: Policy) -> Iterator[Fault]:
    """Faults of the population itself, and of models that need one; a population without such models is for reports."""
    yield from _check_needs(policy)
    if policy.population is not None:
        yield from check_itself(policy.population)
        yield from _check_subset_column(policy, policy.population.subset_column)


def _check_needs(policy: Policy) -> Iterator[Fault]:
    population = policy.population or Population()
    counting = _fields(policy, _BY_ROWS)
    if counting and not population.has_rows:
        actual = "nothing" if population == Population() else "no rows"
        hint = "Give population.table or population.subset_column."
        yield Fault("population", actual, f"the population's rows, because of {', '.join(counting)}", hint)
    elif population == Population() and (estimating := _fields(policy, _BY_SIZE)):
        expected = f"rows, a size or a sampling fraction, because of {', '.join(estimating)}"
        hint = "Give population.size, or population.table to count it."
        yield Fault("population", "nothing", expected, hint)
    elif policy.population == Population():
        yield Fault("population", "nothing", "rows, a size or a sampling fraction", "Remove it, or fill it.")


def _fields(policy: Policy, kinds: tuple[type[privacy.PrivacyModel], ...]) -> list[str]:
    """The fields of the policy's models of these kinds."""
    return sorted({privacy.PRIVACY_FIELDS[type(model)] for model in policy.privacy_models if isinstance(model, kinds)})


def check_itself(population: Population) -> Iterator[Fault]:
    """Faults of the population's own fields."""
    if population.table is not None and not population.table.table:
        yield Fault("population.table.table", "nothing", "the name of a table")
    if population.size is not None and population.size < 1:
        yield Fault("population.size", str(population.size), "a number of people from 1 on")
    fraction = population.sampling_fraction
    # Decimals raise an error when they are compared with NaN.
    if fraction is not None and not (fraction.is_finite() and 0 < fraction <= 1):
        yield Fault("population.sampling_fraction", f"{fraction:f}", "an exact decimal above 0, up to 1")


def _check_subset_column(policy: Policy, column: str) -> Iterator[Fault]:
    for i, attribute in enumerate(policy.attributes):
        if column and attribute.column == column and attribute.role is not Role.IDENTIFYING:
            hint = "It tells who is in the source, and is never released."
            yield Fault(f"attributes[{i}].role", f"{attribute.role} for the subset column", "IDENTIFYING", hint)


COUNT_PEOPLE = privacy.KAnonymity | privacy.Dominance | privacy.SafeHarbor | privacy.SensitiveModel
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


def _field(model: privacy.PrivacyModel) -> str:
    return privacy.PRIVACY_FIELDS[type(model)]
