"""The terms of a policy in words, and how those of another one differ."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from google.protobuf import json_format
from google.protobuf.message import Message

from tableveil import wording
from tableveil.convert.warnings import ranks_to_proto
from tableveil.errors import Checked
from tableveil.report.words import column_of, columns_of_lists, promise
from tableveil.v1 import policy_pb2, proposal_service_pb2
from tableveil.wording.methods import method_words
from tableveil.wording.proposals import longest

Proposal = proposal_service_pb2.Proposal
Tried = proposal_service_pb2.TriedPolicy

ROLES = {
    policy_pb2.ROLE_IDENTIFYING: "identifies people: not released",
    policy_pb2.ROLE_QUASI_IDENTIFIER: "recognizes people: generalized",
    policy_pb2.ROLE_SENSITIVE: "sensitive: protected by a model",
    policy_pb2.ROLE_INSENSITIVE: "harmless: released as it is",
}

READERS = {
    proposal_service_pb2.READERS_PUBLIC: "everybody",
    proposal_service_pb2.READERS_CONTRACT: "known recipients, who have signed what they may do with the rows",
    proposal_service_pb2.READERS_INSIDE: "people of our own organization",
}

UNANSWERED = "nobody has said who is a person"
NOT_STATED = "not stated"

REPORTED = {"purpose": "Purpose", "recipient": "Recipient", "legal_basis": "Legal basis"}
"""Texts of the report that the console asks for."""

SHARES = {
    "coming_share": "Share of a month's people who are new",
    "leaving_share": "Share of a month's people who are not in the next one",
}
"""Statements of who comes and leaves, for a forecast without months."""

_OWN = ("release", "documentation", "repeat_reason", "other_people")
"""The fields of a worksheet's policy that no trial is about."""

_WORDED = {"source", "source_query", "attributes", "privacy_models", "person_column", "rows_are_people", *_OWN}


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a policy in words; parts of equal words may differ in `exact`."""

    name: str
    words: str
    exact: str


def terms(policy: policy_pb2.Policy) -> list[Term]:
    """Everything that a policy decides about the rows, but for where they go."""
    return [*_terms(policy)]


def changes(before: policy_pb2.Policy, after: policy_pb2.Policy) -> list[str]:
    """How one policy differs from another, in a sentence for each term."""
    old, new = ({term.name: term for term in _terms(policy)} for policy in (before, after))
    return [
        _change(name, old.get(name), new.get(name))
        for name in dict.fromkeys((*new, *old))
        if old.get(name) != new.get(name)
    ]


def chosen(current: policy_pb2.Policy, tried: policy_pb2.Policy) -> policy_pb2.Policy:
    """The policy that was tried, with what only that of the worksheet says: the target, texts, and the reason."""
    policy = policy_pb2.Policy()
    policy.CopyFrom(tried)
    policy.documentation.MergeFrom(current.documentation)
    policy.repeat_reason = current.repeat_reason
    policy.other_people[:] = current.other_people
    if current.release.name:
        left_behind = tried.release.left_behind
        policy.release.CopyFrom(current.release)
        policy.release.left_behind = left_behind
    return policy


def since(proposal: Proposal, request: proposal_service_pb2.ProposalRequest, policy: policy_pb2.Policy) -> list[str]:
    """The changes since policies were tried, but for the choice of one of them."""
    asked = proposal.request
    made = []
    if request.readers != asked.readers:
        made.append(_change("readers", _readers(asked.readers), _readers(request.readers)))
    if request.recurs != asked.recurs:
        made.append("Whether releases of the same people will follow")
    if any(getattr(request, field) != getattr(asked, field) for field in ("period_column", *SHARES)):
        made.append("The months, or the shares, of which the forecast is made")
    if request.source_query != asked.source_query:
        made.append("The rows that are read")
    if [*request.keep] != [*asked.keep]:
        made.append("The columns that must stay")
    if not asked.HasField("policy"):
        return [*made, "They were tried with roles and models that the rows suggest, not with those of this worksheet."]
    tried = [asked.policy, *choices(proposal)]
    return [*made, *min((changes(_sourced(one, policy), policy) for one in tried), key=len)]


def choices(proposal: Proposal) -> list[policy_pb2.Policy]:
    """The policies that may be chosen: of each alternative, and of the way with other levels that lasts longest."""
    coarser = longest(proposal)
    return [*(one.policy for one in proposal.alternatives), *([coarser.policy] if coarser else [])]


def equal(tried: Tried, policy: policy_pb2.Policy) -> bool:
    """Whether a policy does the same to the rows as one that was tried."""
    return not changes(tried.policy, policy)


def as_they_are(policy: policy_pb2.Policy) -> list[str]:
    """The columns that are released with the values that they have."""
    roles = (policy_pb2.ROLE_SENSITIVE, policy_pb2.ROLE_INSENSITIVE)
    listed = [wording.named_column(one, policy) for one in policy.attributes if one.role in roles]
    return [*listed, "all others"] if policy.default_role in roles else listed


def k_of(policy: policy_pb2.Policy) -> int | None:
    """The least people of a class, if the policy says it."""
    return max((one.k_anonymity.k for one in policy.privacy_models if one.HasField("k_anonymity")), default=None)


def answers(request: proposal_service_pb2.ProposalRequest) -> bool:
    """Whether who asked for a proposal has said who is a person."""
    return request.rows_are_people or bool(request.person_column) or person_of(request.policy) != UNANSWERED


def person_of(policy: policy_pb2.Policy) -> str:
    """The policy's statement on people, in words."""
    match policy.WhichOneof("person"):
        case "person_column":
            return f"{wording.short(policy.person_column)} numbers them"
        case "rows_are_people" if policy.rows_are_people:
            return "every row is a different one"
        case None if policy.tables.people.key:
            return f"{wording.short(policy.tables.people.key)} numbers them, in all tables"
        case _:
            return UNANSWERED


def open_to_decide(policy: policy_pb2.Policy, checked: Checked, tried: Sequence[Tried]) -> list[str]:
    """Everything that is open about a release of this policy, by what was checked of it and by its trial."""
    of_trials = [text for one in tried if equal(one, policy) for text in one.decisions]
    early = wording.undecided(policy, checked.warnings, ranks_to_proto(checked.warnings))
    return list(dict.fromkeys((*of_trials, *early)))


def _terms(policy: policy_pb2.Policy) -> Iterator[Term]:
    yield _term("method", method_words(policy).name)
    yield _term("people", person_of(policy))
    yield _term("rows", _rows(policy), policy.source_query)
    for one in policy.attributes:
        yield from _of_column(one, wording.short(wording.named_column(one, policy)))
    for model in policy.privacy_models:
        of = f" of {wording.short(column_of(model))}" if column_of(model) else ""
        yield _term(f"{_kind(model)}{of}", promise(model, columns_of_lists(policy)), model)
    for field, value in policy.ListFields():
        # A method's options may be none.
        if field.name not in _WORDED and not (isinstance(value, Message) and not value.ListFields()):
            yield _term(field.name.replace("_", " "), wording.short(_text(value)), value)
    if policy.release.left_behind:
        yield _term(
            "people left behind", policy_pb2.LeftBehind.Name(policy.release.left_behind).rpartition("_")[2].lower()
        )


def _rows(policy: policy_pb2.Policy) -> str:
    if policy.HasField("tables"):
        names = [policy.tables.people.table, *(one.table for one in policy.tables.events)]
        return f"of the tables {', '.join(map(wording.short, names))}"
    return f"of the query {wording.short(policy.source_query)}" if policy.source_query else "of the table"


def _of_column(one: policy_pb2.Attribute, name: str) -> Iterator[Term]:
    yield _term(f"role of {name}", ROLES.get(one.role, "to be decided"))
    if one.HasField("hierarchy"):
        yield _term(f"labels of {name}", (one.hierarchy.WhichOneof("kind") or "none").replace("_", " "), one.hierarchy)
    if one.role == policy_pb2.ROLE_QUASI_IDENTIFIER:
        limited = one.HasField("maximum_level")
        yield _term(f"levels of {name}", f"up to {one.maximum_level}" if limited else "all: it may be erased")
    rest = policy_pb2.Attribute()
    rest.CopyFrom(one)
    for field in ("table", "column", "role", "hierarchy", "maximum_level"):
        rest.ClearField(field)
    for other, value in rest.ListFields():
        yield _term(f"{other.name.replace('_', ' ')} of {name}", wording.short(_text(value)), value)


def _kind(model: policy_pb2.PrivacyModel) -> str:
    """The name of a model, such as distinct l-diversity."""
    return re.sub(r"\b(k|l|cl|t|beta|delta) ", r"\1-", (model.WhichOneof("kind") or "a model").replace("_", " "))


def _term(name: str, words: str, value: object = "") -> Term:
    return Term(name, words, _text(value))


def _text(value: object) -> str:
    return json_format.MessageToJson(value, indent=None) if isinstance(value, Message) else str(value)


def _change(name: str, old: Term | None, new: Term | None) -> str:
    if new is None:
        return f"{name}: no longer {old.words if old else ''}"
    if old is None:
        return f"{name}: {new.words} (new)"
    if old.words == new.words:
        return f"{name}: other settings of {new.words}"
    return f"{name}: {new.words} (was: {old.words})"


def _readers(readers: int) -> Term:
    return _term("readers", READERS.get(proposal_service_pb2.Readers.ValueType(readers), NOT_STATED))


def _sourced(tried: policy_pb2.Policy, current: policy_pb2.Policy) -> policy_pb2.Policy:
    """A policy that was tried, as if of the rows of another one: which rows were read is told apart."""
    policy = policy_pb2.Policy()
    policy.CopyFrom(tried)
    policy.source_query = current.source_query
    return policy
