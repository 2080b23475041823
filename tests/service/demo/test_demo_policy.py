"""The demo's policy fits the demo's table: every column is listed, every value has its place in a hierarchy."""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
import yaml

from tableveil import hierarchy
from tableveil.demo.discharges import SCHEMA, batches
from tableveil.demo.hospital import ETHNICITY_GROUPS, FIRST_DAY, LAST_DAY, LONGEST_STAY, OLDEST, REGIONS, ZIP_CODES
from tableveil.document import read_policy
from tableveil.hierarchy import rules

Rows = list[list[str]]


@pytest.fixture(scope="module")
def policy() -> dict[str, Any]:
    """The policy, with every scalar as its text."""
    document: dict[str, Any] = yaml.load(files("tableveil.demo").joinpath("policy.yaml").read_text(), yaml.BaseLoader)
    return document


@pytest.fixture(scope="module")
def hierarchies(policy: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The quasi-identifiers' hierarchies by column."""
    return {a["column"]: a["hierarchy"] for a in policy["attributes"] if a["role"] == "QUASI_IDENTIFIER"}


def inline(groups: Mapping[str, Iterable[Any]]) -> Rows:
    """The rows of a hierarchy of named things in named groups."""
    return [[member.name, group, "*"] for group, members in groups.items() for member in members]


def test_lists_every_column_once(policy: dict[str, Any]) -> None:
    assert sorted(attribute["column"] for attribute in policy["attributes"]) == sorted(SCHEMA.names)


def test_reads_as_a_proto_policy(policy: dict[str, Any]) -> None:
    message, faults = read_policy(yaml.safe_dump(policy), "yaml")
    assert not faults
    assert message.person_column == "patient_id"
    assert message.privacy_models[0].k_anonymity.k == 5
    assert message.suppression_limit == "0.05"


def test_counties_are_those_of_the_network(hierarchies: dict[str, dict[str, Any]]) -> None:
    assert [row["labels"] for row in hierarchies["county"]["inline"]["rows"]] == inline(REGIONS)


def test_ethnicities_are_those_of_the_network(hierarchies: dict[str, dict[str, Any]]) -> None:
    assert [row["labels"] for row in hierarchies["ethnicity"]["inline"]["rows"]] == inline(ETHNICITY_GROUPS)


@pytest.mark.parametrize(("column", "maximum"), [("age", OLDEST), ("length_of_stay", LONGEST_STAY)])
def test_intervals_cover_the_range_and_nest(hierarchies: dict[str, dict[str, Any]], column: str, maximum: int) -> None:
    intervals = hierarchies[column]["intervals"]
    widths = [int(width) for width in intervals["widths"]]
    assert (intervals["minimum"], intervals["maximum"]) == ("0", str(maximum))
    assert all(wide % narrow == 0 for narrow, wide in pairwise(widths))


def test_dates_cover_the_years(hierarchies: dict[str, dict[str, Any]]) -> None:
    dates = hierarchies["admission_date"]["dates"]
    assert (dates["minimum"], dates["maximum"]) == (FIRST_DAY.isoformat(), LAST_DAY.isoformat())


def test_redaction_covers_the_zip_codes(hierarchies: dict[str, dict[str, Any]]) -> None:
    redaction = hierarchies["zip_code"]["redaction"]
    assert {len(zip_code.code) for zip_code in ZIP_CODES} == {int(redaction["length"])}
    assert len({digit for zip_code in ZIP_CODES for digit in zip_code.code}) == int(redaction["alphabet_size"])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("age", hierarchy.ValueKind.INTEGER),
        ("sex", hierarchy.ValueKind.TEXT),
        ("zip_code", hierarchy.ValueKind.TEXT),
        ("admission_date", hierarchy.ValueKind.DATE),
        ("length_of_stay", hierarchy.ValueKind.INTEGER),
        ("ethnicity", hierarchy.ValueKind.TEXT),
        ("county", hierarchy.ValueKind.TEXT),
    ],
)
def test_hierarchies_cover_every_generated_value(
    hierarchies: dict[str, dict[str, Any]], column: str, kind: hierarchy.ValueKind
) -> None:
    table = pa.Table.from_batches(batches(100_000, seed=7), SCHEMA)
    values = table.column(column).unique().drop_null().to_pylist()
    definition = _definition(hierarchies[column])
    if isinstance(definition, hierarchy.InlineLevels):
        assert hierarchy.check_levels(definition.rows, column) == []
    else:
        assert hierarchy.check_rule(definition, column, kind) == []
    labelled = hierarchy.label_values(definition, kind, values, [str(value) for value in values])
    assert labelled.covered.all()


def _definition(document: dict[str, Any]) -> hierarchy.InlineLevels | hierarchy.RuleHierarchy:
    """The engine's hierarchy for one of the policy's."""
    match document:
        case {"inline": {"rows": rows}}:
            return hierarchy.InlineLevels(tuple(tuple(row["labels"]) for row in rows))
        case {"intervals": rule}:
            return rules.Intervals(**{**rule, "widths": tuple(rule["widths"])})
        case {"dates": rule}:
            units = tuple(rules.DateUnit(unit) for unit in rule["units"])
            return rules.Dates(rule["minimum"], rule["maximum"], units)
        case {"redaction": rule}:
            mask_from = rules.MaskFrom(rule["mask_from"])
            return rules.Redaction(int(rule["length"]), int(rule["alphabet_size"]), mask_from)
        case _:
            return rules.SuppressionOnly()
