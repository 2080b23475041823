"""The search equals exhaustive search by the definitions, and its proof adds up, for every counter."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil import search
from tableveil.backend import Database, Session, Settings
from tableveil.classes import ClassCounter, NumpyCounter
from tableveil.control import Control, Progress, Stopped
from tableveil.counting import DuckDBCounter, build_base
from tableveil.dictionary import build_dictionary
from tableveil.dictionary.values import CodedAttribute
from tableveil.errors import CancelledError
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.policy import (
    Aggregate,
    AttributePolicy,
    KAnonymity,
    LossModel,
    NullHandling,
    Policy,
    ReleaseTarget,
    Role,
    TableReference,
)
from tableveil.privacy import Conjunction
from tableveil.quality import Loss
from tableveil.search import SearchOutcome
from tableveil.source import resolve_source
from tests.engine.rules import k_anonymity
from tests.engine.search.exhaustive import (
    Attribute,
    Problem,
    Value,
    by_definition,
    exhaustive,
    problems,
    reported,
    withheld,
)
from tests.engine.search.problems import EvenSizes, OnlyClasses, Watched
from tests.inserted import insert

# --- the counters ---------------------------------------------------------------------------------------------------

Counters = Callable[[Problem], ClassCounter]


def in_numpy(problem: Problem, kind: type[NumpyCounter] = NumpyCounter) -> NumpyCounter:
    """The reference, from arrays made here."""
    levels, codes = [], []
    for j, attribute in enumerate(problem.attributes):
        column = [record[j] for record in problem.records]
        values = sorted({value for value in column if value is not None})
        labelled = label_values(InlineLevels(attribute.rows), ValueKind.TEXT, values, values)
        has_null = None in column
        nulls_count = attribute.nulls is NullHandling.VALUE
        levels.append(attribute_levels(labelled, has_null=has_null, null_counts=nulls_count))
        order: list[Value] = [*values, None]
        codes.append([order.index(value) for value in column])
    kept = [i for i, record in enumerate(problem.records) if not withheld(problem, record)]
    combinations = Counter(tuple(code[i] for code in codes) for i in kept)
    groups = [
        np.array([combination[j] for combination in combinations], np.int32) for j in range(len(problem.attributes))
    ]
    counts = np.array(list(combinations.values()), np.int64)
    return kind(levels, groups, counts, withheld=len(problem.records) - len(kept))


def in_duckdb(session: Session, problem: Problem, hand_over_rows: int) -> DuckDBCounter:
    """The database's, over a table that holds the records."""
    names = [f"q{j}" for j in range(len(problem.attributes))]
    session.execute(f"CREATE OR REPLACE TABLE t ({', '.join(f'{name} VARCHAR' for name in names)})")
    insert(session, "t", problem.records)
    listed = tuple(
        AttributePolicy(name, Role.QUASI_IDENTIFIER, InlineLevels(a.rows), nulls=a.nulls)
        for name, a in zip(names, problem.attributes, strict=True)
    )
    policy = Policy(
        source=TableReference("", "main", "t"),
        attributes=listed,
        person_column=None,
        privacy_models=(KAnonymity(problem.k),),
        release=ReleaseTarget("main", "out"),
    )
    source, _, faults = resolve_source(session, policy)
    assert source is not None
    assert faults == []
    dictionaries = []
    for j, attribute in enumerate(listed):
        assert isinstance(attribute.hierarchy, InlineLevels)
        dictionary, found = build_dictionary(
            session, source, CodedAttribute(attribute, attribute.hierarchy, "inline", j, "")
        )
        assert dictionary is not None, found
        dictionaries.append(dictionary)
    return DuckDBCounter(session, build_base(session, source, dictionaries), hand_over_rows)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    opened = Database(Settings(Path(tmp_path_factory.mktemp("search")) / "search.duckdb", threads=1))
    yield opened
    opened.close()


# --- one search -----------------------------------------------------------------------------------------------------


def searched(
    problem: Problem,
    counter: ClassCounter,
    control: Control | None = None,
    time_limit: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> SearchOutcome:
    return search.exact(asked(problem, counter), control or Control(), time_limit, report)


def asked(problem: Problem, counter: ClassCounter) -> search.Problem:
    weights = [attribute.weight for attribute in problem.attributes]
    quality = Loss(LossModel(problem.aggregate), counter.levels, weights, counter.marginals(), counter.withheld)
    privacy = Conjunction((*k_anonymity(problem.k).rules, *([EvenSizes()] if problem.even else [])))
    return search.Problem(problem.lattice, counter, privacy, quality, problem.suppressible)


def check_complete(problem: Problem, outcome: SearchOutcome) -> None:
    """The outcome of a search that ran to its end is what the definitions say."""
    best = exhaustive(problem)
    assert outcome.complete
    assert outcome.lattice_size == math.prod(a.maximum - a.minimum + 1 for a in problem.attributes)
    assert outcome.checked + sum(outcome.pruned.values()) == outcome.lattice_size
    assert all(pruned >= 0 for pruned in outcome.pruned.values())
    assert outcome.gap == 0
    if best is None:
        assert outcome.best is None
        assert outcome.runners_up == ()
        check_infeasible(problem)
        return
    assert outcome.best is not None
    assert outcome.best.score == pytest.approx(best.score, rel=1e-12, abs=1e-12)
    assert outcome.best.transformation == best.transformation
    assert outcome.lower_bound == outcome.best.score
    check_candidates(problem, outcome)


def check_candidates(problem: Problem, outcome: SearchOutcome) -> None:
    """The best and the runners-up are valid, say what is true of them, and are in order."""
    candidates = [*([outcome.best] if outcome.best else []), *outcome.runners_up]
    for candidate in candidates:
        defined = by_definition(problem, candidate.transformation)
        assert defined.valid
        assert (candidate.suppressed, candidate.classes) == (defined.suppressed, defined.classes)
        assert candidate.score == pytest.approx(reported(problem, defined.values), rel=1e-12, abs=1e-12)
        lattice = problem.lattice
        bounds = zip(lattice.bottom, candidate.transformation, lattice.top, strict=True)
        assert all(low <= level <= high for low, level, high in bounds)
    keys = [(c.key, c.transformation) for c in candidates]
    assert keys == sorted(keys)
    assert len({candidate.transformation for candidate in candidates}) == len(candidates)
    assert len(outcome.runners_up) <= min(10, outcome.checked)


def check_infeasible(problem: Problem) -> None:
    """The number of records that the most general transformation suppresses is reported, and is the least of all."""
    why = search.why_infeasible(asked(problem, in_numpy(problem)))
    assert why.transformation == problem.lattice.top
    assert (why.records, why.allowed) == (len(problem.records), problem.suppressible)
    assert why.suppressed == by_definition(problem, why.transformation).suppressed
    assert why.refusals[0].records == why.suppressed - sum(withheld(problem, record) for record in problem.records)
    assert exhaustive(replace(problem, suppressible=why.suppressed)) is not None
    assert exhaustive(replace(problem, suppressible=why.suppressed - 1)) is None


@settings(max_examples=40)
@given(problems())
def test_equals_exhaustive_search(problem: Problem) -> None:
    outcome = searched(problem, in_numpy(problem))
    check_complete(problem, outcome)


@settings(max_examples=40)
@given(problems())
def test_equals_exhaustive_search_when_only_classes_are_known(problem: Problem) -> None:
    check_complete(problem, searched(problem, in_numpy(problem, OnlyClasses)))


@given(problems())
def test_equals_exhaustive_search_for_failures_that_are_not_inherited(problem: Problem) -> None:
    problem = replace(problem, even=True)
    outcome = searched(problem, in_numpy(problem))
    best = exhaustive(problem)
    assert (outcome.best and outcome.best.transformation) == (best and best.transformation)
    assert outcome.checked + sum(outcome.pruned.values()) == outcome.lattice_size
    check_candidates(problem, outcome)


@st.composite
def hard_problems(draw: st.DrawFn) -> Problem:
    """Little may be generalized, and few records may be suppressed."""
    problem = draw(problems(most_attributes=2))
    low = tuple(replace(a, minimum=0, maximum=draw(st.integers(0, min(1, a.top - 1)))) for a in problem.attributes)
    k, suppressible = draw(st.integers(2, 8)), draw(st.integers(0, 5))
    return replace(problem, attributes=low, k=k, suppressible=min(suppressible, len(problem.records) - 1))


@settings(max_examples=40)
@given(hard_problems())
def test_infeasible_policies_are_told_what_is_feasible(problem: Problem) -> None:
    check_complete(problem, searched(problem, in_numpy(problem)))


@pytest.mark.long
@settings(max_examples=10)
@given(problem=problems(most_attributes=3), hand_over_rows=st.sampled_from([0, 0, 3]))
def test_equals_exhaustive_search_when_the_database_counts(
    database: Database, problem: Problem, hand_over_rows: int
) -> None:
    with database.session() as session:
        outcome = searched(problem, in_duckdb(session, problem, hand_over_rows))
    check_complete(problem, outcome)


@given(problems())
def test_is_deterministic(problem: Problem) -> None:
    first, second = (searched(problem, in_numpy(problem)) for _ in range(2))
    assert (first.best, first.runners_up, first.checked, first.pruned) == (
        second.best,
        second.runners_up,
        second.checked,
        second.pruned,
    )


@given(problem=problems(), data=st.data())
def test_does_not_depend_on_the_order_of_records(problem: Problem, data: st.DataObject) -> None:
    shuffled = replace(problem, records=tuple(data.draw(st.permutations(problem.records))))
    first, second = searched(problem, in_numpy(problem)), searched(shuffled, in_numpy(shuffled))
    assert (first.best, first.runners_up, first.checked) == (second.best, second.runners_up, second.checked)


# --- stopping -------------------------------------------------------------------------------------------------------


def check_stopped(problem: Problem, outcome: SearchOutcome) -> None:
    """A stopped search makes true statements, if not the whole truth."""
    check_candidates(problem, outcome)
    best = exhaustive(problem)
    # The most general transformation is checked whatever the time: if it fails, all do.
    assert (outcome.best is None) == (best is None)
    if best is None or outcome.best is None:
        return
    optimum = best.score
    assert outcome.lower_bound <= optimum + 1e-12
    assert outcome.best.score >= optimum - 1e-12
    assert outcome.best.score - outcome.gap <= optimum + 1e-12
    assert outcome.checked + sum(outcome.pruned.values()) <= outcome.lattice_size


@given(problem=problems(), time_limit=st.integers(0, 20))
def test_time_limit_returns_the_best_so_far_with_a_true_bound(problem: Problem, time_limit: int) -> None:
    counter = Watched(in_numpy(problem))
    control = Control(counter.clock)
    outcome = searched(problem, counter, control, time_limit)
    if outcome.complete:
        check_complete(problem, outcome)
    else:
        assert counter.clock() >= time_limit
        check_stopped(problem, outcome)
    # The deadline was the search's own.
    assert not control.must_stop


def test_no_time_at_all_still_checks_the_most_general_transformation() -> None:
    attribute = Attribute((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")), NullHandling.VALUE, 1.0, 0, 2)
    problem = Problem((attribute,), (("a",), ("b",), ("c",)), 2, 0, Aggregate.GEOMETRIC_MEAN)
    counter = Watched(in_numpy(problem))
    outcome = searched(problem, counter, Control(counter.clock), time_limit=0)
    assert not outcome.complete
    assert outcome.best is not None
    assert outcome.best.transformation == (2,)
    assert (outcome.best.score, outcome.lower_bound, outcome.gap) == (1.0, 0.0, 1.0)


@given(problem=problems(), question=st.integers(0, 25))
def test_survives_an_interrupt_in_the_middle_of_counting(problem: Problem, question: int) -> None:
    def interrupt(asked: int) -> None:
        # Before the deadline is set there is nothing that could interrupt.
        if asked == question and asked >= 2:
            raise Stopped

    outcome = searched(problem, Watched(in_numpy(problem), interrupt))
    (check_complete if outcome.complete else check_stopped)(problem, outcome)


@given(problem=problems(), question=st.integers(0, 10), interrupts=st.booleans())
def test_cancel_ends_the_search(problem: Problem, question: int, interrupts: bool) -> None:
    control = Control()

    def cancel(asked: int) -> None:
        if asked >= question:
            control.cancel()
            if interrupts:
                raise Stopped

    counter = Watched(in_numpy(problem), cancel)
    with suppress(CancelledError):
        outcome = searched(problem, counter, control)
        # Nobody looked at the token any more.
        assert outcome.complete
        assert not interrupts or counter.clock() <= question
        check_complete(problem, outcome)


def test_cancelled_search_raises() -> None:
    attribute = Attribute((("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")), NullHandling.VALUE, 1.0, 0, 2)
    problem = Problem((attribute,), (("a",), ("b",), ("c",)), 2, 0, Aggregate.GEOMETRIC_MEAN)
    control = Control()
    control.cancel()
    with pytest.raises(CancelledError) as raised:
        searched(problem, in_numpy(problem), control)
    assert raised.value.code == "CANCELLED"


@given(problems())
def test_progress_is_true_and_moves_forward(problem: Problem) -> None:
    reports: list[Progress] = []
    counter = Watched(in_numpy(problem))
    searched(problem, counter, Control(counter.clock), report=reports.append)
    best = exhaustive(problem)
    for progress in reports:
        assert progress.lattice_size == problem.lattice.size
        if best is None:
            assert (progress.lower_bound, progress.best_score, progress.suppressed_share) == (None, None, None)
            continue
        assert progress.lower_bound is not None
        assert progress.best_score is not None
        assert progress.lower_bound <= best.score + 1e-12 <= progress.best_score + 2e-12
        assert progress.suppressed_share is not None
        assert progress.suppressed_share * len(problem.records) <= problem.suppressible + 1e-9
    checked = [progress.checked for progress in reports]
    assert checked == sorted(checked)
