"""Related tables in policies: both directions, whose a column is, and every field of a policy beside them."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from tableveil.convert import policy_from_proto
from tableveil.document import read_policy
from tableveil.policy import METHODS, Anchor, Orphans, Policy, RelativeTime
from tableveil.v1 import policy_pb2
from tests.service.convert.policy_to_proto import policy_to_proto

CLINIC = """
tables:
  people: {schema: clinic, table: patients, key: pid}
  events:
    - {table: visits, person: patient}
    - {name: lab, table: labs, orphans: DROP}
  rows_limit: 0.3
  most_rows_of_a_person: 10
  relative_time: {anchor: FIRST_EVENT}
attributes:
  - {column: pid, role: IDENTIFYING}
  - {column: born, table: patients, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}
  - {column: illness, role: SENSITIVE}
  - {table: visits, column: patient, role: IDENTIFYING}
  - {table: visits, column: began, role: QUASI_IDENTIFIER,
     hierarchy: {intervals: {minimum: "0", maximum: "900", widths: ["30"]}}}
  - {table: visits, column: ward, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}, maximum_level: 1}
  - {table: lab, column: pid, role: IDENTIFYING}
  - {table: lab, column: code, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}
  - {table: lab, column: found, role: SENSITIVE}
privacy_models:
  - k_anonymity: {k: 5}
  - known_facts: {m: 1}
  - sensitive_share: {column: illness, l: 2, values: [HIV]}
  - sensitive_share: {table: lab, column: found, l: 1.5}
release: {name: clinic_r}
"""


def message_of(text: str = CLINIC) -> policy_pb2.Policy:
    message, faults = read_policy(text, "yaml")
    assert not faults
    return message


def faults_of(message: policy_pb2.Policy) -> list[str]:
    return [fault.field for fault in policy_from_proto(message)[1]]


def changed(old: str, new: str) -> policy_pb2.Policy:
    assert old in CLINIC
    return message_of(CLINIC.replace(old, new, 1))


def policy_of(message: policy_pb2.Policy) -> Policy:
    policy, faults = policy_from_proto(message)
    assert policy is not None, faults
    assert not faults
    return policy


def test_no_two_columns_have_one_name_where_all_stand_together() -> None:
    text = CLINIC.replace("name: lab,", "name: visits.lab,").replace("table: lab,", "table: visits.lab,")
    assert faults_of(message_of(text)) == []
    assert faults_of(message_of(text.replace("column: ward,", "column: lab.code,"))) == ["attributes[7].column"]


def test_a_column_belongs_to_the_table_that_it_names() -> None:
    policy = policy_of(message_of())
    assert policy.related is not None
    visits, lab = policy.related.events
    assert str(policy.source) == "clinic.patients"
    assert policy.person_column == "pid"
    assert [attribute.column for attribute in policy.attributes] == ["pid", "born", "illness"]
    assert (visits.name, str(visits.table), visits.person, visits.orphans) == (
        "visits",
        "clinic.visits",
        "patient",
        Orphans.REFUSE,
    )
    assert (lab.name, str(lab.table), lab.person, lab.orphans) == ("lab", "clinic.labs", "pid", Orphans.DROP)
    assert [attribute.column for attribute in lab.attributes] == ["pid", "code", "found"]
    assert [visits.field(1), lab.field(0)] == ["attributes[4]", "attributes[6]"]
    assert [name for name, _ in policy.leveled] == ["born", "visits.began", "visits.ward", "lab.code"]
    assert policy.related.removable(11) == 3


def test_the_release_has_objects_of_every_event_table() -> None:
    target = policy_of(message_of()).release
    assert target.object_names[7:] == (
        *("clinic_r_visits", "clinic_r_visits_columns", "clinic_r_visits_labels"),
        *("clinic_r_lab", "clinic_r_lab_columns", "clinic_r_lab_labels"),
        "clinic_r_known_rows",
    )
    assert replace(target, label_columns=False).object_names[4:] == (
        "clinic_r_visits",
        "clinic_r_lab",
        "clinic_r_known_rows",
    )


@pytest.mark.parametrize("time", [None, RelativeTime(Anchor.PREVIOUS_EVENT), RelativeTime(Anchor.COLUMN, "born")])
@pytest.mark.parametrize("rows", [None, 3])
def test_both_directions(time: RelativeTime | None, rows: int | None) -> None:
    policy = policy_of(message_of())
    assert policy.related is not None
    related = replace(policy.related, relative_time=time, most_rows_of_a_person=rows, rows_limit=Decimal("0.5"))
    policy = replace(policy, methods=(related,))
    assert policy_of(policy_to_proto(policy)) == policy


def test_an_anchor_may_be_a_column_alone() -> None:
    policy = policy_of(changed("{anchor: FIRST_EVENT}", "{column: born}"))
    assert policy.related is not None
    assert policy.related.relative_time == RelativeTime(Anchor.COLUMN, "born")


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("table: patients, key", "key", "tables.people.table"),
        (", key: pid", "", "tables.people.key"),
        ("{table: visits, person: patient}", "{name: visits, person: patient}", "tables.events[0].table"),
        ("{name: lab, table: labs", "{name: lab, table: VISITS", "tables.events[1].table"),
        ("{name: lab, table: labs", "{name: lab, table: patients", "tables.events[1].table"),
        ("rows_limit: 0.3", "rows_limit: 1.1", "tables.rows_limit"),
        ("rows_limit: 0.3", "rows_limit: many", "tables.rows_limit"),
        ("most_rows_of_a_person: 10", "most_rows_of_a_person: 0", "tables.most_rows_of_a_person"),
        ("{anchor: FIRST_EVENT}", "{}", "tables.relative_time.anchor"),
        ("{anchor: FIRST_EVENT}", "{anchor: COLUMN}", "tables.relative_time.column"),
        ("{anchor: FIRST_EVENT}", "{anchor: FIRST_EVENT, column: born}", "tables.relative_time.column"),
        ("{anchor: FIRST_EVENT}", "{column: illness}", "tables.relative_time.column"),
        ("{anchor: FIRST_EVENT}", "{column: nothing}", "tables.relative_time.column"),
        ("table: patients, role", "table: persons, role", "attributes[1].table"),
        ("pid, role: IDENTIFYING", "pid, role: SENSITIVE", "attributes[0].role"),
        ("illness, role: SENSITIVE", "illness, role: INSENSITIVE", "attributes[2].role"),
        ("illness, role: SENSITIVE", "illness, role: SENSITIVE, acknowledged: true", "attributes[2].acknowledged"),
        ("found, role: SENSITIVE", "found, role: SENSITIVE, elements: {}", "attributes[8].elements"),
        ("found, role: SENSITIVE", "found, role: SENSITIVE, order: {by: NUMBER}", "attributes[8].order"),
        ("found, role: SENSITIVE", "PID, role: SENSITIVE", "attributes[8].column"),
        ("column: found", "column: RowID", "attributes[8].column"),
        ("patient, role: IDENTIFYING", "patient, role: SENSITIVE", "attributes[3].role"),
        ("hierarchy: {suppression_only: {}}, maximum", "aggregation: {}, maximum", "attributes[5].aggregation"),
        ("hierarchy: {suppression_only: {}}, maximum", "maximum", "attributes[5].hierarchy"),
        ("maximum_level: 1", "nulls: SUPPRESS", "attributes[5].nulls"),
        ("column: ward", "column: BEGAN", "attributes[4].column"),
        ("table: lab, column: code", "table: labs, column: code", "attributes[7].table"),
        ("known_facts: {m: 1}", "known_facts: {m: 3}", "privacy_models[1].known_facts.m"),
        ("known_facts: {m: 1}", "known_facts: {m: 0}", "privacy_models[1].known_facts.m"),
        ("  - known_facts: {m: 1}\n", "", "privacy_models"),
        ("  - k_anonymity: {k: 5}\n", "", "privacy_models"),
        ("known_facts: {m: 1}", "t_closeness: {column: illness, t: 0.5}", "privacy_models[1]"),
        (
            "share: {table: lab, column: found",
            "share: {table: labs, column: found",
            "privacy_models[3].sensitive_share.table",
        ),
        (
            "share: {table: lab, column: found",
            "share: {table: lab, column: code",
            "privacy_models[3].sensitive_share.column",
        ),
        ("share: {table: lab,", "share: {", "privacy_models[3].sensitive_share.column"),
        ("l: 1.5", "l: 1", "privacy_models[3].sensitive_share.l"),
        ("[HIV]", "[HIV, HIV]", "privacy_models[2].sensitive_share.values[1]"),
        ("release: {", "search: {levels: {born: 1}}\nrelease: {", "search.levels"),
        (
            "release: {",
            "search: {levels: {born: 1, visits.began: 1, visits.ward: 2, lab.code: 0}}\nrelease: {",
            "search.levels[visits.ward]",
        ),
    ],
)
def test_a_fault_names_its_field(old: str, new: str, field: str) -> None:
    assert field in faults_of(changed(old, new))


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("classes", False),
        ("LABELS", False),
        ("columns", False),
        ("about", False),
        ("known_rows", False),
        ("risk", False),
        ("visits", False),
        ("Visits_Columns", False),
        ("patients", False),
        ("lab results", True),
        ('"', True),
        ("Größe", True),
    ],
)
def test_a_name_for_two_objects_is_refused(name: str, fits: bool) -> None:
    message = message_of()
    message.tables.events[1].name = name
    for attribute in message.attributes:
        attribute.table = attribute.table.replace("lab", name)
    message.privacy_models[3].sensitive_share.table = name
    faults = faults_of(message)
    assert (faults == []) is fits
    assert fits or "tables.events[1].name" in faults


def test_columns_stand_in_the_order_of_the_tables() -> None:
    message = message_of()
    late = message.attributes.add()
    late.CopyFrom(message.attributes[2])
    late.column = "late"
    assert "attributes[3].table" in faults_of(message)


def test_nothing_of_related_tables_stands_without_them() -> None:
    text = """
source: {table: patients}
rows_are_people: true
attributes: [{column: age, table: visits, role: QUASI_IDENTIFIER, hierarchy: {suppression_only: {}}}]
privacy_models: [{k_anonymity: {k: 5}}, {known_facts: {}}, {sensitive_share: {column: age, l: 2}}]
release: {name: r}
"""
    assert faults_of(message_of(text)) == ["attributes[0].table", "privacy_models[1]", "privacy_models[2]"]


# --- every field of a policy beside tables ---------------------------------------------------------------------------

OWN = {"attributes", "privacy_models", "tables"}
"""Tried above."""

WORK = {
    "default_role",
    "documentation",
    "other_people",
    "release.guards",
    "release.if_exists",
    "release.label_columns",
    "release.name",
    "release.publish",
    "release.publish_repeat_reason",
    "release.schema",
    "repeat_reason",
    "risk_thresholds",
    "search.choose",
    "search.levels",
    "search.time_limit_seconds",
    "suppression_limit",
}
"""The fields that a policy of related tables may have."""

STATED: dict[str, Any] = {
    "default_role": policy_pb2.ROLE_IDENTIFYING,
    "suppression_limit": "0.1",
    "risk_thresholds": ["0.5"],
    "other_people": ["releases/1"],
    "search.levels": {"born": 1, "visits.began": 1, "visits.ward": 1, "lab.code": 0},
    "search.time_limit_seconds": "5",
    "search.choose": policy_pb2.CHOOSE_QUASI_IDENTIFIERS_ONLY,
    "search.linked": [{"columns": ["born", "born"]}],
    "release.if_exists": policy_pb2.IF_EXISTS_REPLACE,
    "release.publish": ["shelf"],
    "release.kind": policy_pb2.RELEASE_KIND_VIEW,
    "release.left_behind": policy_pb2.LEFT_BEHIND_REPORT,
    "release.together_with": ["releases/1"],
    "release.suppressed_by": ["born"],
    "release.guards": {"minimum_records": 3},
    "rows_are_people": True,
    "suppressed_records": {"handling": policy_pb2.SUPPRESSED_RECORDS_HANDLING_BLANK, "marker_column": "m"},
    "also_count": ["illness"],
    "quality_model": {"precision": {}},
    "population": {"size": 10**6},
    "game": {"publisher_benefit": "1", "publisher_loss": "1", "adversary_gain": "1", "adversary_cost": "1"},
    "source": {"table": "patients"},
    "local_recoding": {"most_levels": {"born": 1}},
    "order": {"by": policy_pb2.ORDER_BY_NUMBER},
    "differential_privacy": {"epsilon": "1", "delta": "0.001", "search_epsilon": "0.5"},
}
"""A value of each field that is refused as such otherwise; texts and flags need none."""


def paths(descriptor: Descriptor = policy_pb2.Policy.DESCRIPTOR, inside: str = "") -> list[str]:
    """Every field of a policy, and of its search and its target."""
    found = []
    for field in descriptor.fields:
        name = f"{inside}{field.name}"
        below = field.message_type
        found += paths(below, f"{name}.") if below is not None and name in ("search", "release") else [name]
    return found


def state(message: Message, path: str) -> None:
    """Sets a field to a value that it may have elsewhere."""
    *above, name = path.split(".")
    for part in above:
        message = getattr(message, part)
    field = message.DESCRIPTOR.fields_by_name[name]
    stated = STATED.get(path, _usual(field))
    message.MergeFrom(type(message)(**{name: stated}))


def _usual(field: Any) -> Any:
    if field.message_type is not None:
        return {}
    if field.enum_type is not None:
        return field.enum_type.values[-1].number
    return {FieldDescriptor.CPPTYPE_STRING: "text", FieldDescriptor.CPPTYPE_BOOL: True}.get(field.cpp_type, 1)


@pytest.mark.parametrize("path", sorted({*paths()} - OWN))
def test_every_field_of_a_policy_works_or_is_refused(path: str) -> None:
    message = message_of()
    state(message, path)
    faults = faults_of(message)
    if path in WORK:
        assert faults == []
    elif path in {method.field for method in METHODS}:
        assert "tables" in faults
    else:
        assert any(fault.startswith(path) or path.startswith(fault) for fault in faults), faults


def test_every_field_of_a_column_works_or_is_refused() -> None:
    """Columns of people and of events are tried, with a hierarchy or as they are; `column` and `table` are above."""
    work = {"role", "hierarchy", "minimum_level", "maximum_level", "weight", "nulls", "reason", "column", "table"}
    for place in (1, 2, 4, 8):
        for field in policy_pb2.Attribute.DESCRIPTOR.fields:
            if field.name in work:
                continue
            message = message_of()
            state(message.attributes[place], field.name)
            faults = faults_of(message)
            assert any(fault.startswith(f"attributes[{place}].{field.name}") for fault in faults), (place, field.name)
