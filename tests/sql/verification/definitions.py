"""Definitions of privacy models over plain lists of values, and the strictest parameters that classes meet."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

Value = str | None
Values = Sequence[Value]
Distance = Callable[[Values, Values], Fraction]

STEP = Decimal("0.000001")


def at_least(reached: Fraction | float) -> Decimal:
    """The smallest decimal of six places that is not below what is reached."""
    return _decimal(reached).quantize(STEP, ROUND_CEILING)


def at_most(reached: Fraction | float) -> Decimal:
    """The largest decimal of six places that is not above what is reached."""
    return _decimal(reached).quantize(STEP, ROUND_FLOOR)


def _decimal(number: Fraction | float) -> Decimal:
    # A float is what it is up to its last digits: exact logarithms shall not seem to be beyond themselves.
    return Decimal(number.numerator) / number.denominator if isinstance(number, Fraction) else Decimal(f"{number:.11f}")


# --- diversity: NULL is no value ------------------------------------------------------------------------------------


def present(values: Values) -> Counter[Value]:
    return Counter(value for value in values if value is not None)


def probabilistic_l(values: Values) -> Fraction:
    counts = present(values)
    return Fraction(counts.total(), max(counts.values())) if counts else Fraction(0)


def entropy_l(values: Values) -> float:
    counts = present(values)
    n = counts.total()
    return math.exp(-sum(c / n * math.log(c / n) for c in counts.values())) if n else 0.0


def grassberger_l(values: Values) -> float:
    counts = present(values)
    n = counts.total()

    def g(count: int) -> float:
        result = -0.57721566490153286 - math.log(2)
        for even in range(0, count - 1, 2):
            result += 2 / (even + 1)
        return result

    return min(math.exp(g(n) - sum(c * g(c) for c in counts.values()) / n), len(counts)) if n else 0.0


def recursive_c(values: Values, l: int) -> Fraction | None:  # noqa: E741
    """The c below which recursive (c,l)-diversity does not hold; None: with no c."""
    counts = sorted(present(values).values(), reverse=True)
    tail = sum(counts[l - 1 :])
    return Fraction(counts[0], tail) if tail else None


# --- closeness: NULL is a value -------------------------------------------------------------------------------------


def equal_distance(values: Values, others: Values) -> Fraction:
    return sum((abs(_share(values, v) - _share(others, v)) for v in set(others)), Fraction(0)) / 2


def ordered_distance(order: Sequence[Value]) -> Distance:
    """By the order of all values of the column."""

    def distance(values: Values, others: Values) -> Fraction:
        total, difference = Fraction(0), Fraction(0)
        for value in order[:-1]:
            difference += _share(values, value) - _share(others, value)
            total += abs(difference)
        return total / (len(order) - 1) if len(order) > 1 else Fraction(0)

    return distance


def hierarchical_distance(labels: dict[Value, tuple[str | None, ...]]) -> Distance:
    """By the labels of each value from level 1 to the top; below the top NULL is a label of its own."""
    height = len(next(iter(labels.values())))

    def distance(values: Values, others: Values) -> Fraction:
        extra: dict[tuple[object, ...], Fraction] = {
            (value, *labels[value]): _share(values, value) - _share(others, value) for value in set(others)
        }
        total = Fraction(0)
        for level in range(1, height + 1):
            parents: dict[tuple[object, ...], list[Fraction]] = {}
            for node, surplus in extra.items():
                parents.setdefault(node[1:], []).append(surplus)
            for children in parents.values():
                given = sum((c for c in children if c > 0), Fraction(0))
                taken = -sum((c for c in children if c < 0), Fraction(0))
                total += Fraction(level, height) * min(given, taken)
            extra = {node: sum(children, Fraction(0)) for node, children in parents.items()}
        return total

    return distance


def disclosure(values: Values, others: Values) -> float | None:
    """|log2 q/p| of the value where it is largest; None if one of all values is not in the class."""
    if set(values) != set(others):
        return None
    return ignoring_absent(values, others)


def ignoring_absent(values: Values, others: Values) -> float:
    return max(abs(math.log2(_share(values, v) / _share(others, v))) for v in set(values))


def likeness(values: Values, others: Values) -> Fraction:
    """The largest (q - p) / p."""
    return max(_share(values, v) / _share(others, v) - 1 for v in set(values))


def enhanced_holds(values: Values, others: Values) -> bool:
    """Whether no value gains more than -ln p, whatever beta is."""
    return all(
        float(_share(values, v) / _share(others, v) - 1) <= -math.log(_share(others, v)) + 1e-9 for v in set(values)
    )


def _share(values: Values, value: Value) -> Fraction:
    return Fraction(sum(v == value for v in values), len(values))
