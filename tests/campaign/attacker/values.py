"""Models of sensitive columns, as docs/explanations/models.md defines them, over the values of one class."""

import math
from collections import Counter
from fractions import Fraction

from tests.campaign.attacker.cases import SensitiveColumn
from tests.campaign.attacker.columns import Document
from tests.campaign.attacker.distances import Spread, distance_of, shares

SLACK = 1e-9
"""The tolerance of logarithms."""


def holds(model: str, parameters: Document, part: Spread, whole: Spread, column: SensitiveColumn) -> bool:
    """Whether the class that spreads like `part` meets the model; `whole` is the source."""
    counts = sorted((number for value, number in part.items() if value is not None), reverse=True)
    match model:
        case "distinct_l_diversity":
            return len(counts) >= int(parameters["l"])
        case "probabilistic_l_diversity":
            return bool(counts) and counts[0] * Fraction(parameters["l"]) <= sum(counts)
        case "entropy_l_diversity":
            return bool(counts) and _entropy_holds(parameters, counts)
        case "recursive_cl_diversity":
            return bool(counts) and counts[0] < Fraction(parameters["c"]) * sum(counts[int(parameters["l"]) - 1 :])
        case "t_closeness":
            return distance_of(parameters["distance"], column, whole)(part, whole) <= Fraction(parameters["t"])
        case "delta_disclosure":
            return _delta_holds(parameters, part, whole)
        case "beta_likeness":
            return _beta_holds(parameters, part, whole)
    raise ValueError(model)


def _entropy_holds(parameters: Document, counts: list[int]) -> bool:
    total, least = sum(counts), float(parameters["l"])
    if parameters["estimator"] == "GRASSBERGER":
        entropy = _grassberger(total) - sum(n * _grassberger(n) for n in counts) / total
        return entropy >= math.log(least) - SLACK and len(counts) >= least
    return -sum(n / total * math.log(n / total) for n in counts) >= math.log(least) - SLACK


def _grassberger(number: int) -> float:
    """G of Grassberger 2003."""
    value = -0.5772156649015329 - math.log(2)
    for even in range(2, number + 1, 2):
        value += 2 / (even - 1)
    return value


def _delta_holds(parameters: Document, part: Spread, whole: Spread) -> bool:
    p, q = shares(part), shares(whole)
    for value, share in q.items():
        if not p.get(value):
            if parameters["absent_values"] == "REJECT":
                return False
        elif not abs(math.log2(p[value] / share)) < float(parameters["delta"]) + SLACK:
            return False
    return True


def _beta_holds(parameters: Document, part: Spread, whole: Spread) -> bool:
    beta, q = float(parameters["beta"]), shares(whole)
    for value, share in shares(part).items():
        gain = min(beta, -math.log(q[value])) if parameters["enhanced"] else beta
        if share > float(q[value]) * (1 + gain) * (1 + SLACK):
            return False
    return True


def spread_of(values: list[str | None]) -> Spread:
    """The frequency of each value."""
    return Counter(values)
