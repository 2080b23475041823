"""A source with a column that has the values of several, by which people are numbered."""

from collections.abc import Sequence

from sqlglot import exp

from tableveil.backend import Session, alias, cast, column, joined_by, number, render, table
from tableveil.drafting import PolicyDraft
from tableveil.source import Source

_NAMES = ("person", "person_of_row", "numbered_person")


def with_person(draft: PolicyDraft, query: str, names: Sequence[str]) -> tuple[str, str]:
    """A SELECT of all columns of a draft's table, or of its query, and one of the others' values; and its name."""
    taken = {one.facts.name.casefold() for one in draft.columns}
    name = next(wanted for wanted in _NAMES if wanted not in taken)
    values = [cast(column(each), "VARCHAR") for each in names]
    together = render(alias(joined_by("|", values), name))
    rows = f"(\n{query}\n) AS source" if query else render(table(draft.source.table, draft.source.schema))
    return f"SELECT *, {together} FROM {rows}", name


def same_in(
    session: Session, source: Source, names: Sequence[str], others: Sequence[str], fewest: int, most: float
) -> list[str]:
    """The other columns that have one value in at least a share `most` of the groups of several rows by `names`.

    Chance is left out: a column whose values agree as often in pairs of any rows says nothing. None if there are fewer
    than `fewest` groups.
    """
    if not others:
        return []
    counted = [alias(exp.Count(this=exp.Star()), "rows_of_group")]
    counted += [
        alias(exp.Count(this=exp.Distinct(expressions=[column(name)])), f"d{i}") for i, name in enumerate(others)
    ]
    groups = exp.select(*counted).from_(source.table()).group_by(*map(column, names))
    same = [exp.LTE(this=column(f"d{i}"), expression=number(1)) for i in range(len(others))]
    shares = [exp.Avg(this=exp.If(this=one, true=number(1), false=number(0))) for one in same]
    repeated = exp.select(exp.Count(this=exp.Star()), *shares).from_(groups.subquery("groups"))
    groups_of_several, *agree = session.row(repeated.where(column("rows_of_group") > 1))
    if groups_of_several < fewest:
        return []
    # Two rows of anybody agree by chance as often as the sum of the squares of the values' shares.
    agreeing = []
    for name, share in zip(others, agree, strict=True):
        sizes = exp.select(alias(exp.Count(this=exp.Star()), "size")).from_(source.table()).group_by(column(name))
        size = cast(column("size"), "DOUBLE")
        sums = exp.select(exp.Sum(this=exp.Mul(this=size, expression=size.copy())), exp.Sum(this=size.copy()))
        squares, rows = session.row(sums.from_(sizes.subquery("sizes")))
        by_chance = squares / rows**2
        if share >= most and by_chance < _CHANCE:
            agreeing.append(name)
    return agreeing


_CHANCE = 0.8
"""Rows of anybody agree so often in a column that nearly has one value."""
