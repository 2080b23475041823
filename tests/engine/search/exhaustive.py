"""Small problems of searches, their optimum by the definitions and without regard to speed, and random ones."""

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from tableveil.lattice import Lattice, Transformation
from tableveil.policy import Aggregate, NullHandling

Value = str | None
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier: the rows of its hierarchy, what NULL means, its weight and its level limits."""

    rows: tuple[tuple[str, ...], ...]
    nulls: NullHandling
    weight: float
    minimum: int
    maximum: int

    @property
    def top(self) -> int:
        return len(self.rows[0]) - 1


@dataclass(frozen=True)
class Problem:
    """A small table and a problem on it; at most `suppressible` records may be suppressed.

    If `even`, only classes of even size are released: a model whose failures finer transformations do not inherit.
    """

    attributes: tuple[Attribute, ...]
    records: tuple[Row, ...]
    k: int
    suppressible: int
    aggregate: Aggregate
    even: bool = False

    @property
    def lattice(self) -> Lattice:
        return Lattice(tuple(a.minimum for a in self.attributes), tuple(a.maximum for a in self.attributes))

    def releases(self, size: int) -> bool:
        """Whether a class of that size is released."""
        return size >= self.k and not (self.even and size % 2)

    def null_counts(self, j: int) -> bool:
        """Whether NULL is a value of attribute j."""
        present = any(record[j] is None for record in self.records)
        return present and self.attributes[j].nulls is NullHandling.VALUE


# --- the definitions, transcribed without regard to speed -----------------------------------------------------------


@dataclass(frozen=True)
class Valued:
    """The values of one transformation by definition; `values` are the losses per attribute, exact."""

    valid: bool
    suppressed: int
    classes: int
    values: tuple[Fraction, ...]


def label(attribute: Attribute, value: Value, level: int) -> Value:
    if level == attribute.top:
        return attribute.rows[0][level]
    if value is None:
        return None
    return next(row[level] for row in attribute.rows if row[0] == value)


def withheld(problem: Problem, record: Row) -> bool:
    suppresses = (a.nulls is NullHandling.SUPPRESS for a in problem.attributes)
    return any(value is None and s for value, s in zip(record, suppresses, strict=True))


def share(problem: Problem, j: int, value: Value, level: int) -> Fraction:
    """(leaves - 1) / (|H| - 1)."""
    attribute = problem.attributes[j]
    size = len(attribute.rows) + problem.null_counts(j)
    if size == 1:
        return Fraction(0)
    if level == attribute.top:
        return Fraction(1)
    if value is None:
        return Fraction(0)
    mine = label(attribute, value, level)
    return Fraction(sum(row[level] == mine for row in attribute.rows) - 1, size - 1)


def by_definition(problem: Problem, transformation: Transformation) -> Valued:
    counted = [record for record in problem.records if not withheld(problem, record)]
    labels, shares = [], []
    for j, (attribute, level) in enumerate(zip(problem.attributes, transformation, strict=True)):
        present = {record[j] for record in counted}
        labels.append({value: label(attribute, value, level) for value in present})
        shares.append({value: share(problem, j, value, level) for value in present})
    classes = [tuple(of[value] for of, value in zip(labels, record, strict=True)) for record in counted]
    sizes = Counter(classes)
    kept = [record for record, found in zip(counted, classes, strict=True) if problem.releases(sizes[found])]
    records, suppressed = len(problem.records), len(problem.records) - len(kept)
    losses = (sum((of[record[j]] for record in kept), Fraction(suppressed)) / records for j, of in enumerate(shares))
    released = sum(problem.releases(size) for size in sizes.values())
    return Valued(suppressed <= problem.suppressible, suppressed, released, tuple(losses))


def reported(problem: Problem, values: tuple[Fraction, ...]) -> float:
    """The score as users know it, from exact arithmetic."""
    weighted = [value * Fraction(a.weight) for value, a in zip(values, problem.attributes, strict=True)]
    match problem.aggregate:
        case Aggregate.GEOMETRIC_MEAN:
            product = math.prod((1 + value for value in weighted), start=Fraction(1))
            return math.pow(float(product), 1 / len(weighted)) - 1
        case Aggregate.ARITHMETIC_MEAN:
            return float(sum(weighted, Fraction(0)) / len(weighted))
        case Aggregate.SUM:
            return float(sum(weighted, Fraction(0)))
        case Aggregate.MAXIMUM | Aggregate.RANK:
            return float(max(weighted))


def compared(problem: Problem, values: tuple[Fraction, ...]) -> tuple[float, ...]:
    """The compared scores, in the order of the attributes: its rounding decides between exact ties."""
    weighted = [float(value) * a.weight for value, a in zip(values, problem.attributes, strict=True)]
    match problem.aggregate:
        case Aggregate.GEOMETRIC_MEAN:
            return (math.prod(sorted(1.0 + value for value in weighted)),)
        case Aggregate.ARITHMETIC_MEAN | Aggregate.SUM:
            return (math.fsum(weighted),)
        case Aggregate.MAXIMUM:
            return (max(weighted),)
        case Aggregate.RANK:
            return tuple(sorted(weighted, reverse=True))


@dataclass(frozen=True)
class Best:
    """The least score as users know it, and the transformation that is preferred among those that have it."""

    score: float
    transformation: Transformation


def exhaustive(problem: Problem) -> Best | None:
    """Least score, then least sum of levels, then first in lexicographic order."""
    levels = (range(a.minimum, a.maximum + 1) for a in problem.attributes)
    valued = [(x, by_definition(problem, x)) for x in itertools.product(*levels)]
    keys = [(compared(problem, v.values), sum(x), x) for x, v in valued if v.valid]
    if not keys:
        return None
    score = min(reported(problem, v.values) for _, v in valued if v.valid)
    return Best(score, min(keys)[2])


# --- random problems ------------------------------------------------------------------------------------------------


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    """Labels come from few names, so that they repeat across levels, join siblings unevenly and look like values."""
    values = [f"v{i}" for i in range(draw(st.integers(1, 5)))]
    rows = [[value] for value in values]
    for _ in range(draw(st.integers(0, 2))):
        parents = {name: draw(st.sampled_from(["v0", "x", "y", "z"])) for name in sorted({row[-1] for row in rows})}
        for row in rows:
            row.append(parents[row[-1]])
    top = len(rows[0])
    minimum = draw(st.just(0) | st.integers(0, top))
    return Attribute(
        rows=tuple((*row, "*") for row in rows),
        nulls=draw(st.sampled_from([NullHandling.VALUE, NullHandling.SUPPRESS])),
        weight=draw(st.sampled_from([1.0, 1.0, 0.0, 0.5, 2.0, 0.1, 3.7])),
        minimum=minimum,
        maximum=draw(st.just(top) | st.integers(minimum, top)),
    )


@st.composite
def problems(draw: st.DrawFn, most_attributes: int = 4) -> Problem:
    chosen = draw(st.lists(attributes(), min_size=1, max_size=most_attributes))
    values = [st.sampled_from([row[0] for row in attribute.rows]) for attribute in chosen]
    with_null = [value | st.none() if draw(st.booleans()) else value for value in values]
    records = draw(st.lists(st.tuples(*with_null), min_size=1, max_size=14))
    suppressible = st.sampled_from([0, len(records)]) | st.integers(0, len(records))
    return Problem(
        attributes=tuple(chosen),
        records=tuple(records),
        k=draw(st.integers(2, 5)),
        suppressible=draw(suppressible),
        aggregate=draw(st.sampled_from(Aggregate)),
    )
