"""The verification holds every privacy model to its definition: what is just reached passes, a little more does not."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tableveil.backend import Database, Session
from tableveil.policy import (
    AbsentValues,
    AverageRisk,
    BetaLikeness,
    CellSizes,
    DeltaDisclosure,
    DeltaPresence,
    Distance,
    DistinctLDiversity,
    EntropyEstimator,
    EntropyLDiversity,
    EstimatedKMap,
    Inclusion,
    KAnonymity,
    KMap,
    NTCloseness,
    Population,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    RecursiveCLDiversity,
    SampleUniqueness,
    SuppressedRecords,
    TCloseness,
    UniquenessEstimator,
    ValueOrder,
)
from tableveil.verification.people import smallest_in_sample
from tableveil.verification.values import grassberger
from tests.once import once
from tests.sql.verification import definitions
from tests.sql.verification.cases import LABELS, Case, drop, problems_of, written_case
from tests.sql.verification.definitions import STEP, at_least, at_most


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


Pair = tuple[PrivacyModel | None, PrivacyModel | None]
"""A model that just holds and one that just does not, if there are such."""


def pairs_of_values(case: Case) -> Iterator[Pair]:
    judged, everything = case.judged, case.values
    least = min(len(definitions.present(values)) for values in judged)
    yield (DistinctLDiversity("s", least) if least else None, DistinctLDiversity("s", least + 1))
    probabilistic = min(map(definitions.probabilistic_l, judged))
    yield from _lower(probabilistic, lambda least: ProbabilisticLDiversity("s", least))
    shannon = min(map(definitions.entropy_l, judged))
    yield from _lower(shannon, lambda least: EntropyLDiversity("s", least))
    grassberger = min(map(definitions.grassberger_l, judged))
    yield from _lower(grassberger, lambda least: EntropyLDiversity("s", least, EntropyEstimator.GRASSBERGER))
    for l in (1, 2, 3):  # noqa: E741
        found = [definitions.recursive_c(values, l) for values in judged]
        if None in found:
            yield None, RecursiveCLDiversity("s", Decimal(10**9), l)
        else:
            c = at_most(max(c for c in found if c is not None))
            yield RecursiveCLDiversity("s", c + STEP, l), RecursiveCLDiversity("s", c, l)
    distances: dict[Distance, definitions.Distance] = {
        Distance.EQUAL: definitions.equal_distance,
        Distance.ORDERED: definitions.ordered_distance(case.order),
        Distance.HIERARCHICAL: definitions.hierarchical_distance(LABELS["s"]),
    }
    for kind, distance in distances.items():
        t = at_least(max(distance(values, everything) for values in judged))
        yield TCloseness("s", t, kind), TCloseness("s", t - STEP, kind) if t else None
        for n in (2, 5, 20)[len(judged) % 3 :][:1]:
            reached = [
                min((distance(values, other) for other in others if len(other) >= n), default=None)
                for values, others in zip(judged, case.supersets, strict=True)
            ]
            if None in reached:
                yield None, NTCloseness("s", n, Decimal(1), kind)
            else:
                t = at_least(max(r for r in reached if r is not None))
                yield NTCloseness("s", n, t, kind), NTCloseness("s", n, t - STEP, kind) if t else None
    deltas = [definitions.disclosure(values, everything) for values in judged]
    if None in deltas:
        yield None, DeltaDisclosure("s", Decimal(50))
    else:
        delta = at_least(max(d for d in deltas if d is not None))
        yield DeltaDisclosure("s", delta), DeltaDisclosure("s", delta - STEP) if delta else None
    delta = at_least(max(definitions.ignoring_absent(values, everything) for values in judged))
    ignore = AbsentValues.IGNORE
    yield DeltaDisclosure("s", delta, ignore), DeltaDisclosure("s", delta - STEP, ignore) if delta else None
    beta = at_least(max(definitions.likeness(values, everything) for values in judged))
    yield BetaLikeness("s", beta), BetaLikeness("s", beta - STEP) if beta else None
    enhanced = BetaLikeness("s", beta, enhanced=True)
    if all(definitions.enhanced_holds(values, everything) for values in judged):
        yield enhanced, replace(enhanced, beta=beta - STEP) if beta else None
    else:
        yield None, enhanced


def _lower(reached: Fraction | float, model: Callable[[Decimal], PrivacyModel]) -> Iterator[Pair]:
    least = at_most(reached)
    yield model(least) if least else None, model(max(least, Decimal(1)) + STEP)


def pairs_of_people(case: Case) -> Iterator[Pair]:
    sizes, people = case.sizes, case.people
    yield KAnonymity(min(sizes)), KAnonymity(min(sizes) + 1)
    fewest = min(known for _, known in people)
    yield KMap(fewest) if fewest else None, KMap(fewest + 1)
    shares = [Fraction(size, known) if known else Fraction(10**9) for size, known in people]
    most = at_least(max(shares))
    yield (
        DeltaPresence(Decimal(0), most) if most <= 1 else None,
        DeltaPresence(Decimal(0), min(most, Decimal(1)) - STEP) if most <= 1 else DeltaPresence(Decimal(0), Decimal(1)),
    )
    yield (Inclusion(), None) if max(shares) <= 1 else (None, Inclusion())
    average = at_least(Fraction(len(sizes), sum(sizes)))
    yield AverageRisk(average), AverageRisk(average - STEP)
    unique = at_least(Fraction(sizes.count(1), sum(sizes)))
    yield SampleUniqueness(unique), SampleUniqueness(unique - STEP) if unique else None


@pytest.mark.parametrize("seed", once(range(5)))
def test_what_is_reached_passes_and_more_does_not(session: Session, seed: int) -> None:
    case = written_case(session, seed)
    try:
        if not case.judged:
            assert problems_of(session, case, [KAnonymity(99), TCloseness("s", Decimal(0))]) == ""
            return
        pairs = [*pairs_of_values(case), *pairs_of_people(case)]
        holding = [model for model, _ in pairs if model is not None]
        assert problems_of(session, case, holding) == ""
        failing = [model for _, model in pairs if model is not None]
        found = problems_of(session, case, failing)
        for model in failing:
            assert named(model) in f"{found};", model
    finally:
        drop(session, case)


def named(model: PrivacyModel) -> str:
    """How the verification calls a model that does not hold."""
    match model:
        case KAnonymity(k):
            return f"fewer than k = {k};"
        case KMap(k):
            return f"fewer than k = {k} of the population"
        case Inclusion():
            return "more records than the population"
        case _:
            return f"of {model}"


def holds(session: Session, case: Case, *models: PrivacyModel) -> bool:
    return not problems_of(session, case, list(models))


@pytest.fixture
def case(session: Session) -> Iterator[Case]:
    """One whose suppressed records show their values."""
    found = written_case(session, 101)
    assert found.policy.suppressed_records is SuppressedRecords.KEEP
    assert len(found.judged) == 4
    yield found
    drop(session, found)


def test_suppressed_records_that_are_kept_show_all_but_their_labels(session: Session, case: Case) -> None:
    shown = session.rows("SELECT a, b, s FROM released WHERE gone")
    assert {row[:2] for row in shown} == {(None, None)}
    assert Counter(s for *_, s in shown) == Counter(case.judged[-1])
    assert holds(session, case, TCloseness("s", Decimal(1)))
    session.execute("UPDATE released SET b = 'pq' WHERE gone")
    assert "suppressed rows are not blank" in problems_of(session, case, [])


NOTHING = TCloseness("s", Decimal("0.999999"), Distance.ORDERED)
SAMPLE_OF_ALL = Population(size=10**6)


CHANGED = (
    (
        "UPDATE tableveil.sensitive_distributions SET records = records + 1 WHERE release = {0} AND position = 0",
        "a stored distribution is not the source's",
    ),
    (
        "DELETE FROM tableveil.sensitive_distributions WHERE release = {0} AND position = 1",
        "a stored distribution is not the source's",
    ),
    (
        "UPDATE tableveil.sensitive_distributions SET position = position + 1 WHERE release = {0}",
        "the positions in a stored distribution are not a value's each",
    ),
    (
        "UPDATE tableveil.sensitive_distributions SET position = 1 - position WHERE release = {0} AND position < 2",
        "not in the policy's order",
    ),
    ("UPDATE released SET s = '30' WHERE NOT gone", "sensitive values were written that the source does not have"),
    ("UPDATE released SET s = 'x' WHERE gone", "sensitive values were written that the source does not have"),
)
"""Changes to a release, and the verification's findings."""


def test_what_models_are_judged_by_is_checked_itself(session: Session, case: Case) -> None:
    assert holds(session, case, NOTHING)
    for statement, problem in CHANGED:
        session.execute("BEGIN TRANSACTION")
        session.execute(statement.format(case.written.release))
        assert problem in problems_of(session, case, [NOTHING]), statement
        session.execute("ROLLBACK")


def test_a_record_that_moves_to_another_class_is_noticed(session: Session, case: Case) -> None:
    l = min(len(definitions.present(values)) for values in case.judged)  # noqa: E741
    assert holds(session, case, DistinctLDiversity("s", l))
    # One of the classes is left with one value only.
    session.execute(
        "UPDATE released SET s = NULL WHERE NOT gone AND (a, b) IS NOT DISTINCT FROM "
        "(SELECT (a, b) FROM released WHERE NOT gone AND s IS NOT NULL LIMIT 1)"
    )
    assert not holds(session, case, DistinctLDiversity("s", max(l, 1)))


@pytest.mark.parametrize("order", [ValueOrder(), ValueOrder(values=("30", "20", "10", "3", "2"))])
def test_other_orders(session: Session, case: Case, order: ValueOrder) -> None:
    """The stored one is by number."""
    attributes = (*case.policy.attributes[:2], replace(case.policy.attributes[2], order=order))
    other = replace(case, policy=replace(case.policy, attributes=attributes))
    assert "not in the policy's order" in problems_of(session, other, [NOTHING])
    session.execute(
        "UPDATE tableveil.sensitive_distributions AS d SET position = o.place FROM (SELECT value, row_number() "
        f"OVER (ORDER BY {'-value::INTEGER' if order.values else 'value'} NULLS LAST) - 1 AS place "
        "FROM tableveil.sensitive_distributions WHERE release = ?) AS o "
        "WHERE d.release = ? AND d.value IS NOT DISTINCT FROM o.value",
        [case.written.release] * 2,
    )
    assert holds(session, other, NOTHING)


def test_classes_of_the_population_without_a_record_in_the_source(session: Session, case: Case) -> None:
    some = DeltaPresence(Decimal("0.000001"), Decimal(1))
    session.execute("CREATE OR REPLACE TABLE everybody AS SELECT a, b FROM people")
    assert holds(session, case, some)
    assert case.plan.transformation[1] < 2
    session.execute("DELETE FROM people WHERE b IN ('p', 'q')")
    assert "have no record in the source" in problems_of(session, case, [some])


def test_the_source_may_be_a_subset_of_its_table(session: Session, case: Case) -> None:
    policy = replace(case.policy, population=Population(subset_column="chosen"))
    subset = replace(case, policy=policy, written=replace(case.written, subset="chosen"))
    session.execute(
        "CREATE OR REPLACE TABLE people AS SELECT a, b, s, true AS chosen FROM people UNION ALL "
        "SELECT a, b, s, false FROM people"
    )
    smallest = min(size for size, _ in case.people[:-1])
    pool = 2 * case.people[-1][0]
    k = min(2 * smallest, pool)
    assert holds(session, subset, KMap(k), Inclusion(), DeltaPresence(Decimal(0), Decimal(1)), NOTHING)
    assert not holds(session, subset, KMap(k + 1))


def test_estimates_are_made_of_the_population_that_the_policy_tells(session: Session, case: Case) -> None:
    estimated = EstimatedKMap(10**6, Decimal("0.05"))
    whole = replace(case, policy=replace(case.policy, population=Population(sampling_fraction=Decimal(1))))
    part = replace(case, policy=replace(case.policy, population=SAMPLE_OF_ALL))
    assert not holds(session, whole, estimated)
    few = replace(estimated, k=2)
    # Two people of a million are hardly both among so few; one is found there by chance less than once in twenty.
    assert holds(session, part, few)
    unique = PopulationUniqueness(Decimal("0.000001"), UniquenessEstimator.ZAYATZ)
    shares = [sizes.count(1) for sizes in (case.sizes[:-1], case.sizes[-1:])]
    assert holds(session, whole, unique) == (not any(shares))


@pytest.mark.parametrize(
    ("k", "records", "population", "poisson", "truncated"),
    [(5, 100, 100, 5, 5), (2, 1, 10**6, 1, 2), (20, 10, 100, 6, 6), (3, 99, 100, 3, 3)],
)
def test_the_size_in_the_sample_that_many_people_hardly_reach(
    k: int, records: int, population: int, poisson: int, truncated: int
) -> None:
    model = EstimatedKMap(k, Decimal("0.05"))
    assert smallest_in_sample(model, records, population) == poisson
    model = replace(model, estimator=CellSizes.ZERO_TRUNCATED_POISSON)
    assert smallest_in_sample(model, records, population) == truncated


def test_grassberger_of_many_is_the_same_sum() -> None:
    """Around the place where the harmonic numbers become a series."""
    counts = np.array([1, 2, 3, 4, 1997, 1998, 1999, 2000, 2001, 10**6])
    sums = [-0.57721566490153286 - np.log(2) + 2 * np.sum(1 / np.arange(1.0, n // 2 * 2, 2)) for n in counts]
    assert grassberger(counts) == pytest.approx(sums, abs=1e-12)
