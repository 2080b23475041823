"""Writes policies and drafts of them as the statements that say the same."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from sqlglot.dialects.duckdb import DuckDB

from tableveil.document.draft import comments, printable
from tableveil.document.read import LIST_FORMS
from tableveil.document.scalars import enum_prefix
from tableveil.statements.values import KIND, positional
from tableveil.v1 import draft_service_pb2 as v1
from tableveil.v1 import policy_pb2, privacy_service_pb2

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?")
_OF_COLUMNS = re.compile(r"(.*_)?columns?|classes|features")
"""Fields whose texts are names of columns."""


def create_statement(policy: policy_pb2.Policy) -> str:
    """The statement CREATE that becomes that policy; roles that an attribute takes from the default are written out."""
    # Parts with a form of their own are taken out; options say the rest.
    rest = policy_pb2.Policy()
    rest.CopyFrom(policy)
    if rest.tables.people.table and not rest.HasField("source") and not rest.source_query and not _person(rest):
        # The statement has them as its source and its person.
        people = rest.tables.people
        rest.source.schema, rest.source.table, rest.person_column = people.schema, people.table, people.key
        rest.tables.ClearField("people")
    replaces = "OR REPLACE " * _take(rest.release, "if_exists", policy_pb2.IF_EXISTS_REPLACE)
    kind = "VIEW" if _take(rest.release, "kind", policy_pb2.RELEASE_KIND_VIEW) else "TABLE"
    parts = [f"CREATE {replaces}ANONYMIZED {kind} {_taken_name(rest.release, 'schema', 'name')}"]
    if items := privacy_items(rest):
        parts.append(f"PRIVACY {_lines(items)}")
    parts.append(f"AS {_source(rest)}")
    models = list(_models(rest))
    for field in ("source", "release"):
        if not getattr(rest, field).ByteSize():
            rest.ClearField(field)
    options = [*models, *_options(rest)]
    # A query may end with a comment.
    parts.append(f"WITH {_lines(options)};" if options else ";")
    return "\n  ".join(parts)


def _person(policy: policy_pb2.Policy) -> bool:
    return policy.WhichOneof("person") is not None


def privacy_statement(table_privacy: privacy_service_pb2.TablePrivacy) -> str:
    """The statement ALTER that declares the privacy of a table once more."""
    privacy = table_privacy.privacy
    policy = policy_pb2.Policy(attributes=privacy.attributes, default_role=privacy.default_role)
    if person := privacy.WhichOneof("person"):
        setattr(policy, person, getattr(privacy, person))
    items = privacy_items(policy)
    if policy.person_column:
        # It is one of the others, all of which are identifying.
        items.insert(0, f"PERSON {quoted(policy.person_column)}")
    table = policy_pb2.TableReference()
    table.CopyFrom(table_privacy.table)
    return f"ALTER TABLE {_taken_name(table, 'catalog', 'schema', 'table')} SET PRIVACY {_lines(items)};"


def _lines(items: Iterable[str]) -> str:
    return "(\n    " + ",\n    ".join(items) + "\n  )"


def _take(message: Message, field: str, value: object) -> bool:
    """Whether a field has a value, which it loses by that."""
    if getattr(message, field) != value:
        return False
    message.ClearField(field)
    return True


def _taken_name(message: Message, *fields: str) -> str:
    """The names in fields, which lose them: the last one, and those directly before it."""
    names: list[str] = []
    for field in reversed(fields):
        if not getattr(message, field):
            break
        names.insert(0, quoted(getattr(message, field)))
        message.ClearField(field)
    return ".".join(names)


def _source(policy: policy_pb2.Policy) -> str:
    """The SELECT of a policy, which loses its source."""
    query = policy.source_query
    policy.ClearField("source_query")
    return query or f"SELECT * FROM {_taken_name(policy.source, 'catalog', 'schema', 'table')}"


def _models(policy: policy_pb2.Policy) -> Iterator[str]:
    """The models of a policy, which loses them, as calls."""
    if all(model.WhichOneof(KIND) for model in policy.privacy_models):
        yield from map(_message, policy.privacy_models)
        policy.ClearField("privacy_models")
    if policy.quality_model.WhichOneof(KIND):
        yield _message(policy.quality_model)
        policy.ClearField("quality_model")


def _options(message: Message, skipped: Iterable[str] = ()) -> Iterator[str]:
    """The fields that are set, as assignments."""
    for field, value in message.ListFields():
        if field.name not in skipped:
            yield f"{field.name} = {_value(field, value)}"


def privacy_items(policy: policy_pb2.Policy) -> list[str]:
    """The items of the clause PRIVACY; the policy loses what they say."""
    items = ["ROWS ARE PEOPLE"] * _take(policy, "rows_are_people", True)
    columns: list[str] = []
    earlier = ""

    def end() -> None:
        if columns:
            items.append(f"{earlier} ({', '.join(columns)})")
            columns.clear()

    for attribute in policy.attributes:
        role, column, treated = _role(attribute.role or policy.default_role), attribute.column, _treatment(attribute)
        is_person = not treated and role == "IDENTIFYING" and column and _take(policy, "person_column", column)
        if treated or is_person or role != earlier:
            end()
        earlier = role
        if is_person:
            items.append(f"PERSON {quoted(column)}")
        elif treated:
            items.append(f"{role} {quoted(column)}{treated}")
        else:
            columns.append(quoted(column))
    end()
    if policy.default_role:
        items.append(f"OTHERS {_role(policy.default_role)}")
    policy.ClearField("attributes")
    policy.ClearField("default_role")
    return items


def _role(role: policy_pb2.Role.ValueType) -> str:
    return policy_pb2.Role.Name(role).removeprefix("ROLE_")


def _treatment(attribute: policy_pb2.Attribute) -> str:
    """Everything that an attribute says beside its column and role."""
    said = ""
    skipped = ["column", "role", "hierarchy"]
    if attribute.HasField("hierarchy"):
        said += f" USING {_message(attribute.hierarchy)}"
    if attribute.HasField("minimum_level") and attribute.HasField("maximum_level"):
        said += f" LEVELS {attribute.minimum_level} TO {attribute.maximum_level}"
        skipped += ["minimum_level", "maximum_level"]
    options = ", ".join(_options(attribute, skipped))
    return f"{said} WITH ({options})" if options else said


def _value(field: FieldDescriptor, value: Any) -> str:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        of_value = field.message_type.fields_by_name["value"]
        return "{" + ", ".join(f"{quoted(key)}: {_single(of_value, one)}" for key, one in sorted(value.items())) + "}"
    if field.is_repeated:
        return f"[{', '.join(_single(field, item) for item in value)}]"
    return _single(field, value)


def _single(field: FieldDescriptor, value: Any) -> str:
    if field.message_type is not None:
        return _message(value)
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name.removeprefix(enum_prefix(field.enum_type))
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if _OF_COLUMNS.fullmatch(field.name):
        return quoted(text)
    return text if _NUMBER.fullmatch(text) else "'" + text.replace("'", "''") + "'"


def _message(message: Message) -> str:
    """A call for one of several kinds, a list for a message that is one, else all fields that are set."""
    descriptor = cast(Descriptor, message.DESCRIPTOR)
    kind = message.WhichOneof(KIND) if KIND in descriptor.oneofs_by_name else None
    if kind is not None:
        return f"{kind}({', '.join(_arguments(getattr(message, kind)))})"
    form = LIST_FORMS.get(descriptor.full_name)
    if form is not None:
        return _value(descriptor.fields_by_name[form], getattr(message, form))
    return "{" + ", ".join(f"{field.name}: {_value(field, value)}" for field, value in message.ListFields()) + "}"


def _arguments(message: Message) -> Iterator[str]:
    """The first numbers and texts without names, the other arguments with names."""
    arguments = {field.name: value for field, value in message.ListFields()}
    named = False
    for field in positional(cast(Descriptor, message.DESCRIPTOR)):
        named = named or field.name not in arguments or field.message_type is not None or field.enum_type is not None
        named = named or field.is_repeated
        if field.name in arguments:
            yield f"{field.name} => " * named + _value(field, arguments[field.name])


def quoted(name: str) -> str:
    """A name as statements have it."""
    plain = _PLAIN_NAME.fullmatch(name) and name.upper() not in DuckDB.Tokenizer.KEYWORDS
    return name if plain else '"' + name.replace('"', '""') + '"'


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
