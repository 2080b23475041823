"""Values beyond the range of intervals whose open ends a release closes."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tableveil.backend import Session, cast, column, table, text
from tableveil.dictionary.build import Dictionary
from tableveil.errors import Fault, shortened
from tableveil.hierarchy import Combination
from tableveil.policy.validate_told import CLOSED, closed_ends


def check_closed(session: Session, dictionaries: list[Dictionary]) -> Iterator[Fault]:
    """Faults of columns with values below the minimum or above the maximum; it counts them and shows none."""
    for dictionary in dictionaries:
        rule = closed_ends(dictionary.attribute)
        if rule is None:
            continue
        low, high = (cast(text(end), dictionary.column.type) for end in (rule.minimum, rule.maximum))
        beyond: exp.Expr = exp.or_(
            exp.LT(this=column("value"), expression=low), exp.GT(this=column("value"), expression=high)
        )
        if isinstance(dictionary.attribute.hierarchy, Combination):
            listed = [text(row[0]) for row in dictionary.attribute.hierarchy.rows]
            beyond = exp.and_(beyond, exp.Not(this=exp.In(this=cast(column("value"), "VARCHAR"), expressions=listed)))
        count = exp.select(exp.Count(this=exp.Star())).from_(table(dictionary.table_name)).where(beyond)
        if value := session.value(count):
            name = shortened(dictionary.column.name)
            yield Fault(
                CLOSED,
                f"true, although {name} has {value:,} different values beyond {rule.minimum} to {rule.maximum}",
                "values between",
                "Declare a wider range, or leave the ends open.",
            )
