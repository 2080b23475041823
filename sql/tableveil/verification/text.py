"""The common part of the verification: its own quoting, rows that come from a warehouse, and fair thresholds."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

from tableveil.backend import WarehouseSession

PLACES = Decimal("1e-12")
LARGEST = Decimal(10**10)

SLACK = 1e-9
"""The tolerance in comparisons of logarithms: a class exactly at the threshold holds."""

Name = tuple[str, str, str]
"""A table as (catalog, schema, name)."""


def quoted(*parts: str) -> str:
    """A name in SQL text."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def spelled(value: str, type_: str) -> str:
    """A value as rows show it: a zero has no sign, so that equal values have equal texts."""
    return f"CASE WHEN {value} = 0 THEN 0 ELSE {value} END" if type_ in ("FLOAT", "DOUBLE") else value


def folded(value: str, type_: str) -> str:
    """The common form of all spellings of a text: no case, no spaces, no invisible characters, composed letters."""
    if type_ not in ("VARCHAR", "JSON"):
        return value
    unseen = r"[\pZ\pC\s\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}]"
    shown = f"regexp_replace(nfc_normalize({value}::VARCHAR), '{unseen}', '', 'g')"
    return f"nfc_normalize(lower(upper({shown})))"


def near(session: WarehouseSession, name: str, query: str) -> str:
    """The rows of a query for a FROM clause of the embedded session, which collects those of a warehouse as `name`."""
    if session.embedded is session:
        return f"({query})"
    session.collect(name, query)
    return name


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
