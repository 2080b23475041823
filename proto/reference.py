"""Writes docs/reference/policy_fields.md from policy.proto's comments: `python proto/reference.py [file instead]`."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet

PROTO = Path(__file__).resolve().parent
TARGET = PROTO.parent / "docs" / "reference" / "policy_fields.md"

INTRODUCTION = """\
# Policy reference

This page has every field of a policy, with its meaning, its default and the values that are refused. `make protos`
writes it from the comments of [policy.proto](../../proto/tableveil/v1/policy.proto). [policy.md](policy.md) is the
guide to policies, and [hierarchies.md](hierarchies.md) the guide to hierarchies.
"""

PACKAGE = ".tableveil.v1."
# Comments are found by paths of field numbers: those of FileDescriptorProto, then of a message or an enum.
MESSAGES, ENUMS, MEMBERS = 4, 5, 2


class Reference:
    """The messages and enums of one proto with their comments, rendered from its root message downwards."""

    def __init__(self, proto: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            compiled = Path(folder, "compiled.binpb")
            command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}", "--include_source_info"]
            subprocess.run([*command, f"--descriptor_set_out={compiled}", proto], check=True)
            (file,) = FileDescriptorSet.FromString(compiled.read_bytes()).file
        self._types: dict[str, tuple[tuple[int, int], DescriptorProto | EnumDescriptorProto]] = {
            **{message.name: ((MESSAGES, index), message) for index, message in enumerate(file.message_type)},
            **{enum.name: ((ENUMS, index), enum) for index, enum in enumerate(file.enum_type)},
        }
        self._comments = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}
        self._written: set[str] = set()

    def sections(self, name: str, path: str = "") -> Iterator[str]:
        """The section of a type that is used at a path of the policy, then those of the types that it uses."""
        if name in self._written:
            return
        self._written.add(name)
        place, described = self._types[name]
        yield f"## {name}\n"
        if path:
            yield f"At `{path}`.\n"
        yield f"{self._comment(*place)}\n"
        if isinstance(described, EnumDescriptorProto):
            yield from self._values(described, place)
        elif described.field:
            yield "| field | type | meaning |\n| --- | --- | --- |"
            for index, field in enumerate(described.field):
                yield f"| `{field.name}` | {_type(field)} | {self._comment(*place, MEMBERS, index)} |"
            yield ""
            for field in described.field:
                if (used := field.type_name.removeprefix(PACKAGE)) in self._types:
                    yield from self.sections(used, f"{path}.{field.name}".lstrip(".") + "[]" * _is_list(field))

    def _values(self, enum: EnumDescriptorProto, place: tuple[int, int]) -> Iterator[str]:
        prefix = enum.value[0].name.removesuffix("UNSPECIFIED")
        yield "| value | meaning |\n| --- | --- |"
        for index, value in enumerate(enum.value):
            name = f"`{value.name.removeprefix(prefix)}`" if index else "not given"
            yield f"| {name} | {self._comment(*place, MEMBERS, index)} |"
        yield ""

    def _comment(self, *place: int) -> str:
        """A comment as one line of Markdown; a missing one fails."""
        text = " ".join(self._comments[place].split()).replace("|", "\\|")
        if not text:
            raise ValueError(f"no comment at {place}")
        return text.replace("Default:", "*Default:*").replace("Refused:", "*Refused:*")


def _is_list(field: FieldDescriptorProto) -> bool:
    return field.label == FieldDescriptorProto.LABEL_REPEATED


def _type(field: FieldDescriptorProto) -> str:
    """A link to a type of the proto, or the name of a scalar type."""
    if field.type_name.endswith("Entry"):
        return "map"
    name = field.type_name.removeprefix(PACKAGE)
    shown = f"[{name}](#{name.lower()})" if name else FieldDescriptorProto.Type.Name(field.type)[5:].lower()
    return f"list of {shown}" if _is_list(field) else shown


def main(target: Path) -> None:
    """Writes the page."""
    sections = Reference("tableveil/v1/policy.proto").sections("Policy")
    target.write_text("\n".join([INTRODUCTION, *sections]), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
