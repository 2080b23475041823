"""The words of each method: its name, what it does, how its proof and its explanation are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tableveil.v1 import policy_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodWords:
    """The words of a method.

    Attributes:
        name: The method that changes quasi-identifiers.
        does: The labels that records have by it.
        promise: The promise beside those of privacy models, with the options in braces, as in a report.
        score: The measure of loss, if no quality model of the policy is.
        explanation: The sentence for a release without neighbours of its transformation.
        tells_costs: Whether its explanation lists the labels that lose most, and what was reached with more.
        price: The reason why its average risk is higher than that of others, with both risks in braces.
        then: The second part of its search for a frontier.
        ranges: The reason why a frontier has ranges of scores.
        verdict: The only thing to say of its proof, if it has none.
        optimal: The proof that nothing is better.
        unbounded: The sentence where no bound of others is known, if that can be.
        unproven: The reason why there is no such proof.
        others: Anything that could have been chosen instead; empty if no bound of it is ever known.
    """

    name: str
    does: str
    promise: str = ""
    score: str = ""
    explanation: str = "There is none: it is from before they were kept, or depends on releases you may not see."
    tells_costs: bool = False
    price: str = ""
    then: str = ""
    ranges: str = "the time was over; "
    verdict: str = ""
    optimal: str = "optimal: nothing that meets the policy scores better"
    unbounded: str = ""
    unproven: str = "stopped before the proof was complete"
    others: str = "nothing"


_BY_FIELD: Mapping[str, MethodWords] = {
    "differential_privacy": MethodWords(
        name="differential privacy",
        does="every column has one level, and chance removed rows of every class",
        promise=(
            "It is ({epsilon}, {delta})-differentially private: whether a person is in the source changes the "
            "probability of no release by more than a factor of e^{epsilon}, except with a probability of {delta}. "
            "Nobody is told how many rows chance removed; all figures are of those that it left."
        ),
        explanation="There is none: another one would tell of the table. The levels are the policy's, or were drawn.",
        verdict="not asked for: the levels do not tell which are the best, or were drawn",
    ),
    "microaggregation": MethodWords(
        name="microaggregation",
        does="clusters of similar records, whose values are replaced by one value for all",
        score="squared error",
        explanation="There is none: clusters take its place. Its account says how they were formed.",
        optimal="optimal: no clusters that are large enough have a lower squared error",
        unbounded="not proven to be the best: no bound is known of the squared error of others",
        others="",
    ),
    "local_recoding": MethodWords(
        name="local recoding",
        does="every class of records has levels of its own",
        explanation="There is none: every class has levels of its own.",
        tells_costs=True,
        price=(
            "Local recoding keeps more detail by making classes as small as the models allow: so the average risk "
            "({average}) comes near the highest ({highest}). Full-domain generalization has larger classes, and a "
            "lower average."
        ),
        then=", then classes of their own for every k and limit",
        ranges="",
        unbounded="not proven to be the best: no bound is known of how much less others could lose",
        unproven="not proven to be the best",
        others="no local recoding",
    ),
    "record_level": MethodWords(
        name="record-level generalization",
        does="every combination of values has levels of its own",
        explanation="Every combination of values has the levels that pay most for it: see its account.",
        unproven="not proven to be the best against an adversary who knows the method",
    ),
}
"""By the field of a policy that asks for the method."""

_FULL_DOMAIN = MethodWords(name="full-domain generalization", does="every column has one level for all records")


def method_promise(policy: policy_pb2.Policy) -> str:
    """The promise of the policy's method, or an empty text."""
    if not (stated := method_words(policy).promise):
        return ""
    options = getattr(policy, _field(policy))
    return stated.format(**{option.name: getattr(options, option.name) for option in options.DESCRIPTOR.fields})


def method_words(policy: policy_pb2.Policy) -> MethodWords:
    """The words of the method that changes quasi-identifiers."""
    return _BY_FIELD.get(_field(policy), _FULL_DOMAIN)


def _field(policy: policy_pb2.Policy) -> str:
    """The field that asks for the method, or an empty text."""
    stated = {field.name for field, _ in policy.ListFields()}
    return next((field for field in _BY_FIELD if field in stated), "")
