"""Holds docs/reference/policy_fields.md against the comments of the protos, and these comments to plain English."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, EnumDescriptor

from tableveil.v1 import policy_pb2

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference" / "policy_fields.md"
PROTOS = sorted((ROOT / "proto").rglob("*.proto"))

OPENINGS = re.compile(r"(?:^|[.:;!?] )(?:Of|What|That|Who|Those|The same)\b")


def used(descriptor: Descriptor) -> Iterator[Descriptor | EnumDescriptor]:
    """A message with all types below it."""
    found: dict[str, Descriptor | EnumDescriptor] = {}
    pending: list[Descriptor | EnumDescriptor] = [descriptor]
    while pending:
        each = pending.pop()
        if each.full_name in found:
            continue
        found[each.full_name] = each
        if isinstance(each, Descriptor) and not each.GetOptions().map_entry:
            pending += [below for field in each.fields if (below := field.message_type or field.enum_type)]
    return (each for each in found.values() if each.containing_type is None)


def test_every_field_and_value_of_a_policy_has_a_row() -> None:
    """Written by itself: the generator could leave out a part of the policy."""
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", REFERENCE.read_text(encoding="utf-8"), re.DOTALL | re.M))
    described = {each.name: each for each in used(policy_pb2.Policy.DESCRIPTOR)}
    assert set(sections) == set(described)
    for name, each in described.items():
        rows = re.findall(r"^\| `(\w+)` \|(?: [^|]+ \|)? .+ \|$", sections[name], re.M)
        if isinstance(each, EnumDescriptor):
            prefix = each.values_by_number[0].name.removesuffix("UNSPECIFIED")
            assert rows == [value.name.removeprefix(prefix) for value in each.values if value.number], name
        else:
            assert rows == [field.name for field in each.fields], name


@pytest.mark.parametrize("proto", PROTOS, ids=lambda path: path.stem)
def test_comments_name_their_subject(proto: Path) -> None:
    """A sentence that opens with one of these words has no subject, or hides it."""
    blocks = re.findall(r"(?:^ *//.*\n)+", proto.read_text(encoding="utf-8"), re.M)
    assert blocks
    texts = [" ".join(line.strip().removeprefix("//").strip() for line in block.splitlines()) for block in blocks]
    assert not [text for text in texts if OPENINGS.search(text)]
