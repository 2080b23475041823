"""Relaxations of a model that some classes do not meet, compared with trying its values on these classes."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tableveil.errors import Change, Fault, Relaxation
from tableveil.policy import (
    EntropyLDiversity,
    Policy,
    PrivacyModel,
    ProbabilisticLDiversity,
    ReleaseTarget,
    TableReference,
)
from tableveil.privacy import privacy_of
from tableveil.search import Problem
from tableveil.search.relaxing import Unmet, refusal, ways_of
from tests.engine.search.changes import stricter, with_changes
from tests.engine.search.private_problems import EACH_MODEL, private_problems

BY_CLASS = [
    EACH_MODEL[name]
    for name in (
        "k-anonymity",
        "distinct",
        "probabilistic",
        "entropy",
        "recursive",
        "t-closeness",
        "(n,t)-closeness",
        "disclosure",
        "likeness",
    )
]
MOST_LENIENT = {"k": 2, "l": 2, "n": 2, "t": Decimal("0.9999"), "delta": 5, "beta": 16, "c": 17}
"""For the few records here. Only for probabilistic and entropy l-diversity, l is any number above 1."""


@settings(max_examples=60, deadline=None)
@given(private_problems(), st.one_of(*BY_CLASS), st.data())
def test_the_nearest_value_holds_and_none_before_it_does(
    problem: Problem, model: PrivacyModel, data: st.DataObject
) -> None:
    counter = problem.counter
    classes = counter.classes(data.draw(st.sampled_from(sorted(problem.lattice))))
    policy = Policy(TableReference("", "main", "t"), (), None, (model,), ReleaseTarget("main", "r"))

    def holds(model: PrivacyModel) -> bool:
        return bool(privacy_of([model], counter).releasable(classes).all())

    def holds_with(changes: list[Change]) -> bool:
        return holds(with_changes(policy, changes).privacy_models[0])

    ways = () if holds(model) else ways_of(0, model, counter.records, holds)
    for way in ways:
        assert holds_with([*way])
        for change in way:
            smaller = stricter(policy, change)
            others = [other for other in way if other != change]
            assert not holds_with(others if smaller is None else [*others, Change(change.field, smaller)])
    if not ways and not holds(model):
        lenient = {name: value for name, value in MOST_LENIENT.items() if hasattr(model, name)}
        if isinstance(model, ProbabilisticLDiversity | EntropyLDiversity):
            lenient["l"] = Decimal("1.0001")
        changes: dict[str, Any] = lenient
        assert not holds(replace(model, **changes))


def limit(value: str) -> tuple[Change, ...]:
    return (Change("suppression_limit", value),)


K = tuple((Change(f"privacy_models[0].k_anonymity.{name}", value),) for name, value in (("k", "3"), ("l", "2")))


def test_all_that_is_not_met_has_to_change() -> None:
    unmet = [Unmet("suppression_limit", "0.1", "0.2", (limit("0.2"),)), Unmet("privacy_models[0]", "k", "less", K)]
    error = refusal("CODE", "both", unmet)
    assert (error.code, error.message) == ("CODE", "both")
    assert list(map(str, error.relaxations)) == [
        "suppression_limit = 0.2 and privacy_models[0].k_anonymity.k = 3",
        "suppression_limit = 0.2 and privacy_models[0].k_anonymity.l = 2",
    ]
    assert [fault.hint for fault in error.faults] == [
        "Feasible would be suppression_limit = 0.2, together with less of privacy_models[0].",
        "Feasible would be k = 3, or l = 2, together with less of suppression_limit.",
    ]


def test_what_no_value_would_meet_leaves_no_relaxation_but_others() -> None:
    unmet = [Unmet("suppression_limit", "0.1", "0.2", (limit("0.2"),)), Unmet("privacy_models[0]", "k", "less", ())]
    other = Relaxation((Change("search.choose", "ALL_MODELS"),), nearest=True)
    error = refusal("CODE", "both", unmet, [(Fault("search.choose", "less", "more"), [other])])
    assert error.relaxations == (other,)
    assert [fault.hint for fault in error.faults] == [
        "Here suppression_limit = 0.2 would suffice, but privacy_models[0] cannot be met.",
        "No value that could be asked for would do: leave it out.",
        "",
    ]


def test_one_fault_is_the_message() -> None:
    error = refusal("CODE", "summary", [Unmet("privacy_models[0]", "k", "less", K[:1])], nearest=False)
    assert error.message == "privacy_models[0]: found k; expected less. Feasible would be k = 3."
    assert error.relaxations == (Relaxation(K[0], nearest=False),)
