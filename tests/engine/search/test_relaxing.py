"""Conflicts of a policy that nothing meets, and its relaxations: compared with all possible ones on small tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tableveil.classes import NumpyCounter
from tableveil.control import Control
from tableveil.errors import CancelledError, Change, Relaxation
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.lattice import Lattice, Transformation
from tableveil.policy import (
    AttributePolicy,
    DeltaPresence,
    Inclusion,
    KAnonymity,
    LossModel,
    Policy,
    PrivacyModel,
    ReleaseTarget,
    Role,
    SearchOptions,
    SuppressedRecords,
    TableReference,
)
from tableveil.privacy import privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem
from tableveil.search.outcome import valid
from tableveil.search.relaxing import Relaxed, UnmetPolicy, relax
from tableveil.search.relaxing.requirements import requirements_of
from tests.engine.quality.models import GAMES
from tests.engine.search.changes import stricter, with_changes
from tests.engine.search.private_problems import EACH_MODEL, POPULATION_SIZE, private_problems
from tests.engine.search.problems import Watched, watched

LONG = 1e9


@dataclass(frozen=True)
class Asked:
    """A policy for the records of a problem."""

    policy: Policy
    problem: Problem

    @property
    def tops(self) -> list[int]:
        return [levels.top for levels in self.problem.counter.levels]

    @property
    def records(self) -> int:
        return self.problem.counter.records

    def problem_of(self, policy: Policy) -> Problem | None:
        """The problem for another policy of the same records."""
        counter = self.problem.counter
        lattice = lattice_of(policy, self.tops)
        if lattice is None:
            return None
        # A rule may count more, such as the supersets of (n,t)-closeness: all of it is one check of one transformation.
        judging = counter.unwatched if isinstance(counter, Watched) else counter
        privacy = privacy_of(policy.privacy_models, judging, POPULATION_SIZE, policy.game)
        suppressible = policy.suppressible(counter.records)
        keeps = policy.suppressed_records is SuppressedRecords.KEEP
        return replace(
            self.problem, lattice=lattice, privacy=privacy, suppressible=suppressible, keeps_suppressed=keeps
        )

    def relaxed(self, control: Control | None = None, seconds: float = LONG) -> Relaxed:
        unmet = UnmetPolicy(self.policy, self.tops, self.records)
        return relax(unmet, self.problem_of, control or Control(), seconds)

    def feasible(self, policy: Policy | None = None) -> bool:
        """Whether anything is valid, by looking at every transformation."""
        problem = self.problem_of(policy or self.policy)
        assert problem is not None
        return any(valid_at(problem, x) for x in problem.lattice)


def valid_at(problem: Problem, x: Transformation) -> bool:
    classes = problem.counter.classes(x)
    return valid(problem, classes, problem.privacy.releasable(classes))


def lattice_of(policy: Policy, tops: Sequence[int]) -> Lattice | None:
    """Written anew: given levels, or those within the limits at which linked columns agree."""
    names = [attribute.column for attribute in policy.attributes]
    low = [attribute.minimum_level for attribute in policy.attributes]
    high = [top if a.maximum_level is None else a.maximum_level for a, top in zip(policy.attributes, tops, strict=True)]
    axes = [[j] for j in range(len(tops))]
    for group in policy.search.linked:
        axis = sorted(names.index(name) for name in group)
        low = [max(low[i] for i in axis) if j in axis else low[j] for j in range(len(low))]
        high = [min(high[i] for i in axis) if j in axis else high[j] for j in range(len(high))]
        axes = [axis, *(other for other in axes if other[0] not in axis)]
    if any(a > b for a, b in zip(low, high, strict=True)):
        return None
    if policy.search.levels:
        low = high = [dict(policy.search.levels)[name] for name in names]
    return Lattice(tuple(low), tuple(high), tuple(sorted(map(tuple, axes))))


# --- random policies ------------------------------------------------------------------------------------------------

ANY_MODEL = st.one_of(*EACH_MODEL.values())
MODELS = st.sampled_from([1, 2, 3, 3]).flatmap(
    lambda number: st.lists(ANY_MODEL, min_size=number, max_size=number, unique_by=type)
)


@st.composite
def policies(draw: st.DrawFn, models: st.SearchStrategy[list[PrivacyModel]] = MODELS, keep: bool = True) -> Asked:
    chosen = draw(models)
    assume(not any(isinstance(m, DeltaPresence) and m.minimum == 0 and m.maximum == 1 for m in chosen))
    assume(not all(isinstance(model, Inclusion) for model in chosen))
    problem = draw(private_problems(privacy=st.just(chosen), most_attributes=3))
    tops = [levels.top for levels in problem.counter.levels]
    attributes = []
    for j, top in enumerate(tops):
        low = draw(st.sampled_from([0, 0, 0, 1]))
        most = draw(st.none() | st.integers(min(low, top), top))
        attributes.append(AttributePolicy(f"a{j}", Role.QUASI_IDENTIFIER, None, min(low, top), most))
    linked = ((("a0", "a1"),),) if len(tops) > 1 else ()
    search = SearchOptions(linked=draw(st.sampled_from([(), (), *linked])))
    if draw(st.sampled_from([False, False, False, True])):
        limits = zip(attributes, tops, strict=True)
        levels = [
            draw(st.integers(a.minimum_level, t if a.maximum_level is None else a.maximum_level)) for a, t in limits
        ]
        search = SearchOptions(levels=tuple((f"a{j}", level) for j, level in enumerate(levels)))
    policy = Policy(
        TableReference("", "main", "t"),
        tuple(attributes),
        None,
        tuple(chosen),
        ReleaseTarget("main", "r"),
        suppression_limit=draw(st.sampled_from([Decimal(0), Decimal(0), Decimal("0.1"), Decimal("0.35"), Decimal(1)])),
        suppressed_records=SuppressedRecords.KEEP
        if keep and draw(st.sampled_from([False, False, True]))
        else SuppressedRecords.DROP,
        search=search,
        game=draw(GAMES),
    )
    assume(lattice_of(policy, tops) is not None)
    return Asked(policy, problem)


# --- what must be true ----------------------------------------------------------------------------------------------


def check_relaxation(asked: Asked, relaxation: Relaxation) -> None:
    """It does what it says; and with any one change a step smaller, nothing is valid if it says so."""
    assert asked.feasible(with_changes(asked.policy, relaxation.changes))
    if not relaxation.nearest:
        return
    for change in relaxation.changes:
        others = [other for other in relaxation.changes if other != change]
        smaller = stricter(asked.policy, change)
        if smaller is not None:
            others.append(Change(change.field, smaller))
        assert not asked.feasible(with_changes(asked.policy, others)), change


def check_hopeless(asked: Asked, relaxed: Relaxed) -> None:
    """Nothing is valid of these alone, however lenient they are."""
    fields = {requirement.field for requirement in relaxed.hopeless}
    policy = asked.policy
    for requirement in requirements_of(policy, asked.tops, asked.records):
        for parameter in requirement.parameters:
            if requirement.field in fields and (parameter.field != requirement.field or requirement.model is None):
                policy = parameter.applied(policy, parameter.last)
    for requirement in requirements_of(policy, asked.tops, asked.records):
        if requirement.field not in fields:
            policy = requirement.dropped(policy)
    assert not relaxed.hopeless or not asked.feasible(policy)


def check_conflict(asked: Asked, relaxed: Relaxed) -> None:
    """Nothing meets all that conflict, whatever else is dropped; and something meets all but any one of them."""
    fields = {requirement.field for requirement in relaxed.conflict}
    others = [r for r in requirements_of(asked.policy, asked.tops, asked.records) if r.field not in fields]
    policy = asked.policy
    for requirement in others:
        policy = requirement.dropped(policy)
    assert not asked.feasible(policy)
    for requirement in relaxed.conflict:
        assert asked.feasible(requirement.dropped(policy)), requirement.field


@settings(max_examples=10)
@given(policies())
def test_what_is_said_is_true(asked: Asked) -> None:
    relaxed = asked.relaxed()
    assert relaxed.proven
    assert (relaxed.valid is not None) == asked.feasible()
    if relaxed.valid is not None:
        problem = asked.problem_of(asked.policy)
        assert problem is not None
        assert relaxed.valid in set(problem.lattice)
        assert valid_at(problem, relaxed.valid)
        return
    assert relaxed.minimal
    check_conflict(asked, relaxed)
    check_hopeless(asked, relaxed)
    assert not (relaxed.relaxations and relaxed.hopeless)
    for relaxation in relaxed.relaxations:
        check_relaxation(asked, relaxation)


@settings(max_examples=10)
@given(policies(), st.integers(0, 30))
def test_what_is_said_is_true_whenever_the_time_is_over(asked: Asked, seconds: int) -> None:
    """Each count takes a second: everything found by then holds, and everything called proven is true."""
    problem, counter = watched(asked.problem)
    timed = replace(asked, problem=problem)
    relaxed = timed.relaxed(Control(counter.clock), seconds)
    # A count is not interrupted here: the one that is on its way when the time is over is the last.
    assert len(counter.counted) <= seconds + 1
    if relaxed.valid is not None:
        assert asked.feasible()
        return
    assert not (relaxed.proven and asked.feasible())
    if relaxed.minimal:
        check_conflict(asked, relaxed)
    check_hopeless(asked, relaxed)
    for relaxation in relaxed.relaxations:
        check_relaxation(asked, relaxation)


def small(**changes: Any) -> Asked:
    """Four pairs of records: at level 1 of the first attribute two classes of four, at its top one of eight."""
    rows = (("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"))
    levels = attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, "abcd", "abcd"), has_null=False)
    counter = NumpyCounter([levels], [np.arange(4, dtype=np.int32)], np.array([2, 2, 2, 2], np.int64))
    policy = Policy(
        TableReference("", "main", "t"),
        (AttributePolicy("a0", Role.QUASI_IDENTIFIER, None, 0, 0),),
        None,
        (KAnonymity(5),),
        ReleaseTarget("main", "r"),
    )
    quality = quality_of(LossModel(), counter, [1.0], 0, None)
    problem = Problem(Lattice((0,), (0,)), counter, privacy_of(policy.privacy_models, counter), quality, 0)
    return Asked(replace(policy, **changes), problem)


def test_names_the_least_of_each_field() -> None:
    relaxed = small().relaxed()
    assert [requirement.field for requirement in relaxed.conflict] == [
        "attributes[0].maximum_level",
        "privacy_models[0]",
    ]
    assert list(map(str, relaxed.relaxations)) == [
        "attributes[0].maximum_level = 2",
        "privacy_models[0].k_anonymity.k = 2",
    ]
    assert all(relaxation.nearest for relaxation in relaxed.relaxations)


def test_the_limit_and_half_of_it_with_less_of_a_model() -> None:
    """Classes of 2, 3, 5 and 10 records: without the smallest k may be 3, with all of them 2."""
    asked = small()
    counter = NumpyCounter(
        asked.problem.counter.levels, [np.arange(4, dtype=np.int32)], np.array([2, 3, 5, 10], np.int64)
    )
    asked = replace(asked, problem=replace(asked.problem, counter=counter))
    assert set(map(str, asked.relaxed().relaxations)) == {
        "attributes[0].maximum_level = 1",
        "privacy_models[0].k_anonymity.k = 2",
        "suppression_limit = 0.25",
        "privacy_models[0].k_anonymity.k = 3 and suppression_limit = 0.1",
    }


def test_what_nothing_can_release_has_no_conflict_and_no_relaxation() -> None:
    counter = NumpyCounter(small().problem.counter.levels, [np.zeros(0, np.int32)], np.zeros(0, np.int64), withheld=3)
    asked = small()
    relaxed = replace(asked, problem=replace(asked.problem, counter=counter)).relaxed()
    assert (relaxed.conflict, relaxed.relaxations) == ((), ())


def test_a_cancel_ends_it() -> None:
    control = Control()
    control.cancel()
    with pytest.raises(CancelledError):
        small().relaxed(control)
