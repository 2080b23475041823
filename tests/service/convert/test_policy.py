"""Policies between proto and domain: nothing is lost, nothing is guessed, and all faults come at once."""

import math
from decimal import Decimal
from typing import Any, cast

import pytest
from hypothesis import given, settings

from tableveil.convert import canonical_json, policy_from_json, policy_from_proto
from tableveil.hierarchy import SafeHarborZip, StoredLevels
from tableveil.hierarchy.rules import MaskFrom, Redaction, SuppressionOnly
from tableveil.policy import (
    Aggregate,
    AmbiguityModel,
    AttributePolicy,
    AverageClassSizeModel,
    DiscernibilityModel,
    EntropyModel,
    HeightModel,
    KAnonymity,
    KLDivergenceModel,
    KLWeighting,
    LossModel,
    Policy,
    PrecisionModel,
    QualityModel,
    ReleaseTarget,
    Role,
    TableReference,
    validate_policy,
)
from tableveil.v1 import policy_pb2
from tests.service.convert.policies import POLICIES
from tests.service.convert.policy_to_proto import policy_to_proto


def minimal() -> policy_pb2.Policy:
    """A policy without faults."""
    policy = policy_pb2.Policy(rows_are_people=True)
    policy.source.table = "t"
    policy.release.name = "released"
    attribute = policy.attributes.add(column="age", role=policy_pb2.ROLE_QUASI_IDENTIFIER)
    attribute.hierarchy.suppression_only.SetInParent()
    policy.privacy_models.add().k_anonymity.k = 5
    return policy


def faults_of(policy: policy_pb2.Policy) -> list[tuple[str, str]]:
    return [(fault.field, fault.found) for fault in policy_from_proto(policy)[1]]


@given(POLICIES)
@settings(deadline=None, max_examples=100)
def test_round_trip(policy: Policy) -> None:
    assert policy_from_proto(policy_to_proto(policy)) == (policy, validate_policy(policy))


@given(POLICIES)
@settings(deadline=None, max_examples=50)
def test_canonical_json_reads_back(policy: Policy) -> None:
    message = policy_to_proto(policy)
    document = canonical_json(message)
    assert policy_from_json(document) == message
    assert canonical_json(policy_from_json(document)) == document


def test_defaults() -> None:
    assert policy_from_proto(minimal()) == (
        Policy(
            source=TableReference("", "main", "t"),
            attributes=(AttributePolicy("age", Role.QUASI_IDENTIFIER, SuppressionOnly()),),
            person_column=None,
            privacy_models=(KAnonymity(5),),
            release=ReleaseTarget("main", "released"),
        ),
        [],
    )


def test_zero_means_the_default_where_the_proto_says_so() -> None:
    message = minimal()
    message.attributes[0].hierarchy.redaction.CopyFrom(policy_pb2.Redaction(length=5, alphabet_size=10))
    policy, _ = policy_from_proto(message)
    assert policy is not None
    assert policy.attributes[0].hierarchy == Redaction(5, 10, MaskFrom.RIGHT, 1)


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("loss", LossModel(Aggregate.ARITHMETIC_MEAN)),
        ("entropy", EntropyModel(aggregate=Aggregate.SUM)),
        ("precision", PrecisionModel(Aggregate.ARITHMETIC_MEAN)),
        ("height", HeightModel(Aggregate.SUM)),
        ("discernibility", DiscernibilityModel()),
        ("average_class_size", AverageClassSizeModel()),
        ("ambiguity", AmbiguityModel()),
        ("kl_divergence", KLDivergenceModel(KLWeighting.TEXTBOOK)),
    ],
)
def test_each_quality_model_has_its_own_defaults(kind: str, model: QualityModel) -> None:
    message = minimal()
    getattr(message.quality_model, kind).SetInParent()
    policy, faults = policy_from_proto(message)
    assert faults == []
    assert policy is not None
    assert policy.quality_model == model
    assert getattr(model, "factor", 0.5) == 0.5


def test_a_factor_of_0_is_not_unset() -> None:
    message = minimal()
    message.quality_model.loss.factor = 0
    policy, faults = policy_from_proto(message)
    assert faults == []
    assert policy is not None
    assert policy.quality_model == LossModel(factor=0.0)


def test_a_column_of_unknown_role_may_have_a_level() -> None:
    message = minimal()
    message.attributes.add(column="sex", role=cast(Any, 9)).hierarchy.suppression_only.SetInParent()
    message.search.levels.update({"age": 1, "sex": 1})
    message.search.linked.add(columns=["age", "sex"])
    assert faults_of(message) == [("attributes[1].role", "the unknown number 9")]


def test_a_listed_column_takes_the_default_role() -> None:
    message = minimal()
    message.default_role = policy_pb2.ROLE_SENSITIVE
    message.attributes.add(column="diagnosis")
    policy, faults = policy_from_proto(message)
    assert faults == []
    assert policy is not None
    assert policy.attributes[1].role is Role.SENSITIVE


def test_exact_decimals_stay_exact() -> None:
    message = minimal()
    message.suppression_limit = "0.10000000000000000000000000001"
    message.risk_thresholds.extend(["0.2", "0.30"])
    policy, _ = policy_from_proto(message)
    assert policy is not None
    assert policy.suppression_limit == Decimal("0.10000000000000000000000000001")
    assert policy.risk_thresholds == (Decimal("0.2"), Decimal("0.3"))


NO_DECIMALS = [
    "NaN",
    "inf",
    "-Infinity",
    "1e-2",
    "1_000",
    " 0.1",
    "0.1 ",
    "0,1",
    ".5",
    "5.",
    "+1",
    "\u0660.\u0661",
    "x",
    "0" * 51,
]


@pytest.mark.parametrize("text", NO_DECIMALS)
def test_decimals_are_plain_digits(text: str) -> None:
    message = minimal()
    message.suppression_limit = text
    message.search.time_limit_seconds = text
    message.risk_thresholds.extend(["0.1", text])
    assert [field for field, _ in faults_of(message)] == [
        "suppression_limit",
        "search.time_limit_seconds",
        "risk_thresholds[1]",
    ]


def test_none_is_no_time_limit() -> None:
    message = minimal()
    message.search.time_limit_seconds = "none"
    policy, faults = policy_from_proto(message)
    assert policy is not None
    assert (policy.search.seconds, faults) == (math.inf, [])


def test_decimals_out_of_range_are_judged_beside_unreadable_ones() -> None:
    message = minimal()
    message.suppression_limit = "1.5"
    message.search.time_limit_seconds = "soon"
    message.risk_thresholds.extend(["0", "x", "", "0.5", "0.5"])
    assert faults_of(message) == [
        ("search.time_limit_seconds", "'soon'"),
        ("risk_thresholds[1]", "'x'"),
        ("risk_thresholds[2]", "nothing"),
        ("suppression_limit", "1.5"),
        ("risk_thresholds[0]", "0"),
        ("risk_thresholds[4]", "0.5"),
    ]


def test_an_empty_policy() -> None:
    policy, faults = policy_from_proto(policy_pb2.Policy())
    assert policy is None
    assert [fault.field for fault in faults] == [
        "person_column",
        "source.table",
        "release.name",
        "attributes",
        "privacy_models",
    ]


def test_everything_wrong_at_once() -> None:
    message = policy_pb2.Policy(rows_are_people=False, default_role=cast(Any, 9))
    message.suppressed_records.handling = cast(Any, 9)
    message.quality_model.loss.aggregate = cast(Any, 9)
    message.search.strategy = cast(Any, 9)
    message.release.kind = cast(Any, 9)
    message.release.if_exists = cast(Any, 9)
    message.privacy_models.add()
    message.attributes.add(column="no role")
    message.attributes.add(column="unknown role", role=cast(Any, 9)).hierarchy.suppression_only.SetInParent()
    quasi_identifier = policy_pb2.ROLE_QUASI_IDENTIFIER
    message.attributes.add(column="no kind", role=quasi_identifier, nulls=cast(Any, 9)).hierarchy.SetInParent()
    dates = message.attributes.add(column="dates", role=quasi_identifier, weight=float("nan"))
    dates.hierarchy.dates.units.extend([policy_pb2.DATE_UNIT_DAY, policy_pb2.DATE_UNIT_UNSPECIFIED, cast(Any, 9)])
    redaction = message.attributes.add(column="dates", role=quasi_identifier, minimum_level=-1)
    redaction.hierarchy.redaction.mask_from = cast(Any, 9)
    csv = message.attributes.add(column="csv", role=quasi_identifier, minimum_level=3, maximum_level=2)
    csv.hierarchy.csv.path = "zip.csv"
    assert faults_of(message) == [
        ("default_role", "the unknown number 9"),
        ("attributes[0].role", "nothing"),
        ("attributes[1].role", "the unknown number 9"),
        ("attributes[2].hierarchy", "nothing"),
        ("attributes[2].nulls", "the unknown number 9"),
        ("attributes[3].hierarchy.dates.units[1]", "nothing"),
        ("attributes[3].hierarchy.dates.units[2]", "the unknown number 9"),
        ("attributes[4].hierarchy.redaction.mask_from", "the unknown number 9"),
        ("attributes[5].hierarchy.csv", "a file on the client's side"),
        ("rows_are_people", "false"),
        ("privacy_models[0]", "nothing"),
        ("suppressed_records.handling", "the unknown number 9"),
        ("quality_model.loss.aggregate", "the unknown number 9"),
        ("search.strategy", "the unknown number 9"),
        ("release.kind", "the unknown number 9"),
        ("release.if_exists", "the unknown number 9"),
        # The faults that validate_policy adds for the rest.
        ("source.table", "nothing"),
        ("release.name", "nothing"),
        ("attributes[3].column", "'dates' more than once"),
        ("attributes[3].hierarchy.dates.minimum", "''"),
        ("attributes[3].hierarchy.dates.maximum", "''"),
        ("attributes[3].weight", "nan"),
        ("attributes[4].column", "'dates' more than once"),
        ("attributes[4].hierarchy.redaction.length", "0"),
        ("attributes[4].hierarchy.redaction.alphabet_size", "0"),
        ("attributes[4].minimum_level", "-1"),
        ("attributes[5].maximum_level", "2"),
    ]


def test_only_a_rule_is_combined_with_rows() -> None:
    message = policy_pb2.Policy()
    for name in ("nothing", "stored", "combination"):
        attribute = message.attributes.add(column=name, role=policy_pb2.ROLE_QUASI_IDENTIFIER)
        attribute.hierarchy.combination.rows.add(labels=["a", "b"])
        if name != "nothing":
            getattr(attribute.hierarchy.combination.rest, name).SetInParent()
    unknown = message.attributes.add(column="order", role=policy_pb2.ROLE_QUASI_IDENTIFIER)
    unknown.hierarchy.combination.rest.order_based.labels = cast(Any, 9)
    found = [fault for fault in faults_of(message) if "hierarchy.combination" in fault[0]]
    assert found[:4] == [
        ("attributes[0].hierarchy.combination.rest", "nothing"),
        ("attributes[1].hierarchy.combination.rest.stored", "stored"),
        ("attributes[2].hierarchy.combination.rest.combination", "combination"),
        ("attributes[3].hierarchy.combination.rest.order_based.labels", "the unknown number 9"),
    ]


def test_placeholders_are_not_judged() -> None:
    # The only column might be a quasi-identifier, and its hierarchy might be fine.
    message = minimal()
    message.attributes[0].role = cast(Any, 9)
    message.default_role = policy_pb2.ROLE_INSENSITIVE
    assert faults_of(message) == [("attributes[0].role", "the unknown number 9")]


def test_safe_harbor_has_defaults_for_columns_and_schema() -> None:
    message = minimal()
    message.attributes[0].hierarchy.safe_harbor_zip.population.table = "zip_codes"
    policy, faults = policy_from_proto(message)
    assert policy is not None, faults
    assert policy.attributes[0].hierarchy == SafeHarborZip("", "main", "zip_codes", "zip", "population")


def test_csv_hierarchies_before_upload() -> None:
    message = minimal()
    message.attributes[0].hierarchy.csv.path = "age.csv"
    policy, faults = policy_from_proto(message, before_upload=True)
    assert faults == []
    assert policy is not None
    assert policy.attributes[0].hierarchy == StoredLevels("age")
    message.attributes[0].hierarchy.csv.CopyFrom(policy_pb2.CsvHierarchy(delimiter="||"))
    _, faults = policy_from_proto(message, before_upload=True)
    assert [fault.field for fault in faults] == [
        f"attributes[0].hierarchy.csv.{name}" for name in ("path", "delimiter")
    ]


def test_fields_of_newer_clients_are_refused() -> None:
    # Field 3000 of the policy, of an attribute and of its hierarchy: what a newer client asked for must not be dropped.
    extra = bytes([0xC2, 0xBB, 0x01, 0x01, 0x78])
    message = minimal()
    message.attributes[0].hierarchy.MergeFromString(extra)
    message.attributes[0].MergeFromString(extra)
    message.search.MergeFromString(extra)
    message.MergeFromString(extra)
    policy, _ = policy_from_proto(message)
    assert policy is None
    assert faults_of(message) == [
        (path, "field number 3000, unknown to this server")
        for path in ("policy", "attributes[0]", "attributes[0].hierarchy", "search")
    ]


def test_classes_of_no_release() -> None:
    message = policy_pb2.Policy(local_recoding=policy_pb2.LocalRecoding(classes_of="january"))
    assert ("local_recoding.classes_of", "'january'") in faults_of(message)


def test_an_order_beyond_all_reason() -> None:
    message = minimal()
    message.attributes.add(column="stage", role=policy_pb2.ROLE_SENSITIVE).order.values.extend([""] * 1_000_001)
    assert faults_of(message) == [("attributes[1].order.values", "1,000,001 entries")]


@pytest.mark.parametrize("field", ["attributes", "privacy_models", "risk_thresholds"])
def test_lists_beyond_all_reason(field: str) -> None:
    message = minimal()
    entries = getattr(message, field)
    entries.extend((entries[:1] or ["0.1"]) * 20_000)
    assert [name for name, _ in faults_of(message)] == [field]


def test_levels_and_links_beyond_all_reason() -> None:
    message = minimal()
    message.search.levels.update({str(i): 1 for i in range(20_000)})
    message.search.linked.extend([policy_pb2.LinkedColumns()] * 20_000)
    assert [name for name, _ in faults_of(message)] == ["search.levels", "search.linked"]
    message = minimal()
    message.search.linked.add(columns=["age"] * 20_000)
    assert faults_of(message) == [("search.linked", "20,000 entries")]


def test_lists_in_the_options_of_methods_beyond_all_reason() -> None:
    message = minimal()
    message.local_recoding.most_levels.update({str(i): 1 for i in range(20_000)})
    assert faults_of(message) == [("local_recoding.most_levels", "20,000 entries")]
    message = minimal()
    message.differential_privacy.public_lists.extend(["age"] * 20_000)
    message.differential_privacy.scheme.update({str(i): 1 for i in range(20_000)})
    fields = ["differential_privacy.public_lists", "differential_privacy.scheme"]
    assert sorted(name for name, _ in faults_of(message)) == fields


def test_faults_beyond_all_reason_are_counted() -> None:
    message = minimal()
    units = [policy_pb2.DATE_UNIT_UNSPECIFIED] * 30_000
    message.attributes[0].hierarchy.dates.units.extend(units)
    faults = faults_of(message)
    assert len(faults) == 10_001
    assert faults[-1] == ("policy", "20,003 more faults")


def test_no_other_option_is_refused_because_an_epsilon_is_missing() -> None:
    options = policy_pb2.DifferentialPrivacy(delta="0.01", search_epsilon="0.6")
    _, faults = policy_from_proto(policy_pb2.Policy(differential_privacy=options))
    fields = [fault.field for fault in faults if fault.field.startswith("differential_privacy")]
    assert fields == ["differential_privacy.epsilon"]
