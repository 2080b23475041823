"""Privacy models, populations and orders as messages say them: defaults, what is missing, what cannot be read."""

from decimal import Decimal
from typing import Any, cast, get_args

import pytest

from tableveil.convert import policy_from_proto, privacy_in_words
from tableveil.policy import (
    PRIVACY_FIELDS,
    AbsentValues,
    BetaLikeness,
    CellSizes,
    Choose,
    DeltaDisclosure,
    DeltaPresence,
    Distance,
    EntropyEstimator,
    EntropyLDiversity,
    EstimatedKMap,
    KAnonymity,
    NTCloseness,
    Policy,
    Population,
    PopulationUniqueness,
    PrivacyModel,
    Role,
    SuppressedRecords,
    TableReference,
    TCloseness,
    UniquenessEstimator,
    ValueOrder,
)
from tableveil.v1 import policy_pb2
from tests.service.convert.policy_to_proto import policy_to_proto

D = Decimal


def policy_of(*models: policy_pb2.PrivacyModel) -> policy_pb2.Policy:
    """A policy without faults of its own: one sensitive column, and a population."""
    policy = policy_pb2.Policy(rows_are_people=True, privacy_models=models)
    policy.source.table = "t"
    policy.release.name = "released"
    policy.population.table.table = "people"
    policy.attributes.add(column="age", role=policy_pb2.ROLE_QUASI_IDENTIFIER).hierarchy.suppression_only.SetInParent()
    policy.attributes.add(column="illness", role=policy_pb2.ROLE_SENSITIVE)
    return policy


def message_of(kind: str, **stated: Any) -> policy_pb2.PrivacyModel:
    message = policy_pb2.PrivacyModel()
    model = getattr(message, kind)
    model.SetInParent()
    for name, value in stated.items():
        setattr(model, name, value)
    return message


def converted(message: policy_pb2.Policy) -> Policy:
    policy, faults = policy_from_proto(message)
    assert faults == []
    assert policy is not None
    return policy


def faults_of(message: policy_pb2.Policy) -> list[tuple[str, str]]:
    return [(fault.field, fault.found) for fault in policy_from_proto(message)[1]]


def test_every_model_has_a_message() -> None:
    assert set(PRIVACY_FIELDS) == set(get_args(PrivacyModel))
    assert set(PRIVACY_FIELDS.values()) == set(policy_pb2.PrivacyModel.DESCRIPTOR.fields_by_name)


@pytest.mark.parametrize(
    ("message", "model"),
    [
        (message_of("estimated_k_map", k=3), EstimatedKMap(3, D("0.05"), CellSizes.POISSON)),
        (message_of("delta_presence", maximum="0.5"), DeltaPresence(D(0), D("0.5"))),
        (message_of("delta_presence", minimum="0.1"), DeltaPresence(D("0.1"), D(1))),
        (
            message_of("population_uniqueness", threshold="0.1"),
            PopulationUniqueness(D("0.1"), UniquenessEstimator.DANKAR),
        ),
        (
            message_of("entropy_l_diversity", column="illness", l="2.5"),
            EntropyLDiversity("illness", D("2.5"), EntropyEstimator.SHANNON),
        ),
        (message_of("t_closeness", column="illness", t="0.2"), TCloseness("illness", D("0.2"), Distance.EQUAL)),
        (
            message_of("n_t_closeness", column="illness", n=2**40, t="0"),
            NTCloseness("illness", 2**40, D(0), Distance.EQUAL),
        ),
        (
            message_of("delta_disclosure", column="illness", delta="1.5"),
            DeltaDisclosure("illness", D("1.5"), AbsentValues.REJECT),
        ),
        (message_of("beta_likeness", column="illness", beta="2"), BetaLikeness("illness", D(2), enhanced=False)),
    ],
    ids=lambda value: str(value) if not isinstance(value, policy_pb2.PrivacyModel) else "",
)
def test_defaults(message: policy_pb2.PrivacyModel, model: PrivacyModel) -> None:
    policy = converted(policy_of(message))
    assert policy.privacy_models == (model,)
    again = policy_to_proto(policy).privacy_models[0]
    kind = cast(Any, getattr(again, PRIVACY_FIELDS[type(model)]))
    # Variants stay unstated, thresholds do not.
    assert {field.name for field, _ in kind.ListFields()} & {
        "estimator",
        "distance",
        "absent_values",
        "enhanced",
    } == set()


@pytest.mark.parametrize(
    ("kind", "threshold"),
    [
        ("average_risk", "threshold"),
        ("sample_uniqueness", "threshold"),
        ("population_uniqueness", "threshold"),
        ("probabilistic_l_diversity", "l"),
        ("entropy_l_diversity", "l"),
        ("recursive_cl_diversity", "c"),
        ("t_closeness", "t"),
        ("n_t_closeness", "t"),
        ("delta_disclosure", "delta"),
        ("beta_likeness", "beta"),
    ],
)
def test_other_thresholds_are_stated(kind: str, threshold: str) -> None:
    stated: dict[str, Any] = (
        {"n": 9} if kind == "n_t_closeness" else {"l": 2} if kind == "recursive_cl_diversity" else {}
    )
    if kind not in ("average_risk", "sample_uniqueness", "population_uniqueness"):
        stated["column"] = "illness"
    field = f"privacy_models[1].{kind}.{threshold}"
    k_anonymity = message_of("k_anonymity", k=5)
    assert faults_of(policy_of(k_anonymity, message_of(kind, **stated))) == [(field, "nothing")]
    unreadable = message_of(kind, **stated, **{threshold: "1e-2"})
    assert faults_of(policy_of(k_anonymity, unreadable)) == [(field, "'1e-2'")]


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"minimum": "x"}, [("minimum", "'x'")]),
        ({"maximum": "x"}, [("maximum", "'x'")]),
        ({"minimum": "x", "maximum": "0"}, [("minimum", "'x'")]),
        ({"minimum": "2", "maximum": "x"}, [("maximum", "'x'"), ("minimum", "2")]),
    ],
)
def test_bounds_are_not_judged_by_placeholders(stated: dict[str, str], expected: list[tuple[str, str]]) -> None:
    path = "privacy_models[0].delta_presence"
    assert faults_of(policy_of(message_of("delta_presence", **stated))) == [
        (f"{path}.{name}", found) for name, found in expected
    ]


@pytest.mark.parametrize(
    ("kind", "name", "stated"),
    [
        ("estimated_k_map", "estimator", {"k": 3}),
        ("population_uniqueness", "estimator", {"threshold": "0.1"}),
        ("entropy_l_diversity", "estimator", {"column": "illness", "l": "2"}),
        ("t_closeness", "distance", {"column": "illness", "t": "0.1"}),
        ("n_t_closeness", "distance", {"column": "illness", "n": 9, "t": "0.1"}),
        ("delta_disclosure", "absent_values", {"column": "illness", "delta": "1"}),
    ],
)
def test_variants_unknown_to_this_version(kind: str, name: str, stated: dict[str, Any]) -> None:
    message = policy_of(message_of(kind, **stated, **{name: 99}))
    assert faults_of(message) == [(f"privacy_models[0].{kind}.{name}", "the unknown number 99")]


def test_what_may_be_a_missing_model_is_not_judged() -> None:
    message = policy_of(policy_pb2.PrivacyModel(), message_of("t_closeness", column="illness", t="0.1"))
    message.search.choose = policy_pb2.CHOOSE_QUASI_IDENTIFIERS_ONLY
    assert faults_of(message) == [("privacy_models[0]", "nothing")]


@pytest.mark.parametrize("distance", [policy_pb2.DISTANCE_EQUAL, policy_pb2.DISTANCE_HIERARCHICAL])
def test_columns_whose_role_cannot_be_read_may_be_sensitive(distance: policy_pb2.Distance.ValueType) -> None:
    def faults(column: str) -> list[tuple[str, str]]:
        message = policy_of(
            message_of("t_closeness", column=column, t="7", distance=distance), message_of("k_anonymity", k=1)
        )
        message.attributes.add(column="stage", role=cast(Any, 9))
        message.attributes.add(column="ward", role=policy_pb2.ROLE_INSENSITIVE)
        return faults_of(message)

    role = ("attributes[2].role", "the unknown number 9")
    others = [("privacy_models[0].t_closeness.t", "7"), ("privacy_models[1].k_anonymity.k", "1")]
    assert faults("stage") == [role, *others]
    assert ("privacy_models[0].t_closeness.column", "'ward', whose role is INSENSITIVE") in faults("ward")
    assert ("privacy_models[0].t_closeness.column", "'x', which is no sensitive column of the policy") in faults("x")


def test_unlisted_columns_may_be_sensitive_by_an_unknown_default_role() -> None:
    message = policy_of(message_of("t_closeness", column="unlisted", t="0.1"))
    message.default_role = cast(Any, 9)
    assert faults_of(message) == [("default_role", "the unknown number 9")]


def test_populations() -> None:
    message = policy_of(message_of("k_anonymity", k=5))
    assert converted(message).population == Population(TableReference("", "main", "people"))
    message.population.size = 10**12
    assert converted(message).population == Population(TableReference("", "main", "people"), size=10**12)
    message.population.subset_column = "chosen"
    message.population.sampling_fraction = "0.01"
    assert converted(message).population == Population(subset_column="chosen", sampling_fraction=D("0.01"))
    message.ClearField("population")
    assert converted(message).population is None


@pytest.mark.parametrize(("text", "found"), [("", "nothing"), ("5%", "'5%'")])
def test_sampling_fractions_that_cannot_be_read(text: str, found: str) -> None:
    message = policy_of(message_of("k_anonymity", k=5))
    message.population.sampling_fraction = text
    assert faults_of(message) == [("population.sampling_fraction", found)]


def test_orders_and_what_is_chosen_by() -> None:
    message = policy_of(message_of("k_anonymity", k=5), message_of("t_closeness", column="illness", t="0.1"))
    assert converted(message).attributes[1].order == ValueOrder()
    assert not policy_to_proto(converted(message)).attributes[1].HasField("order")
    assert converted(message).search.choose is Choose.ALL_MODELS
    order = message.attributes[1].order
    order.values.extend(["mild", "severe"])
    assert converted(message).attributes[1].order == ValueOrder(values=("mild", "severe"))
    order.by = order.nulls = cast(Any, 9)
    message.search.choose = cast(Any, 9)
    assert faults_of(message) == [
        (field, "the unknown number 9")
        for field in ("attributes[1].order.by", "attributes[1].order.nulls", "search.choose")
    ]


def test_csv_hierarchies_of_sensitive_columns() -> None:
    message = policy_of(message_of("t_closeness", column="illness", t="0.1", distance=policy_pb2.DISTANCE_HIERARCHICAL))
    message.attributes[1].hierarchy.csv.path = "illness.csv"
    policy, faults = policy_from_proto(message, before_upload=True)
    assert faults == []
    assert policy is not None
    assert policy.attributes[1].role is Role.SENSITIVE
    assert policy_from_proto(message)[1][0].field == "attributes[1].hierarchy.csv"


def test_suppressed_records_are_kept() -> None:
    message = policy_of(message_of("k_anonymity", k=5))
    message.suppressed_records.handling = policy_pb2.SUPPRESSED_RECORDS_HANDLING_KEEP
    message.suppressed_records.marker_column = "suppressed"
    assert converted(message).suppressed_records is SuppressedRecords.KEEP


def test_models_in_words() -> None:
    closeness = message_of("t_closeness", column="illness", t="0.20", distance=policy_pb2.DISTANCE_ORDERED)
    assert privacy_in_words(message_of("k_anonymity", k=5)) == str(KAnonymity(5)) == "5-anonymity"
    assert privacy_in_words(closeness) == "0.20-closeness (ordered) of illness"
    assert privacy_in_words(policy_pb2.PrivacyModel()) == "a model that only newer versions know"
