"""Values beyond the range of intervals whose open ends a release closes."""

from collections.abc import Iterator

from sqlglot import exp

from tableveil.backend import Session, cast, sql, table, text
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
        count, listed = "SELECT count(*) FROM $values WHERE (value < $low OR value > $high)", list[exp.Expr]()
        if isinstance(dictionary.attribute.hierarchy, Combination):
            count += " AND NOT CAST(value AS VARCHAR) IN ($listed)"
            listed = [text(row[0]) for row in dictionary.attribute.hierarchy.rows]
        values = table(dictionary.table_name)
        if value := session.value(sql(count, values=values, low=low, high=high, listed=listed)):
            name = shortened(dictionary.column.name)
            yield Fault(
                CLOSED,
                f"true, although {name} has {value:,} different values beyond {rule.minimum} to {rule.maximum}",
                "values between",
                "Declare a wider range, or leave the ends open.",
            )
