"""Writes docs/reference/policy_fields.md from policy.proto's comments: `python proto/reference.py [file instead]`."""

import sys
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from tableveil.v1 import policy_pb2
from tableveil.v1.comments import comments

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference" / "policy_fields.md"

INTRODUCTION = """\
# Policy reference

This page has every field of a policy, with its meaning, its default and the values that are refused. `make protos`
writes it from the comments of [policy.proto](../../proto/tableveil/v1/policy.proto). [policy.md](policy.md) is the
guide to policies, and [hierarchies.md](hierarchies.md) the guide to hierarchies.
"""


def sections(described: Descriptor | EnumDescriptor, path: str, written: set[str]) -> Iterator[str]:
    """The section of a type that is used at a path of the policy, then those of the types that it uses."""
    if described.file is not policy_pb2.DESCRIPTOR or described.containing_type or described.name in written:
        return
    written.add(described.name)
    yield f"## {described.name}\n"
    if path:
        yield f"At `{path}`.\n"
    yield f"{_comment(described.full_name)}\n"
    if isinstance(described, EnumDescriptor):
        yield from _values(described)
    elif described.fields:
        yield "| field | type | meaning |\n| --- | --- | --- |"
        for field in described.fields:
            yield f"| `{field.name}` | {_type(field)} | {_comment(field.full_name)} |"
        yield ""
        for field in described.fields:
            if used := field.message_type or field.enum_type:
                yield from sections(used, f"{path}.{field.name}".lstrip(".") + "[]" * field.is_repeated, written)


def _values(enum: EnumDescriptor) -> Iterator[str]:
    prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
    yield "| value | meaning |\n| --- | --- |"
    for index, value in enumerate(enum.values):
        name = f"`{value.name.removeprefix(prefix)}`" if index else "not given"
        yield f"| {name} | {_comment(f'{enum.full_name}.{value.name}')} |"
    yield ""


def _comment(name: str) -> str:
    """A comment as Markdown; a missing one fails."""
    text = comments()[name].replace("|", "\\|")
    return text.replace("Default:", "*Default:*").replace("Refused:", "*Refused:*")


def _type(field: FieldDescriptor) -> str:
    """A link to a type of the proto, or the name of a scalar type."""
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return "map"
    named = field.message_type or field.enum_type
    shown = f"[{named.name}](#{named.name.lower()})" if named else _SCALARS[field.type]
    return f"list of {shown}" if field.is_repeated else shown


_SCALARS = {
    number: name.removeprefix("TYPE_").lower() for name, number in vars(FieldDescriptor).items() if name[:5] == "TYPE_"
}


def main(target: Path) -> None:
    """Writes the page."""
    pages = sections(policy_pb2.Policy.DESCRIPTOR, "", set())
    target.write_text("\n".join([INTRODUCTION, *pages]), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
