"""Individual risk: the risk of a record whose survey weight says how many people of the population it stands for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from tableveil.errors import Fault
from tableveil.risk.frequencies import Frequencies

MANY = 40
"""From so many records on, the series needs few terms for any weights."""

PIECE = 1 << 16
"""Combinations processed at a time, so that numpy's intermediate arrays stay in the caches."""

TERMS = 60
"""Terms of the series: those after them are below 1e-16 of the sum, for p of at least a half or `MANY` records."""


@dataclass(frozen=True, slots=True)
class WeightFacts:
    """Defects of a column of survey weights: numbers of records whose weight is NULL, NaN or infinite, or below 1."""

    null: int
    not_finite: int
    below_one: int


@dataclass(frozen=True, slots=True)
class IndividualRisk:
    """The individual risks of all records. All are zero if there are no records.

    Attributes:
        highest: The highest risk of a record.
        average: The average over records: the share of them that is expected to be found, the global risk.
        expected: The number of records expected to be found if all are looked for.
        records_at_risk: Per threshold the number of records with a risk above it. Risks are floating-point numbers
            here.
    """

    highest: float
    average: float
    expected: float
    records_at_risk: tuple[tuple[Decimal, int], ...]


def check_weights(field: str, facts: WeightFacts) -> Iterator[Fault]:
    """Faults of a column of weights, under the field that names it; they give numbers of records, never a weight."""
    expected = "the number of people that each record stands for, at least 1"
    for number, what in (
        (facts.null, "NULL"),
        (facts.not_finite, "NaN or infinite"),
        (facts.below_one, "below 1: zero, negative, or less than the record itself"),
    ):
        if number:
            hint = "Correct the weights, or analyze a table without these records."
            yield Fault(field, f"{number} records whose weight is {what}", expected, hint)


def individual_risks(records: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per combination the risk of each of its records, from their number f and the sum of their weights W.

    The number F of people in the population with a combination has, given f, a negative binomial distribution: f
    successes with the probability p = f / W. The risk is the expectation of 1 / F,

        (p^f / f) 2F1(f, f; f + 1; 1 - p),  which is  (p / f) 2F1(1, 1; f + 1; 1 - p)

    by Euler's transformation. Where W <= f, all people are in the table and the risk is 1 / f.

    Source: Benedetti and Franconi 1998, "Statistical and technological solutions for controlled data dissemination";
    Franconi and Polettini 2004, "Individual risk estimation in mu-Argus: a review".
    """
    risks = np.empty(len(records), np.float64)
    for start in range(0, len(records), PIECE):
        piece = slice(start, start + PIECE)
        risks[piece] = _risks(records[piece], weights[piece])
    return risks


def _risks(records: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    share = np.minimum(records / weights, 1.0)
    few = (share < 0.5) & (records < MANY) | (share < 1) & (records == 1)
    if few.all():
        return _by_recursion(records, share)
    risks = np.empty(len(records), np.float64)
    risks[few] = _by_recursion(records[few], share[few])
    risks[~few] = _by_series(records[~few], share[~few])
    return risks


def _by_recursion(records: NDArray[np.int64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Starts at f = 1 with p / q log(1 / p), q = 1 - p above 0; goes to f + 1 by p / q (1 / f - risk).

    The risk is the integral of p u^(f - 1) / (p + q u) over u from 0 to 1: so p risk(f) + q risk(f + 1) = p / f. With p
    below a half, p / q is below 1, and errors die out.
    """
    odds = share / (1 - share)
    risks: NDArray[np.float64] = odds * -np.log(share)
    larger = np.flatnonzero(records > 1)
    size = 1
    while len(larger):
        risks[larger] = odds[larger] * (1 / size - risks[larger])
        size += 1
        larger = larger[records[larger] > size]
    return risks


def _by_series(records: NDArray[np.int64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Computes p / f times the sum of k! q^k / ((f + 1) … (f + k)) over k from 0: all terms are positive."""
    missed = 1 - share
    term = np.ones(len(records))
    total = np.ones(len(records))
    for k in range(1, TERMS):
        term = term * (missed * k / (records + k))
        total += term
    risks: NDArray[np.float64] = share / records * total
    return risks


def individual_risk(frequencies: Frequencies, thresholds: Sequence[Decimal]) -> IndividualRisk:
    """The individual risks in total. `frequencies` has weights without a fault by `check_weights`."""
    if frequencies.weights is None:
        raise ValueError("the frequencies have no weights")
    records, total = frequencies.records, frequencies.total
    risks = individual_risks(records, frequencies.weights)
    expected = float(records @ risks)
    return IndividualRisk(
        highest=float(risks.max(initial=0.0)),
        average=expected / total if total else 0.0,
        expected=expected,
        records_at_risk=tuple(
            (threshold, int(records.sum(where=risks > float(threshold)))) for threshold in thresholds
        ),
    )
