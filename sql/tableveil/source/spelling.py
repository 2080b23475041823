"""Spellings of one value: texts that differ by case, by spaces, by invisible characters, or by Unicode form."""

from __future__ import annotations

from sqlglot import exp

from tableveil.backend import Session, cast, column, in_composed_form, text
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Column

_UNSEEN = r"[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}]"
"""Spaces, control and format characters such as zero-width ones, fillers, and selectors of variants."""


def spelling(value: exp.Expr, of: Column) -> exp.Expr:
    """An expression that is equal for all spellings of a value; types other than text have one spelling."""
    if of.kind is not ValueKind.TEXT:
        return value
    shown = exp.RegexpReplace(
        this=in_composed_form(cast(value, "VARCHAR")), expression=text(_UNSEEN), replacement=text("")
    )
    return in_composed_form(exp.Lower(this=exp.Upper(this=shown)))


def has_spellings(session: Session, values: exp.Select, of: Column) -> bool:
    """Whether two of the values, which are in a column `value`, are spellings of one."""
    if of.kind is not ValueKind.TEXT:
        return False
    spellings = exp.Count(this=exp.Distinct(expressions=[spelling(column("value"), of)]))
    fewer = exp.LT(this=spellings, expression=exp.Count(this=column("value")))
    return bool(session.value(exp.select(fewer).from_(values.distinct().subquery("different"))))
