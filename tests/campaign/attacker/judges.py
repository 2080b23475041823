"""Whether a release meets each of its privacy models: by definition, in plain Python, from the rows."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tests.campaign.attacker import values
from tests.campaign.attacker.cases import Case, Method
from tests.campaign.attacker.columns import Document, Text
from tests.campaign.attacker.distances import Spread, distance_of

Labels = tuple[Text, ...]

SLACK = 1e-9
"""The tolerance for a sum of payouts or probabilities."""


@dataclass(frozen=True, slots=True)
class ReleasedClass:
    """Records that are released alike; `levels` are their labels' levels, `pool` marks the suppressed ones."""

    labels: Labels
    levels: tuple[int, ...]
    records: tuple[int, ...]
    pool: bool = False

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.records)


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges the classes of one release."""

    case: Case
    classes: Sequence[ReleasedClass]

    def problems(self) -> Iterator[str]:
        """Every model that does not hold."""
        for model in self.case.policy["privacy_models"]:
            if not self.holds(model):
                ((name, parameters),) = model.items()
                yield f"{name} {parameters} does not hold"

    def holds(self, model: Document) -> bool:
        """Whether one model does."""
        ((name, parameters),) = model.items()
        if "column" in parameters:
            return all(self._values_hold(name, parameters, found) for found in self.classes)
        return self._holds(name, parameters)

    # --- identities and membership ----------------------------------------------------------------------------------

    def _holds(self, name: str, parameters: Document) -> bool:
        sizes = [found.size for found in self.classes]
        match name:
            case "k_anonymity":
                return all(size >= parameters["k"] for size in sizes)
            case "k_map":
                return all(self._people(found) >= parameters["k"] for found in self.classes)
            case "inclusion":
                return all(self._people(found) >= found.size for found in self.classes)
            case "delta_presence":
                return self._presence_holds(parameters)
            case "estimated_k_map":
                return all(size >= self._smallest_in_sample(parameters) for size in sizes)
            case "average_risk":
                return len(sizes) <= Fraction(parameters["threshold"]) * sum(sizes)
            case "sample_uniqueness":
                return sizes.count(1) <= Fraction(parameters["threshold"]) * sum(sizes)
            case "population_uniqueness":
                return self._uniqueness_holds(parameters)
            case "no_attack":
                return not any(self._attacked(found, parameters["success"]) for found in self.classes)
            case "profitability":
                return all(self._pays(found, parameters) for found in self.classes)
            case "safe_harbor":
                return all(self._harbored(found) for found in self.classes if not found.pool)
        raise ValueError(name)

    def _people(self, found: ReleasedClass) -> int:
        """The people of the population who could be each of its records; the source's people without a population."""
        if self.case.people is None:
            return found.size if not self._own_levels else self._with_labels(found, self.case.rows)
        if found.pool:
            others = [self._with_labels(other, self.case.people) for other in self.classes if not other.pool]
            return len(self.case.people) - sum(others)
        return self._with_labels(found, self.case.people)

    def _with_labels(self, found: ReleasedClass, people: Sequence[dict[str, Text]]) -> int:
        columns = list(zip(self.case.quasi_identifiers, found.labels, found.levels, strict=True))
        return sum(all(c.label(row[c.name], level) == label for c, label, level in columns) for row in people)

    @property
    def _own_levels(self) -> bool:
        return self.case.method is Method.RECORD_LEVEL

    def _presence_holds(self, parameters: Document) -> bool:
        low, high = Fraction(parameters["minimum"]), Fraction(parameters["maximum"])
        for found in self.classes:
            people = self._people(found)
            if not low * people <= found.size <= high * people:
                return False
        if not low or not self.classes:
            return True
        levels = next((found.levels for found in self.classes if not found.pool), None)
        if levels is None:
            return True
        assert self.case.people is not None
        present = {self._labels(row, levels) for row in self.case.rows}
        return all(self._labels(row, levels) in present for row in self.case.people)

    def _labels(self, row: dict[str, Text], levels: tuple[int, ...]) -> Labels:
        columns = zip(self.case.quasi_identifiers, levels, strict=True)
        return tuple(column.label(row[column.name], level) for column, level in columns)

    @property
    def _population(self) -> int:
        size = self.case.policy.get("population", {}).get("size")
        return size or len(self.case.people or self.case.rows)

    def _smallest_in_sample(self, parameters: Document) -> int:
        """The least size that a class of k people reaches with a probability of at most 5 %."""
        k, records = parameters["k"], len(self.case.rows)
        if records >= self._population:
            return int(k)
        mean = k * records / self._population
        probabilities = [math.exp(-mean + i * math.log(mean) - math.lgamma(i + 1)) for i in range(k + 1)]
        given = 1 - probabilities[0] if parameters["estimator"] == "ZERO_TRUNCATED_POISSON" else 1.0
        reached = [(1 - sum(probabilities[:size])) / given for size in range(1, k + 1)]
        return next((size for size, p in enumerate(reached, 1) if p <= 0.05 - SLACK), k) if reached else int(k)

    def _uniqueness_holds(self, parameters: Document) -> bool:
        """Zayatz's estimate: Bayes's rule with hypergeometric probabilities."""
        for pool in (False, True):
            sizes = [found.size for found in self.classes if found.pool is pool]
            n, people, unique = sum(sizes), self._population, sizes.count(1)
            if not unique:
                continue
            if n >= people:
                share = unique / n
            else:
                alone = {i: i * math.comb(people - i, n - 1) / math.comb(people, n) for i in set(sizes)}
                share = unique * alone[1] * unique / sum(alone[i] * sizes.count(i) for i in alone) / n
            if share > float(parameters["threshold"]) + SLACK:
                return False
        return True

    # --- columns that are released as they are ----------------------------------------------------------------------

    # --- the game ---------------------------------------------------------------------------------------------------

    def _success(self, found: ReleasedClass, success: str) -> Fraction:
        if success == "PROSECUTOR":
            return Fraction(1, found.size)
        if success == "JOURNALIST":
            return Fraction(1, max(self._people(found), 1))
        alike = [other for other in self.classes if other.pool is found.pool]
        total = sum((Fraction(other.size, max(self._people(other), 1)) for other in alike), Fraction(0))
        return total / sum(other.size for other in alike)

    def _attacked(self, found: ReleasedClass, success: str) -> bool:
        game = self.case.policy["game"]
        gained = self._success(found, success) * Fraction(game["adversary_gain"])
        return gained > Fraction(game["adversary_cost"]) + Fraction(1, 10**9)

    def _pays(self, found: ReleasedClass, parameters: Document) -> bool:
        game, success = self.case.policy["game"], parameters["success"]
        loss = 1.0 if found.pool else self._information_loss(found)
        payout = float(game["publisher_benefit"]) * (1 - loss)
        if self._attacked(found, success):
            payout -= float(game["publisher_loss"]) * float(self._success(found, success))
        strict = parameters.get("break_even") == "SUPPRESS" and loss > 1 - SLACK
        return payout > SLACK if strict else payout >= -SLACK * float(game["publisher_benefit"])

    def _information_loss(self, found: ReleasedClass) -> float:
        under, domain = 0.0, 0.0
        for column, label, level in zip(self.case.quasi_identifiers, found.labels, found.levels, strict=True):
            present = {row[column.name] for row in (*self.case.rows, *(self.case.people or ()))}
            under += math.log(max(column.under(label, level, present), 1))
            domain += math.log(max(column.under("*", column.top, present), 1))
        return under / domain if domain else 0.0

    def _harbored(self, found: ReleasedClass) -> bool:
        """Ages over 89 are one group."""
        for column, label in zip(self.case.quasi_identifiers, found.labels, strict=True):
            if "safe_harbor_age" in column.hierarchy and label is not None and label.isdigit() and int(label) > 89:
                return False
        return True

    # --- sensitive values -------------------------------------------------------------------------------------------

    def _values_hold(self, name: str, parameters: Document, found: ReleasedClass) -> bool:
        column = next(c for c in self.case.sensitive if c.name == parameters["column"])
        # Records that are set aside for a NULL in an aggregated column are in no distribution.
        aggregated = [c.name for c in self.case.aggregated]
        everybody = [i for i, row in enumerate(self.case.rows) if all(row[name] is not None for name in aggregated)]
        whole = self._spread(column.name, everybody)
        part = self._spread(column.name, found.records)
        if name != "n_t_closeness":
            return values.holds(name, parameters, part, whole, column)
        distance = distance_of(parameters["distance"], column, whole)
        crowds = iter([found.records, tuple(everybody)]) if found.pool else self._supersets(found)
        return any(
            len(crowd) >= parameters["n"]
            and distance(part, self._spread(column.name, crowd)) <= Fraction(parameters["t"])
            for crowd in crowds
        )

    def _supersets(self, found: ReleasedClass) -> Iterator[tuple[int, ...]]:
        """The class at every more general transformation, suppressed records included, withheld ones not."""
        someone = self.case.rows[found.records[0]]
        there = [i for i in range(len(self.case.rows)) if i not in self.case.withheld]
        tops = [column.top for column in self.case.quasi_identifiers]
        for levels in itertools.product(*(range(low, top + 1) for low, top in zip(found.levels, tops, strict=True))):
            labels = self._labels(someone, levels)
            yield tuple(i for i in there if self._labels(self.case.rows[i], levels) == labels)

    def _spread(self, name: str, records: Sequence[int]) -> Spread:
        return values.spread_of([self.case.rows[i][name] for i in records])
