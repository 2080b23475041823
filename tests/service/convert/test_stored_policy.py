"""The reader of stored policies: if a name in the document is not one that it knows, it fails and guesses nothing."""

import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import Message

from tableveil.convert import canonical_json, stored_policy
from tableveil.errors import InternalError
from tableveil.policy import Role, SuppressedRecords
from tableveil.v1 import policy_pb2

POLICY: dict[str, Any] = {
    "source": {"table": "visits"},
    "rows_are_people": True,
    "default_role": "ROLE_INSENSITIVE",
    "attributes": [
        {"column": "age", "role": "ROLE_QUASI_IDENTIFIER", "hierarchy": {"suppression_only": {}}},
        {"column": "name", "role": "ROLE_IDENTIFYING"},
    ],
    "privacy_models": [{"k_anonymity": {"k": 2}}],
    "suppressed_records": {"handling": "SUPPRESSED_RECORDS_HANDLING_BLANK", "marker_column": "suppressed"},
    "release": {"name": "released"},
}


def with_renamed(old: str, new: str) -> type[Message]:
    """The class of policies whose proto calls a value of an enum by another name."""
    renamed = descriptor_pb2.FileDescriptorProto()
    policy_pb2.DESCRIPTOR.CopyToProto(renamed)
    (value,) = (value for enum in renamed.enum_type for value in enum.value if value.name == old)
    value.name = new
    pool = descriptor_pool.DescriptorPool()
    for needed in policy_pb2.DESCRIPTOR.dependencies:
        pool.AddSerializedFile(needed.serialized_pb)
    pool.AddSerializedFile(renamed.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(policy_pb2.Policy.DESCRIPTOR.full_name))


NAMES = ["SUPPRESSED_RECORDS_HANDLING_BLANK", "ROLE_INSENSITIVE", "ROLE_IDENTIFYING"]


def test_a_stored_policy_is_read_as_it_was_written() -> None:
    policy = stored_policy(canonical_json(json_format.ParseDict(POLICY, policy_pb2.Policy())))
    assert (policy.suppressed_records, policy.marker_column) == (SuppressedRecords.BLANK, "suppressed")
    assert (policy.default_role, policy.attributes[1].role) == (Role.INSENSITIVE, Role.IDENTIFYING)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_another_version_is_not_misread(name: str) -> None:
    # Code that takes names apart would know the prefix and the ending of this one.
    prefix, _, ending = name.rpartition("_")
    other = f"{prefix}_NOT_{ending}"
    document = json.loads(json.dumps(POLICY).replace(name, other))
    written = canonical_json(json_format.ParseDict(document, with_renamed(name, other)()))
    assert other in written
    with pytest.raises(InternalError) as raised:
        stored_policy(written)
    assert raised.value.code == "STORED_POLICY_UNREADABLE"
    assert other not in str(raised.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_this_version_has_no_more_is_not_misread(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = canonical_json(json_format.ParseDict(POLICY, policy_pb2.Policy()))
    monkeypatch.setattr(policy_pb2, "Policy", with_renamed(name, f"{name}_NOW"))
    with pytest.raises(InternalError) as raised:
        stored_policy(written)
    assert raised.value.code == "STORED_POLICY_UNREADABLE"
