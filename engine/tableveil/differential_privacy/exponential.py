"""Powers of e and 2 between exact bounds, and trials that succeed with such a power as their probability."""

import math
from collections.abc import Callable
from decimal import MAX_EMAX, Context, Decimal
from fractions import Fraction

_MARGIN = 10
"""Decimal digits that a computed power has beyond those that are used: far more than the errors of its steps."""

_CHUNK = 64


def power_of_e_below(exponent: Fraction, bits: int) -> int:
    """A whole number that is at most 2^bits e^exponent, and less than 2 below it."""
    digits = math.ceil(bits * math.log10(2) + max(0.0, float(exponent)) / math.log(10)) + 3
    context = _context(digits)
    power = context.exp(_decimal(exponent, context))
    scaled = Fraction(power) * (1 << bits)
    return math.floor(scaled * (1 - Fraction(1, 10**digits)))


def over_log_2_below(number: Fraction, bits: int) -> int:
    """A whole number that is at most 2^bits number / ln 2; `number` is above 0."""
    digits = math.ceil(bits * math.log10(2)) + 3
    context = _context(digits)
    logarithm = Fraction(context.ln(Decimal(2))) * (1 + Fraction(1, 10**digits))
    return math.floor(number / logarithm * (1 << bits))


def succeeds(exponent: Fraction, below: Callable[[int], int]) -> bool:
    """True with a probability of exactly 2^-exponent; the exponent is at least 0.

    A uniform number below 1 is drawn bit by bit until it is certainly below or above the power.
    """
    whole, part = divmod(exponent, 1)
    for left in range(int(whole), 0, -_CHUNK):
        if below(1 << min(left, _CHUNK)):
            return False
    if not part:
        return True
    bits = uniform = 0
    while True:
        bits += _CHUNK
        uniform = (uniform << _CHUNK) | below(1 << _CHUNK)
        low, high = _power_of_half(part, bits)
        if uniform + 1 <= low:
            return True
        if uniform >= high:
            return False


def _power_of_half(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers around 2^bits 2^-exponent, for an exponent from 0 to 1."""
    digits = math.ceil(bits * math.log10(2)) + 3
    context = _context(digits)
    power = context.exp(context.multiply(-_decimal(exponent, context), context.ln(Decimal(2))))
    scaled, error = Fraction(power) * (1 << bits), Fraction(1 << bits, 10**digits)
    return math.floor(scaled - error), math.ceil(scaled + error)


def _context(digits: int) -> Context:
    """Decimal's exp and ln are correctly rounded at its precision."""
    return Context(prec=digits + _MARGIN, Emax=MAX_EMAX)


def _decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
