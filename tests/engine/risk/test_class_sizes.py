"""Estimated class sizes, against simulated populations whose classes are known, and DIS."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.policy import UniquenessEstimator
from tableveil.risk import ClassSizes, intruder_success, population_estimates

PITMAN, SNB, ZAYATZ, DANKAR = (UniquenessEstimator(name) for name in ("PITMAN", "SNB", "ZAYATZ", "DANKAR"))


def pitman_population(people: int, theta: float, alpha: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Class sizes of a population that grows by one person after the other, as Pitman's model says."""
    uniform = iter(rng.random(4 * people + 100).tolist())
    classes, class_of, founders = 1, [0], [True]
    for others in range(1, people):
        if next(uniform) * (theta + others) < theta + alpha * classes:
            class_of.append(classes)
            founders.append(True)
            classes += 1
            continue
        # A class of n is joined in proportion to n - alpha: that of anyone, of its first person less often.
        while founders[found := int(next(uniform) * others)] and next(uniform) < alpha:
            pass
        class_of.append(class_of[found])
        founders.append(False)
    return np.bincount(class_of)


def sample(population: NDArray[np.int64], fraction: float, rng: np.random.Generator) -> ClassSizes:
    people = np.repeat(np.arange(len(population)), population)
    drawn = rng.choice(people, round(len(people) * fraction), replace=False)
    return ClassSizes.of(np.unique(drawn, return_counts=True)[1])


@pytest.fixture(scope="module")
def slid() -> NDArray[np.int64]:
    """20,000 classes of 1 and a negative binomial number of people."""
    return 1 + np.random.default_rng(7).negative_binomial(0.6, 0.1, 20_000).astype(np.int64)


def relative(estimate: float | None, known: float) -> float:
    assert estimate is not None
    return abs(estimate / known - 1)


@pytest.mark.parametrize(("theta", "alpha"), [(50.0, 0.5), (300.0, 0.3)])
def test_pitmans_population(theta: float, alpha: float) -> None:
    """Some 1,000 to 2,000 classes are seen: a deviation of three times their root is below a sixth."""
    rng = np.random.default_rng(11)
    population = pitman_population(50_000, theta, alpha, rng)
    found = population_estimates(sample(population, 0.1, rng), 50_000)
    assert found.rule is PITMAN
    sizes = found.sizes[PITMAN]
    assert sizes is not None
    unique = int((population == 1).sum())
    assert relative(found.uniqueness[PITMAN], unique / 50_000) < 0.2
    assert found.uniqueness[DANKAR] == found.uniqueness[PITMAN]
    assert relative(sizes.classes, len(population)) < 0.15
    for size in (1, 2, 3):
        assert relative(sizes.of_size[size - 1], int((population == size).sum())) < 0.2


def test_slid_population(slid: NDArray[np.int64]) -> None:
    """The number of classes is Shlosser's, who knows nothing of the model: it is some percent off by itself."""
    found = population_estimates(sample(slid, 0.5, np.random.default_rng(3)), int(slid.sum()))
    sizes = found.sizes[SNB]
    assert sizes is not None
    assert relative(sizes.classes, len(slid)) < 0.1
    assert relative(found.uniqueness[SNB], int((slid == 1).sum()) / int(slid.sum())) < 0.2
    for size in (1, 2, 3):
        assert relative(sizes.of_size[size - 1], int((slid == size).sum())) < 0.2


def test_rule_of_large_fractions_takes_the_lesser(slid: NDArray[np.int64]) -> None:
    found = population_estimates(sample(slid, 0.5, np.random.default_rng(3)), int(slid.sum()))
    by_zayatz, by_snb = found.uniqueness[ZAYATZ], found.uniqueness[SNB]
    assert by_zayatz is not None
    assert by_snb is not None
    assert found.rule is (SNB if by_snb < by_zayatz else ZAYATZ)
    assert found.uniqueness[DANKAR] == min(by_zayatz, by_snb)


def test_rule_falls_back_to_zayatz() -> None:
    """All records are unique: Pitman has no estimate."""
    found = population_estimates(ClassSizes.of(np.ones(20, np.int64)), 1_000)
    assert found.uniqueness[PITMAN] is None
    assert found.sizes == {PITMAN: None, SNB: None}
    assert found.rule is ZAYATZ


@pytest.mark.parametrize("counts", [[], [2, 3, 3], [1, 1, 4]])
def test_nothing_to_estimate(counts: list[int]) -> None:
    """No unique records, or the sample is the population: its uniqueness is counted."""
    found = population_estimates(ClassSizes.of(np.array(counts, np.int64)), max(sum(counts), 1))
    share = counts.count(1) / max(sum(counts), 1)
    assert set(found.uniqueness.values()) == {share}
    assert found.sizes == {PITMAN: None, SNB: None}


def test_sizes_add_up_to_the_classes() -> None:
    """The first ten sizes are most of Pitman's classes, and never more than all."""
    found = population_estimates(ClassSizes.of(np.array([1] * 60 + [2] * 20 + [3] * 9 + [8, 30], np.int64)), 4_000)
    for sizes in found.sizes.values():
        assert sizes is not None
        assert 0.7 * sizes.classes < sum(sizes.of_size) <= sizes.classes
        assert list(sizes.of_size) == sorted(sizes.of_size, reverse=True)


def test_intruder_success_by_hand() -> None:
    """Skinner and Elliot 2002: f n1 / (f n1 + 2 (1 - f) n2)."""
    found = ClassSizes.of(np.array([1] * 6 + [2] * 3 + [7], np.int64))
    assert intruder_success(found, 0.25) == pytest.approx(0.25 * 6 / (0.25 * 6 + 2 * 0.75 * 3))
    assert intruder_success(found, 1.0) == 1.0
    assert intruder_success(ClassSizes.of(np.array([3], np.int64)), 0.5) is None


def test_intruder_success_on_a_simulated_population(slid: NDArray[np.int64]) -> None:
    """An intruder finds a unique record, draws one of the people with its values, and is right as estimated."""
    rng, fraction = np.random.default_rng(5), 0.3
    people = np.repeat(np.arange(len(slid)), slid)
    drawn = people[rng.random(len(people)) < fraction]
    counts = np.bincount(drawn, minlength=len(slid))
    correct = (counts == 1).sum() / slid[counts == 1].sum()
    found = intruder_success(ClassSizes.of(counts[counts > 0]), fraction)
    assert found == pytest.approx(float(correct), rel=0.05)
