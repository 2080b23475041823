"""The policy's terms in words: roles, methods, privacy models."""

from collections.abc import Collection, Iterable

from tableveil.convert import privacy_in_words
from tableveil.policy.privacy import KnownFacts
from tableveil.v1 import policy_pb2
from tableveil.v1.policy_pb2 import PrivacyModel
from tableveil.wording.methods import method_words

ROLES = {
    "IDENTIFYING": "identifying",
    "QUASI_IDENTIFIER": "quasi-identifier",
    "SENSITIVE": "sensitive",
    "INSENSITIVE": "insensitive",
}

HANDLINGS = {
    policy_pb2.SUPPRESSED_RECORDS_HANDLING_UNSPECIFIED: "left out",
    policy_pb2.SUPPRESSED_RECORDS_HANDLING_DROP: "left out",
    policy_pb2.SUPPRESSED_RECORDS_HANDLING_BLANK: "blank rows",
    policy_pb2.SUPPRESSED_RECORDS_HANDLING_KEEP: "rows without their quasi-identifiers",
}

CONTEXTS = {
    policy_pb2.RELEASE_CONTEXT_PUBLIC: "public: anybody may read the rows",
    policy_pb2.RELEASE_CONTEXT_CONTRACT: "contract: the recipient has signed what it may do with the rows",
    policy_pb2.RELEASE_CONTEXT_SECURE_ROOM: (
        "secure room: the recipient sees the rows in a place that they cannot leave"
    ),
}

NOT_STATED = "not stated"


PROMISES = {
    "k_anonymity": "Every class has records of at least {k} people.",
    "dominance": "Nobody has more than the share {share} of the records of a class.",
    "k_map": "Every class has at least {k} people of the population.",
    "estimated_k_map": "Every class has at least {k} people of the population, by an estimate from its size.",
    "delta_presence": "The share of a class's people who are in the source is from {minimum} to {maximum}.",
    "inclusion": "Every released record is of somebody in the population.",
    "average_risk": "The average risk of the released records is at most {threshold}.",
    "sample_uniqueness": "At most the share {threshold} of the released records is alone in its class.",
    "population_uniqueness": (
        "At most the share {threshold} of the released records is unique in the population, by an estimate."
    ),
    "distinct_l_diversity": "Every class has at least {l} different values of {column}.",
    "probabilistic_l_diversity": "No value of {column} has more than one in {l} records of a class.",
    "entropy_l_diversity": (
        "The values of {column} in every class are as mixed as {l} equally frequent ones, by their entropy."
    ),
    "recursive_cl_diversity": (
        "In every class the most frequent value of {column} has fewer than {c} times the records of all values from "
        "place {l} on."
    ),
    "t_closeness": "The values of {column} in every class are spread as in the source, up to a distance of {t}.",
    "n_t_closeness": (
        "The values of {column} in every class are spread as in a group of {n} records around it, up to a distance of "
        "{t}."
    ),
    "delta_disclosure": (
        "No value of {column} is much likelier or less likely in a class than in the source: the logarithm of the "
        "ratio is below {delta}."
    ),
    "beta_likeness": "No value of {column} is much likelier in a class than in the source: beta is {beta}.",
    "profitability": "No released record costs the publisher more than it gains.",
    "no_attack": "No attack on a released record pays for the adversary that the policy describes.",
    "known_facts": (
        "Facts about rows of a person's events that somebody knows, up to a number of {m}, fit no key or at least k "
        "keys of the class."
    ),
    "sensitive_share": (
        "At most one in {l} of the people of a class who have the known rows has a sensitive value of {column}."
    ),
    "safe_harbor": "The identifiers that HIPAA's Safe Harbor lists are generalized as it asks.",
}
"""One sentence for each privacy model, with its parameters."""

_OF_NAMED_VALUES = (
    "At most one in {l} of the people of a class who have the known rows has any one of the values of {column} that "
    "the policy names; its other values are not bounded."
)

_OF_ELEMENTS = {
    "probabilistic_l_diversity": (
        "Cells of {column} are lists: no element is in more than one in {l} of a class's records that have any."
    ),
    "t_closeness": (
        "Cells of {column} are lists: each element's share of a class's records is that of the source, up to a "
        "difference of {t}."
    ),
}
"""The sentences where the column's cells are lists."""

SINGLING_OUT, LINKABILITY, INFERENCE = "Singling out", "Linkability", "Inference"

AGAINST = {
    SINGLING_OUT: {
        "k_anonymity",
        "known_facts",
        "dominance",
        "k_map",
        "estimated_k_map",
        "sample_uniqueness",
        "population_uniqueness",
    },
    LINKABILITY: {"k_anonymity", "dominance", "k_map", "estimated_k_map", "average_risk"},
    INFERENCE: {name for name, promise in PROMISES.items() if "{column}" in promise} | {"delta_presence"},
}
"""The models that bound each of the three risks of Opinion 05/2014 (WP216)."""


def of_people(policy: policy_pb2.Policy) -> list[policy_pb2.Attribute]:
    """The columns of the policy's source: without those of event tables."""
    return [each for each in policy.attributes if each.table in ("", policy.tables.people.table)]


def identifying(attribute: policy_pb2.Attribute, policy: policy_pb2.Policy) -> str:
    """How an identifying column ends, in words; empty for other columns."""
    if role_of(attribute, policy) != "IDENTIFYING":
        return ""
    people = policy.tables.people
    keys = {each.name or each.table: each.person or people.key for each in policy.tables.events} | {
        "": people.key,
        people.table: people.key,
    }
    is_key = policy.HasField("tables") and attribute.column == keys.get(attribute.table)
    return f"replaced by a fresh key in {people.key}" if is_key else "not released"


def columns_of_lists(policy: policy_pb2.Policy) -> tuple[str, ...]:
    """The columns whose cells are lists, as the policy says."""
    return tuple(each.column for each in policy.attributes if each.HasField("elements") and not each.elements.none)


def known_facts(model: PrivacyModel) -> int:
    """How many known facts the model is about; 0 for models of other knowledge."""
    if model.WhichOneof("kind") != "known_facts":
        return 0
    return model.known_facts.m if model.known_facts.HasField("m") else KnownFacts().m


def promise(model: PrivacyModel, lists: Collection[str] = ()) -> str:
    """The model's promise, with its parameters; a model of a newer version has none that this one knows.

    The cells of the columns `lists` are lists.
    """
    kind = model.WhichOneof("kind")
    if kind is None:
        return "Its promise is not known to this version."
    asked = getattr(model, kind)
    words = _OF_ELEMENTS if column_of(model) in lists else PROMISES
    parameters = {field.name: getattr(asked, field.name) for field in asked.DESCRIPTOR.fields}
    parameters |= {"m": known_facts(model), "column": column_of(model)}
    if parameters.get("values") and kind == "sensitive_share":
        return _OF_NAMED_VALUES.format(**parameters)
    return words.get(kind, PROMISES[kind]).format(**parameters)


def titled(model: PrivacyModel) -> str:
    """The model's name with its parameters, at the beginning of a sentence."""
    name = privacy_in_words(model)
    return f"{name[0].upper()}{name[1:]}"


def column_of(model: PrivacyModel) -> str:
    """The sensitive column that a model looks at, after its event table's name; empty if it has quasi-identifiers."""
    kind = model.WhichOneof("kind")
    asked = getattr(model, kind) if kind else None
    column = str(getattr(asked, "column", ""))
    return f"{table}.{column}" if (table := str(getattr(asked, "table", ""))) else column


def named(models: Iterable[PrivacyModel]) -> str:
    """The names of models, with their parameters."""
    return "; ".join(map(privacy_in_words, models))


def method_of(policy: policy_pb2.Policy) -> str:
    """How quasi-identifiers are changed, in words."""
    words = method_words(policy)
    return f"{words.name}: {words.does}"


def role_of(attribute: policy_pb2.Attribute, policy: policy_pb2.Policy) -> str:
    """The role of a column, such as `SENSITIVE`; a column that names none has the policy's default."""
    return policy_pb2.Role.Name(attribute.role or policy.default_role).removeprefix("ROLE_")


def stated(text: str) -> str:
    """A statement of the policy in one line, or that there is none."""
    return " ".join(text.split()) or NOT_STATED
