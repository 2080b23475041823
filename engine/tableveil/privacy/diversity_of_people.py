"""l-diversity of people who have several records: of a class's people, beside its records.

The people's share of a value is the share of those who have it in some record of the class, among the people of the
class who have any value there. It is not inherited: in two classes each of two people may have another value, and in
both classes together both people may have both values. The search concludes nothing from it but a number of people.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, ListedElements, PersonValues
from tableveil.policy import DistinctLDiversity, KAnonymity, ProbabilisticLDiversity
from tableveil.privacy.column_rule import ColumnRule, highest_for, spelled
from tableveil.privacy.diversity import (
    DistinctLDiversityRule,
    Diversity,
    DiversityRule,
    ProbabilisticLDiversityRule,
    distinct,
    probabilistic_l,
)
from tableveil.privacy.exact import floored
from tableveil.privacy.model import Facts, ReleaseRule
from tableveil.privacy.people import KPeopleRule


def distinct_rule(model: DistinctLDiversity, facts: Facts) -> ReleaseRule:
    """The rule that looks at people, too; if every record is another person, at records only."""
    has_pairs = facts.owned(model.column) is not None
    return DistinctOfPeopleRule(model, facts) if has_pairs else DistinctLDiversityRule(model, facts)


def probabilistic_rule(model: ProbabilisticLDiversity, facts: Facts) -> ReleaseRule:
    """The rule that looks at people, too; if every record is another person, at records only."""
    has_pairs = facts.owned(model.column) is not None
    return ProbabilisticOfPeopleRule(model, facts) if has_pairs else ProbabilisticLDiversityRule(model, facts)


# --- what classes reach ---------------------------------------------------------------------------------------------


class PeopleOfValues:
    """Per class, how many people have a value in it, and how many of them the value that most of them have."""

    def __init__(self, pairs: ClassValues, owned: PersonValues) -> None:
        classes = int(pairs.classes.max(initial=-1)) + 1
        of, values, people = pairs.classes.astype(np.int64), owned.values[pairs.values], owned.people[pairs.values]
        has = values >= 0
        if owned.elements is not None:
            of, values, people = _by_element(of[has], values[has], people[has], owned.elements)
            has = values != owned.elements.nothing
        of = of[has]
        span = int(owned.people.max(initial=0)) + 1
        self.people = np.bincount(np.unique(of * span + people[has]) // span, minlength=classes)
        span = int(values.max(initial=0)) + 1
        keys, having = np.unique(of * span + values[has], return_counts=True)
        self.most = np.zeros(classes, np.int64)
        np.maximum.at(self.most, keys // span, having)


def _by_element(
    of: NDArray[np.int64], values: NDArray[np.int64], people: NDArray[np.int64], elements: ListedElements
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The classes, elements and people of pairs, each once: somebody may have an element by several values."""
    entries, numbers = elements.entries(values)
    once = np.unique(np.stack([of[entries], numbers, people[entries]]), axis=1)
    return once[0], once[1], once[2]


def distinct_of_people(pairs: ClassValues, owned: PersonValues) -> NDArray[np.int64]:
    """Per class, the largest l such that every value is missing for at least l - 1 people; 0 without values."""
    owners = PeopleOfValues(pairs, owned)
    return np.where(owners.people > 0, owners.people - owners.most + 1, 0)


def probabilistic_of_people(pairs: ClassValues, owned: PersonValues) -> NDArray[np.float64]:
    """Per class, 1 / the largest share of its people who have one value; 0 without values."""
    owners = PeopleOfValues(pairs, owned)
    reached: NDArray[np.float64] = owners.people / np.maximum(owners.most, 1)
    return reached


# --- rules ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _OfPeopleRule(ColumnRule[Diversity]):
    """A model of diversity that holds of people as well as of records.

    A value that all people of a class have is no secret, however many other values they have beside it. The share of
    people is not inherited. But at least so many people are needed as values are, so that classes of fewer are lost.
    """

    monotone = False

    @property
    @abstractmethod
    def of_records(self) -> DiversityRule[Diversity]:
        """The rule that looks at records only."""

    @abstractmethod
    def of_people(self, owners: PeopleOfValues) -> NDArray[np.bool_]:
        """Per class, whether its people meet the model."""

    @property
    def minimum_class_size(self) -> int:
        """One record for each of the values."""
        return self.of_records.minimum_class_size

    @cached_property
    def _enough(self) -> KPeopleRule:
        return KPeopleRule(self.facts, KAnonymity(self.of_records.fewest_values))

    def pairs(self, classes: EquivalenceClasses) -> tuple[ClassValues, PersonValues]:
        """The pairs of people and values in the classes."""
        pairs_of_column = self.facts.owned(self.model.column)
        assert pairs_of_column is not None, "every record is another person"
        return classes.values(pairs_of_column[0]), pairs_of_column[1]

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """Classes whose records, and whose people, meet the model."""
        kept = self.of_records.releasable(classes)
        if kept.any():
            kept[kept] = self.of_people(PeopleOfValues(*self.pairs(classes.selected(kept))))
        return kept

    def lost(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        """The records that are lost by their values, or all of a class of too few people."""
        return np.maximum(self.of_records.lost(classes), self._enough.lost(classes))

    def refuses_all_below(self, classes: EquivalenceClasses) -> bool:
        """Whether a class fails for its records, or for the number of its people: so does one at all finer ones."""
        return not (self.of_records.releasable(classes) & self._enough.releasable(classes)).all()


@dataclass(frozen=True)
class DistinctOfPeopleRule(_OfPeopleRule[DistinctLDiversity]):
    """Classes with at least l values may be released if at least l - 1 of the people lack each of them.

    Where people have one record each, the first implies the second.
    """

    @cached_property
    def of_records(self) -> DistinctLDiversityRule:
        """The rule that looks at records only."""
        return DistinctLDiversityRule(self.model, self.facts)

    def of_people(self, owners: PeopleOfValues) -> NDArray[np.bool_]:
        """Classes in which so many people lack the value that most have."""
        return (owners.people > 0) & (owners.people - owners.most >= self.model.l - 1)

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest l; 1 promises nothing."""
        reached = np.minimum(distinct(self.values(classes), self.column), distinct_of_people(*self.pairs(classes)))
        highest = highest_for(reached.astype(np.float64), classes.counts, suppressible)
        return f"l = {highest:.0f}" if highest is not None and highest >= 2 else None


@dataclass(frozen=True)
class ProbabilisticOfPeopleRule(_OfPeopleRule[ProbabilisticLDiversity]):
    """Classes may be released in which no value has more than 1/l of the records, nor of the people."""

    @cached_property
    def of_records(self) -> ProbabilisticLDiversityRule:
        """The rule that looks at records only."""
        return ProbabilisticLDiversityRule(self.model, self.facts)

    def of_people(self, owners: PeopleOfValues) -> NDArray[np.bool_]:
        """Classes in which no more than 1/l of the people have any value."""
        return (owners.people > 0) & (owners.most <= floored(1 / Fraction(self.model.l), (owners.people,)))

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """Offers the largest l; 1 promises nothing."""
        of_records = probabilistic_l(self.values(classes), self.column)
        of_both = np.minimum(of_records, probabilistic_of_people(*self.pairs(classes)))
        number = self.offered("l", highest_for(of_both, classes.counts, suppressible), -1, classes, suppressible)
        return spelled("l", number) if number is not None and number > 1 else None
