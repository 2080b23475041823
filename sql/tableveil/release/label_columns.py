"""The columns beside released labels, by which these are computed with and sorted: their names and types."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tableveil.errors import Fault, shortened
from tableveil.hierarchy import Combination, HierarchyDefinition, ValueKind, bounds_kind
from tableveil.hierarchy.rules import Intervals
from tableveil.policy import AggregateFunction, AttributePolicy, Policy, Role
from tableveil.policy.validate_told import closed_ends
from tableveil.source import Column, Source

CLASS_ID = "class_id"
"""The column of a row's class, which the table of classes has too."""

ESTIMATED = "estimated"
"""The column of estimated tables that is true in every row: comments vanish in many formats."""

RANK_TYPE = "INTEGER"

_TYPES = {
    ValueKind.INTEGER: "BIGINT",
    ValueKind.FLOAT: "DOUBLE",
    ValueKind.DATE: "DATE",
    ValueKind.TIMESTAMP: "TIMESTAMP",
}
_WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT")
_MOST_DIGITS = 18
"""Every whole number of as many digits is a BIGINT."""
_MOST_STEPS = 2**60
"""The widest grid whose multiples next to aggregated numbers, which are below 2^53, are BIGINTs."""


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """The columns beside a column of labels: `bounds` is the kind of its bounds, None if its rule declares none.

    `closed` are the intervals whose minimum and maximum are the bounds of labels with open ends.
    """

    attribute: AttributePolicy
    of: Column
    bounds: ValueKind | None
    closed: Intervals | None = None

    @property
    def name(self) -> str:
        """The column of labels."""
        return self.of.name

    @property
    def low(self) -> str:
        """The column of the least value under the label."""
        return f"{self.name}_from"

    @property
    def high(self) -> str:
        """The column of the greatest value under the label, or of the one that all values are below."""
        return f"{self.name}_to"

    @property
    def rank(self) -> str:
        """The column of the label's place among the released ones."""
        return f"{self.name}_rank"

    @property
    def bounds_type(self) -> str:
        """The type of the bounds, if there are any; it does not depend on the levels that the search finds."""
        if self.bounds is None:
            return ""
        whole = self.bounds is ValueKind.INTEGER
        return "DOUBLE" if whole and (self.of.type in _WIDE or _is_wide(self.attribute)) else _TYPES[self.bounds]

    @property
    def types(self) -> tuple[tuple[str, str], ...]:
        """Names and types in the order of the columns."""
        rank = (self.rank, RANK_TYPE)
        return (rank,) if self.bounds is None else ((self.low, self.bounds_type), (self.high, self.bounds_type), rank)


def label_columns(policy: Policy, source: Source) -> tuple[LabelColumns, ...]:
    """Per released column of labels, in the source's order; none if the policy leaves them out.

    A quasi-identifier has labels unless the policy fixes it at level 0 or replaces its values by numbers such as means.
    """
    if not policy.release.label_columns:
        return ()
    attributes = {a.column: a for a in policy.attributes if a.role is Role.QUASI_IDENTIFIER}
    beside_labels = []
    for column in source.columns:
        attribute = attributes.get(column.name)
        if attribute is not None and has_labels(attribute):
            closed = closed_ends(attribute) if policy.release.close_open_ends else None
            beside_labels.append(LabelColumns(attribute, column, bounds_kind(attribute.hierarchy, column.kind), closed))
    return tuple(beside_labels)


def has_labels(attribute: AttributePolicy) -> bool:
    """Whether the quasi-identifier is released as labels, whatever the levels are."""
    if attribute.aggregation is not None:
        return attribute.aggregation.function in (AggregateFunction.INTERVAL, AggregateFunction.COMMON_LABEL)
    return attribute.maximum_level != 0


def check_label_columns(policy: Policy, source: Source) -> Iterator[Fault]:
    """Faults of released columns that have a name which another column needs; case makes no difference."""
    taken = _released(policy, source)
    if policy.marker_column:
        taken.setdefault(policy.marker_column.casefold(), policy.marker_column)
    if policy.release.class_id:
        if CLASS_ID in taken:
            yield _taken("release.class_id", taken[CLASS_ID], "the class of each row")
        taken.setdefault(CLASS_ID, CLASS_ID)
    for name in (CLASS_ID, ESTIMATED) if policy.release.estimates else ():
        if name in taken and (name != CLASS_ID or not policy.release.class_id):
            yield _taken("release.estimates", taken[name], "the estimated table")
    yield from _check_beside(policy, source, taken, lambda j: f"attributes[{j}]")
    related = policy.related
    # A table that is missing has a fault already.
    if related is None or len(source.related) < len(related.events):
        return
    for event, rows in zip(related.events, source.related, strict=True):
        own = replace(policy, attributes=event.attributes)
        if related.relative_time:
            # The columns of days have ends that are whole numbers.
            rows = replace(rows, columns=tuple(map(_as_days, rows.columns)))
        yield from _check_beside(own, rows, _released(own, rows), event.field)


def _released(policy: Policy, source: Source) -> dict[str, str]:
    """The released columns by their names without case; related tables have a fresh key of the people's name."""
    roles = {attribute.column: attribute.role for attribute in policy.attributes}
    names = [c.name for c in source.columns if roles.get(c.name) not in (None, Role.IDENTIFYING)]
    names += [policy.person_column] if policy.related and policy.person_column else []
    return {name.casefold(): name for name in names}


def _check_beside(policy: Policy, source: Source, taken: dict[str, str], path: Callable[[int], str]) -> Iterator[Fault]:
    """The faults of names of columns beside labels; it adds these to the ones that are taken."""
    for columns in label_columns(policy, source):
        for name, _ in columns.types:
            if name.casefold() in taken:
                field = f"{path(policy.attributes.index(columns.attribute))}.column"
                yield _taken(field, taken[name.casefold()], f"{shortened(name)} beside {shortened(columns.name)}")
            taken.setdefault(name.casefold(), name)


def _as_days(column: Column) -> Column:
    dated = column.kind in (ValueKind.DATE, ValueKind.TIMESTAMP)
    return Column(column.name, "INTEGER", ValueKind.INTEGER) if dated else column


def _taken(field: str, name: str, needed: str) -> Fault:
    hint = "Rename the column in a source_query or a table, or set release.label_columns: false."
    if field != (own := field.removeprefix("release.")):
        hint = f"Rename the column in a source_query, or leave {own} out."
    return Fault(
        field, f"a column {shortened(name)}", f"no column of the name that the release needs for {needed}", hint
    )


def _is_wide(attribute: AttributePolicy) -> bool:
    """Whether labels may have whole numbers that are no BIGINT."""
    if attribute.aggregation is not None:
        return attribute.aggregation.grid is not None and attribute.aggregation.grid > _MOST_STEPS
    rule: HierarchyDefinition | None = attribute.hierarchy
    if isinstance(rule, Combination):
        rule = rule.rest
    if not isinstance(rule, Intervals):
        return False
    ends = (rule.minimum, rule.maximum, rule.bottom_coding, rule.top_coding)
    return any(len(end.lstrip("-")) > _MOST_DIGITS for end in ends)
