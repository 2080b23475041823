"""Writes a policy draft as the statement that declares the privacy of its table, with remarks as comments."""

from collections.abc import Iterable

from tableveil.document.draft import comments, printable
from tableveil.statements.render import privacy_items, quoted
from tableveil.v1 import draft_service_pb2 as v1
from tableveil.v1 import policy_pb2

_INDENT = "    "


def drafted_statement(draft: v1.DraftPolicyResponse) -> str:
    """The statement. Items that the owner must decide about come first, as comments: no comma is missing then."""
    decided, proposed = draft.policy, draft.proposal
    person = decided.person_column if decided.WhichOneof("person") else proposed.person_column
    lines = _on(draft, "person_column", "rows_are_people", "")
    texts = []
    if decided.WhichOneof("person"):
        texts.append(_INDENT + (f"PERSON {quoted(person)}" if person else "ROWS ARE PEOPLE"))
    else:
        lines += [_undecided(f"PERSON {quoted(person)}")] * bool(person)
        lines.append(_undecided(f"ROWS ARE PEOPLE{f', IDENTIFYING ({quoted(person)})' * bool(person)}"))
    for position, (guess, kept) in enumerate(zip(proposed.attributes, decided.attributes, strict=True)):
        remarks, role = _on(draft, f"attributes[{position}]."), kept.role or decided.default_role
        if guess.column == person:
            continue
        [item] = privacy_items(policy_pb2.Policy(attributes=[kept if role else guess]))
        if role:
            texts.append("\n".join((*remarks, _INDENT + item)))
        else:
            lines += [*remarks, _undecided(item)]
    if decided.default_role:
        texts.append(f"{_INDENT}OTHERS {policy_pb2.Role.Name(decided.default_role).removeprefix('ROLE_')}")
    table = ".".join(map(quoted, filter(None, (proposed.source.schema, proposed.source.table))))
    return "\n".join((f"ALTER TABLE {table} SET PRIVACY (", *lines, ",\n".join(texts), ");"))


def _on(draft: v1.DraftPolicyResponse, *fields: str) -> list[str]:
    """The remarks on these fields, and on those below fields that end with a dot."""
    return comments([one for one in draft.remarks if _is_on(one, fields)], f"{_INDENT}-- ")


def _is_on(remark: v1.DraftRemark, fields: Iterable[str]) -> bool:
    return any(remark.field.startswith(field) if field.endswith(".") else remark.field == field for field in fields)


def _undecided(item: str) -> str:
    # A name in it must not end the comment.
    return f"{_INDENT}-- {printable(item)},"
