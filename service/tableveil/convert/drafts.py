"""Policy drafts as messages."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal
from types import MappingProxyType

from tableveil.backend import folded
from tableveil.convert.enums import ROLES
from tableveil.convert.fields import to_message
from tableveil.convert.hierarchies import hierarchy_to_proto
from tableveil.convert.names import table_to_proto
from tableveil.convert.privacies import complete
from tableveil.drafting import ColumnDraft, PolicyDraft, Remark, RemarkKind
from tableveil.policy import Role
from tableveil.v1 import draft_service_pb2 as v1
from tableveil.v1 import policy_pb2
from tableveil.v1.privacy_service_pb2 import TablePrivacy

SUPPRESSION_LIMIT = "0.05"

TIME_LIMIT_SECONDS = "30"
"""Local recoding finds nearly all of what it would find without a limit in so many seconds."""

_KINDS = {
    RemarkKind.NOTE: v1.DRAFT_REMARK_KIND_NOTE,
    RemarkKind.GUESS: v1.DRAFT_REMARK_KIND_GUESS,
    RemarkKind.DECIDE: v1.DRAFT_REMARK_KIND_DECIDE,
}


def policy_draft_to_proto(draft: PolicyDraft) -> v1.DraftPolicyResponse:
    """The message for a draft: the proposal, and a policy without the fields that the owner must decide."""
    query = draft.source_query
    proposal = policy_pb2.Policy(
        # The database's own catalog is the name of its file, which may have another name elsewhere.
        source=None if query else table_to_proto(replace(draft.source, catalog=draft.warehouse)),
        source_query=query,
        attributes=map(drafted_attribute, draft.columns),
        privacy_models=list(_models(draft)),
        suppression_limit=SUPPRESSION_LIMIT,
        quality_model=policy_pb2.QualityModel(loss=policy_pb2.Loss(aggregate=policy_pb2.AGGREGATE_ARITHMETIC_MEAN)),
        search=policy_pb2.Search(time_limit_seconds=TIME_LIMIT_SECONDS),
        release=policy_pb2.ReleaseTarget(
            schema=draft.source.schema or "main",
            name=f"{draft.source.table or 'query'}_released",
            kind=policy_pb2.RELEASE_KIND_TABLE,
        ),
    )
    getattr(proposal, draft.method.field).SetInParent()
    proposal.also_count.extend(() if draft.warehouse else draft.also_count)
    if draft.person_column is None:
        proposal.rows_are_people = True
    else:
        proposal.person_column = draft.person_column
        proposal.no_person_digests = bool(draft.warehouse)
    policy = policy_pb2.Policy()
    policy.CopyFrom(proposal)
    for column, attribute in zip(draft.columns, policy.attributes, strict=True):
        attribute.ClearField("acknowledged")
        attribute.ClearField("elements")
        if not column.decided:
            attribute.ClearField("role")
            attribute.ClearField("hierarchy")
    policy.ClearField("person")
    policy.ClearField("privacy_models")
    policy.ClearField("also_count")
    return v1.DraftPolicyResponse(policy=policy, proposal=proposal, remarks=map(_remark, draft.remarks))


def _models(draft: PolicyDraft) -> Iterator[policy_pb2.PrivacyModel]:
    yield policy_pb2.PrivacyModel(k_anonymity=policy_pb2.KAnonymity(k=draft.k))
    if draft.repeating:
        share = (1 / Decimal(draft.k)).quantize(Decimal("0.0001"), ROUND_FLOOR).normalize()
        yield policy_pb2.PrivacyModel(dominance=policy_pb2.Dominance(share=f"{share:f}"))


def declare(
    draft: v1.DraftPolicyResponse, declared: TablePrivacy, named: Mapping[Role, Iterable[str]] = MappingProxyType({})
) -> None:
    """Puts what is declared of the table in place of the guesses, and of the remarks on these.

    A column that is `named` with a role, and declared as something else, keeps its draft.
    """
    asked = {folded(name): ROLES.to_proto(role) for role, names in named.items() for name in names}
    kept = [one for one in declared.privacy.attributes if asked.get(folded(one.column), one.role) == one.role]
    del declared.privacy.attributes[:]
    declared.privacy.attributes.extend(kept)
    declared_columns = {attribute.column for attribute in declared.privacy.attributes}
    decided = tuple(
        f"attributes[{position}]."
        for position, attribute in enumerate(draft.proposal.attributes)
        if attribute.column in declared_columns
    )
    for policy in (draft.policy, draft.proposal):
        policy.ClearField("person")
        for attribute in policy.attributes:
            if attribute.column in declared_columns:
                # The declared one is taken for what has no role.
                attribute.CopyFrom(policy_pb2.Attribute(column=attribute.column))
        complete(policy, declared)
    left = [remark for remark in draft.remarks if not remark.field.startswith((*decided, "person", "rows_are_people"))]
    text = (
        f"Roles, hierarchies and the statement on people are those of the table's privacy, version {declared.version}."
    )
    del draft.remarks[:]
    draft.remarks.append(v1.DraftRemark(kind=v1.DRAFT_REMARK_KIND_NOTE, text=text))
    draft.remarks.extend(left)


def drafted_attribute(draft: ColumnDraft) -> policy_pb2.Attribute:
    """The column of a policy as it is drafted."""
    hierarchy = None if draft.proposal is None else hierarchy_to_proto(draft.proposal.hierarchy)
    attribute = policy_pb2.Attribute(
        column=draft.facts.name,
        role=ROLES.to_proto(draft.role),
        hierarchy=hierarchy,
        maximum_level=draft.maximum_level,
        acknowledged=draft.singles_out,
    )
    if draft.lists is not None and draft.role is Role.SENSITIVE:
        to_message(draft.lists.elements, attribute.elements)
    return attribute


def _remark(remark: Remark) -> v1.DraftRemark:
    return v1.DraftRemark(field=remark.field, kind=_KINDS[remark.kind], text=remark.text)
