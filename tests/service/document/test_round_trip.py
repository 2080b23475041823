"""Whatever policy there is: written as YAML or JSON and read again, it is the same message."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToJson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tableveil.document import load_policy, read_policy, to_document, to_yaml
from tableveil.v1 import policy_pb2

DEMO = Path(__file__).parents[3] / "service/tableveil/demo/policy.yaml"

# Texts that YAML readers of one version or another take for a number, a boolean, a date, nothing, or syntax.
TREACHEROUS = [
    *("", " ", "~", "null", "Null", "NULL", "NO", "no", "y", "on", "true", "False", "02139", "010", "0x10", "0o7"),
    *("1e5", "1_000", "12:30:45", "2024-01-01", ".5", "5.", ".inf", "NaN", "-", "?", ":", "- a", "a: b", "a #b"),
    *("#a", "*", "&a", "!a", "%a", "@a", "`a", "|", ">", "'", '"', "[", "]", "{", "}", ",", "<<", "=", "---", "..."),
    *("\n", "a\nb", "a\n\nb\n", "\ta", "a\t", " a", "a ", "\r\n", "\x00", "\x1b", "\x7f", "\x85", "\xa0", "\u2028"),
    *("\ufeff", "\ufffe", "\uffff", "é", "数", "😀", "\\", "\\n", "a" * 500, "word " * 50),
]
TEXTS = st.sampled_from(TREACHEROUS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.CPPTYPE_STRING: TEXTS,
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
}


@st.composite
def messages(draw: st.DrawFn, descriptor: Descriptor) -> dict[str, Any]:
    """Arguments that make any message of the type; of a oneof, at most one member."""
    fields = draw(st.lists(st.sampled_from(list(descriptor.fields)), unique=True)) if descriptor.fields else []
    chosen = {field.containing_oneof.name if field.containing_oneof else field.name: field for field in fields}
    return {field.name: draw(values(field)) for field in chosen.values()}


def values(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields
        return st.dictionaries(SCALARS[key.cpp_type], SCALARS[value.cpp_type], max_size=3)
    if field.message_type is not None:
        single: st.SearchStrategy[Any] = messages(field.message_type)
    elif field.enum_type is not None:
        single = st.sampled_from([value.number for value in field.enum_type.values])
    else:
        single = SCALARS[field.cpp_type]
    return st.lists(single, max_size=3) if field.is_repeated else single


POLICIES = messages(policy_pb2.Policy.DESCRIPTOR).map(lambda fields: policy_pb2.Policy(**fields))


@given(POLICIES)
@settings(deadline=None, max_examples=40)
@example(policy_pb2.Policy())
@example(policy_pb2.Policy(person_column=""))
@example(policy_pb2.Policy(rows_are_people=False))
@example(policy_pb2.Policy(attributes=[policy_pb2.Attribute(minimum_level=0, weight=-0.0)]))
def test_yaml_reads_back(policy: policy_pb2.Policy) -> None:
    assert read_policy(to_yaml(policy), "yaml") == (policy, [])


@given(POLICIES, st.booleans())
@settings(deadline=None, max_examples=40)
def test_json_reads_back(policy: policy_pb2.Policy, ascii_only: bool) -> None:
    text = json.dumps(to_document(policy), ensure_ascii=ascii_only)
    assert read_policy(text.encode(), "json") == (policy, [])


@pytest.mark.parametrize("text", TREACHEROUS)
def test_no_yaml_reader_mistakes_a_text(text: str) -> None:
    policy = policy_pb2.Policy(person_column=text, risk_thresholds=[text])
    policy.attributes.add().hierarchy.inline.rows.add(labels=[text, "*"])
    policy.search.levels[text] = 1
    assert read_policy(to_yaml(policy), "yaml") == (policy, [])
    # PyYAML's own rules (YAML 1.1) see a text, too.
    assert yaml.safe_load(to_yaml(policy)) == to_document(policy)


def test_documents_are_written_for_people() -> None:
    policy = policy_pb2.Policy(suppression_limit="0.05", default_role=policy_pb2.ROLE_INSENSITIVE)
    policy.source.table = "discharges"
    zip_code = policy.attributes.add(column="zip code", role=policy_pb2.ROLE_QUASI_IDENTIFIER, minimum_level=0)
    zip_code.hierarchy.inline.rows.add(labels=["02139", "0213*", "*"])
    policy.attributes.add(column="sex").hierarchy.suppression_only.SetInParent()
    assert (
        to_yaml(policy)
        == """\
source:
  table: discharges
attributes:
  - column: zip code
    role: QUASI_IDENTIFIER
    hierarchy:
      inline:
        rows:
          - ["02139", "0213*", "*"]
    minimum_level: 0
  - column: sex
    hierarchy:
      suppression_only: {}
default_role: INSENSITIVE
suppression_limit: "0.05"
"""
    )


def test_fields_keep_the_order_of_the_proto_and_yaml_needs_no_anchors() -> None:
    row = policy_pb2.HierarchyRow(labels=["a", "*"])
    policy = policy_pb2.Policy()
    for column in ("x", "y"):
        policy.attributes.add(column=column).hierarchy.inline.rows.extend([row, row])
    assert "&" not in to_yaml(policy)
    assert list(to_document(policy)["attributes"][0]) == ["column", "hierarchy"]


def test_a_value_unknown_to_this_version_stays_visible() -> None:
    policy = policy_pb2.Policy(default_role=cast(policy_pb2.Role.ValueType, 77))
    assert to_document(policy) == {"default_role": "77"}


def test_the_demo_policy_reads_back() -> None:
    policy, faults = load_policy(DEMO)
    assert faults == []
    assert read_policy(to_yaml(policy), "yaml") == (policy, [])


@given(POLICIES)
def test_what_other_languages_write(policy: policy_pb2.Policy) -> None:
    """The JSON of any protobuf library is a document: with its names of fields, and of enums' values."""
    assert read_policy(MessageToJson(policy), "json") == (policy, [])
    assert read_policy(MessageToJson(policy, preserving_proto_field_name=True), "json") == (policy, [])


def test_a_field_by_both_of_its_names() -> None:
    _, faults = read_policy('{"person_column": "a", "personColumn": "b"}', "json")
    assert [(fault.field, fault.found) for fault in faults] == [("person_column", "the field more than once")]
