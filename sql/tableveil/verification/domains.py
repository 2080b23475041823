"""How much of their domains released labels stand for: counted again from the hierarchies' definitions.

Listed hierarchies are counted from their rows, as the policy or the store has them; calendar periods by listing all
days of the range; intervals by what their labels say; masked texts by how many characters are masked; groups by adding
up their members; values in an order by where they stand in it. Nothing is taken from the search's input.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache

import pyarrow as pa

from tableveil.backend import Session, WarehouseSession
from tableveil.hierarchy import Combination, HierarchyDefinition, InlineLevels, RuleHierarchy
from tableveil.hierarchy.rules import Dates, DateUnit, Grouping, Intervals, OrderBased, Redaction, SuppressionOnly
from tableveil.policy import AttributePolicy, NullHandling, Policy
from tableveil.verification.text import near, quoted
from tableveil.verification.written import Labels, Written

_INTERVAL = re.compile(r"\[(.+), (.+)\]")

_PERIODS = {
    DateUnit.DAY: "strftime(day, '%Y-%m-%d')",
    DateUnit.WEEK: "printf('%04d-W%02d', isoyear(day), week(day))",
    DateUnit.MONTH: "printf('%04d-%02d', year(day), month(day))",
    DateUnit.QUARTER: "printf('%04d-Q%d', year(day), quarter(day))",
    DateUnit.YEAR: "printf('%04d', year(day))",
    DateUnit.DECADE: "printf('%04ds', year(day) // 10 * 10)",
}


def count_losses(
    rows: WarehouseSession, policy: Policy, written: Written, classes: str, name: str, levels: Sequence[str]
) -> None:
    """Makes a temporary table of the rows of `classes`, each with the information `loss` of one of its records.

    `classes` is a relation with a label in a column `q0`, `q1`, … per quasi-identifier, in the order of
    `written.labels`; `levels` has an SQL expression per quasi-identifier for the level of a row's label, with the row
    under the alias `c`. The loss is log(product of leaves) / log(product of |H|), as in Wan et al. 2015, "Publisher's
    strategy"; it is NULL if a label is none of the hierarchy's.
    """
    session = rows.embedded
    attributes = {attribute.column: attribute for attribute in policy.attributes}
    domains = []
    session.execute("CREATE TEMPORARY TABLE label_bits (attribute INTEGER, level INTEGER, label VARCHAR, bits DOUBLE)")
    for j, labels in enumerate(written.labels):
        attribute, values = attributes[labels.column], _source_values(rows, j, labels, written)
        if labels.unstored is not None:
            attribute = replace(attribute, hierarchy=labels.unstored)
        for level in range(1, labels.top):
            _insert_bits(session, j, level, _leaves(session, attribute.hierarchy, labels, level, values))
        domains.append(f"{math.log2(max(_domain(session, attribute, labels, values), 1))!r}::DOUBLE")
    bits, joins = [], []
    for j, (labels, of_row) in enumerate(zip(written.labels, levels, strict=True)):
        # Below the top NULL is a group of its own, as every value is at level 0.
        alone = f"({of_row}) = 0 OR (({of_row}) < {labels.top} AND c.q{j} IS NULL)"
        bits.append(f"CASE WHEN {alone} THEN 0 WHEN ({of_row}) = {labels.top} THEN {domains[j]} ELSE b{j}.bits END")
        same = f"b{j}.attribute = {j} AND b{j}.level = ({of_row}) AND b{j}.label = CAST(c.q{j} AS VARCHAR)"
        joins.append(f"LEFT JOIN label_bits AS b{j} ON {same}")
    # Both sums have one order: if all labels stand for their whole domains, the loss is exactly 1.
    whole = " + ".join(domains)
    session.stage(
        name,
        f"SELECT c.*, "
        f"CASE WHEN {whole} = 0 THEN 0 ELSE ({' + '.join(bits)}) / ({whole}) END AS loss "
        f"FROM {classes} AS c {' '.join(joins)}",
    )
    session.execute("DROP TABLE temp.main.label_bits")


SourceValues = Callable[[], str]
"""The different values of a column of the source, in a FROM clause of the embedded session; they are read if asked."""


def _source_values(rows: WarehouseSession, attribute: int, labels: Labels, written: Written) -> SourceValues:
    query = f"SELECT DISTINCT {quoted(labels.column)} AS value FROM {written.source_rows}"
    return cache(lambda: near(rows, f"source_values_{attribute}", query))


def _insert_bits(session: Session, attribute: int, level: int, leaves: Mapping[str, int]) -> None:
    data = pa.table(
        {
            "attribute": pa.array([attribute] * len(leaves), pa.int32()),
            "level": pa.array([level] * len(leaves), pa.int32()),
            "label": pa.array(list(leaves), pa.string()),
            "bits": pa.array(map(math.log2, leaves.values()), pa.float64()),
        }
    )
    with session.relation("counted_bits", data):
        session.execute("INSERT INTO label_bits FROM counted_bits")


# --- labels between the values and the top --------------------------------------------------------------------------


def _leaves(
    session: Session,
    hierarchy: HierarchyDefinition | None,
    labels: Labels,
    level: int,
    values: SourceValues,
    with_rows: Collection[str] = (),
) -> Mapping[str, int]:
    """The number of level-0 values under each label that may occur at a level below the top.

    Values `with_rows` of their own, beside the hierarchy, do not count for it.
    """
    match hierarchy:
        case Dates() as rule:
            unit = rule.units[level - 1]
            periods = f"SELECT min(day) AS day, count(*) AS days FROM {_days(rule)} GROUP BY date_trunc('{unit}', day)"
            return dict(session.rows(f"SELECT {_PERIODS[unit]}, days FROM ({periods})"))
        case Intervals() as rule:
            return {label: _within(rule, label) for label in _shown(session, labels, level)}
        case Redaction() as rule:
            masked = rule.masked[level - 1] if rule.masked else level * rule.step
            return dict.fromkeys(_shown(session, labels, level), _characters(rule) ** masked)
        case InlineLevels(rows):
            return Counter(row[level] for row in rows)
        case Grouping() as rule:
            return _grouped(rule, level, _unlisted(session, rule, values, with_rows))
        case OrderBased() as rule:
            return _in_order(session, rule, labels, level)
        case Combination() as rule:
            return _combined(session, rule, labels, level, values)
        case _ if isinstance(hierarchy, RuleHierarchy):
            raise AssertionError(f"the leaves of {type(hierarchy).__name__} are not counted here")
        case _:
            query = f"SELECT l{level}, count(*) FROM {_stored(session, labels)} GROUP BY l{level}"
            return dict(session.rows(query))


def _shown(session: Session, labels: Labels, level: int) -> list[str]:
    label = quoted(labels.columns[level])
    rows = session.rows(f"SELECT DISTINCT {label} FROM {quoted(labels.table)} WHERE {label} IS NOT NULL")
    return [read_label for (read_label,) in rows]


def _within(rule: Intervals, label: str) -> int:
    """The whole numbers, or days, in an interval: both of its bounds are in it, and codings end with the range."""
    if label.startswith("< ") and rule.bottom_coding:
        return _position(rule.bottom_coding) - _position(rule.minimum)
    if label.startswith(">= ") and rule.top_coding:
        return _position(rule.maximum) - _position(rule.top_coding) + 1
    bounds = _INTERVAL.fullmatch(label)
    # Without widths, values outside the codings stay unchanged.
    return _position(bounds[2]) - _position(bounds[1]) + 1 if bounds else 1


def _characters(rule: Redaction) -> int:
    return len(set(rule.alphabet)) or rule.alphabet_size


def _grouped(rule: Grouping, level: int, unlisted: int) -> Mapping[str, int]:
    """Adds up the members of every group, from level 1 up."""
    first, *above = rule.levels[:level]
    counts = Counter({group.label: len(group.members) for group in first.groups})
    counts[first.others] += unlisted
    for groups in above:
        joined = Counter({group.label: sum(map(counts.pop, group.members)) for group in groups.groups})
        joined[groups.others] += counts.total()
        counts = joined
    return +counts


def _in_order(session: Session, rule: OrderBased, labels: Labels, level: int) -> Mapping[str, int]:
    """The values between the ends of the group around a value with the label."""
    size = math.prod(rule.fan_outs[:level])
    places = {value: place for place, value in enumerate(rule.values)}
    value, label = quoted(labels.columns[0]), quoted(labels.columns[level])
    query = f"SELECT {label}, min(CAST({value} AS VARCHAR)) FROM {quoted(labels.table)} WHERE {value} IS NOT NULL"
    starts = {name: places[some] // size * size for name, some in session.rows(f"{query} GROUP BY {label}")}
    return {name: min(size, len(rule.values) - start) for name, start in starts.items()}


def _combined(
    session: Session, rule: Combination, labels: Labels, level: int, values: SourceValues
) -> Mapping[str, int]:
    """The leaves of the rows, and those of the rule for all values without one."""
    listed = [_row_labels(row) for row in rule.rows]
    with_rows = [row[0] for row in listed]
    highest = _levels_below_top(rule.rest)
    session.execute(
        f"CREATE OR REPLACE TEMPORARY TABLE without_rows AS SELECT * FROM {quoted(labels.table)} "
        f"WHERE NOT list_contains(?::VARCHAR[], CAST({quoted(labels.columns[0])} AS VARCHAR))",
        [with_rows],
    )
    # The column of this level stands for the rule's own level, which is lower where the rule has fewer.
    of_rule = min(level, highest)
    others = replace(
        labels, table="without_rows", columns=(labels.columns[0], *[labels.columns[level]] * max(of_rule, 1))
    )
    if highest:
        rest = _leaves(session, rule.rest, others, of_rule, values, with_rows)
    else:
        rest = dict.fromkeys(_shown(session, others, 1), 1)
    session.execute("DROP TABLE temp.main.without_rows")
    return {**rest, **Counter(row[min(level, len(row) - 1)] for row in listed)}


def _row_labels(row: Sequence[str]) -> Sequence[str]:
    """A row without the top's label, which may be left out."""
    return row[:-1] if len(row) > 1 and row[-1] == "*" else row


def _levels_below_top(rule: HierarchyDefinition) -> int:
    match rule:
        case Dates(units=levels) | Grouping(levels=levels) | OrderBased(fan_outs=levels):
            return len(levels)
        case Intervals():
            return len(rule.widths) or len(rule.boundaries) or 1
        case Redaction():
            return len(rule.masked) or math.ceil(rule.length / rule.step) - 1
        case SuppressionOnly():
            return 0
        case _:
            raise AssertionError(f"the levels of {type(rule).__name__} are not counted here")


def _position(bound: str) -> int:
    return date.fromisoformat(bound).toordinal() if "-" in bound[1:] else int(bound)


def _days(rule: Dates) -> str:
    first, last = f"DATE '{rule.minimum}'", f"DATE '{rule.maximum}'"
    return f"(SELECT {first} + i::INTEGER AS day FROM range({last} - {first} + 1) AS days(i))"


# --- whole domains --------------------------------------------------------------------------------------------------


def _domain(session: Session, attribute: AttributePolicy, labels: Labels, values: SourceValues) -> int:
    """|H|: the number of level-0 values, with NULL if the source has it as a value of its own."""
    size = _values(session, attribute.hierarchy, labels, values)
    if attribute.nulls is NullHandling.VALUE:
        size += session.value(f"SELECT coalesce(bool_or(value IS NULL), FALSE)::INTEGER FROM {values()}")
    return int(size)


def _values(
    session: Session,
    hierarchy: HierarchyDefinition | None,
    labels: Labels,
    values: SourceValues,
    with_rows: Collection[str] = (),
) -> int:
    """Without NULL, and without those `with_rows` of their own."""
    match hierarchy:
        case Dates() as rule:
            return int(session.value(f"SELECT count(*) FROM {_days(rule)}"))
        case Intervals() as rule:
            return _position(rule.maximum) - _position(rule.minimum) + 1
        case Redaction() as rule:
            return int(_characters(rule) ** rule.length)
        case SuppressionOnly():
            return _present(session, values, with_rows)
        case InlineLevels(listed):
            return len(listed)
        case OrderBased(listed):
            return len(listed)
        case Grouping() as rule:
            return len(_members(rule)) + _unlisted(session, rule, values, with_rows)
        case Combination(rows, rest):
            return len(rows) + _values(session, rest, labels, values, [row[0] for row in rows])
        case _ if isinstance(hierarchy, RuleHierarchy):
            raise AssertionError(f"the values of {type(hierarchy).__name__} are not counted here")
        case _:
            return int(session.value(f"SELECT count(*) FROM {_stored(session, labels)}"))


def _members(rule: Grouping) -> list[str]:
    return [member for group in rule.levels[0].groups for member in group.members]


def _unlisted(session: Session, rule: Grouping, values: SourceValues, with_rows: Collection[str]) -> int:
    """Values of the source in no group, if there is a label for others."""
    return _present(session, values, [*_members(rule), *with_rows]) if rule.levels[0].others else 0


def _present(session: Session, values: SourceValues, but: Collection[str]) -> int:
    """The number of the source's distinct values without those in `but`."""
    query = (
        f"SELECT count(*) FROM {values()} "
        "WHERE value IS NOT NULL AND NOT list_contains(?::VARCHAR[], CAST(value AS VARCHAR))"
    )
    return int(session.value(query, [list(but)]))


def _stored(session: Session, labels: Labels) -> str:
    name, _, version = labels.hierarchy.rpartition("@")
    query = "SELECT number FROM tableveil.hierarchies WHERE name = ? AND version = ?"
    return f"tableveil.hierarchy_{session.ledger.value(query, [name, int(version)])}"
