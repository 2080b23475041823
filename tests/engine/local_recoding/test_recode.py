"""Local recoding at the edges: small and degenerate tables, level limits, held columns, deadlines and cancelling."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tableveil.classes import EquivalenceClasses, NumpyCounter
from tableveil.control import Control, Stopped
from tableveil.errors import CancelledError, InfeasibleError
from tableveil.hierarchy import AttributeLevels
from tableveil.local_recoding import SUPPRESSED, LocalProblem, LocalProgress, label_costs, recode
from tableveil.policy import Aggregate, EntropyModel, KAnonymity, LossModel, PrecisionModel, QualityModel
from tableveil.privacy import ReleaseRule, privacy_of
from tableveil.quality import quality_of
from tests.engine.local_recoding.small_tables import MODELS, SmallTable
from tests.engine.local_recoding.test_gap import holds
from tests.once import once

LOSS = LossModel(Aggregate.ARITHMETIC_MEAN)


def counted_levels(values: int, fan_out: int) -> AttributeLevels:
    """Numbers in groups of so many, up to one group."""
    groups = [np.arange(values, dtype=np.int32)]
    while groups[-1].max(initial=0) > 0:
        groups.append((groups[-1] // fan_out).astype(np.int32))
    leaves = tuple(np.bincount(group).astype(np.float64) for group in groups)
    return AttributeLevels(tuple(groups), (), leaves, float(values), False, None)


def problem_of(
    levels: tuple[AttributeLevels, ...], codes: list[tuple[int, ...]], counts: list[int], k: int, suppressible: int = 0
) -> LocalProblem:
    at, numbers = np.array(codes, np.int32).reshape(-1, len(levels)), np.array(counts, np.int64)
    counter = NumpyCounter(levels, list(at.T), numbers)
    return LocalProblem(
        levels,
        at,
        numbers,
        label_costs(LOSS, levels, [1.0] * len(levels), counter.marginals().counts),
        (0,) * len(levels),
        tuple(attribute.top for attribute in levels),
        privacy_of((KAnonymity(k),), counter),
        suppressible,
    )


def random_problem(combinations: int, k: int = 5, seed: int = 0) -> LocalProblem:
    random = np.random.default_rng(seed)
    levels = (counted_levels(30, 3), counted_levels(8, 2), counted_levels(12, 4))
    codes = np.unique(random.integers(0, [30, 8, 12], (combinations, 3)), axis=0)
    return problem_of(levels, [tuple(row) for row in codes.tolist()], random.integers(1, 4, len(codes)).tolist(), k)


TWO = counted_levels(2, 2)
FOUR = counted_levels(4, 2)


def test_one_record_is_suppressed_or_refused() -> None:
    problem = problem_of((FOUR,), [(0,)], [1], k=2, suppressible=1)
    assert recode(problem, Control()).classes.tolist() == [SUPPRESSED]
    with pytest.raises(InfeasibleError):
        recode(replace(problem, suppressible=0), Control())


def test_equal_records_keep_their_values() -> None:
    found = recode(problem_of((FOUR, TWO), [(1, 1)], [7], k=5), Control())
    assert found.score == found.lower_bound == 0
    assert found.levels.tolist() == [[0, 0]]


def test_different_records_are_grouped_by_the_cheapest_labels() -> None:
    found = recode(problem_of((FOUR,), [(0,), (1,), (2,), (3,)], [1] * 4, k=2), Control())
    assert found.levels.tolist() == [[1], [1]]
    assert found.score == pytest.approx(1 / 3)
    assert found.gap == pytest.approx(0, abs=1e-9)


def test_a_hierarchy_of_one_level_keeps_values_apart() -> None:
    flat = AttributeLevels((np.array([0], np.int32),), (), (np.array([1.0]),), 1.0, False, None)
    assert recode(problem_of((flat, TWO), [(0, 0), (0, 1)], [1, 1], k=2), Control()).levels.tolist() == [[0, 1]]
    apart = replace(problem_of((TWO,), [(0,), (1,)], [2, 1], k=2), highest=(0,))
    with pytest.raises(InfeasibleError):
        recode(apart, Control())
    assert recode(replace(apart, suppressible=1), Control()).classes.tolist() == [0, SUPPRESSED]


class Pairs(ReleaseRule):
    """Releases classes of two records: two of them together it does not, as delta-disclosure may not either."""

    def releasable(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        kept: NDArray[np.bool_] = classes.counts == 2
        return kept

    def nearest(self, classes: EquivalenceClasses, suppressible: int) -> str | None:
        """There is no parameter."""
        return None


def test_classes_with_the_same_labels_are_judged_together() -> None:
    pairs = replace(problem_of((TWO,), [(0,), (1,)], [1, 1], k=1), privacy=Pairs(), suppressible=1)
    assert recode(pairs, Control(), [np.array([0, 0])]).classes.tolist() == [0, 0]
    groups = (np.arange(4, dtype=np.int32), np.zeros(4, np.int32))
    flat = AttributeLevels(groups, (), (np.ones(4), np.full(1, 4.0)), 4.0, False, None)
    four = replace(problem_of((flat,), [(0,), (1,), (2,), (3,)], [1] * 4, k=1), privacy=Pairs(), suppressible=1)
    with pytest.raises(InfeasibleError):
        recode(four, Control(), [np.array([0, 0, 1, 1])])


def test_labels_stay_within_the_level_limits() -> None:
    found = recode(replace(random_problem(300), lowest=(1, 0, 1), highest=(4, 2, 2)), Control())
    assert (found.levels >= [1, 0, 1]).all()
    assert (found.levels <= [4, 2, 2]).all()


@pytest.mark.parametrize("most", [1, 2])
def test_a_held_column_has_few_levels(most: int) -> None:
    problem = random_problem(60)
    free = recode(problem, Control())
    held = recode(replace(problem, most_levels={0: most}), Control())
    assert len(np.unique(free.levels[:, 0])) > most
    assert len(np.unique(held.levels[:, 0])) <= most
    assert held.score >= free.score - 1e-12
    assert held.lower_bound is not None
    assert held.lower_bound <= held.score


def test_nothing_is_worse_than_the_best_known() -> None:
    problem = random_problem(300)
    control = Control()
    best = recode(problem, control)
    kept: list[LocalProgress] = []
    clock = iter(range(100_000))
    stopped = Control(lambda: float(next(clock)))
    stopped.limit(2.0)
    everything = np.zeros(len(problem.counts), np.int64)
    found = recode(problem, stopped, [everything, best.classes], kept.append)
    assert found.score <= best.score + 1e-12
    assert not found.complete


def test_a_partition_that_the_level_limits_forbid_is_no_beginning() -> None:
    problem = random_problem(300)
    free = recode(problem, Control())
    limited = replace(problem, lowest=(1, 0, 1))
    assert (free.levels < [1, 0, 1]).any()
    assert (recode(limited, Control(), [free.classes]).levels >= [1, 0, 1]).all()


def test_exchanges_improve_on_the_construction() -> None:
    told: list[LocalProgress] = []
    found = recode(random_problem(600), Control(), report=told.append)
    constructed = next(progress.best_score for progress in told if progress.best_score is not None)
    assert found.score < constructed
    assert found.lower_bound is not None
    assert 0 < found.lower_bound <= found.score


def test_shakes_improve_on_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    shaken = recode(random_problem(600, seed=1), Control())
    monkeypatch.setattr("tableveil.local_recoding.exchanges.Exchanges.shake", lambda exchanges, random: 0.0)
    assert shaken.score < recode(random_problem(600, seed=1), Control()).score - 1e-9


def test_neighbourhoods_are_improved_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = replace(random_problem(600), suppressible=12)
    monkeypatch.setattr("tableveil.local_recoding.solve.NEIGHBOURHOOD", 60)
    monkeypatch.setattr("tableveil.local_recoding.solve.LARGEST_TOGETHER", 60)
    told: list[LocalProgress] = []
    found = recode(problem, Control(), report=told.append)
    holds(problem, found)
    scores = [progress.best_score for progress in told if progress.best_score is not None]
    assert found.score < scores[0]
    assert scores == sorted(scores, reverse=True)


def test_the_outcome_is_the_same_again() -> None:
    one, other = (recode(random_problem(400, seed=3), Control()) for _ in range(2))
    assert (one.classes == other.classes).all()
    assert (one.score, one.lower_bound) == (other.score, other.lower_bound)


@pytest.mark.parametrize("after", [0, 1, 5, 20, 60, 150, 400, 1000, 3000])
def test_any_deadline_leaves_a_valid_partition_or_says_so(after: int) -> None:
    problem = random_problem(400)
    clock = iter(range(1_000_000))
    control = Control(lambda: float(next(clock)))
    control.limit(float(after))
    try:
        found = recode(problem, control)
    except Stopped:
        assert after < 60
        return
    holds(problem, found)
    assert found.lower_bound is not None
    assert found.lower_bound <= found.score


@pytest.mark.parametrize("after", [0, 1, 5, 20, 60, 150, 300])
def test_cancelling_stops_every_phase(after: int) -> None:
    class Cancelling(Control):
        looks = 0

        @property
        def cancelled(self) -> bool:
            Cancelling.looks += 1
            if Cancelling.looks > after:
                self.cancel()
            return super().cancelled

        def part(self, share: float) -> Control:
            return self

    with pytest.raises(CancelledError):
        recode(random_problem(400), Cancelling())


def test_the_best_is_kept_when_asked_and_a_bound_is_there_before() -> None:
    """At the first round of exchanges: what was found by then is returned, with its bound."""
    control = Control()
    told = []

    def report(progress: LocalProgress) -> None:
        told.append(progress)
        if progress.phase == "improvement":
            control.keep_best()

    problem = random_problem(400)
    with control.searching(None):
        found = recode(problem, control, report=report)
    assert not found.complete
    holds(problem, found)
    last = told[-2]
    assert last.best_score is not None
    assert last.lower_bound is not None
    assert found.lower_bound is not None
    assert last.lower_bound <= found.lower_bound <= found.score <= last.best_score + 1e-9


@pytest.mark.parametrize("suppressible", [0, 3])
def test_a_deadline_keeps_no_part_that_is_too_small(suppressible: int) -> None:
    """At these levels no records may be together: what is left when time is over is no class."""
    apart = replace(problem_of((FOUR,), [(0,), (1,), (2,)], [1] * 3, k=2, suppressible=suppressible), highest=(0,))
    control = Control(lambda: 1.0)
    control.limit(0.0)
    try:
        assert (recode(apart, control).classes == SUPPRESSED).all()
        assert suppressible
    except (InfeasibleError, Stopped):
        assert not suppressible


@pytest.mark.parametrize("least", [1, 7, 10_000])
def test_suppressed_records_that_are_shown_hold_together(least: int) -> None:
    problem = replace(random_problem(60, seed=4), highest=(2, 1, 1), suppressible=90)
    records = int(problem.counts.sum())

    def may_show(classes: EquivalenceClasses) -> bool:
        return records - int(classes.counts.sum()) == 0 or records - int(classes.counts.sum()) >= least

    try:
        found = recode(replace(problem, may_show_others=may_show), Control())
    except InfeasibleError:
        assert least == 10_000
        return
    holds(problem, found)
    assert problem.counts[found.classes == SUPPRESSED].sum() >= least


def test_no_records_are_no_classes() -> None:
    found = recode(problem_of((FOUR,), [], [], k=2), Control())
    assert (found.classes.tolist(), found.levels.tolist(), found.score) == ([], [], 0)


@pytest.mark.long
def test_a_million_values_in_a_column() -> None:
    levels = counted_levels(1_000_000, 100)
    random = np.random.default_rng(0)
    codes = np.unique(random.integers(0, 1_000_000, 500))
    found = recode(problem_of((levels,), [(code,) for code in codes.tolist()], [1] * len(codes), k=3), Control())
    assert found.lower_bound is not None
    assert found.lower_bound <= found.score < 0.1


@pytest.mark.parametrize("weight", once([0.0, 1e100, 1e-300, 1e-12, 1e9], 2))
def test_weights_of_any_size_choose_the_same(weight: float) -> None:
    problem = random_problem(200)
    counter = NumpyCounter(problem.levels, list(problem.codes.T), problem.counts)
    costs = label_costs(LOSS, problem.levels, [weight] * 3, counter.marginals().counts)
    plain, weighted = recode(problem, Control()), recode(replace(problem, costs=costs, highest=(3, 3, 1)), Control())
    limited = recode(replace(problem, highest=(3, 3, 1)), Control())
    assert weighted.score == pytest.approx(weight * limited.score)
    assert weighted.lower_bound == pytest.approx(weight * (limited.lower_bound or 0.0))
    assert plain.score <= limited.score


@pytest.mark.parametrize(
    "model",
    [
        LOSS,
        LossModel(Aggregate.SUM, factor=0.8),
        PrecisionModel(),
        EntropyModel(),
        EntropyModel(normalized=True, aggregate=Aggregate.ARITHMETIC_MEAN),
    ],
    ids=str,
)
@pytest.mark.parametrize("withheld", [0, 7])
def test_costs_add_up_to_the_score_of_full_domain_generalization(model: QualityModel, withheld: int) -> None:
    problem = random_problem(100)
    counter = NumpyCounter(problem.levels, list(problem.codes.T), problem.counts, withheld=withheld)
    weights = [1.0, 0.5, 2.0]
    costs = label_costs(model, problem.levels, weights, counter.marginals().counts, withheld)
    quality = quality_of(model, counter, weights, 0)
    for x in [(0, 0, 0), (1, 0, 2), (2, 3, 1), (4, 3, 2)]:
        classes = counter.classes(x)
        expected = quality.reported(quality.assess(x, classes, np.ones(len(classes.counts), np.bool_)).score)
        of_labels = [
            costs.labels[j][x[j]][attribute.groups[x[j]][problem.codes[:, j]]]
            for j, attribute in enumerate(problem.levels)
        ]
        assert costs.constant + float(sum(of_labels) @ problem.counts) == pytest.approx(expected, abs=1e-9)


def test_a_surrogate_is_named() -> None:
    problem = random_problem(50)
    counter = NumpyCounter(problem.levels, list(problem.codes.T), problem.counts)
    costs = label_costs(LossModel(Aggregate.MAXIMUM), problem.levels, [1.0] * 3, counter.marginals().counts)
    assert "arithmetic mean" in recode(replace(problem, costs=costs), Control()).account


def test_free_suppression_does_not_make_entropy_negative() -> None:
    problem = random_problem(50)
    counter = NumpyCounter(problem.levels, list(problem.codes.T), problem.counts)
    costs = label_costs(EntropyModel(factor=0.0), problem.levels, [1.0] * 3, counter.marginals().counts)
    assert "entropy with suppression" in (costs.surrogate or "")
    assert recode(replace(problem, costs=costs, suppressible=1_000), Control()).score >= 0


def test_classes_of_the_population_only_are_not_released() -> None:
    for seed in range(20):
        table = SmallTable.random(seed)
        problem = table.problem(MODELS["k-map"](np.random.default_rng(seed)), len(table.records))
        found = recode(problem, Control())
        sizes = np.bincount(found.classes[found.classes >= 0], problem.counts[found.classes >= 0])
        assert (sizes > 0).all()
