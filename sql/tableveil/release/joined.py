"""Rows of the source joined to dictionaries and to staged classes, and the labels of rows that are."""

from collections.abc import Mapping

from sqlglot import exp

from tableveil.backend import cast, column, conjunction, in_one_spelling, number, table, text
from tableveil.counting.base import joined_code, joined_value
from tableveil.hierarchy import ValueKind
from tableveil.release.columns import LabelledColumn, ReleasedColumn
from tableveil.release.plan import ReleasePlan


def joined_rows(plan: ReleasePlan, with_groups: bool) -> tuple[exp.Select, dict[int, exp.Expr]]:
    """The source joined to the dictionaries of its labels, and each row's groups, if there are any.

    With `with_groups`, all quasi-identifiers of more than one group have them, and the combinations of earlier classes.
    """
    query = exp.select().from_(plan.source.table("source"))
    groups: dict[int, exp.Expr] = {}
    for j, dictionary in enumerate(plan.dictionaries):
        # The top has one label for all, and level 0 has the value itself: neither needs the dictionary for its label.
        labelled = any(0 < level < dictionary.levels.top for level in plan.levels_of(j))
        if (with_groups and plan.classes.layout.radices[j] > 1) or labelled:
            query, groups[j] = joined_code(query, dictionary, "source", f"d{j}", plan.classes.at[j])
    if with_groups and plan.earlier is not None:
        query, groups[len(plan.dictionaries)] = plan.earlier.joined(query, "source", "earlier")
    return query, groups


def joined_values(plan: ReleasePlan) -> tuple[exp.Select, dict[str, exp.Expr], exp.Expr | None]:
    """The source joined to all of its dictionaries, the codes of each row's own values, and of its person."""
    query, own, person = exp.select().from_(plan.source.table("source")), {}, None
    for j, dictionary in enumerate(plan.dictionaries):
        query, own[dictionary.column.name] = joined_code(query, dictionary, "source", f"d{j}", 0)
    for j, aggregated in enumerate(plan.aggregated_columns):
        query, own[aggregated.column.name] = joined_value(query, aggregated, "source", f"a{j}")
    if plan.people is not None:
        query, person = joined_value(query, plan.people, "source", "owners")
    return query, own, person


def group_at(plan: ReleasePlan, attribute: int, level: int) -> exp.Expr:
    """The group of a quasi-identifier at a level, for rows that are joined to its dictionary."""
    return joined_code(exp.select(), plan.dictionaries[attribute], "source", f"d{attribute}", level)[1]


def of_classes(
    plan: ReleasePlan, query: exp.Select, groups: Mapping[int, exp.Expr], staged: str, join: str
) -> exp.Select:
    """The rows joined to the staged table, with or without the key of their class in it."""
    layout = plan.classes.layout
    words: list[exp.Expr] = [cast(number(0), "BIGINT") for _ in range(layout.words)]
    for j, group in groups.items():
        part = exp.Mul(this=cast(group, "BIGINT"), expression=number(layout.stride[j]))
        words[layout.word[j]] = exp.Add(this=words[layout.word[j]], expression=part)
    same = exp.and_(*(exp.EQ(this=column(f"w{w}", staged), expression=word) for w, word in enumerate(words)))
    return query.join(table(staged), on=same, join_type=join)


def withheld(plan: ReleasePlan) -> list[exp.Expr]:
    """Conditions on a row of the source: if any holds, the row is suppressed in any class."""
    return [column(d.column.name, "source").is_(exp.null()) for d in plan.dictionaries if d.withholds]


def not_withheld(plan: ReleasePlan) -> list[exp.Expr]:
    """Conditions on a row of the source: all hold, or it is suppressed in any class."""
    return [exp.Not(this=condition) for condition in withheld(plan)]


def released(plan: ReleasePlan, of_class: exp.Expr) -> exp.Expr:
    """The condition that a row is released, where `of_class` is NULL for rows of no released class."""
    return conjunction([of_class.is_(exp.null()).not_(), *not_withheld(plan)])


def positions_of(plan: ReleasePlan) -> dict[str, int]:
    """By name the position of each generalized column."""
    return {dictionary.column.name: j for j, dictionary in enumerate(plan.dictionaries)}


def value_of(of: ReleasedColumn) -> exp.Expr:
    """The value of the source, in the column's type."""
    value: exp.Expr = column(of.name, "source")
    if of.column.kind is ValueKind.FLOAT:
        value = in_one_spelling(value)
    return value if of.type == of.column.type else cast(value, of.type)


def label_at(of: LabelledColumn, level: int, positions: Mapping[str, int]) -> exp.Expr:
    """The label of a column at a level, for rows that are joined to its dictionary."""
    if level == 0:
        return value_of(of)
    if level == of.dictionary.levels.top:
        return text(of.dictionary.top_label)
    return column(of.dictionary.label_name(level), f"d{positions[of.name]}")


def own_label(of: ReleasedColumn, positions: Mapping[str, int]) -> exp.Expr:
    """The label at the column's highest level, or the value if it has none."""
    return label_at(of, of.level, positions) if isinstance(of, LabelledColumn) else value_of(of)
