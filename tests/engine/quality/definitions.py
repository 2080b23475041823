"""The quality models record by record, transcribed from their formulas without regard to speed."""

import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tableveil.hierarchy import InlineLevels
from tableveil.lattice import Transformation
from tableveil.policy import (
    Aggregate,
    AmbiguityModel,
    AverageClassSizeModel,
    ClassificationModel,
    DiscernibilityModel,
    EntropyModel,
    Game,
    HeightModel,
    KLDivergenceModel,
    KLWeighting,
    LossModel,
    PrecisionModel,
    PublisherPayoutModel,
    QualityModel,
    Success,
)
from tests.engine.random_tables import Row, Table


@dataclass(frozen=True)
class Defined:
    """The score that users see, and its parts per quasi-identifier if it has any."""

    score: float
    values: tuple[float, ...] = ()


def defined(table: Table, x: Transformation, model: QualityModel, game: Game) -> Defined:
    """The score by definition of a transformation that keeps the classes of at least k."""
    release = _Release(table, x, monotone=getattr(model, "monotone", False))
    attributes = range(len(x))
    match model:
        case LossModel(aggregate, factor):
            return _aggregated(table, aggregate, [release.loss(j, *_factors(factor)) for j in attributes])
        case EntropyModel(normalized, aggregate, factor):
            values = [release.entropy(j, normalized, *_factors(factor)) for j in attributes]
            return _aggregated(table, aggregate, values)
        case PrecisionModel(aggregate, factor):
            return _aggregated(table, aggregate, [release.precision(j, *_factors(factor)) for j in attributes])
        case HeightModel(aggregate):
            return _aggregated(table, aggregate, [float(level) for level in x])
        case DiscernibilityModel():
            sizes = [release.size(record) if release.keeps(record) else release.number for record in table.records]
            return Defined(float(sum(sizes)))
        case AverageClassSizeModel(factor):
            g, s = _factors(factor)
            kept = {release.labels(record) for record in table.records if release.keeps(record)}
            weight = s * len(kept) + (g if release.suppressed else 0)
            return Defined(float(release.number / weight) if weight else math.inf)
        case AmbiguityModel():
            return Defined(float(sum(release.combinations(record) for record in table.records)))
        case KLDivergenceModel(KLWeighting.TEXTBOOK):
            distinct = {release.combination(i): record for i, record in enumerate(table.records)}
            return Defined(sum(release.p_log_p_over_q(each, record) for each, record in distinct.items()))
        case KLDivergenceModel():
            terms = (release.p_log_p_over_q(release.combination(i), record) for i, record in enumerate(table.records))
            return Defined(sum(terms))
        case PublisherPayoutModel(success):
            payout = sum(release.payout(record, success, game) for record in table.records if release.keeps(record))
            return Defined(release.number * float(game.publisher_benefit) - payout)
        case ClassificationModel():
            raise AssertionError("tests/engine/quality/test_classification.py has its definition")


def _factors(factor: float) -> tuple[Fraction, Fraction]:
    """The factors of generalization and of suppression."""
    exact = Fraction(factor)
    return (Fraction(1), 2 * exact) if exact <= Fraction(1, 2) else (2 - 2 * exact, Fraction(1))


def _aggregated(table: Table, aggregate: Aggregate, values: list[float]) -> Defined:
    weighted = [value * weight for value, weight in zip(values, table.weights, strict=True)]
    match aggregate:
        case Aggregate.GEOMETRIC_MEAN:
            score = math.prod(1 + value for value in weighted) ** (1 / len(weighted)) - 1
        case Aggregate.ARITHMETIC_MEAN:
            score = sum(weighted) / len(weighted)
        case Aggregate.SUM:
            score = sum(weighted)
        case Aggregate.MAXIMUM | Aggregate.RANK:
            score = max(weighted)
    return Defined(score, tuple(values))


@dataclass(frozen=True)
class _Release:
    """A table at a transformation."""

    table: Table
    at: Transformation
    monotone: bool

    @property
    def number(self) -> int:
        return len(self.table.records)

    @cached_property
    def sizes(self) -> Counter[tuple[str | None, ...]]:
        return Counter(self.labels(record) for record in self.table.records if not self.table.withheld(record))

    @cached_property
    def suppressed(self) -> list[Row]:
        return [record for record in self.table.records if not self.keeps(record)]

    def keeps(self, record: Row) -> bool:
        return not self.table.withheld(record) and (self.monotone or self.size(record) >= self.table.k)

    def size(self, record: Row) -> int:
        return self.sizes[self.labels(record)]

    def labels(self, record: Row, at: Transformation | None = None) -> tuple[str | None, ...]:
        return tuple(
            self.label(j, value, level) for j, (value, level) in enumerate(zip(record, at or self.at, strict=True))
        )

    def rows(self, j: int) -> tuple[tuple[str, ...], ...]:
        rule = self.table.attributes[j].rule
        assert isinstance(rule, InlineLevels)
        return rule.rows

    def label(self, j: int, value: str | None, level: int) -> str | None:
        if level == len(self.rows(j)[0]) - 1:
            return "*"
        return None if value is None else next(row[level] for row in self.rows(j) if row[0] == value)

    def domain(self, j: int) -> int:
        present = any(record[j] is None for record in self.table.records)
        return len(self.rows(j)) + (present and not self.table.attributes[j].withholds_null)

    def leaves(self, j: int, value: str | None) -> int:
        label = self.label(j, value, self.at[j])
        if self.at[j] == len(self.rows(j)[0]) - 1:
            return self.domain(j)
        return 1 if value is None else sum(row[self.at[j]] == label for row in self.rows(j))

    def loss(self, j: int, g: Fraction, s: Fraction) -> float:
        size = self.domain(j)
        if size == 1:
            return float(s * len(self.suppressed) / self.number)
        total = Fraction(0)
        for record in self.table.records:
            # A withheld record has no label: it is as its value was.
            share = Fraction(1 if self.table.withheld(record) else self.leaves(j, record[j]), size)
            total += share * g if self.keeps(record) else 1 if s == 1 else share + s * (1 - share)
        least = g * self.number / size
        return float((total - least) / (self.number - least))

    def entropy(self, j: int, normalized: bool, g: Fraction, s: Fraction) -> float:
        def column(level: int) -> list[Hashable]:
            """Withheld records have one more value, at every level."""
            records = self.table.records
            return [("",) if self.table.withheld(record) else self.label(j, record[j], level) for record in records]

        fine, coarse = column(0), column(self.at[j])
        finely, coarsely = Counter(fine), Counter(coarse)
        bits = float(g) * sum(math.log2(coarsely[y] / finely[x]) for x, y in zip(fine, coarse, strict=True))
        gone = [label for label, record in zip(coarse, self.table.records, strict=True) if not self.keeps(record)]
        among = Counter(gone)
        if not self.monotone:
            bits += float(s) * sum(math.log2(len(gone) / among[label]) for label in gone)
        whole = float(g or 1) * sum(math.log2(self.number / finely[x]) for x in fine)
        return bits if not normalized else bits / whole if whole else 0.0

    def precision(self, j: int, g: Fraction, s: Fraction) -> float:
        kept, level = self.number - len(self.suppressed), Fraction(self.at[j], len(self.rows(j)[0]) - 1)
        return float((kept * level * g + len(self.suppressed) * s) / self.number)

    def combinations(self, record: Row) -> int:
        """The number of combinations that the record could have, judged by its released labels."""
        if not self.keeps(record):
            return math.prod(self.domain(j) for j in range(len(self.at)))
        return math.prod(self.leaves(j, value) for j, value in enumerate(record))

    def combination(self, i: int) -> Hashable:
        """The combination of record i; every withheld record has one of its own."""
        record = self.table.records[i]
        return i if self.table.withheld(record) else record

    def p_log_p_over_q(self, combination: Hashable, record: Row) -> float:
        everyone = [self.combination(i) for i in range(self.number)]
        p = everyone.count(combination) / self.number
        size = self.size(record) if self.keeps(record) else len(self.suppressed)
        return p * math.log2(p / (size / self.number / self.combinations(record)))

    def payout(self, record: Row, success: Success, game: Game) -> float:
        """Without a population, journalists have the prosecutors' knowledge."""
        share = math.prod(Fraction(self.leaves(j, value), self.domain(j)) for j, value in enumerate(record))
        everything = math.prod(self.domain(j) for j in range(len(self.at)))
        loss = 1 + math.log10(share) / math.log10(everything) if everything > 1 else 0.0
        kept = [other for other in self.table.records if self.keeps(other)]
        found = Fraction(1, self.size(record))
        if success is Success.MARKETER:
            found = sum((Fraction(1, self.size(other)) for other in kept), Fraction()) / len(kept)
        attacked = found * Fraction(game.adversary_gain) > Fraction(game.adversary_cost)
        expected = float(found) * float(game.publisher_loss) if attacked else 0.0
        return float(game.publisher_benefit) * (1 - loss) - expected
