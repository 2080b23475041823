"""Spellings of one value: texts that differ by case, by spaces, by invisible characters, or by Unicode form."""

from __future__ import annotations

from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, cast, column, in_composed_form, replaced, text
from tableveil.hierarchy import ValueKind
from tableveil.source.model import Column

_UNSEEN = (
    r"[\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{2800}\x{2D7F}\x{3164}"
    r"\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFFC}\x{13441}\x{13442}\x{16FE4}\x{1D159}\x{E0000}-\x{E0FFF}]"
)
"""Spaces, control and format characters, all that Unicode says to be ignored by default (fillers, joiners, selectors of
variants, tags, what is reserved for them), and blank symbols: of Braille, of music, in place of an object."""

_LONGER = tuple(
    letter for letter in map(chr, (*range(0xC0, 0x2000), *range(0xFB00, 0xFB18))) if len(letter.casefold()) > 1
)
"""All letters that fold to several, as ß does to ss: upper and lower case of one letter do not unite these."""


def spelling(value: exp.Expr, of: Column) -> exp.Expr:
    """An expression that is equal for all spellings of a value, by Unicode's canonical caseless matching.

    Types other than text have one spelling. Only texts with letters that fold to several are looked at for these.
    """
    if of.kind is not ValueKind.TEXT:
        return value
    shown = _seen(value)
    spelled: exp.Expr = shown
    for letter in _LONGER:
        spelled = replaced(spelled, letter, letter.casefold())
    return _folded(exp.Case(ifs=[exp.If(this=_has_longer(shown), true=spelled)], default=shown.copy()))


def has_spellings(session: Session, values: exp.Select, of: Column) -> bool:
    """Whether two of the values, which are in a column `value`, are spellings of one."""
    if of.kind is not ValueKind.TEXT:
        return False
    spellings, different = count_spellings(session, exp.select("value").from_(values.distinct().subquery("each")), of)
    return spellings < different


def count_spellings(session: WarehouseSession, values: exp.Select, of: Column) -> tuple[int, int]:
    """How many spellings the values have, which are texts in a column `value`, and how many of them are not NULL.

    The expression of `spelling` takes longer to plan than most tables take to be read, for the letters that fold to
    several. So it is asked only where a value has one of these; elsewhere it is equal without them.
    """
    shown = _seen(column("value"))
    longer = exp.Coalesce(this=exp.LogicalOr(this=_has_longer(shown)), expressions=[exp.false()])
    values_table = values.subquery("spelled")
    counted, present, has_longer = session.row(
        exp.select(_count_distinct(_folded(shown)), exp.Count(this=column("value")), longer).from_(values_table)
    )
    if has_longer:
        counted = session.value(exp.select(_count_distinct(spelling(column("value"), of))).from_(values_table.copy()))
    return int(counted), int(present)


def _count_distinct(value: exp.Expr) -> exp.Expr:
    return exp.Count(this=exp.Distinct(expressions=[value]))


def _seen(value: exp.Expr) -> exp.Expr:
    """A text without what nobody sees of it."""
    composed = in_composed_form(cast(value, "VARCHAR"))
    return exp.RegexpReplace(this=composed, expression=text(_UNSEEN), replacement=text(""))


def _has_longer(shown: exp.Expr) -> exp.Expr:
    return exp.RegexpLike(this=shown.copy(), expression=text(f"[{''.join(_LONGER)}]"))


def _folded(shown: exp.Expr) -> exp.Expr:
    return in_composed_form(exp.Lower(this=exp.Upper(this=shown)))
