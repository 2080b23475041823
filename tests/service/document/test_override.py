"""Fields set by their paths."""

import pytest

from tableveil.document import read_policy, set_field
from tableveil.v1 import policy_pb2

DOCUMENT = """
source: {schema: main, table: visits}
attributes:
  - {column: age, role: ROLE_QUASI_IDENTIFIER, hierarchy: {intervals: {widths: [5]}}}
  - {column: "2", role: ROLE_SENSITIVE}
person_column: id
privacy_models: [{k_anonymity: {k: 5}}]
suppression_limit: "0.05"
release: {schema: main, name: released}
"""


def policy() -> policy_pb2.Policy:
    found, faults = read_policy(DOCUMENT, "yaml")
    assert not faults, faults
    return found


@pytest.mark.parametrize(
    ("path", "value", "written"),
    [
        ("suppression_limit", "0.10", ('"0.05"', '"0.10"')),
        ("suppression_limit", "null", ('suppression_limit: "0.05"\n', "")),
        ("privacy_models[0].k_anonymity.k", "7", ("k: 5}", "k: 7}")),
        ("privacy_models", "[{k_anonymity: {k: 2}}]", ("k: 5}", "k: 2}")),
        ("release.name", "007", ("name: released", 'name: "007"')),
        ("attributes[1].role", "ROLE_IDENTIFYING", ("ROLE_SENSITIVE", "ROLE_IDENTIFYING")),
        ("attributes[0].hierarchy.intervals.widths", "[10, 20]", ("widths: [5]", "widths: [10, 20]")),
        # One of several fields takes the place of another.
        ("rows_are_people", "true", ("person_column: id", "rows_are_people: true")),
        ("attributes[0].hierarchy.suppression_only", "{}", ("intervals: {widths: [5]}", "suppression_only: {}")),
        ("search.seed", "3", ("person_column: id", "person_column: id\nsearch: {seed: 3}")),
    ],
)
def test_fields(path: str, value: str, written: tuple[str, str]) -> None:
    changed = policy()
    assert set_field(changed, path, value) == []
    expected, faults = read_policy(DOCUMENT.replace(*written), "yaml")
    assert (faults, changed) == ([], expected)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("supression_limit", "0", "Did you mean 'suppression_limit'"),
        ("privacy_models.k_anonymity.k", "7", "privacy_models[0].k_anonymity.k"),
        ("privacy_models[3].k_anonymity.k", "7", "where there are 1"),
        ("suppression_limit.share", "7", "no such field there"),
        ("attributes[0]", "{}", "no such field there"),
        ("attributes[-1].role", "ROLE_SENSITIVE", "no such field there"),
        ("", "7", "no such field there"),
        ("release..name", "7", "no such field there"),
        ("privacy_models[0].k_anonymity.k", "many", "'many'"),
        ("release", "name", "a mapping"),
        ("release", "{nam: x}", "Did you mean 'name'"),
        ("release", "{name: [", "line 2"),
        ("release.name", "a\n---\nb", "more than one document"),
    ],
)
def test_faults(path: str, value: str, told: str) -> None:
    (fault,) = set_field(policy(), path, value)
    assert fault.field.startswith(path)
    assert told in str(fault)
