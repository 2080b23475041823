"""The strictest parameters of every privacy model, requested or not, that a table meets before and after."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tableveil.classes import ClassValues, EquivalenceClasses, SensitiveColumn
from tableveil.game import InformationLoss, sizes_of
from tableveil.policy import (
    PRIVACY_FIELDS,
    Distance,
    Dominance,
    PrivacyModel,
    ProbabilisticLDiversity,
    RecursiveCLDiversity,
    Success,
    UniquenessEstimator,
)
from tableveil.privacy.among_released import among_released
from tableveil.privacy.closeness_of_elements import distances_of_elements
from tableveil.privacy.distances import EARTH_MOVERS, Distributions
from tableveil.privacy.diversity import probabilistic_l, recursive_c
from tableveil.privacy.diversity_of_people import distinct_of_people
from tableveil.privacy.k_map import smallest_population_class
from tableveil.privacy.model import Facts
from tableveil.privacy.people import largest_shares, people_in
from tableveil.privacy.presence import presence_range
from tableveil.privacy.registry import MEASURES, OF_PEOPLE
from tableveil.privacy.repeating import most_exposed
from tableveil.privacy.risks import average_risk, sample_uniqueness
from tableveil.privacy.units import most_of_unit, units_in
from tableveil.risk import ClassSizes, population_uniqueness


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The strictest `parameter` for which a `model` holds: `before` for the source at level 0, `after` for the release.

    Attributes:
        model: The field of `privacy_models` for it, such as `t_closeness`, with settings that differ from the default;
            or `publisher_payout`, for a policy with a game; or `several_records`.
        column: The sensitive column, or an empty text.
        parameter: The parameter's name, such as `t`.
        before: At level 0, nothing suppressed. None: the model does not apply there; infinity: no number is large
            enough.
        after: For the released records; None and infinity as before.
    """

    model: str
    column: str
    parameter: str
    before: float | None
    after: float | None


SEVERAL_RECORDS = "several_records"
"""The figure of people with several records, which no model bounds: the chance to tell a value that one of them has."""

ALSO = "also_count"
"""Beside a model that holds of other units than people, which the column names."""

Reached = tuple[str, str, str, float | None]
"""Model, column, parameter, and its value."""


def guarantees(
    facts: Facts, models: Iterable[PrivacyModel], before: EquivalenceClasses | None, after: EquivalenceClasses
) -> tuple[Guarantee, ...]:
    """The guarantees of the classes at level 0, if given, and of the released ones; `models` are the requested ones.

    t, beta and delta are against the source; those of requested models follow once more, against the released rows.
    (n,t)-closeness is left out: the parameter that a class meets depends on n, and every n takes a search of its own.
    """
    asked = tuple(models)
    after_reached = _reached(facts, asked, before) if before is not None else ()
    was = {(model, column, parameter): value for model, column, parameter, value in after_reached}
    of_models = (
        Guarantee(model, column, parameter, was.get((model, column, parameter)), reached)
        for model, column, parameter, reached in _reached(facts, asked, after)
    )
    of_released = (
        Guarantee(model, column, parameter, None, reached)
        for model, column, parameter, reached in among_released(facts, asked, after)
    )
    return (*of_models, *of_released, *_several_records(facts, after))


def _several_records(facts: Facts, released: EquivalenceClasses) -> Iterator[Guarantee]:
    """The highest chance to tell a value of somebody by all of their records, where several tell more than one."""
    if facts.people is None or not len(released.counts):
        return
    for position, column in enumerate(facts.counter.sensitive):
        if column.protected:
            exposed = most_exposed(released, facts.people[0], released.values(position), column)
            if exposed is not None and exposed.in_all > Fraction(exposed.having, exposed.size):
                yield Guarantee(SEVERAL_RECORDS, column.column, "chance", None, exposed.in_all)


def _reached(facts: Facts, asked: tuple[PrivacyModel, ...], classes: EquivalenceClasses) -> Iterator[Reached]:
    counts = classes.counts
    some = bool(len(counts))
    repeating = facts.people is not None
    people = people_in(classes, facts) if repeating else counts
    yield "k_anonymity", "", "k", float(people.min()) if some else None
    if repeating or any(isinstance(model, Dominance) for model in asked):
        yield "dominance", "", "share", float(largest_shares(classes, facts).max()) if some else None
    for unit in facts.units:
        name = unit[1].unit
        yield f"k_anonymity ({ALSO})", name, "k", float(units_in(classes, unit).min()) if some else None
        share = float((most_of_unit(classes, unit) / counts).max()) if some else None
        yield f"dominance ({ALSO})", name, "share", share
    if not repeating:
        yield from _of_records(facts, classes)
    for position, column in enumerate(facts.counter.sensitive):
        if not column.protected:
            continue
        values = classes.values(position)
        if column.elements is not None:
            yield from _of_elements(values, column, some=some)
            yield from _of_people(facts, column.column, classes)
            continue
        others = {
            model.l for model in asked if isinstance(model, RecursiveCLDiversity) and model.column == column.column
        }
        yield from reached_by_values(values, column, counts, {2, *others})
        yield from _of_people(facts, column.column, classes)


def reached_by_values(
    values: ClassValues, column: SensitiveColumn, counts: NDArray[np.int64], numbers: Iterable[int]
) -> Iterator[Reached]:
    """The parameters of the models of one sensitive column; recursive diversity for each l of the `numbers`.

    `counts` are the records of each class.
    """
    some = bool(len(counts))
    for model, parameter, decisive, reached in MEASURES:
        yield model, column.column, parameter, float(decisive(reached(values, column))) if some else None
    for number in sorted(numbers):
        worst = float(recursive_c(values, column, number).max()) if some else None
        yield f"{PRIVACY_FIELDS[RecursiveCLDiversity]} (l = {number})", column.column, "c", worst
    for distance in Distance:
        if distance is not Distance.HIERARCHICAL or column.levels is not None:
            mover = EARTH_MOVERS[distance](column, Distributions.whole(column.counts))
            farthest = float(mover.distances(mover.against(values, counts)).max()) if some else None
            yield f"t_closeness ({distance.lower()})", column.column, "t", farthest


def _of_elements(values: ClassValues, column: SensitiveColumn, *, some: bool) -> Iterator[Reached]:
    """The parameters of the models that hold of elements, for a column whose cells are lists."""
    yield (
        PRIVACY_FIELDS[ProbabilisticLDiversity],
        column.column,
        "l",
        float(probabilistic_l(values, column).min()) if some else None,
    )
    farthest = float(distances_of_elements(values, column).max()) if some else None
    yield f"t_closeness ({Distance.EQUAL.lower()})", column.column, "t", farthest


def _of_people(facts: Facts, column: str, classes: EquivalenceClasses) -> Iterator[Reached]:
    """The parameters that hold of people with several records, where their values were counted."""
    pairs_of_column = facts.owned(column)
    if pairs_of_column is None:
        return
    pairs = classes.values(pairs_of_column[0])
    for model, parameter, reached in OF_PEOPLE:
        if reached is distinct_of_people and pairs_of_column[1].elements is not None:
            continue
        yield model, column, parameter, float(reached(pairs, pairs_of_column[1]).min()) if len(classes.counts) else None


def _of_records(facts: Facts, classes: EquivalenceClasses) -> Iterator[Reached]:
    """The parameters of models that take every record for another person."""
    counts = classes.counts
    some = bool(len(counts))
    if facts.counter.population is not None:
        smallest, shares = smallest_population_class(classes), presence_range(classes)
        yield "k_map", "", "k", None if smallest is None else float(smallest)
        yield "delta_presence", "", "minimum", None if shares is None else shares[0]
        yield "delta_presence", "", "maximum", None if shares is None else shares[1]
    yield "average_risk", "", "threshold", average_risk(counts) if some else None
    yield "sample_uniqueness", "", "threshold", sample_uniqueness(counts) if some else None
    if facts.population_size is not None:
        sizes = ClassSizes.of(counts)
        for estimator in UniquenessEstimator:
            named = f"population_uniqueness ({estimator.lower()})"
            share = population_uniqueness(sizes, facts.population_size, estimator) if some else None
            yield named, "", "threshold", share
    if facts.game is not None:
        yield from _played(facts, classes)


def _played(facts: Facts, classes: EquivalenceClasses) -> Iterator[Reached]:
    """The payout of all released records together, and the number of attacked ones."""
    stakes, counter = facts.stakes, facts.counter
    successes = (Success.PROSECUTOR,) if counter.population is None else (Success.PROSECUTOR, Success.JOURNALIST)
    # Measured (continuous) columns have no information loss.
    discrete = not any(levels.continuous for levels in counter.levels)
    loss = InformationLoss(counter.levels).of(classes) if discrete else None
    # The pool of suppressed records has no labels and pays nothing.
    labelled = classes.words[0] >= 0
    for success in successes:
        sizes = sizes_of(classes, success, counter)
        yield (
            f"no_attack ({success.lower()})",
            "",
            "attacked_records",
            float(classes.counts[stakes.attacked(sizes)].sum()),
        )
        if loss is not None:
            payouts = stakes.payouts(loss, sizes)
            yield (
                f"publisher_payout ({success.lower()})",
                "",
                "payout",
                float((classes.counts * payouts)[labelled].sum()),
            )
