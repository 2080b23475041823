"""The common part of the verification: its own quoting, rows that come from a warehouse, and fair thresholds."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

from tableveil.backend import WarehouseSession
from tableveil.policy import AROUND_ELEMENTS, Elements

PLACES = Decimal("1e-12")
LARGEST = Decimal(10**10)

SLACK = 1e-9
"""The tolerance in comparisons of logarithms: a class exactly at the threshold holds."""

_FOLDS = {chr(code): chr(code).casefold() for code in range(128, 0xFFFF) if len(chr(code).casefold()) > 1}
_FOLDED = "MAP {" + ", ".join(f"'{letter}': '{letters}'" for letter, letters in _FOLDS.items()) + "}"

Name = tuple[str, str, str]
"""A table as (catalog, schema, name)."""


def quoted(*parts: str) -> str:
    """A name in SQL text."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def spelled(value: str, type_: str) -> str:
    """A value as rows show it: a zero has no sign, so that equal values have equal texts."""
    return f"CASE WHEN {value} = 0 THEN 0 ELSE {value} END" if type_ in ("FLOAT", "DOUBLE") else value


def folded(value: str, type_: str) -> str:
    """The common form of all spellings of a text: no case, no spaces, no characters that do not show, composed letters.

    Case is folded in full: a letter such as ß, which upper and lower case leave alone, is first written as Python folds
    it.
    """
    if type_ not in ("VARCHAR", "JSON"):
        return value
    unseen = (
        r"[\pZ\pC\s\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}\x{2800}\x{2D7F}\x{3164}"
        r"\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFFC}\x{13441}-\x{13442}\x{16FE4}\x{1D159}\x{E0000}-\x{E0FFF}]"
    )
    shown = f"regexp_replace(nfc_normalize({value}::VARCHAR), '{unseen}', '', 'g')"
    # Letter by letter, where a text has one of these.
    spelled = (
        f"list_aggregate([coalesce({_FOLDED}[letter], letter) FOR letter IN string_split({shown}, '')], "
        "'string_agg', '')"
    )
    folds = f"CASE WHEN regexp_matches({shown}, '[{''.join(_FOLDS)}]') THEN {spelled} ELSE {shown} END"
    return f"nfc_normalize(lower(upper({folds})))"


def by_element(columns: str, value: str, of: str, elements: Elements) -> str:
    """A query for the `element`s in the lists of `value`, each once beside other columns of rows `of`.

    They are told apart by the common form of their spellings; a part without anything is none.
    """
    parts, part = f"string_split({value}, '{elements.delimiter.replace(chr(39), 2 * chr(39))}')", "part"
    if elements.delimiter:
        part = f"trim(part, '{AROUND_ELEMENTS.replace(chr(39), 2 * chr(39))}')"
    else:
        is_array = f"json_valid({value}) AND json_type({value}) = 'ARRAY'"
        parts = f"CASE WHEN {is_array} THEN from_json({value}, '[\"VARCHAR\"]') ELSE [nullif({value}, 'null')] END"
    listed = f"SELECT {columns}, unnest({parts}) AS part FROM {of} WHERE {value} IS NOT NULL"
    spelled = f"SELECT DISTINCT {columns}, {folded(part, 'VARCHAR')} AS element FROM ({listed})"
    return f"SELECT * FROM ({spelled}) WHERE element <> ''"


def near(session: WarehouseSession, name: str, query: str) -> str:
    """The rows of a query for a FROM clause of the embedded session, collected as `name` if they have to be."""
    if not session.traits.collects:
        return f"({query})"
    session.collect(name, query)
    return name


def differing(ours: str, theirs: str) -> str:
    """A query for how many different rows two queries do not have equally often; NULL equals NULL.

    Columns are compared by position; those of `ours` have names of our own. EXCEPT ALL would sort the rows of each.
    """
    both = f"SELECT *, 1 AS side FROM ({ours}) UNION ALL SELECT *, -1 FROM ({theirs})"
    return (
        f"SELECT count(*) FROM (SELECT * EXCLUDE (side), sum(side) AS more FROM ({both}) GROUP BY ALL HAVING more <> 0)"
    )


def at_most(threshold: Decimal) -> tuple[int, int]:
    """Numerator and denominator of an upper threshold, small enough that no product of counts overflows a HUGEINT.

    It is exact up to twelve decimal places; more are rounded up. No share reaches 10^10 times another.
    """
    return _ratio(threshold, ROUND_CEILING)


def at_least(threshold: Decimal) -> tuple[int, int]:
    """Like `at_most` for a lower threshold: more places are rounded down, and more than 10^10 is as impossible."""
    return _ratio(threshold, ROUND_FLOOR)


def _ratio(threshold: Decimal, rounding: str) -> tuple[int, int]:
    fraction = Fraction(min(threshold, LARGEST).quantize(PLACES, rounding))
    return fraction.numerator, fraction.denominator
