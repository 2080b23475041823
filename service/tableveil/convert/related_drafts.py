"""The draft of people and their events: one policy of the drafts of all tables, as a message."""

from collections.abc import Sequence

from tableveil.convert.drafts import SUPPRESSION_LIMIT
from tableveil.drafting import PolicyDraft, unique
from tableveil.errors import Fault, InvalidError, nearest, shortened
from tableveil.v1 import policy_pb2
from tableveil.v1.draft_service_pb2 import DraftPolicyResponse

_ROWS_LIMIT = "0.5"
_OTHER_NAME = "A table with another name for the key says it as person of its events, in a policy of your own."

_DAYS = (("31", "91"), ("31",))
"""Bounds of days since the event before: whether somebody came back within a month can be told at each level."""


def related_draft_to_proto(
    tables: Sequence[policy_pb2.TableReference], guessed: Sequence[tuple[PolicyDraft, DraftPolicyResponse]], key: str
) -> DraftPolicyResponse:
    """The draft of people, the first of the `tables`, and of their events, joined by the `key`.

    Raises:
        InvalidError: the tables share no key, or not the named one; it does not number the people; a table is empty.
    """
    drafts = [draft for _, draft in guessed]
    key = key or _shared_key([draft.proposal for draft in drafts])
    _check(tables, [draft for draft, _ in guessed], key)
    made = DraftPolicyResponse()
    _fill(made.policy, tables, [draft.policy for draft in drafts], key)
    _fill(made.proposal, tables, [draft.proposal for draft in drafts], key)
    made.proposal.privacy_models.add().k_anonymity.CopyFrom(drafts[0].proposal.privacy_models[0].k_anonymity)
    made.proposal.privacy_models.add().known_facts.m = 2
    first = 0
    for i, draft in enumerate(drafts):
        for remark in draft.remarks:
            place, _, rest = remark.field.removeprefix("attributes[").partition("]")
            if place != remark.field:
                made.remarks.add(field=f"attributes[{first + int(place)}]{rest}", kind=remark.kind, text=remark.text)
            elif not remark.field and i == 0:
                made.remarks.append(remark)
        first += len(draft.proposal.attributes)
    return made


def _fill(
    policy: policy_pb2.Policy,
    tables: Sequence[policy_pb2.TableReference],
    drafts: Sequence[policy_pb2.Policy],
    key: str,
) -> None:
    people = policy.tables.people
    people.schema, people.table, people.key = tables[0].schema, tables[0].table, key
    policy.tables.rows_limit = _ROWS_LIMIT
    for i, (table, draft) in enumerate(zip(tables, drafts, strict=True)):
        if i:
            policy.tables.events.add(schema=table.schema, table=table.table)
        dated = False
        for column in draft.attributes:
            attribute = policy.attributes.add()
            attribute.CopyFrom(_plain(column, is_key=column.column == key))
            attribute.table = table.table if i else ""
            if i and attribute.hierarchy.WhichOneof("kind") == "dates":
                dated = _as_days(policy, attribute, dated)
    policy.suppression_limit = SUPPRESSION_LIMIT
    policy.release.schema = drafts[0].release.schema
    policy.release.name = f"{people.table}_released"


def _shared_key(drafts: Sequence[policy_pb2.Policy]) -> str:
    """The first identifying column of the people that every table has."""
    others = [{column.column for column in draft.attributes} for draft in drafts[1:]]
    for column in drafts[0].attributes:
        if column.role == policy_pb2.ROLE_IDENTIFYING and all(column.column in names for names in others):
            return column.column
    found = "no identifying column that all tables have"
    raise InvalidError.of("DRAFT_INVALID", "key", found, "the people's key", f"Name it (--key). {_OTHER_NAME}")


def _check(tables: Sequence[policy_pb2.TableReference], drafts: Sequence[PolicyDraft], key: str) -> None:
    faults = []
    for i, (table, draft) in enumerate(zip(tables, drafts, strict=True)):
        shown, facts = shortened(table.table), {column.facts.name: column.facts for column in draft.columns}
        if key not in facts:
            expected = f"a column of {shown}, as of the other tables"
            faults.append(Fault("key", shortened(key), expected, nearest(key, [*facts]) or _OTHER_NAME))
        elif not facts[key].rows:
            field = f"events[{i - 1}]" if i else "table"
            faults.append(Fault(field, f"{shown}, which has no rows", "a table with rows, to draft a policy by"))
        elif not i and not unique(facts[key]):
            found = f"{shortened(key)} of {shown}: it {facts[key].counted}"
            hint = "Is another table that of the people?"
            faults.append(Fault("key", found, "a column that differs in every row of the people's table", hint))
    if faults:
        raise InvalidError.about("DRAFT_INVALID", "no policy can be drafted", faults)


def _plain(drafted: policy_pb2.Attribute, *, is_key: bool) -> policy_pb2.Attribute:
    """The drafted column as related tables may have it: nothing is released as it is because it seems harmless."""
    attribute = policy_pb2.Attribute(column=drafted.column, role=drafted.role)
    if is_key:
        attribute.role = policy_pb2.ROLE_IDENTIFYING
    elif attribute.role in (policy_pb2.ROLE_INSENSITIVE, policy_pb2.ROLE_QUASI_IDENTIFIER):
        attribute.role = policy_pb2.ROLE_QUASI_IDENTIFIER
        if drafted.HasField("hierarchy"):
            attribute.hierarchy.CopyFrom(drafted.hierarchy)
        else:
            attribute.hierarchy.suppression_only.SetInParent()
    return attribute


def _as_days(policy: policy_pb2.Policy, attribute: policy_pb2.Attribute, dated: bool) -> bool:
    """Makes the first date of a table days since the event before, and hides the others."""
    attribute.ClearField("hierarchy")
    if dated:
        attribute.role = policy_pb2.ROLE_IDENTIFYING
        return True
    policy.tables.relative_time.anchor = policy_pb2.ANCHOR_PREVIOUS_EVENT
    days = attribute.hierarchy.intervals
    days.minimum, days.maximum, days.top_coding = "0", "36500", "366"
    for bounds in _DAYS:
        days.boundaries.add(values=bounds)
    return True
