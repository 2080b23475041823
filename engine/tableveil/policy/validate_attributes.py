"""The checks of a policy's columns: roles, levels, hierarchies, orders, and how each is aggregated."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from tableveil.errors import Fault, nearest, shortened
from tableveil.hierarchy import (
    HierarchyDefinition,
    InlineLevels,
    SafeHarborDate,
    SafeHarborZip,
    StoredLevels,
    check_levels,
    check_rule,
    field_of,
    safe_harbor,
)
from tableveil.hierarchy.definition import RuleHierarchy, TableLevels
from tableveil.policy.aggregation import FITTING, AggregateFunction, Scale
from tableveil.policy.model import AttributePolicy, NullHandling, OrderBy, Policy, Role, ValueOrder

LARGEST_WEIGHT = 10**9
"""Products and sums of weighted parts stay finite: a policy has few columns."""

MOST_NAMED = 5
"""The most columns that one fault names, and unknown ones that get a hint: finding the nearest name takes long."""


def check_attributes(policy: Policy) -> Iterator[Fault]:
    """Faults of each column by itself, and of all quasi-identifiers together."""
    yield from _check_columns(policy, policy.attributes)
    for event in () if policy.related is None else policy.related.events:
        yield from _check_columns(policy, event.attributes, event.first)
    if not policy.recognizing:
        hint = "Give that role to the columns by which people could be recognized: age, sex, place, dates, …"
        yield Fault("attributes", "no column with the role QUASI_IDENTIFIER", "at least one", hint)
    if policy.default_role is Role.QUASI_IDENTIFIER:
        hint = "A quasi-identifier needs a hierarchy: list its column."
        yield Fault("default_role", "QUASI_IDENTIFIER", "another role", hint)


def _check_columns(policy: Policy, attributes: Sequence[AttributePolicy], first: int = 0) -> Iterator[Fault]:
    """Faults of each column of a table by itself; the table's columns are the policy's from the `first` entry on."""
    counts = Counter(attribute.column.casefold() for attribute in attributes)
    for i, attribute in enumerate(attributes):
        field = f"attributes[{first + i}]"
        if not attribute.column:
            yield Fault(f"{field}.column", "nothing", "the name of a column")
        elif counts[attribute.column.casefold()] > 1:
            hint = "Keep one of the entries; names that differ only in case are the same column to the database."
            yield Fault(f"{field}.column", f"{shortened(attribute.column)} more than once", "each column once", hint)
        if attribute.role is Role.QUASI_IDENTIFIER:
            yield from _check_quasi_identifier(attribute, field)
        else:
            yield from _check_other(attribute, field)
        if (
            attribute.acknowledged
            and policy.person_column
            and attribute.role in (Role.QUASI_IDENTIFIER, Role.IDENTIFYING)
        ):
            # Where rows are people, it says that rows with equal values are different people.
            expected = "true for sensitive and insensitive columns only, beside a person_column"
            yield Fault(f"{field}.acknowledged", f"true for the role {attribute.role}", expected, "Remove it.")
        yield from _check_order(attribute, f"{field}.order")
        yield from _check_elements(attribute, f"{field}.elements")


def _check_quasi_identifier(attribute: AttributePolicy, field: str) -> Iterator[Fault]:
    if attribute.hierarchy is None and attribute.aggregation is None:
        hint = "Say how its values may be generalized; suppression_only: {} is the least one can say."
        yield Fault(f"{field}.hierarchy", "nothing", "a hierarchy, because the column is a quasi-identifier", hint)
    elif attribute.hierarchy is not None:
        yield from check_hierarchy(attribute.hierarchy, f"{field}.hierarchy")
    if attribute.minimum_level < 0:
        yield Fault(f"{field}.minimum_level", str(attribute.minimum_level), "a level of at least 0")
    if attribute.maximum_level is not None:
        if attribute.maximum_level < 0:
            yield Fault(f"{field}.maximum_level", str(attribute.maximum_level), "a level of at least 0")
        elif attribute.maximum_level < attribute.minimum_level:
            expected = f"at least minimum_level, {attribute.minimum_level}"
            yield Fault(f"{field}.maximum_level", str(attribute.maximum_level), expected)
    if not 0 <= attribute.weight <= LARGEST_WEIGHT:
        yield Fault(f"{field}.weight", str(attribute.weight), f"a number from 0 to {LARGEST_WEIGHT:,}")


def check_hierarchy(hierarchy: HierarchyDefinition | None, field: str) -> Iterator[Fault]:
    """The faults of a definition by itself; `field` is its path, such as `attributes[2].hierarchy`."""
    match hierarchy:
        case InlineLevels(rows):
            yield from check_levels(rows, f"{field}.inline")
        case StoredLevels(name, version):
            if not name:
                yield Fault(f"{field}.stored.name", "nothing", "the name of a stored hierarchy")
            if version < 0:
                yield Fault(f"{field}.stored.version", str(version), "a version from 1 on, or 0 for the newest")
        case TableLevels(table=table, columns=columns):
            if not table:
                yield Fault(f"{field}.table.table.table", "nothing", "the name of a table")
            if len(columns) == 1:
                yield Fault(f"{field}.table.columns", "1 column", "level 0 and at least one more level")
            yield from (
                Fault(f"{field}.table.columns[{i}]", f"{shortened(name)} more than once", "each column once")
                for i, name in enumerate(columns)
                if columns.index(name) != i
            )
        case SafeHarborZip(table=table, zip_column=codes, population_column=people):
            if not table:
                yield Fault(f"{field}.safe_harbor_zip.population.table", "nothing", "the name of a table")
            if codes == people:
                actual = f"{shortened(people)}, the column of the ZIP codes"
                yield Fault(f"{field}.safe_harbor_zip.population_column", actual, "the column of the people in each")
        case SafeHarborDate() as dates:
            yield from safe_harbor.check_dates(dates, f"{field}.safe_harbor_date")
        case rule if isinstance(rule, RuleHierarchy):
            yield from check_rule(rule, f"{field}.{field_of(rule)}")


def _check_other(attribute: AttributePolicy, field: str) -> Iterator[Fault]:
    """Options that are for another role are refused rather than ignored."""
    only = "nothing, because only quasi-identifiers are generalized"
    if attribute.hierarchy is not None and attribute.role is Role.SENSITIVE:
        yield from check_hierarchy(attribute.hierarchy, f"{field}.hierarchy")
    elif attribute.hierarchy is not None:
        hint = "Remove it, or make the column a QUASI_IDENTIFIER."
        yield Fault(f"{field}.hierarchy", f"a hierarchy for the role {attribute.role}", only, hint)
    if attribute.minimum_level != 0:
        yield Fault(f"{field}.minimum_level", str(attribute.minimum_level), only)
    if attribute.maximum_level is not None:
        yield Fault(f"{field}.maximum_level", str(attribute.maximum_level), only)
    if attribute.weight != 1.0:
        yield Fault(f"{field}.weight", str(attribute.weight), only)
    if attribute.nulls is not NullHandling.VALUE:
        yield Fault(f"{field}.nulls", attribute.nulls, only)


def _check_order(attribute: AttributePolicy, field: str) -> Iterator[Fault]:
    order = attribute.order
    ordered = attribute.role is Role.SENSITIVE or attribute.aggregation is not None
    if order != ValueOrder() and not ordered:
        expected = "nothing, because only the values of sensitive columns are compared by their order"
        yield Fault(field, f"an order for the role {attribute.role}", expected, "Remove it.")
        return
    if order.values and order.by is not OrderBy.TYPE:
        hint = "Remove it: the values listed are the order."
        yield Fault(f"{field}.by", f"{order.by} beside values", "nothing beside values", hint)
    seen: set[str] = set()
    for i, value in enumerate(order.values):
        if value in seen:
            yield Fault(f"{field}.values[{i}]", f"{shortened(value)} more than once", "each value once")
        seen.add(value)


def _check_elements(attribute: AttributePolicy, field: str) -> Iterator[Fault]:
    elements = attribute.elements
    if elements is None:
        return
    if attribute.role is not Role.SENSITIVE:
        expected = "nothing, because only the elements of sensitive columns are judged"
        yield Fault(field, f"elements for the role {attribute.role}", expected, "Remove it.")
    elif elements.none and elements.delimiter:
        yield Fault(f"{field}.delimiter", f"{shortened(elements.delimiter)} beside none", "one of them", "Remove one.")


def no_such_column(field: str, column: str, kind: str, known: Collection[str], number: int) -> Fault:
    """The fault of naming a column outside the `known` ones of a kind; only the first few faults get a hint."""
    hint = nearest(column, known) if number <= MOST_NAMED else ""
    return Fault(field, f"{shortened(column)}, which is no {kind} of the policy", f"a {kind}", hint)


_GRID = "For example: {function: INTERVAL, grid: '5'}."


def check_aggregations(policy: Policy) -> Iterator[Fault]:
    """Faults of every aggregation."""
    for i, attribute in enumerate(policy.attributes):
        if attribute.aggregation is not None:
            yield from _check_aggregation(attribute, f"attributes[{i}]")


def _check_aggregation(attribute: AttributePolicy, path: str) -> Iterator[Fault]:
    aggregation, field = attribute.aggregation, f"{path}.aggregation"
    assert aggregation is not None
    if attribute.role is not Role.QUASI_IDENTIFIER:
        actual = f"an aggregation for the role {attribute.role}"
        yield Fault(field, actual, "nothing, because only quasi-identifiers are aggregated", "Remove it.")
        return
    function, scale = aggregation.function, aggregation.scale
    if function not in FITTING[scale]:
        yield Fault(
            f"{field}.function", f"{function} of a scale that is {scale}", f"one of {', '.join(FITTING[scale])}"
        )
    if function is AggregateFunction.INTERVAL and aggregation.grid is None:
        hint = f"Ends that are not rounded would be the values of members. {_GRID}"
        yield Fault(f"{field}.grid", "nothing", "a width above 0", hint)
    if function is not AggregateFunction.INTERVAL and aggregation.grid is not None:
        yield Fault(f"{field}.grid", str(aggregation.grid), "nothing, because only INTERVAL has one", "Remove it.")
    elif aggregation.grid is not None and not (aggregation.grid.is_finite() and 0 < aggregation.grid <= 10**18):
        yield Fault(f"{field}.grid", str(aggregation.grid), "an exact decimal above 0", _GRID)
    if scale is not Scale.NUMERIC:
        for name in ("bottom_coding", "top_coding"):
            if getattr(aggregation, name):
                expected = "nothing, because only numeric columns are coded"
                yield Fault(f"{field}.{name}", shortened(getattr(aggregation, name)), expected, "Remove it.")
    if scale is Scale.NOMINAL and attribute.hierarchy is None:
        hint = "suppression_only: {} makes all different values equally far from each other."
        yield Fault(f"{path}.hierarchy", "nothing", "a hierarchy, by which distances are measured", hint)
    if scale is not Scale.NOMINAL and attribute.hierarchy is not None:
        expected = "nothing, because the column is aggregated instead of generalized"
        yield Fault(f"{path}.hierarchy", f"a hierarchy for a scale that is {scale}", expected, "Remove one of them.")
    if scale is not Scale.ORDINAL and attribute.order != ValueOrder():
        expected = "nothing, because only ordinal columns are aggregated by their order"
        yield Fault(f"{path}.order", f"an order for a scale that is {scale}", expected, "Remove it, or say ORDINAL.")
    elif attribute.order.nulls is not None:
        expected = "nothing, because records with a NULL are set aside"
        yield Fault(f"{path}.order.nulls", attribute.order.nulls, expected, "Remove it.")
    if attribute.nulls is NullHandling.VALUE:
        hint = "SUPPRESS sets their records aside; they count against the suppression limit."
        yield Fault(f"{path}.nulls", "VALUE for an aggregated column", "SUPPRESS or ERROR", hint)
    if attribute.minimum_level or attribute.maximum_level is not None:
        name = "minimum_level" if attribute.minimum_level else "maximum_level"
        yield Fault(
            f"{path}.{name}", str(getattr(attribute, name)), "nothing, because aggregated columns have no levels"
        )
