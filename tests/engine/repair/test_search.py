"""The search for levels of people and events, against the scores of all transformations of small random problems."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from tableveil.control import Control, Progress
from tableveil.errors import CancelledError
from tableveil.hierarchy import AttributeLevels
from tableveil.lattice import Lattice, Transformation
from tableveil.repair import search
from tableveil.repair.facts import Ints, RowFacts
from tableveil.repair.problem import CodedCombinations, Evaluation, EventCombinations, RelatedProblem
from tableveil.repair.search import repaired_at, search_related


def _levels(chance: np.random.Generator) -> AttributeLevels:
    values = int(chance.integers(1, 6))
    groups = [np.arange(values, dtype=np.int32)]
    while groups[-1].max() > 0 and len(groups) < 3:
        number = int(groups[-1].max()) + 1
        _, coarser = np.unique(chance.integers(0, max(1, (number + 1) // 2), number)[groups[-1]], return_inverse=True)
        groups.append(coarser.astype(np.int32))
    if groups[-1].max() > 0 or len(groups) == 1:
        groups.append(np.zeros(values, np.int32))
    leaves = tuple(np.bincount(group).astype(float) for group in groups)
    labels = tuple(tuple(map(str, range(int(group.max()) + 1))) for group in groups[1:])
    return AttributeLevels(tuple(groups), labels, leaves, float(values), False, None)


def _combinations(chance: np.random.Generator, rows: int) -> tuple[CodedCombinations, Ints]:
    columns = int(chance.integers(1, 3))
    levels = [_levels(chance) for _ in range(columns)]
    codes = [chance.integers(0, len(of.groups[0]), rows).astype(np.int32) for of in levels]
    return CodedCombinations.of(levels, codes, [float(chance.integers(1, 4)) for _ in range(columns)], rows)


def _problem(chance: np.random.Generator, m: int) -> RelatedProblem:
    people = int(chance.integers(1, 30))
    of_people, combination_of = _combinations(chance, people)
    events, owners, labels, first = [], [], [], 0
    for _ in range(int(chance.integers(1, 3))):
        rows, lost = int(chance.integers(0, 60)), int(chance.integers(0, 3))
        combinations, own = _combinations(chance, rows)
        events.append(EventCombinations(combinations, rows + lost, lost))
        owners.append(chance.integers(0, people, rows).astype(np.int32))
        labels.append(own + np.int32(first))
        first += combinations.number
    all_owners, all_labels = np.concatenate(owners), np.concatenate(labels)
    facts = RowFacts.of(all_owners, all_labels, np.ones(len(all_owners), np.int32), max(first, 1))
    tops = [of.top for each in (of_people, *(e.combinations for e in events)) for of in each.levels]
    lattice = Lattice(tuple(0 for _ in tops), tuple(tops))
    rows = sum(each.rows for each in events)
    limits = int(chance.integers(0, people + 1)), int(chance.integers(0, rows + 1))
    return RelatedProblem(
        of_people, combination_of, tuple(events), facts, lattice, int(chance.integers(1, 4)), m, *limits
    )


def _lost(problem: RelatedProblem, at: Transformation) -> tuple[float, int, int]:
    """The score with the rows that m = 1 forces to go, suppressed people, and removed rows; counted one by one."""
    tables = [problem.people, *(events.combinations for events in problem.events)]
    parts, begin = [], 0
    for of in tables:
        parts.append(at[begin : begin + len(of.levels)])
        begin += len(of.levels)

    def label(table: int, combination: int) -> tuple[int, ...]:
        of = tables[table]
        columns = zip(of.levels, of.codes, parts[table], strict=True)
        return (table, *(int(levels.groups[level][codes[combination]]) for levels, codes, level in columns))

    classes = [label(0, q) for q in problem.combination_of.tolist()]
    released = [classes.count(c) >= problem.k for c in classes]
    places = [(t + 1, e) for t, of in enumerate(problem.events) for e in range(of.combinations.number)]
    facts = list(
        zip(*(a.tolist() for a in (problem.facts.people, problem.facts.labels, problem.facts.counts)), strict=True)
    )
    having = {(classes[p], label(*places[e]), p) for p, e, _ in facts}
    sizes: dict[object, int] = {}
    for c, own, _ in having:
        sizes[c, own] = sizes.get((c, own), 0) + 1
    kept = [(p, e, n) for p, e, n in facts if released[p] and sizes[classes[p], label(*places[e])] >= problem.k]
    cells: list[list[int]] = [[q for q, r in zip(problem.combination_of.tolist(), released, strict=True) if r]]
    cells += [
        [places[e][1] for _, e, n in kept if places[e][0] == t + 1 for _ in range(n)]
        for t, _ in enumerate(problem.events)
    ]
    records = [len(classes), *(events.rows for events in problem.events)]
    score = weights = 0.0
    for of, levels_at, rows, number in zip(tables, parts, cells, records, strict=True):
        for levels, codes, level, weight in zip(of.levels, of.codes, levels_at, of.weights, strict=True):
            shares = levels.shares(level)[levels.groups[level]]
            cost = sum(float(shares[codes[row]]) for row in rows) + number - len(rows)
            score += weight * (cost / number if number else 0.0)
            weights += weight
    return score / weights, released.count(False), sum(records[1:]) - sum(map(len, cells[1:]))


def test_the_best_levels_at_one_known_row_are_proven() -> None:
    chance = np.random.default_rng(5)
    found = 0
    for _ in range(40):
        problem = _problem(chance, 1)
        evaluation = Evaluation(problem)
        valid = []
        for at in problem.lattice:
            score, suppressed, removed = _lost(problem, at)
            evaluated = evaluation.evaluate(at)
            assert (evaluated.suppressed, sum(evaluated.removed)) == (suppressed, removed)
            assert math.isclose(evaluation.bound(evaluated, at), score, abs_tol=1e-9)
            if suppressed <= problem.suppressible and removed <= problem.removable:
                valid.append(score)
        told = list[Progress]()
        outcome = search_related(problem, None, lambda found: True, Control(), math.inf, told.append)
        assert all(each.lower_bound is None or each.lower_bound <= (each.best_score or math.inf) for each in told)
        assert (outcome.best is None) == (not valid)
        if outcome.best is not None:
            found += 1
            assert outcome.complete
            assert math.isclose(outcome.best.score, min(valid), abs_tol=1e-9)
            assert sum(outcome.best.removed) <= problem.removable
    assert found > 10


def test_no_repair_at_two_known_rows_is_better_than_the_bound() -> None:
    chance = np.random.default_rng(6)
    for _ in range(40):
        problem = _problem(chance, 2)
        evaluation = Evaluation(problem)
        repairs = [repaired_at(problem, evaluation, None, at, None) for at in problem.lattice]
        valid = [
            one.score
            for one in repairs
            if one.suppressed <= problem.suppressible and sum(one.removed) <= problem.removable
        ]
        outcome = search_related(problem, None, lambda found: True, Control(), math.inf)
        if outcome.best is not None and valid:
            assert outcome.lower_bound <= min(valid) + 1e-9
            assert min(valid) <= outcome.best.score + 1e-9
            assert problem.lattice.size > 150 or math.isclose(outcome.best.score, min(valid), abs_tol=1e-9)
        for one in itertools.islice(repairs, 5):
            assert one.score >= evaluation.bound(evaluation.evaluate(one.at), one.at) - 1e-9


def test_a_refused_repair_gives_way_to_the_next_one() -> None:
    chance, refused = np.random.default_rng(8), list[Transformation]()
    for _ in range(20):
        problem = _problem(chance, 1)
        first = search_related(problem, None, lambda found: True, Control(), math.inf).best
        if first is None:
            continue
        refused[:] = [first.at]
        other = search_related(problem, None, lambda found: found.at not in refused, Control(), math.inf).best
        assert other is None or (other.key > first.key and other.at != first.at)


def test_a_search_without_time_has_a_valid_repair_with_its_gap() -> None:
    chance, found = np.random.default_rng(9), 0
    for m in (1, 2):
        for _ in range(10):
            problem = _problem(chance, m)
            outcome = search_related(problem, None, lambda found: True, Control(lambda: 1.0), 0.0)
            if outcome.best is not None:
                found += 1
                assert outcome.best.suppressed <= problem.suppressible
                assert sum(outcome.best.removed) <= problem.removable
                assert outcome.lower_bound <= outcome.best.score
    assert found > 3


def test_a_search_by_a_sample_counts_what_it_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = next(each for each in (_problem(np.random.default_rng(i), 2) for i in range(99)) if each.lattice.size > 9)
    problem = replace(problem, suppressible=len(problem.combination_of), removable=problem.rows)
    every = search_related(problem, None, lambda found: True, Control(), math.inf)
    monkeypatch.setattr(search, "SAMPLE", 1)
    some = search_related(problem, None, lambda found: True, Control(), math.inf)
    assert (every.sampled, every.repaired) == (0, min(problem.lattice.size, 150))
    assert some.sampled > some.repaired > 0


def test_a_cancelled_search_ends() -> None:
    control = Control()
    control.cancel()
    with pytest.raises(CancelledError):
        search_related(_problem(np.random.default_rng(9), 2), None, lambda found: True, control, math.inf)
