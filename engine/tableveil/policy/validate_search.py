"""The checks of a policy's search: given levels, linked columns, and the choice."""

from collections.abc import Iterator, Mapping

from tableveil.errors import Fault, shortened
from tableveil.errors.wording import LONGEST_SHOWN
from tableveil.policy.model import AttributePolicy, Choose, Policy
from tableveil.policy.privacy import Inclusion, SensitiveModel, SensitiveShare
from tableveil.policy.validate_attributes import MOST_NAMED, no_such_column


def check_search(policy: Policy) -> Iterator[Fault]:
    """Faults of `search`, without the time limit."""
    yield from _check_levels(policy)
    yield from _check_linked(policy)
    yield from _check_choose(policy)


def level_field(column: str) -> str:
    """Path of the level that `search.levels` gives a column."""
    return f"search.levels[{column if len(column) <= LONGEST_SHOWN else f'{column[:LONGEST_SHOWN]}…'}]"


def _check_levels(policy: Policy) -> Iterator[Fault]:
    levels = dict(policy.search.levels)
    if not levels:
        return
    attributes = dict(policy.leveled)
    missing = [column for column in attributes if column not in levels]
    if missing:
        hint = "They are the whole transformation; to fix some levels only, give those columns equal limits instead."
        yield Fault("search.levels", f"no level for {_listed(missing)}", "a level for every quasi-identifier", hint)
    unknown = 0
    for column, level in levels.items():
        attribute = attributes.get(column)
        if attribute is None:
            unknown += 1
            yield no_such_column(level_field(column), column, "quasi-identifier", attributes, unknown)
        elif level < max(policy.least_level(attribute), 0):
            yield Fault(level_field(column), str(level), _at_least(policy, attribute))
        elif attribute.maximum_level is not None and level > attribute.maximum_level:
            yield Fault(level_field(column), str(level), f"at most maximum_level, {attribute.maximum_level}")
    for i, group in enumerate(policy.search.linked):
        chosen = {column: levels[column] for column in group if column in levels}
        if len(set(chosen.values())) > 1:
            listed = ", ".join(f"{level} for {shortened(name)}" for name, level in list(chosen.items())[:MOST_NAMED])
            actual = f"columns to which search.levels gives different levels: {listed}"
            yield Fault(f"search.linked[{i}]", actual, "the same level for linked columns")


def _at_least(policy: Policy, attribute: AttributePolicy) -> str:
    least = policy.least_level(attribute)
    if least > attribute.minimum_level:
        return f"at least {least}, because of safe_harbor"
    return f"at least minimum_level, {least}" if least > 0 else "a level of at least 0"


def _check_linked(policy: Policy) -> Iterator[Fault]:
    attributes = {attribute.column: attribute for attribute in policy.quasi_identifiers}
    groups: dict[str, int] = {}
    unknown = 0
    for i, group in enumerate(policy.search.linked):
        field = f"search.linked[{i}]"
        if len(group) < 2:
            yield Fault(f"{field}.columns", shortened(group[0]) if group else "nothing", "at least two columns")
        for j, column in enumerate(group):
            if column not in attributes:
                unknown += 1
                yield no_such_column(f"{field}.columns[{j}]", column, "quasi-identifier", attributes, unknown)
            elif column in groups:
                where = "this group" if groups[column] == i else f"search.linked[{groups[column]}]"
                actual = f"{shortened(column)}, which is in {where} already"
                yield Fault(f"{field}.columns[{j}]", actual, "each column once", "Make one group of linked groups.")
            groups.setdefault(column, i)
        yield from check_common_level(
            field,
            {column: policy.least_level(attributes[column]) for column in group if column in attributes},
            {
                column: most
                for column in group
                if column in attributes and (most := attributes[column].maximum_level) is not None
            },
        )


def _check_choose(policy: Policy) -> Iterator[Fault]:
    if policy.search.choose is not Choose.QUASI_IDENTIFIERS_ONLY:
        return
    models = [model for model in policy.privacy_models if type(model) is not Inclusion]
    look_at_values = [isinstance(model, SensitiveModel | SensitiveShare) for model in models]
    if not any(look_at_values):
        actual = "QUASI_IDENTIFIERS_ONLY, although no privacy model looks at sensitive values"
        yield Fault("search.choose", actual, "a model that looks at them", "Remove it: it would change nothing.")
    elif all(look_at_values):
        actual = "QUASI_IDENTIFIERS_ONLY, although every privacy model looks at sensitive values"
        hint = "Add one to choose by, for example: k_anonymity: {k: 5}."
        yield Fault("search.choose", actual, "a model that looks at quasi-identifiers only", hint)


def check_common_level(field: str, least: Mapping[str, int], most: Mapping[str, int]) -> Iterator[Fault]:
    """The fault of linked columns without a common level, given the `least` and `most` level by column."""
    if not least or not most:
        return
    high, low = max(least, key=lambda column: least[column]), min(most, key=lambda column: most[column])
    if high != low and least[high] > most[low]:
        actual = f"{shortened(high)}, from level {least[high]} on, with {shortened(low)}, up to level {most[low]}"
        yield Fault(field, actual, "columns with a level in common", "Change their limits, or link other columns.")


def _listed(columns: list[str]) -> str:
    shown = ", ".join(map(shortened, columns[:MOST_NAMED]))
    return f"{shown} and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else shown
