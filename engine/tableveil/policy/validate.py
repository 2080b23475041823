"""Everything that can be wrong with a policy before any database is asked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from tableveil.errors import Fault, nearest, shortened
from tableveil.errors.wording import LONGEST_SHOWN
from tableveil.hierarchy import InlineLevels, StoredLevels, check_levels, check_rule, field_of
from tableveil.hierarchy.definition import RuleHierarchy, TableLevels
from tableveil.policy.model import AttributePolicy, NullHandling, Policy, Role, SuppressedRecords
from tableveil.policy.privacy import KAnonymity
from tableveil.policy.quality import FIELDS, WITH_PARTS

LARGEST_K = 2**31 - 1

MOST_NAMED = 5
"""Columns that one fault names, and unknown ones that get a hint: finding the nearest name takes long."""


def validate_policy(policy: Policy) -> list[Fault]:
    """All faults of a policy by itself, with field paths as in the proto; empty if there are none."""
    return [
        *_check_source_and_target(policy),
        *_check_names(policy),
        *_check_attributes(policy),
        *_check_person(policy),
        *_check_privacy(policy),
        *_check_suppressed_records(policy),
        *_check_numbers(policy),
        *_check_quality(policy),
        *_check_levels(policy),
        *_check_linked(policy),
    ]


def _check_source_and_target(policy: Policy) -> Iterator[Fault]:
    if not policy.source.table:
        yield Fault("source.table", "nothing", "the name of the table to anonymize")
    target = policy.release
    if not target.name:
        yield Fault("release.name", "nothing", "the name of the table or view to write")


def _check_names(policy: Policy) -> Iterator[Fault]:
    """Names that are released must not hold what ends them in Arrow, and so for whoever reads the release."""
    names = {"release.name": policy.release.name, "suppressed_records.marker_column": policy.marker_column}
    for i, attribute in enumerate(policy.attributes):
        if attribute.role is not Role.IDENTIFYING:
            names[f"attributes[{i}].column"] = attribute.column
    for field, name in names.items():
        if "\0" in name:
            yield Fault(field, f"{shortened(name)}, in which there is a null character", "a name without one")


def _check_attributes(policy: Policy) -> Iterator[Fault]:
    counts = Counter(attribute.column.casefold() for attribute in policy.attributes)
    for i, attribute in enumerate(policy.attributes):
        field = f"attributes[{i}]"
        if not attribute.column:
            yield Fault(f"{field}.column", "nothing", "the name of a column")
        elif counts[attribute.column.casefold()] > 1:
            hint = "Keep one of the entries; names that differ only in case are the same column to the database."
            yield Fault(f"{field}.column", f"{shortened(attribute.column)} more than once", "each column once", hint)
        if attribute.role is Role.QUASI_IDENTIFIER:
            yield from _check_quasi_identifier(attribute, field)
        else:
            yield from _check_other(attribute, field)
    if not policy.quasi_identifiers:
        hint = "Give that role to the columns by which people could be recognized: age, sex, place, dates, …"
        yield Fault("attributes", "no column with the role QUASI_IDENTIFIER", "at least one", hint)
    if policy.default_role is Role.QUASI_IDENTIFIER:
        hint = "A quasi-identifier needs a hierarchy: list its column."
        yield Fault("default_role", "QUASI_IDENTIFIER", "another role", hint)


def _check_quasi_identifier(attribute: AttributePolicy, field: str) -> Iterator[Fault]:
    if attribute.hierarchy is None:
        hint = "Say how its values may be generalized; suppression_only: {} is the least one can say."
        yield Fault(f"{field}.hierarchy", "nothing", "a hierarchy, because the column is a quasi-identifier", hint)
    else:
        yield from _check_hierarchy(attribute, f"{field}.hierarchy")
    if attribute.minimum_level < 0:
        yield Fault(f"{field}.minimum_level", str(attribute.minimum_level), "a level of at least 0")
    if attribute.maximum_level is not None:
        if attribute.maximum_level < 0:
            yield Fault(f"{field}.maximum_level", str(attribute.maximum_level), "a level of at least 0")
        elif attribute.maximum_level < attribute.minimum_level:
            expected = f"at least minimum_level, {attribute.minimum_level}"
            yield Fault(f"{field}.maximum_level", str(attribute.maximum_level), expected)
    if not (math.isfinite(attribute.weight) and attribute.weight >= 0):
        yield Fault(f"{field}.weight", str(attribute.weight), "a finite number of at least 0")
    if attribute.acknowledged:
        hint = "Remove it: a quasi-identifier is generalized anyway."
        yield Fault(f"{field}.acknowledged", "true for a quasi-identifier", "true for insensitive columns only", hint)


def _check_hierarchy(attribute: AttributePolicy, field: str) -> Iterator[Fault]:
    match attribute.hierarchy:
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
        case rule if isinstance(rule, RuleHierarchy):
            yield from check_rule(rule, f"{field}.{field_of(rule)}")


def _check_other(attribute: AttributePolicy, field: str) -> Iterator[Fault]:
    """Options that only mean something for another role are refused rather than ignored."""
    only = "nothing, because only quasi-identifiers are generalized"
    if attribute.hierarchy is not None:
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
    if attribute.acknowledged and attribute.role is not Role.INSENSITIVE:
        expected = "true for insensitive columns only"
        yield Fault(f"{field}.acknowledged", f"true for the role {attribute.role}", expected, "Remove it.")


def _check_person(policy: Policy) -> Iterator[Fault]:
    if policy.person_column is None:
        return
    if not policy.person_column:
        yield Fault("person_column", "nothing", "the name of a column, or rows_are_people: true")
        return
    for i, attribute in enumerate(policy.attributes):
        if attribute.column == policy.person_column and attribute.role is not Role.IDENTIFYING:
            hint = "What identifies a person is never released."
            yield Fault(f"attributes[{i}].role", f"{attribute.role} for the person column", "IDENTIFYING", hint)
    listed = any(attribute.column == policy.person_column for attribute in policy.attributes)
    if not listed and policy.default_role not in (None, Role.IDENTIFYING):
        hint = "List the column with the role IDENTIFYING."
        yield Fault("person_column", f"the default role {policy.default_role}", "the role IDENTIFYING", hint)


def _check_privacy(policy: Policy) -> Iterator[Fault]:
    if not policy.privacy_models:
        yield Fault("privacy_models", "none", "at least one privacy model", "For example: k_anonymity: {k: 5}.")
    for i, model in enumerate(policy.privacy_models):
        match model:
            case KAnonymity(k):
                if not 2 <= k <= LARGEST_K:
                    hint = "k = 1 would promise nothing."
                    yield Fault(f"privacy_models[{i}].k_anonymity.k", str(k), f"a number from 2 to {LARGEST_K}", hint)
    for kind in {type(model) for model in policy.privacy_models}:
        same = [i for i, model in enumerate(policy.privacy_models) if type(model) is kind]
        if len(same) > 1:
            yield Fault(f"privacy_models[{same[1]}]", "the same model more than once", "each model once")


def _check_suppressed_records(policy: Policy) -> Iterator[Fault]:
    blank = policy.suppressed_records is SuppressedRecords.BLANK
    if not blank and policy.marker_column:
        hint = "Remove it, or set handling: BLANK to keep suppressed records as blank rows."
        found = f"{shortened(policy.marker_column)} although suppressed records are dropped"
        yield Fault("suppressed_records.marker_column", found, "nothing", hint)
    if blank and not policy.marker_column:
        hint = "It tells suppressed rows from released ones whose labels are all NULL."
        yield Fault("suppressed_records.marker_column", "nothing", "a name for the marker column", hint)
    if blank and policy.marker_column.casefold() in {a.column.casefold() for a in policy.attributes}:
        found = f"{shortened(policy.marker_column)}, a column of the source"
        yield Fault("suppressed_records.marker_column", found, "a name no column has")


def _check_numbers(policy: Policy) -> Iterator[Fault]:
    # Decimals refuse to be compared with NaN.
    if not (policy.suppression_limit.is_finite() and 0 <= policy.suppression_limit <= 1):
        yield Fault("suppression_limit", str(policy.suppression_limit), "an exact decimal from 0 to 1")
    for i, threshold in enumerate(policy.risk_thresholds):
        if not (threshold.is_finite() and 0 < threshold < 1):
            yield Fault(f"risk_thresholds[{i}]", str(threshold), "an exact decimal above 0 and below 1")
        elif threshold in policy.risk_thresholds[:i]:
            yield Fault(f"risk_thresholds[{i}]", str(threshold), "each threshold once")
    limit = policy.search.time_limit_seconds
    if limit is not None and not (limit.is_finite() and 0 < limit <= 10**9):
        yield Fault("search.time_limit_seconds", str(limit), "seconds above 0, or nothing for no limit")


def _check_quality(policy: Policy) -> Iterator[Fault]:
    model = policy.quality_model
    kind = FIELDS[type(model)]
    factor = getattr(model, "factor", 0.0)
    if not 0 <= factor <= 1:
        hint = "0.5 counts generalization and suppression in full."
        yield Fault(f"quality_model.{kind}.factor", str(factor), "a number from 0 to 1", hint)
    if isinstance(model, WITH_PARTS):
        return
    for i, attribute in enumerate(policy.attributes):
        if attribute.role is Role.QUASI_IDENTIFIER and attribute.weight != 1.0:
            found = f"{attribute.weight} for {kind}, which has no parts per quasi-identifier that could be weighted"
            hint = f"Remove it, or choose one of {', '.join(FIELDS[known] for known in WITH_PARTS)}."
            yield Fault(f"attributes[{i}].weight", found, "1", hint)


def level_field(column: str) -> str:
    """Path of the level that `search.levels` gives a column."""
    return f"search.levels[{column if len(column) <= LONGEST_SHOWN else f'{column[:LONGEST_SHOWN]}…'}]"


def _check_levels(policy: Policy) -> Iterator[Fault]:
    levels = dict(policy.search.levels)
    if not levels:
        return
    attributes = {attribute.column: attribute for attribute in policy.quasi_identifiers}
    missing = [column for column in attributes if column not in levels]
    if missing:
        hint = "They are the whole transformation; to fix some levels only, give those columns equal limits instead."
        yield Fault("search.levels", f"no level for {_listed(missing)}", "a level for every quasi-identifier", hint)
    unknown = 0
    for column, level in levels.items():
        attribute = attributes.get(column)
        if attribute is None:
            unknown += 1
            yield _no_quasi_identifier(level_field(column), column, attributes, unknown)
        elif level < max(attribute.minimum_level, 0):
            least = attribute.minimum_level
            expected = f"at least minimum_level, {least}" if least > 0 else "a level of at least 0"
            yield Fault(level_field(column), str(level), expected)
        elif attribute.maximum_level is not None and level > attribute.maximum_level:
            yield Fault(level_field(column), str(level), f"at most maximum_level, {attribute.maximum_level}")
    for i, group in enumerate(policy.search.linked):
        chosen = {column: levels[column] for column in group if column in levels}
        if len(set(chosen.values())) > 1:
            listed = ", ".join(f"{level} for {shortened(name)}" for name, level in list(chosen.items())[:MOST_NAMED])
            found = f"columns to which search.levels gives different levels: {listed}"
            yield Fault(f"search.linked[{i}]", found, "the same level for linked columns")


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
                yield _no_quasi_identifier(f"{field}.columns[{j}]", column, attributes, unknown)
            elif column in groups:
                where = "this group" if groups[column] == i else f"search.linked[{groups[column]}]"
                found = f"{shortened(column)}, which is in {where} already"
                yield Fault(f"{field}.columns[{j}]", found, "each column once", "Make one group of linked groups.")
            groups.setdefault(column, i)
        yield from check_common_level(
            field,
            {column: attributes[column].minimum_level for column in group if column in attributes},
            {
                column: most
                for column in group
                if column in attributes and (most := attributes[column].maximum_level) is not None
            },
        )


def check_common_level(field: str, least: Mapping[str, int], most: Mapping[str, int]) -> Iterator[Fault]:
    """The fault of linked columns whose levels, from `least` to `most` by column, have none in common."""
    if not least or not most:
        return
    high, low = max(least, key=lambda column: least[column]), min(most, key=lambda column: most[column])
    if high != low and least[high] > most[low]:
        found = f"{shortened(high)}, from level {least[high]} on, with {shortened(low)}, up to level {most[low]}"
        yield Fault(field, found, "columns with a level in common", "Change their limits, or link other columns.")


def _no_quasi_identifier(field: str, column: str, known: Collection[str], number: int) -> Fault:
    hint = nearest(column, known) if number <= MOST_NAMED else ""
    return Fault(field, f"{shortened(column)}, which is no quasi-identifier of the policy", "a quasi-identifier", hint)


def _listed(columns: list[str]) -> str:
    shown = ", ".join(map(shortened, columns[:MOST_NAMED]))
    return f"{shown} and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else shown
