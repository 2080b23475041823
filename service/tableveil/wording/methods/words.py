"""The words of one method, in reports, pages and commands."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodWords:
    """The words of a method.

    Attributes:
        name: The method that changes quasi-identifiers.
        does: The labels that records have by it.
        promise: The promise beside those of privacy models, with the options in braces, as in a report.
        score: The measure of loss, if no quality model of the policy is.
        explanation: The sentence for a release without neighbours of its transformation.
        tells_costs: Whether its explanation lists the labels that lose most, and advice tries another k and limit.
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
