"""Both editions of a report against docs/explanations/threats.md: the public one knows a closed list of facts."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from tableveil.document import read_policy
from tableveil.lookups.reports import BesideLedger, ToldColumn
from tableveil.report import threats
from tableveil.report.facts import PUBLIC_STATEMENTS, public_facts
from tableveil.report.owner import owner_report
from tableveil.report.owner_evidence import OwnerEvidence, ReleaseBeside
from tableveil.report.public import public_report
from tableveil.report.standing import ABOVE, WITHIN, standings
from tableveil.report.text import first_page_text
from tableveil.report.threats import Situation
from tableveil.report.words import AGAINST, PROMISES
from tableveil.v1 import faults_pb2, policy_pb2
from tableveil.v1.faults_pb2 import WARNING_RANK_NOTE, WARNING_RANK_SHOULD_BE_LOOKED_AT
from tableveil.v1.release_service_pb2 import Release
from tests.service.client import samples

THREATS = (Path(__file__).parents[3] / "docs" / "explanations" / "threats.md").read_text(encoding="utf-8")

TOLD = BesideLedger(
    columns=(
        ToldColumn("age", "VARCHAR", "QUASI_IDENTIFIER", ("[20, 39]",)),
        ToldColumn("diagnosis", "VARCHAR", "SENSITIVE"),
        ToldColumn("ward", "VARCHAR", "INSENSITIVE"),
    ),
    checksum="5eed",
    sizes_after=((5, 10), (20, 3)),
)

CLOSED_LIST = {
    *("target.schema", "target.name", "create_time", "records", "suppressed_records", "risk_by_size", "objects"),
    *("attributes.column", "attributes.level", "attributes.levels.level", "attributes.aggregation"),
    *("versions", "policy.privacy_models", "policy.suppressed_records.handling"),
    *("policy.microaggregation", "policy.local_recoding", "policy.record_level"),
    *(f"policy.documentation.{name}" for name in PUBLIC_STATEMENTS),
}
"""The fields of a release that the public edition is made of: all others may hold anything."""

DECIMALS = ("suppression_limit", "risk_threshold", "time_limit_seconds")
"""Texts that are numbers."""

OWNERS = {
    "risk before, distinct values before": lambda found: found.risk_before.records_at_risk[0],
    "the distribution of sensitive columns": lambda found: found.guarantees.add(model="t_closeness", column="d"),
    "what is reached of every model": lambda found: found.guarantees.add(model="t_closeness", parameter="t"),
    "which model rejected which classes": lambda found: found.explanation.itself.rejections.add(),
    "exact losses, score, proof, runners-up, progress, frontiers, payout sweeps, risk analyses": (
        lambda found: found.proof
    ),
    "the fingerprint, the sketch of rows and columns": lambda found: found,
    "classes of people in the ledger, joint classes": lambda found: found.policy.release,
    "stored hierarchies, dictionaries": lambda found: found.attributes[0],
    "what follows of released columns, counts of people": lambda found: found.exposures.add(knows=["a"]),
    "examples in errors": lambda found: found.suppressed_labels.add(),
    "policies, ledger, jobs, times": lambda found: found.policy,
}
"""The rows of the page that are the owner's, each with a message of a release that holds it."""


PLACES = {
    "stored hierarchies, dictionaries": "attributes.",
    "policies, ledger, jobs, times": "policy.",
    "classes of people in the ledger, joint classes": "policy.release.",
}
"""The paths of these messages, where the closed list names some of their fields."""


def released() -> Release:
    """A release with something in every part."""
    found = samples.release()
    found.versions.update({"tableveil": "1.2.3", "duckdb": "2.0.0", "python": "3.11"})
    found.policy.documentation.purpose = "A study"
    found.suppressed_labels.add(column="age", label="[0, 19]", records=10, suppressed=7)
    counted = {"total": 59_000, "least": 5}
    found.exposures.add(**counted)
    found.exposures.add(columns=["ward"], found=40_000, few=41_000, **counted)
    found.exposures.add(columns=["ward"], knows=["age", "county"], few=923, **counted)
    return found


def public(found: Release) -> str:
    """The text of the public edition."""
    facts = public_facts(found, TOLD, name="releases/3", state="releases/3 is public.")
    return repr(public_report(facts, "1.2.3"))


def owners(found: Release) -> str:
    """The text of the owner's edition."""
    facts = public_facts(found, TOLD, name="releases/3", state="releases/3 is public.")
    return repr(owner_report(facts, OwnerEvidence(found, sizes_before=((1, 100),)), "1.2.3"))


def first(found: Release) -> str:
    """The text of the owner's first page."""
    facts = public_facts(found, TOLD, name="releases/3", state="releases/3 is public.")
    return repr(owner_report(facts, OwnerEvidence(found), "1.2.3").first)


def changed(message: Message, path: str = "") -> Iterator[str]:
    """Puts a canary into every field that is set, and into every text, but for those of the closed list."""
    for field in message.DESCRIPTOR.fields:
        here = f"{path}{field.name}"
        if here in CLOSED_LIST:
            continue
        map_entry = field.message_type is not None and field.message_type.GetOptions().map_entry
        if field.name in DECIMALS:
            setattr(message, field.name, "0.424242")
            yield here
        elif field.message_type is not None and not map_entry:
            if field.is_repeated:
                for member in getattr(message, field.name):
                    yield from changed(member, f"{here}.")
            elif message.HasField(field.name):
                yield from changed(getattr(message, field.name), f"{here}.")
        elif field.cpp_type == field.CPPTYPE_STRING and not field.is_repeated:
            # A oneof would lose the member that is set.
            if field.containing_oneof is None or message.HasField(field.name):
                setattr(message, field.name, "CANARY")
                yield here
        elif field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64) and not field.is_repeated:
            setattr(message, field.name, 424_242)
            yield here


def test_the_public_edition_depends_on_the_closed_list_only() -> None:
    found, other = released(), released()
    del other.policy.attributes[:]
    fields = set(changed(other))
    assert {"source_fingerprint", "policy.source.table", "attributes.distinct_before", "decision_note"} <= fields
    other.score, other.proof.lower_bound = 0.424242, 0.424242
    other.warnings.append("CANARY")
    del other.exposures[:]
    other.exposures.extend(found.exposures)
    assert public(other) == public(found)
    assert owners(other) != owners(found)


@pytest.mark.parametrize("row", OWNERS)
def test_what_is_the_owners_is_not_public(row: str) -> None:
    found = released()
    holder = OWNERS[row](found)
    if isinstance(holder, Message):
        list(changed(holder, PLACES.get(row, "")))
    assert "CANARY" not in public(found)


def test_the_page_lists_what_is_the_owners() -> None:
    table = THREATS.partition("## Public and owner's")[2].partition("\n\n**")[0]
    assert re.findall(r"^\| (.+?) \| owner \|", table, re.M) == list(OWNERS)


def test_every_limit_of_the_page_is_one_of_the_report() -> None:
    page = THREATS.partition("## What it does not promise")[2].partition("## Public and owner's")[0]
    headings = re.findall(r"^\| \*\*([^*]+)\*\* \|", page, re.M)
    assert {one.heading for one in threats.THREATS} == {*headings}


@pytest.mark.parametrize(
    ("change", "heading"),
    [
        (lambda policy: policy.privacy_models.add().delta_presence.SetInParent(), "Membership"),
        (lambda policy: policy.differential_privacy.SetInParent(), "Membership"),
        (lambda policy: policy.differential_privacy.SetInParent(), "Differential privacy"),
        (lambda policy: policy.microaggregation.SetInParent(), "Microaggregation"),
        (lambda policy: policy.record_level.SetInParent(), "Adversaries who do not reckon"),
    ],
)
def test_a_limit_is_told_where_it_applies(change: Callable[[policy_pb2.Policy], Any], heading: str) -> None:
    found = released()
    before = heading in public(found)
    change(found.policy)
    assert (heading in public(found)) is not before


def test_choosing_by_quasi_identifiers_only_ends_minimality_for_the_owner_alone() -> None:
    found = released()
    found.policy.privacy_models.add().t_closeness.column = "diagnosis"
    assert ("Minimality" in owners(found), "Minimality" in public(found)) == (True, True)
    found.policy.search.choose = policy_pb2.CHOOSE_QUASI_IDENTIFIERS_ONLY
    assert ("Minimality" in owners(found), "Minimality" in public(found)) == (False, True)


def test_the_owners_edition_has_the_evidence() -> None:
    found = released()
    found.policy.documentation.risk_threshold = "0.09"
    text = owners(found)
    for part in ("41,000 (41 %)", "[0, 19]", "county follows", "optimal: nothing that", "not state"):
        assert part in text
    assert "'Singling out', \"ABOVE the policy's threshold\"" in text
    assert "The policy accepts 9 %." in text


def test_people_with_several_records_are_counted_for_the_owner() -> None:
    found = released()
    assert "fewest people of a class" not in owners(found)
    follows = "Exact age and county rule out values of ward: 923 of 59,000 rows are then among fewer than 5."
    assert follows in owners(found)
    assert "knows a person's ward finds 40,000 rows by the labels" in owners(found)
    found.guarantees.add(model="k_anonymity", parameter="k", before=1, after=4)
    found.guarantees.add(model="dominance", parameter="share", before=1, after=0.375)
    found.risk_before.highest, found.risk_after.highest = 1, 0.375
    found.policy.documentation.risk_threshold = "0.2"
    text = owners(found)
    assert str(("fewest people of a class", "1", "4")) in text
    assert "with a chance of at most 37.5 % (before: 100 %)" in text
    assert "ABOVE the policy's threshold" in text
    told = public(found)
    assert "fewest people" not in told
    assert "37.5 %" not in told
    assert "accepts a risk" not in told
    assert "count records" in told
    assert (
        "If everybody has one record, a person who knows them picks the right one with a chance of at most 20 %" in told
    )
    found.policy.privacy_models.add().dominance.share = "0.25"
    assert "Each is a given person's with a chance of at most 25 %, by dominance." in public(found)


def test_the_columns_whose_checks_are_overruled_are_on_the_first_page() -> None:
    found = released()
    for column in ("ward", "doctor"):
        found.policy.attributes.add(column=column, role=policy_pb2.ROLE_INSENSITIVE, acknowledged=True)
    for name in ("ward", "doctor"):
        assert f"The policy overrules the checks of {name}. It states no reason." in first(found)


def test_who_else_could_be_found_is_public_and_what_follows_is_the_owners() -> None:
    found = released()
    row, following = "('by labels and ward', '40,000', '41,000')", "without knowing it: ward follows from exact age"
    assert row in owners(found)
    assert f"('{following} and county', '', '923')" in owners(found)
    assert row in public(found)
    assert following not in public(found)
    assert "rule out" not in public(found)
    # The rows do not tell whose they are.
    found.exposures.add(columns=["ward"], found=7, few=8, total=900, least=5, counts_people=True)
    assert "('by labels and ward', '7', '8')" in owners(found)
    assert row not in owners(found)
    assert "'7', '8'" not in public(found)
    del found.exposures[:]
    assert "Nobody counted who could be found" in owners(found)


def test_a_sensitive_column_without_a_model_is_on_the_first_page() -> None:
    found = released()
    del found.policy.privacy_models[:]
    found.guarantees.add(model="distinct_l_diversity", column="diagnosis", parameter="l", before=1, after=1)
    page = first(found)
    assert "No model looks at diagnosis. Everybody in some class has one value of diagnosis." in page


@pytest.mark.parametrize("column", ["ward", "diagnosis"])
def test_what_the_annex_says_that_no_model_counts_is_on_the_first_page(column: str) -> None:
    """A model of a column bounds what its class tells, not whom a released value leaves."""
    found = released()
    del found.exposures[:]
    found.exposures.add(columns=[column], knows=["age"], few=7, total=100, least=5)
    model = {"t_closeness": {"column": "diagnosis", "t": "0.2"}}
    found.policy.privacy_models.append(ParseDict(model, policy_pb2.PrivacyModel()))
    page = first(found)
    assert f"ABOVE it with {column}" in page


@pytest.mark.parametrize(
    ("rank", "stands"),
    [
        (
            WARNING_RANK_SHOULD_BE_LOOKED_AT,
            f"{WITHIN} by the people's quasi-identifiers; ABOVE it with more known events",
        ),
        (WARNING_RANK_NOTE, WITHIN),
    ],
)
def test_what_known_events_tell_stands_beside_singling_out(rank: faults_pb2.WarningRank.ValueType, stands: str) -> None:
    found = released()
    del found.exposures[:], found.warnings[:], found.warning_ranks[:]
    found.risk_after.highest, found.policy.documentation.risk_threshold = 0.1, "0.2"
    found.warnings.extend(
        [
            "To somebody who knows 2 of a person's events, fewer than 5 keys fit.",
            "9 of 90 rows of events are not released (10.0 %). Rows are missing of 3 of the 5 people with 2 rows.",
        ]
    )
    found.warning_ranks.extend([rank, WARNING_RANK_NOTE])
    facts = public_facts(found, TOLD, name="releases/3", state="releases/3 is public.")
    (row,) = [row for row in standings(Situation.of(facts), found, None, "").rows if row[0] == "Singling out"]
    assert row[1] == stands
    told = "fewer than 5 keys fit. 9 of 90 rows of events are not released (10.0 %). "
    assert told in row[2]
    assert "Rows are missing" not in row[2]


def test_the_threshold_is_shown_with_who_set_it() -> None:
    found = released()
    found.policy.documentation.risk_threshold = "0.09"
    facts = public_facts(found, TOLD, name="releases/3", state="releases/3 is public.")
    page = repr(owner_report(facts, OwnerEvidence(found, maker="ann"), "1.2.3").first)
    assert "The policy of ann accepts 9 %" in page
    assert ", by ann." in page
    assert "ann" not in public(found).replace("cannot", "")


@pytest.mark.parametrize(
    ("model", "stands"),
    [
        ({"distinct_l_diversity": {"column": "diagnosis", "l": 3}}, "ABOVE the policy's threshold"),
        ({"probabilistic_l_diversity": {"column": "diagnosis", "l": "1.02"}}, "within the policy's threshold"),
        (
            {"t_closeness": {"column": "diagnosis", "t": "0.2"}},
            "within the policy's threshold for one record, and not measured against one for several",
        ),
    ],
)
def test_the_first_page_decides_by_all_records_of_a_person(model: dict[str, Any], stands: str) -> None:
    found = released()
    del found.policy.privacy_models[:]
    found.policy.privacy_models.append(ParseDict(model, policy_pb2.PrivacyModel()))
    (kind,) = model
    found.guarantees.add(model=kind, column="diagnosis", parameter="x", after=3)
    assert f"'Inference', {WITHIN!r}" in first(found)
    found.guarantees.add(model="several_records", column="diagnosis", parameter="chance", after=0.968)
    page = first(found)
    assert f"'Inference', {stands!r}" in page
    assert "can tell a value of diagnosis with a chance of up to 96.8 %" in page


def test_the_worst_column_decides_and_not_the_likeliest_value() -> None:
    found = released()
    del found.policy.privacy_models[:]
    for model in ({"t_closeness": {"column": "ward", "t": "0.2"}}, {"distinct_l_diversity": {"column": "x", "l": 3}}):
        found.policy.privacy_models.append(ParseDict(model, policy_pb2.PrivacyModel()))
    for column, after in (("ward", 0.9), ("x", 0.5)):
        found.guarantees.add(model="several_records", column=column, parameter="chance", after=after)
    page = first(found)
    assert f"'Inference', {ABOVE!r}" in page
    assert "can tell a value of x with a chance of up to 50 %" in page


def parameters(field: Any) -> list[str]:
    """The names of a model's parameters."""
    return [parameter.name for parameter in field.message_type.fields]


def test_each_model_has_a_promise_and_each_promise_its_parameters() -> None:
    fields = policy_pb2.PrivacyModel.DESCRIPTOR.fields_by_name
    assert set(PROMISES) == set(fields)
    for kind, promise in PROMISES.items():
        assert set(re.findall(r"\{(\w+)\}", promise)) <= set(parameters(fields[kind]))
    assert set.union(*AGAINST.values()) <= set(fields)


def test_the_first_page_as_text_fits_a_screen_of_80_columns() -> None:
    found = released()
    facts = public_facts(found, TOLD, name="releases/3", state="releases/3 is public.")
    other = ReleaseBeside(samples.release("releases/2"), by_digests=True)
    report = owner_report(facts, OwnerEvidence(found, people=12_345, others=(other,)), "1.2.3")
    lines = first_page_text(report).splitlines()
    assert max(map(len, lines)) <= 80
    page = " ".join(" ".join(lines).split())
    for part in (
        "Singling out: within the policy's threshold by quasi-identifiers; ABOVE it with ward; Somebody who knows",
        "12,345 people",
        "Linkability: not measured",
        "Erased: zip_code.",
        "releases/2 public its people",
        "[20, 39]",
    ):
        assert part in page, part


def test_the_attachment_is_the_policy() -> None:
    found = released()
    facts = public_facts(found, TOLD, name="releases/3", state="releases/3 is public.")
    report = owner_report(facts, OwnerEvidence(found), "1.2.3")
    name, text = report.attachment or ("", "")
    assert name == "policy.yaml"
    assert read_policy(text, "yaml") == (found.policy, [])
    assert public_report(facts, "1.2.3").attachment is None


def test_days_of_events_are_told_by_what_they_count_from() -> None:
    found = released()
    found.policy.tables.relative_time.anchor = policy_pb2.ANCHOR_PREVIOUS_EVENT
    found.attributes.add(column="visits.began", level=2, top_level=3)
    began = ToldColumn("visits.began", "VARCHAR", "QUASI_IDENTIFIER", unit="days")
    told = replace(TOLD, columns=(*TOLD.columns, began))
    facts = public_facts(found, told, name="releases/3", state="releases/3 is public.")
    meaning = "days since the person's event before (of an earlier day)"
    assert f"generalized to level 2; {meaning}" in repr(public_report(facts, "1.2.3"))
    assert f"generalized to level 2 of 3; {meaning}" in repr(owner_report(facts, OwnerEvidence(found), "1.2.3"))
