"""The draft of people and their events: one policy of the drafts of all tables, as a message."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tableveil.convert.drafts import SUPPRESSION_LIMIT
from tableveil.drafting import PolicyDraft, unique
from tableveil.errors import Fault, InvalidError, nearest, shortened
from tableveil.policy import ReleaseTarget
from tableveil.v1 import policy_pb2
from tableveil.v1.draft_service_pb2 import DraftPolicyResponse

_ROWS_LIMIT = "0.5"
_OTHER_NAME = "Where it has another name, name the column with its table, such as visits.person (--key)."

_DAYS = (("31", "91"), ("31",))
"""Bounds of days since the event before: whether somebody came back within a month can be told at each level."""


def related_draft_to_proto(
    guessed: Sequence[tuple[PolicyDraft, DraftPolicyResponse]], key: str, event_keys: Sequence[str] = ()
) -> DraftPolicyResponse:
    """The draft of people, whose table is the first one that is `guessed`, and of their events, joined by the `key`.

    Columns in `event_keys` have it under other names, each with its table before it.

    Raises:
        InvalidError: the tables share no key, or not the named one; it does not number the people; a table is empty.
    """
    drafts = [draft for _, draft in guessed]
    tables = [draft.policy.source for draft in drafts]
    named = _named(tables, event_keys)
    shared = key or _shared_key([draft for draft, _ in guessed], [draft.proposal for draft in drafts], named)
    keys = [named.get(i, shared) for i in range(len(tables))]
    _check(tables, [draft for draft, _ in guessed], keys, event_keys)
    made = DraftPolicyResponse()
    _fill(made.policy, tables, [draft.policy for draft in drafts], keys)
    _fill(made.proposal, tables, [draft.proposal for draft in drafts], keys)
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
    keys: Sequence[str],
) -> None:
    people, names = policy.tables.people, _names(tables)
    people.schema, people.table, people.key = tables[0].schema, tables[0].table, keys[0]
    policy.tables.rows_limit = _ROWS_LIMIT
    for i, (table, draft) in enumerate(zip(tables, drafts, strict=True)):
        if i:
            person = keys[i] if keys[i] != keys[0] else ""
            name = names[i] if names[i] != table.table else ""
            policy.tables.events.add(name=name, schema=table.schema, table=table.table, person=person)
        dated = False
        for column in draft.attributes:
            attribute = policy.attributes.add()
            attribute.CopyFrom(_plain(column, is_key=column.column == keys[i]))
            attribute.table = names[i] if i else ""
            if i and attribute.hierarchy.WhichOneof("kind") == "dates":
                dated = _as_days(policy, attribute, dated)
    policy.suppression_limit = SUPPRESSION_LIMIT
    policy.release.schema = drafts[0].release.schema
    policy.release.name = f"{people.table}_released"


def _names(tables: Sequence[policy_pb2.TableReference]) -> list[str]:
    """The names of the tables, with the schema where events would be called as another table, or object, is."""
    names = [table.table for table in tables]
    for i, table in enumerate(tables[1:], 1):
        objects = Counter(name.casefold() for name in ReleaseTarget("", "", events=(names[i],)).object_names)
        others = {name.casefold() for j, name in enumerate(names) if j != i}
        if names[i].casefold() in others or max(objects.values()) > 1:
            names[i] = f"{table.schema}_{table.table}"
    return names


def _named(tables: Sequence[policy_pb2.TableReference], event_keys: Sequence[str]) -> dict[int, str]:
    """The columns of event tables that are named as keys, by the places of the tables."""
    named: dict[int, str] = {}
    for j, text in enumerate(event_keys):
        forms = [
            (len(form), i, form)
            for i, table in enumerate(tables)
            for form in (f"{table.table}.", f"{table.schema}.{table.table}.")
            if i and text.startswith(form)
        ]
        best = [(i, form) for length, i, form in forms if length == max(forms)[0]]
        if len(best) != 1 or best[0][0] in named:
            found = f"{shortened(text)}, {'a further one' if best else 'of no event table'}"
            expected = f"one column with its table, of {', '.join(shortened(one.table) for one in tables[1:])}"
            raise InvalidError.of("DRAFT_INVALID", f"event_keys[{j}]", found, expected)
        place, form = best[0]
        named[place] = text.removeprefix(form)
    return named


def _shared_key(drafts: Sequence[PolicyDraft], proposals: Sequence[policy_pb2.Policy], named: Mapping[int, str]) -> str:
    """The first identifying column of the people that every table has whose key is not named.

    If these are none, it is one that differs in every row.
    """
    others = [{column.column for column in one.attributes} for i, one in enumerate(proposals) if i and i not in named]
    numbering = {column.facts.name for column in drafts[0].columns if others or unique(column.facts)}
    for column in proposals[0].attributes:
        identifying = column.role == policy_pb2.ROLE_IDENTIFYING and column.column in numbering
        if identifying and all(column.column in names for names in others):
            return column.column
    found = "no identifying column that all tables have"
    raise InvalidError.of("DRAFT_INVALID", "key", found, "the people's key", f"Name it (--key). {_OTHER_NAME}")


def _check(
    tables: Sequence[policy_pb2.TableReference],
    drafts: Sequence[PolicyDraft],
    keys: Sequence[str],
    event_keys: Sequence[str],
) -> None:
    faults = []
    for i, (table, draft, key) in enumerate(zip(tables, drafts, keys, strict=True)):
        shown, facts = shortened(table.table), {column.facts.name: column.facts for column in draft.columns}
        own = (j for j, text in enumerate(event_keys) if i and text.endswith(f"{table.table}.{key}"))
        field = next((f"event_keys[{j}]" for j in own), "key")
        if key not in facts:
            expected = f"a column of {shown}" + ("" if field != "key" else ", as of the other tables")
            faults.append(Fault(field, shortened(key), expected, nearest(key, [*facts]) or _OTHER_NAME))
        elif not facts[key].rows:
            place = f"events[{i - 1}]" if i else "table"
            faults.append(Fault(place, f"{shown}, which has no rows", "a table with rows, to draft a policy by"))
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
