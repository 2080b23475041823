"""A policy in words: one sentence for each thing that it asks for."""

from collections.abc import Iterator

from tableveil.document import to_yaml
from tableveil.report.words import HANDLINGS, column_of
from tableveil.v1 import policy_pb2
from tableveil.v1.policy_pb2 import Policy
from tableveil.wording.methods import method_words

MOST_CHARACTERS = 200_000
"""A report has no more of a policy's text: hierarchies that are written out can be millions of rows."""

_NULLS = {
    policy_pb2.NULL_HANDLING_SUPPRESS: "Records without a value in {} are suppressed.",
    policy_pb2.NULL_HANDLING_ERROR: "A missing value in {} makes the job fail.",
}


_LEFT_BEHIND = {
    policy_pb2.LEFT_BEHIND_REQUIRE: "Fewer than k people who are left behind are suppressed with others.",
    policy_pb2.LEFT_BEHIND_REPORT: "People who are left behind are counted.",
}


def in_words(policy: Policy) -> Iterator[str]:
    """The sentences."""
    if policy.HasField("tables"):
        people, events = policy.tables.people, (one.name or one.table for one in policy.tables.events)
        yield (
            f"Each row of {people.table} is a different person, by the key {people.key}, which a fresh key replaces in "
            f"all tables; events are the rows of {', '.join(events)}."
        )
    elif policy.person_column:
        yield f"The column {policy.person_column} says whose a row is, and k counts people. It is not released."
    else:
        yield "Each row is a different person: the policy states it, and nothing can check it."
    if policy.also_count:
        yield f"k and dominance hold of {', '.join(policy.also_count)} as well, as if each value were a person."
    yield "A class is all released records that share their quasi-identifiers."
    yield f"Suppressed records are {HANDLINGS[policy.suppressed_records.handling]}."
    yield f"Among all releases that meet this, the best one loses least, by {_quality(policy)}."
    if policy.search.choose == policy_pb2.CHOOSE_QUASI_IDENTIFIERS_ONLY:
        yield "The choice is made by quasi-identifiers only. Models of sensitive columns judge it afterwards."
    elif any(column_of(model) for model in policy.privacy_models):
        yield "Sensitive values take part in the choice of levels and of suppressed records."
    if policy.search.time_limit_seconds not in ("", "none"):
        yield f"The search may take {policy.search.time_limit_seconds} seconds."
    for attribute in policy.attributes:
        yield from _attribute(attribute)
    if policy.HasField("population"):
        yield "Models of the population count the people that the policy names as the population."
    if policy.release.left_behind:
        earlier = ", ".join(policy.release.together_with) or "all earlier releases of the same people"
        yield f"It is judged together with {earlier}. {_LEFT_BEHIND[policy.release.left_behind]}"
    if policy.repeat_reason:
        yield f"These people were released before. Reason: {' '.join(policy.repeat_reason.split())}"
    if policy.other_people:
        yield f"The policy states that {', '.join(policy.other_people)} are of other people. Nobody counted it."
    for target in policy.release.publish:
        yield f"The release is published to {target}."


def _quality(policy: Policy) -> str:
    kind = policy.quality_model.WhichOneof("kind") or "loss"
    return method_words(policy).score or kind.replace("_", " ")


def _attribute(attribute: policy_pb2.Attribute) -> Iterator[str]:
    name = attribute.column
    if attribute.minimum_level:
        yield f"{name} is released at level {attribute.minimum_level} or above."
    if attribute.HasField("maximum_level"):
        yield f"{name} is released at level {attribute.maximum_level} or below."
    if attribute.HasField("weight") and attribute.weight != 1:
        yield f"{name} counts {attribute.weight:g} times in the loss."
    if attribute.nulls in _NULLS:
        yield _NULLS[attribute.nulls].format(name)


def source_text(policy: Policy) -> str:
    """The policy's document, cut if it is too long."""
    text = to_yaml(policy)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS].rpartition(chr(10))[0]}\n# cut: the policy has {len(text):,} characters\n"
