"""Bad documents: every fault is found at once, at its path, and none quotes more than it must."""

import json
from pathlib import Path

import pytest

from tableveil.document import LARGEST_DOCUMENT, Syntax, load_policy, read_policy
from tableveil.errors import Fault
from tableveil.v1 import policy_pb2


def faults_of(text: str | bytes, syntax: Syntax = "yaml") -> dict[str, str]:
    """The findings, by path."""
    _, faults = read_policy(text, syntax)
    return {fault.field: fault.found for fault in faults}


def only_fault(text: str | bytes, syntax: Syntax = "yaml") -> Fault:
    _, (fault,) = read_policy(text, syntax)
    return fault


EVERYTHING_WRONG = """
source: {schema: main, tabel: t}
attributes:
  - {column: age, role: QUASI_IDENTIFYER, weight: heavy, acknowledged: yes}
  - column: [zip]
  - column: stay
    minimum_level: 1.0
    maximum_level: 3000000000
    hierarchy: {intervals: {minimum: "0", widths: ["5", {}, [10], null]}, suppression_only: {}}
  -
  - city
person_column: id
rows_are_people: true
privacy_models: {k_anonymity: {k: 5}}
suppression_limit: {share: 0.05}
search: {seed: 0x10}
suppression_limit: "0.1"
"""


def test_all_faults_at_once() -> None:
    _, faults = read_policy(EVERYTHING_WRONG, "yaml")
    assert [(fault.field, fault.found) for fault in faults] == [
        ("source.tabel", "an unknown field"),
        ("attributes[0].role", "'QUASI_IDENTIFYER'"),
        ("attributes[0].weight", "'heavy'"),
        ("attributes[0].acknowledged", "'yes'"),
        ("attributes[1].column", "a list"),
        ("attributes[2].minimum_level", "'1.0'"),
        ("attributes[2].maximum_level", "3000000000"),
        ("attributes[2].hierarchy.intervals.widths[1]", "a mapping"),
        ("attributes[2].hierarchy.intervals.widths[2]", "a list"),
        ("attributes[2].hierarchy.intervals.widths[3]", "nothing"),
        ("attributes[2].hierarchy.suppression_only", "suppression_only beside intervals"),
        ("attributes[3]", "nothing"),
        ("attributes[4]", "'city'"),
        ("rows_are_people", "rows_are_people beside person_column"),
        ("privacy_models", "a mapping"),
        ("suppression_limit", "a mapping"),
        ("search.seed", "'0x10'"),
        ("suppression_limit", "the field more than once"),
    ]


def test_what_is_right_is_read_nevertheless() -> None:
    policy, _ = read_policy(EVERYTHING_WRONG, "yaml")
    assert [attribute.column for attribute in policy.attributes] == ["age", "", "stay", "", ""]
    assert list(policy.attributes[2].hierarchy.intervals.widths) == ["5", "", "", ""]
    assert policy.person_column == "id"


def test_faults_in_a_row_of_a_hierarchy_have_the_same_path_in_both_forms() -> None:
    for row in ("[a, {}]", "{labels: [a, {}]}"):
        text = f"attributes: [{{hierarchy: {{inline: {{rows: [[x, y], {row}]}}}}}}]"
        assert faults_of(text) == {"attributes[0].hierarchy.inline.rows[1].labels[1]": "a mapping"}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("atributes: []", "Did you mean 'attributes'?"),
        ("suppressionLimits: 0", "Did you mean 'suppression_limit'?"),
        ("source: {tables: t}", "Did you mean 'table'?"),
        ("default_role: SENSITIF", "Did you mean 'SENSITIVE'?"),
        ("quality_model: {loss: {aggregate: GEOMETRIC}}", "Did you mean 'GEOMETRIC_MEAN'?"),
        ("entirely_different: 1", ""),
    ],
)
def test_names_the_nearest_valid_name(text: str, hint: str) -> None:
    assert only_fault(text).hint == hint


def test_a_fault_lists_what_is_valid() -> None:
    assert only_fault("default_role: X").expected == "one of IDENTIFYING, QUASI_IDENTIFIER, SENSITIVE, INSENSITIVE"
    assert only_fault("suppressed_records: {x: 1}").expected == "one of the fields handling, marker_column"


@pytest.mark.parametrize("syntax", ["yaml", "json"])
def test_repeated_keys_at_any_depth(syntax: Syntax) -> None:
    text = '{"source": {"table": "a", "table": "b"}, "search": {"seed": "1"}, "search": {"seed": "2"}}'
    policy, faults = read_policy(text, syntax)
    assert [(fault.field, fault.found) for fault in faults] == [
        ("source.table", "the field more than once"),
        ("search", "the field more than once"),
    ]
    assert (policy.source.table, policy.search.seed) == ("a", 1)


@pytest.mark.parametrize(
    ("text", "syntax", "place"),
    [
        ("source: {table: secret", "yaml", "line "),
        ("source:\n\ttable: secret", "yaml", "line 2, column 1"),
        ("source: secret: 1", "yaml", "line 1, column 15"),
        ('source: "secret', "yaml", "line 1, column 16"),
        ("source: {table: *}", "yaml", "line 1, column 18"),
        ("a: 1\n  b: secret", "yaml", "line 2, column 4"),
        ('a: "\\qsecret"', "yaml", "line 1, column "),
        ('{"source": {"table": "secret",}}', "json", "line 1, column "),
        ('{"source":\n {"table": secret}}', "json", "line 2, column 12"),
        ('{"source": "sec\nret"}', "json", "line 1, column 16"),
        ('{} {"secret": 1}', "json", "line 1, column 4"),
        ("", "json", "line 1, column 1"),
    ],
)
def test_syntax_errors_give_the_place_and_no_content(text: str, syntax: Syntax, place: str) -> None:
    fault = only_fault(text, syntax)
    assert fault.field == "document"
    assert place in fault.found
    assert "secret" not in str(fault)


def test_tabs_are_named_as_such() -> None:
    assert "tabs" in only_fault("source:\n\ttable: t").hint


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "nothing"),
        ("~", "nothing"),
        ("# only a comment\n", "nothing"),
        ("- source", "a list"),
        ("secret", "only a text"),
        ("a: 1\n---\nb: 2", "more than one document: another begins at line 2"),
        ("source: {table: '\x01'}", "the character U+0001 at line 1, column 18"),
        (b"source: {table: \xff}", "bytes that are not UTF-8 at line 1, column 17"),
        ("source: {}\n".encode("utf-16"), "bytes that are not UTF-8 at line 1, column 1"),
        ("[" * 100 + "]" * 100, "more than 64 levels of nesting"),
        ("\n".join("  " * depth + "a:" for depth in range(100)), "more than 64 levels of nesting"),
        (b" " * (LARGEST_DOCUMENT + 1), "more than 64 MiB"),
    ],
)
def test_texts_that_are_no_policy(text: str | bytes, found: str) -> None:
    fault = only_fault(text)
    assert (fault.field, fault.found) == ("document", found)


@pytest.mark.parametrize("depth", [100, 1_000_000])
def test_deep_json(depth: int) -> None:
    assert only_fault("[" * depth + "]" * depth, "json").found == "more than 64 levels of nesting"


def test_anchors_aliases_merges_and_tags_are_refused() -> None:
    text = """
source: &a {table: t}
release: *a
search: !!map {seed: !!int "1"}
repeat_reason: !secret x
attributes: [{<<: *a}]
? [complex, key]
: 1
"""
    assert faults_of(text) == {
        "source": "an anchor",
        "release": "an alias",
        "search": "a YAML tag",
        "repeat_reason": "a YAML tag",
        "attributes[0].<<": "an alias",
        "?": "a key that is no text",
    }


def test_an_alias_bomb_costs_nothing() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert set(faults_of("\n".join(lines)).values()) == {"an anchor"}


@pytest.mark.parametrize("text", ["02139", "1e5", "0x10", "1_000", "NO", "2024-01-01", "0.10", "1.", "-0", "1:30"])
def test_texts_are_taken_verbatim(text: str) -> None:
    for written in (text, f'"{text}"', f"'{text}'"):
        assert read_policy(f"suppression_limit: {written}", "yaml") == (policy_pb2.Policy(suppression_limit=text), [])


@pytest.mark.parametrize("text", ["0.10", "1e5", "-0", "100000000000000000000000000000", "NaN", "true"])
def test_json_scalars_keep_their_source_text(text: str) -> None:
    assert read_policy(f'{{"repeat_reason": {text}}}', "json") == (policy_pb2.Policy(repeat_reason=text), [])


@pytest.mark.parametrize("null", ["null", "~", "", "Null", "NULL"])
def test_plain_null_is_a_missing_field_and_a_quoted_one_a_text(null: str) -> None:
    assert read_policy(f"person_column: {null}\nsource: {null}", "yaml") == (policy_pb2.Policy(), [])
    assert read_policy(f"person_column: '{null}'", "yaml") == (policy_pb2.Policy(person_column=null), [])


def test_json_null_is_a_missing_field() -> None:
    assert read_policy('{"source": null, "rows_are_people": null}', "json") == (policy_pb2.Policy(), [])


@pytest.mark.parametrize("text", ["5.0", "05", "+5", "1e3", "5_0", " 5", "five", "", "9223372036854775808", "9" * 5000])
def test_integers_are_plain_decimals_in_range(text: str) -> None:
    assert list(faults_of(json.dumps({"search": {"seed": text}}), "json")) == ["search.seed"]


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", ".inf", "1e999", "1_0", "0x1p3", "", "1,5", "9" * 5000])
def test_doubles_are_finite_decimals(text: str) -> None:
    assert list(faults_of(json.dumps({"attributes": [{"weight": text}]}), "json")) == ["attributes[0].weight"]


@pytest.mark.parametrize("text", ["True", "yes", "1", "", "TRUE", "on"])
def test_booleans_are_true_or_false(text: str) -> None:
    assert list(faults_of(json.dumps({"rows_are_people": text}), "json")) == ["rows_are_people"]


@pytest.mark.parametrize("text", ["SENSITIVE", "sensitive", "Sensitive", "ROLE_SENSITIVE", "role_sensitive"])
def test_enums_go_by_short_or_full_name(text: str) -> None:
    expected = policy_pb2.Policy(default_role=policy_pb2.ROLE_SENSITIVE)
    assert read_policy(f"default_role: {text}", "yaml") == (expected, [])


@pytest.mark.parametrize("text", ["3", "ROLE_ROLE_SENSITIVE", "", "\u017fENSITIVE"])
def test_enums_go_by_nothing_else(text: str) -> None:
    assert list(faults_of(json.dumps({"default_role": text}), "json")) == ["default_role"]


def test_half_a_surrogate_pair() -> None:
    assert faults_of('{"source": {"table": "\\ud800"}}', "json") == {"source.table": "half of a surrogate pair"}


def test_hostile_names_do_not_flood_the_message() -> None:
    assert len(str(only_fault(json.dumps({"x" * 10_000: 1}), "json"))) < 1000
    assert len(str(only_fault(json.dumps({"default_role": "x" * 10_000}), "json"))) < 1000


def test_byte_order_mark() -> None:
    expected = policy_pb2.Policy(person_column="id")
    assert read_policy(b"\xef\xbb\xbfperson_column: id", "yaml") == (expected, [])
    assert read_policy(b'\xef\xbb\xbf{"person_column": "id"}', "json") == (expected, [])
    assert read_policy('\ufeff{"person_column": "id"}', "json") == (expected, [])


@pytest.mark.parametrize(
    ("name", "text"),
    [("p.yaml", "person_column: id"), ("p.YML", "person_column: id"), ("p.json", '{"person_column": "id"}')],
)
def test_files_go_by_their_suffix(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert load_policy(tmp_path / name) == (policy_pb2.Policy(person_column="id"), [])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    for name, found in [("p.toml", "'p.toml'"), ("none.yaml", "No such file"), ("folder.yaml", "Is a directory")]:
        _, (fault,) = load_policy(tmp_path / name)
        assert fault.field == "document"
        assert found in fault.found


def test_faults_of_levels() -> None:
    text = """
search:
  levels: {age: 1, sex: high, age: 2, zip: null, ~: 1, "": {}}
  linked: [{columns: age}]
"""
    policy, faults = read_policy(text, "yaml")
    assert [(fault.field, fault.found) for fault in faults] == [
        ("search.levels[sex]", "'high'"),
        ("search.levels[age]", "the name more than once"),
        ("search.levels[zip]", "nothing"),
        ("search.levels[?]", "a key that is no text"),
        ("search.levels[]", "a mapping"),
        ("search.linked[0].columns", "'age'"),
    ]
    # Unreadable fields count as present, or they would be reported as missing, too.
    assert {"age", "sex", "zip"} <= set(policy.search.levels)


def test_levels_that_are_no_mapping() -> None:
    assert faults_of("search: {levels: [1, 2]}") == {"search.levels": "a list"}
    assert faults_of('{"search": {"levels": {"\\ud800": 1}}}', "json") == {
        "search.levels[\ud800]": "half of a surrogate pair"
    }
    (path,) = faults_of(f"search: {{levels: {{{'x' * 500}: y}}}}")
    assert len(path) < 150


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("source: lake.clinic.visits", "Write {catalog: 'lake', schema: 'clinic', table: 'visits'}."),
        ("source: visits", "Write {table: 'visits'}."),
        ("source: lake.clinic.visits.old", "Write {catalog: 'lake', schema: 'clinic', table: 'visits.old'}."),
        ("source: lake..visits", ""),
        ("source: []", ""),
        ("release: clinic.released", "Write {schema: 'clinic', name: 'released'}."),
        ("search: clinic.released", ""),
    ],
)
def test_a_name_with_dots_says_which_fields_it_stands_for(text: str, meant: str) -> None:
    assert only_fault(text).hint == meant
