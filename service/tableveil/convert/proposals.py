"""Proposals: requests from messages, the policies that are tried, and results as messages."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal
from functools import partial

from google.protobuf import json_format

from tableveil.convert.collect import Faults
from tableveil.convert.copied import copied, result_to_proto
from tableveil.convert.drafts import declare, drafted_attribute, policy_draft_to_proto
from tableveil.convert.enums import READERS, ROLES
from tableveil.convert.names import Read, Submission, canonical_json, policy_from_json, table_from_proto
from tableveil.convert.policy_from_proto import leave_out, policy_from_proto
from tableveil.convert.privacies import table_privacy_to_proto
from tableveil.drafting import PolicyDraft
from tableveil.errors import Fault, InvalidError
from tableveil.pipelines.alternatives import Variant
from tableveil.pipelines.propose import Wanted, proposal_work
from tableveil.pipelines.propose_related import RelatedColumn, RelatedVariant, related_proposal_work
from tableveil.policy import Policy, Role
from tableveil.requests.proposal import (
    CorrectedColumn,
    KeptColumn,
    ProposalRequest,
    ReleaseReaders,
    check_proposal_request,
)
from tableveil.state.jobs import JobKind
from tableveil.state.proposals import ForecastWay, Proposal, TriedPolicy
from tableveil.v1 import policy_pb2
from tableveil.v1 import proposal_service_pb2 as v1

_MOST_DIFFERENT = 3
"""A class has so many different values of each sensitive column, if the table has."""

_FREQUENT, _LOPSIDED = 0.5, 0.8
"""The shares of one value from which a class needs fewer different ones, or none."""

_FARTHEST = "0.5"


def proposal_request_from_proto(message: v1.ProposalRequest) -> tuple[ProposalRequest | None, str, list[Fault]]:
    """The request, None if there are faults; its document; and all faults."""
    faults = Faults()
    limit = message.time_limit_seconds
    request = ProposalRequest(
        table=table_from_proto(message.table) if message.HasField("table") else None,
        source_query=message.source_query,
        readers=faults.enum(message.readers, READERS, "readers", ReleaseReaders.CONTRACT),
        recurs=message.recurs,
        keep=tuple(
            KeptColumn(kept.column, kept.maximum_level if kept.HasField("maximum_level") else None)
            for kept in message.keep
        ),
        leave_out=tuple(message.leave_out),
        person_column=message.person_column,
        rows_are_people=message.rows_are_people,
        record_column=message.record_column,
        period_column=message.period_column,
        coming_share=_share(message, "coming_share", faults),
        leaving_share=_share(message, "leaving_share", faults),
        seconds=faults.required_decimal(limit, "time_limit_seconds", Decimal(1)) if limit else Decimal(40),
        acknowledge=tuple(message.acknowledge),
        policy=_policy(message, faults),
        assumed=message.readers == v1.READERS_UNSPECIFIED,
        correct=tuple(_corrected(one, f"correct[{i}]", faults) for i, one in enumerate(message.correct)),
    )
    if request.policy is not None or not message.policy.HasField("tables"):
        # Without its tables, which cannot be read, a request would seem to have no source.
        faults.judged(check_proposal_request(request))
    read_faults = faults.all()
    return (None if read_faults else request), canonical_json(message), read_faults


def _corrected(message: v1.CorrectedColumn, path: str, faults: Faults) -> CorrectedColumn:
    role = Role.QUASI_IDENTIFIER if message.HasField("hierarchy") else None
    if message.role != policy_pb2.ROLE_UNSPECIFIED:
        role = faults.enum(message.role, ROLES, f"{path}.role", Role.QUASI_IDENTIFIER)
    if message.HasField("hierarchy") and message.hierarchy.WhichOneof("kind") in ("table", "safe_harbor_zip"):
        faults.add(f"{path}.hierarchy", "a hierarchy in a table", "a rule, listed rows or a stored hierarchy")
    return CorrectedColumn(message.column, role, message.HasField("hierarchy"))


def _share(message: v1.ProposalRequest, field: str, faults: Faults) -> Decimal | None:
    text: str = getattr(message, field)
    return faults.required_decimal(text, field, Decimal(0)) if text else None


def _policy(message: v1.ProposalRequest, faults: Faults) -> Policy | None:
    if not message.HasField("policy"):
        return None
    policy, read_faults = policy_from_proto(_from_its_source(message))
    for fault in read_faults:
        faults.judged([replace(fault, field=f"policy.{fault.field}")])
    return policy


def _from_its_source(message: v1.ProposalRequest) -> policy_pb2.Policy:
    """The policy of a request, with the source of that."""
    policy = policy_pb2.Policy()
    policy.CopyFrom(message.policy)
    if policy.HasField("tables"):
        return policy
    policy.ClearField("source")
    policy.source_query = message.source_query
    if not message.source_query:
        policy.source.CopyFrom(message.table)
    return policy


def composed(
    wanted: Wanted,
    draft: PolicyDraft,
    variant: Variant,
    base: policy_pb2.Policy | None = None,
    corrections: Sequence[v1.CorrectedColumn] = (),
) -> tuple[Policy, str]:
    """The policy of a draft, or the one to begin with, and its document; `corrections` have hierarchies for it.

    Raises:
        InvalidError: what is declared of the table does not go with the request.
    """
    if base is None:
        drafted = policy_draft_to_proto(draft)
        if wanted.declared is not None:
            declare(drafted, table_privacy_to_proto(draft.source, wanted.declared))
        message = drafted.proposal
        del message.privacy_models[:]
    else:
        message = policy_pb2.Policy()
        message.CopyFrom(base)
        if wanted.request.source_query:
            # It may be the newest month of the table.
            message.ClearField("source")
            message.source_query = wanted.request.source_query
    _correct(message, wanted, draft, corrections)
    _complete(message, wanted, draft, variant)
    policy, faults = policy_from_proto(message)
    if policy is None or faults:
        raise InvalidError.about("PROPOSAL_INVALID", "no policy can be made as asked", faults)
    if not wanted.says_who:
        message.ClearField("person")
    return policy, canonical_json(message)


def _correct(
    message: policy_pb2.Policy, wanted: Wanted, draft: PolicyDraft, corrections: Sequence[v1.CorrectedColumn]
) -> None:
    """Puts corrected roles in place of declared ones, which the draft does not know, and hierarchies in both."""
    drafted = {column.facts.name.casefold(): column for column in draft.columns}
    hierarchies = {one.column.casefold(): one.hierarchy for one in corrections if one.HasField("hierarchy")}
    for attribute in message.attributes:
        folded = attribute.column.casefold()
        role = ROLES.to_proto(wanted.request.roles.get(folded))
        if wanted.declared is not None and role and role != attribute.role:
            attribute.CopyFrom(drafted_attribute(drafted[folded]))
        if folded in hierarchies and attribute.role == policy_pb2.ROLE_QUASI_IDENTIFIER:
            # The drafted limit is one of the drafted levels.
            attribute.ClearField("maximum_level")
            attribute.hierarchy.CopyFrom(hierarchies[folded])


def _complete(message: policy_pb2.Policy, wanted: Wanted, draft: PolicyDraft, variant: Variant) -> None:
    request = wanted.request
    numbered = (request.person_column, wanted.record_column, request.period_column)
    left_out = {name.casefold() for name in (*request.leave_out, *numbered) if name}
    least = dict(variant.least)
    kept = {kept.column.casefold(): kept.maximum_level for kept in request.keep}
    acknowledged = {name.casefold() for name in request.acknowledge}
    for attribute in message.attributes:
        folded = attribute.column.casefold()
        if folded in left_out:
            attribute.CopyFrom(policy_pb2.Attribute(column=attribute.column, role=policy_pb2.ROLE_IDENTIFYING))
        elif attribute.role == policy_pb2.ROLE_QUASI_IDENTIFIER:
            if (level := kept.get(folded)) is not None:
                attribute.maximum_level = level
            elif not variant.limits and folded not in kept:
                attribute.ClearField("maximum_level")
        if folded in acknowledged:
            attribute.acknowledged = True
        if least.get(attribute.column, 0) > attribute.minimum_level:
            attribute.minimum_level = least[attribute.column]
    if request.person_column or request.rows_are_people:
        message.ClearField("person")
        if request.rows_are_people:
            message.rows_are_people = True
        else:
            message.person_column = draft.person_column or ""
    if wanted.record_column:
        message.record_column = wanted.record_column
    if request.recurs and not variant.local:
        message.release.left_behind = policy_pb2.LEFT_BEHIND_REQUIRE
    if variant.local:
        getattr(message, draft.method.field).SetInParent()
    else:
        leave_out(message, draft.method)
    if not request.assumed:
        document_readers(message.documentation, request.readers)
        # Everybody else might take an estimate for a person.
        message.release.estimates = request.readers is not ReleaseReaders.PUBLIC
    # Its owner decides upon other units: they cost detail.
    message.ClearField("also_count")
    _add_models(message, wanted, draft, variant.k)


_CONTEXTS = {
    ReleaseReaders.PUBLIC: policy_pb2.RELEASE_CONTEXT_PUBLIC,
    ReleaseReaders.CONTRACT: policy_pb2.RELEASE_CONTEXT_CONTRACT,
}


def document_readers(documentation: policy_pb2.Documentation, readers: ReleaseReaders) -> None:
    """The choice of readers, by which the report says whether the risk is accepted; no other text is invented.

    A field that has a text keeps it.
    """
    if not documentation.risk_threshold:
        documentation.risk_threshold = f"{readers.highest_risk:f}"
        documentation.threshold_reason = documentation.threshold_reason or readers.source_of_risk
    if not documentation.context and readers in _CONTEXTS:
        documentation.context = _CONTEXTS[readers]


def set_k(policy: policy_pb2.Policy, k: int) -> None:
    """Lets k-anonymity, which may be new, ask for k people, and a dominance of one in k people follow."""
    asked = [model.k_anonymity for model in policy.privacy_models if model.HasField("k_anonymity")]
    shares = {_share_of(model.k) for model in asked}
    for model in asked or [policy.privacy_models.add().k_anonymity]:
        model.k = k
    for dominance in (model.dominance for model in policy.privacy_models if model.HasField("dominance")):
        if dominance.share in shares:
            dominance.share = _share_of(k)


def _share_of(k: int) -> str:
    return f"{(1 / Decimal(max(k, 1))).quantize(Decimal('0.0001'), ROUND_FLOOR).normalize():f}"


def _add_models(message: policy_pb2.Policy, wanted: Wanted, draft: PolicyDraft, k: int) -> None:
    """The k, and models of what no model looks at: people with many records, and sensitive columns."""
    models = message.privacy_models
    set_k(message, k)
    if draft.repeating and not any(model.HasField("dominance") for model in models):
        models.append(policy_pb2.PrivacyModel(dominance=policy_pb2.Dominance(share=_share_of(k))))
    different = {column.facts.name: column.facts.distinct for column in draft.columns}
    lists = {column.facts.name: column.lists for column in draft.columns if column.lists is not None}
    protected = {getattr(getattr(model, model.WhichOneof("kind") or ""), "column", "") for model in models}
    for attribute in message.attributes:
        name = attribute.column
        if name in protected:
            continue
        if attribute.HasField("elements") and name in lists:
            models.append(_of_elements(name, lists[name].largest))
        elif attribute.role == policy_pb2.ROLE_SENSITIVE and different.get(name, 0) > 1:
            models.append(_of_sensitive(name, different[name], wanted.shares.get(name, 0)))


def _of_elements(name: str, largest: float) -> policy_pb2.PrivacyModel:
    """A model for a column whose cells are lists, by the share of the element that most records have.

    A class may have half of what is between that share and all records, and never more than a half of rarer elements.
    """
    if largest > _LOPSIDED:
        return policy_pb2.PrivacyModel(t_closeness=policy_pb2.TCloseness(column=name, t=_FARTHEST))
    rare = _MOST_DIFFERENT if largest <= _FREQUENT / 2 else 2
    number = min(Decimal(rare), (2 / (1 + Decimal(largest))).quantize(Decimal("0.01"), ROUND_FLOOR))
    wanted = number if largest > _FREQUENT * _LOPSIDED else Decimal(rare)
    return policy_pb2.PrivacyModel(
        probabilistic_l_diversity=policy_pb2.ProbabilisticLDiversity(column=name, l=f"{wanted:f}")
    )


def _of_sensitive(name: str, different: int, largest: float) -> policy_pb2.PrivacyModel:
    """A model for a sensitive column by the share of the value that most records have.

    If nearly all have it, a class without another value tells little, and one mostly of others tells much.
    """
    if largest > _LOPSIDED:
        return policy_pb2.PrivacyModel(t_closeness=policy_pb2.TCloseness(column=name, t=_FARTHEST))
    wanted = min(different, _MOST_DIFFERENT if largest <= _FREQUENT else 2)
    return policy_pb2.PrivacyModel(distinct_l_diversity=policy_pb2.DistinctLDiversity(column=name, l=wanted))


def proposal_to_proto(proposal: Proposal) -> v1.Proposal:
    """The message for a proposal."""
    return result_to_proto(
        JobKind.PROPOSAL,
        proposal,
        v1.Proposal,
        alternatives=map(_alternative, proposal.alternatives),
        ways=map(_way, proposal.ways),
        request=json_format.Parse(proposal.request, v1.ProposalRequest()),
    )


def _alternative(tried_policy: TriedPolicy) -> v1.TriedPolicy:
    return copied(tried_policy, v1.TriedPolicy, policy=policy_from_json(tried_policy.policy))


def _way(way: ForecastWay) -> v1.ForecastWay:
    return copied(way, v1.ForecastWay, policy=policy_from_json(way.policy) if way.policy else None)


def _composed_related(base: policy_pb2.Policy, request: ProposalRequest, variant: RelatedVariant) -> tuple[Policy, str]:
    """The policy of related tables, with k of the readers if that is above its own."""
    message = policy_pb2.Policy()
    message.CopyFrom(base)
    for place in variant.hidden:
        hidden = message.attributes[place]
        hidden.CopyFrom(
            policy_pb2.Attribute(table=hidden.table, column=hidden.column, role=policy_pb2.ROLE_IDENTIFYING)
        )
    for place in variant.without_orphans:
        message.tables.events[place].orphans = policy_pb2.ORPHANS_DROP
    asked = [model.known_facts for model in message.privacy_models if model.HasField("known_facts")]
    for model in asked or [message.privacy_models.add().known_facts]:
        model.m = variant.known_facts
    if not request.assumed:
        set_k(message, max(request.sizes[0], request.readers.sizes[0]))
        document_readers(message.documentation, request.readers)
    policy, faults = policy_from_proto(message)
    if policy is None or faults:
        raise InvalidError.about("PROPOSAL_INVALID", "no policy can be made as asked", faults)
    return policy, canonical_json(message)


def _read(request: v1.SubmitProposalRequest) -> Read:
    asked, document, faults = proposal_request_from_proto(request.proposal)
    if asked is not None and asked.is_related:
        columns = [
            RelatedColumn(".".join(filter(None, (one.table, one.column))), ROLES.from_proto(one.role), bool(one.table))
            for one in request.proposal.policy.attributes
        ]
        related = partial(_composed_related, request.proposal.policy, asked)
        return Read(related_proposal_work(asked, document, related, columns), faults)
    base = _from_its_source(request.proposal) if request.proposal.HasField("policy") else None
    compose = partial(composed, base=base, corrections=request.proposal.correct)
    return Read(proposal_work(asked, document, compose) if asked else None, faults)


SUBMISSION = Submission(
    request=v1.SubmitProposalRequest,
    document="proposal",
    read=_read,
    code="PROPOSAL_INVALID",
    refusal="nothing can be proposed as asked",
    to_proto=proposal_to_proto,
)
