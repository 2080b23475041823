"""Spellings of one value: texts that differ by case, by spaces, by invisible characters, or by Unicode form."""

from sqlglot import exp

from tableveil.backend import Session, WarehouseSession, column, expression, sql, text
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
_HAS_LONGER = f"regexp_matches($shown, '[{''.join(_LONGER)}]')"
_FOLDED = "nfc_normalize(lower(upper($shown)))"


def spelling(value: exp.Expr, of: Column) -> exp.Expr:
    """An expression that is equal for all spellings of a value, by Unicode's canonical caseless matching.

    Types other than text have one spelling. Only texts with letters that fold to several are looked at for these.
    """
    if of.kind is not ValueKind.TEXT:
        return value
    shown = _seen(value)
    spelled: exp.Expr = shown
    for letter in _LONGER:
        spelled = exp.Replace(this=spelled, expression=text(letter), replacement=text(letter.casefold()))
    case = expression(f"CASE WHEN {_HAS_LONGER} THEN $spelled ELSE $shown END", spelled=spelled, shown=shown)
    return expression(_FOLDED, shown=case)


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
    query = f"SELECT count(DISTINCT {_FOLDED}), count(value), coalesce(bool_or({_HAS_LONGER}), FALSE) FROM $values"
    values_table = values.subquery("spelled")
    counted, present, has_longer = session.row(sql(query, shown=_seen(column("value")), values=values_table))
    if has_longer:
        spelled = spelling(column("value"), of)
        counted = session.value(
            sql("SELECT count(DISTINCT $spelled) FROM $values", spelled=spelled, values=values_table)
        )
    return int(counted), int(present)


def _seen(value: exp.Expr) -> exp.Expr:
    """A text without what nobody sees of it."""
    return expression(f"regexp_replace(nfc_normalize($value::VARCHAR), '{_UNSEEN}', '', 'g')", value=value)
