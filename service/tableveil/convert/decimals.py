"""Exact decimals as texts: plain digits; no exponent, infinity, underscore or space, all of which Decimal reads."""

import re
from decimal import Decimal

LONGEST_DECIMAL = 50

_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def decimal_from_text(text: str) -> Decimal | None:
    """The decimal; None for a text that is none, or is longer than any sensible one."""
    return Decimal(text) if len(text) <= LONGEST_DECIMAL and _DECIMAL.fullmatch(text) else None


def decimal_to_text(number: Decimal) -> str:
    """The decimal in plain digits: str() would give small ones an exponent."""
    return f"{number:f}"
