"""Privacy models that promise nothing, cannot be kept, look at no sensitive column or repeat are refused."""

from dataclasses import replace
from decimal import Decimal
from typing import get_args

import pytest

from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    PRIVACY_FIELDS,
    AbsentValues,
    AttributePolicy,
    AverageRisk,
    BetaLikeness,
    CellSizes,
    Choose,
    DeltaDisclosure,
    DeltaPresence,
    Distance,
    DistinctLDiversity,
    EntropyEstimator,
    EntropyLDiversity,
    EstimatedKMap,
    Inclusion,
    KAnonymity,
    KMap,
    NTCloseness,
    Policy,
    Population,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    RecursiveCLDiversity,
    ReleaseTarget,
    Role,
    SampleUniqueness,
    SearchOptions,
    SensitiveModel,
    TableReference,
    TCloseness,
    UniquenessEstimator,
    validate_policy,
)

SOUND = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(
        AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly()),
        AttributePolicy("illness", Role.SENSITIVE, SuppressionOnly()),
        AttributePolicy("charge", Role.SENSITIVE),
        AttributePolicy("ward", Role.INSENSITIVE),
    ),
    person_column=None,
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "released"),
    population=Population(TableReference("", "main", "people")),
)

D = Decimal
LEAST = D("1e-50")
MOST = D("0." + "9" * 48)
LARGEST = 2**31 - 1
NO_NUMBERS = [D("NaN"), D("sNaN"), D("Infinity"), D("-Infinity")]


def faults(*models: PrivacyModel, policy: Policy = SOUND) -> list[tuple[str, str]]:
    return [(fault.field, fault.found) for fault in validate_policy(replace(policy, privacy_models=models))]


def fields(*models: PrivacyModel, policy: Policy = SOUND) -> list[str]:
    return [field for field, _ in faults(*models, policy=policy)]


@pytest.mark.parametrize(
    "model",
    [
        KAnonymity(2),
        KMap(2),
        KMap(LARGEST),
        EstimatedKMap(2, LEAST),
        EstimatedKMap(LARGEST, MOST, CellSizes.ZERO_TRUNCATED_POISSON),
        DeltaPresence(D(0), D(0)),
        DeltaPresence(D(1), D(1)),
        DeltaPresence(D(0), D("0.999")),
        DeltaPresence(LEAST, D(1)),
        AverageRisk(LEAST),
        AverageRisk(D("0.999")),
        SampleUniqueness(D(0)),
        SampleUniqueness(D("0.999")),
        PopulationUniqueness(D(0), UniquenessEstimator.SNB),
        DistinctLDiversity("illness", 2),
        DistinctLDiversity("illness", LARGEST),
        ProbabilisticLDiversity("illness", D("1.001")),
        EntropyLDiversity("illness", D("1.001"), EntropyEstimator.GRASSBERGER),
        RecursiveCLDiversity("illness", LEAST, 2),
        TCloseness("illness", D(0), Distance.HIERARCHICAL),
        TCloseness("illness", MOST),
        NTCloseness("illness", 2, D("0.999"), Distance.ORDERED),
        DeltaDisclosure("illness", LEAST),
        BetaLikeness("illness", LEAST, enhanced=True),
        BetaLikeness("illness", D(10**9)),
    ],
    ids=str,
)
def test_what_is_allowed_at_the_edge(model: PrivacyModel) -> None:
    assert faults(model) == []


REFUSED: list[tuple[PrivacyModel, str]] = [
    *((KAnonymity(k), "k") for k in (1, 0, -5, LARGEST + 1)),
    *((KMap(k), "k") for k in (1, LARGEST + 1)),
    *((EstimatedKMap(k, D("0.05")), "k") for k in (1, LARGEST + 1)),
    *((EstimatedKMap(2, significance), "significance") for significance in (D(0), D(1), *NO_NUMBERS)),
    *((DeltaPresence(minimum, D(1)), "minimum") for minimum in (D("-0.1"), D("1.1"), *NO_NUMBERS)),
    *((DeltaPresence(D(0), maximum), "maximum") for maximum in (D("-0.1"), D("1.1"), *NO_NUMBERS)),
    (DeltaPresence(D("0.5"), D("0.4999")), "maximum"),
    *((AverageRisk(threshold), "threshold") for threshold in (D(0), D(1), *NO_NUMBERS)),
    *((SampleUniqueness(threshold), "threshold") for threshold in (D("-0.1"), D(1), *NO_NUMBERS)),
    *((PopulationUniqueness(threshold), "threshold") for threshold in (D("-0.1"), D(1), *NO_NUMBERS)),
    *((DistinctLDiversity("illness", l), "l") for l in (1, 0, -1, LARGEST + 1)),  # noqa: E741
    *((ProbabilisticLDiversity("illness", l), "l") for l in (D(1), D(0), *NO_NUMBERS)),  # noqa: E741
    *((EntropyLDiversity("illness", l), "l") for l in (D(1), D(0), *NO_NUMBERS)),  # noqa: E741
    *((RecursiveCLDiversity("illness", c, 2), "c") for c in (D(0), D(-1), *NO_NUMBERS)),
    *((RecursiveCLDiversity("illness", D(3), l), "l") for l in (1, LARGEST + 1)),  # noqa: E741
    *((TCloseness("illness", t), "t") for t in (D("-0.1"), D(1), D(2), *NO_NUMBERS)),
    *((NTCloseness("illness", 2, t), "t") for t in (D("-0.1"), D(1), *NO_NUMBERS)),
    *((NTCloseness("illness", n, D("0.2")), "n") for n in (1, 0, -1)),
    *((DeltaDisclosure("illness", delta), "delta") for delta in (D(0), D(-1), *NO_NUMBERS)),
    *((BetaLikeness("illness", beta), "beta") for beta in (D(0), D(-1), *NO_NUMBERS)),
]


@pytest.mark.parametrize(("model", "threshold"), REFUSED)
def test_thresholds_that_promise_nothing_or_cannot_be_kept(model: PrivacyModel, threshold: str) -> None:
    assert fields(KAnonymity(5), model)[:1] == [f"privacy_models[1].{PRIVACY_FIELDS[type(model)]}.{threshold}"]


def test_thresholds_are_shown_in_plain_digits() -> None:
    assert faults(AverageRisk(D("1e2"))) == [("privacy_models[0].average_risk.threshold", "100")]
    assert faults(TCloseness("illness", D("-1e-7"))) == [("privacy_models[0].t_closeness.t", "-0.0000001")]


def test_any_presence_is_no_promise() -> None:
    assert fields(DeltaPresence(D(0), D("1.00"))) == ["privacy_models[0].delta_presence"]


def of_column(column: str) -> dict[type[PrivacyModel], SensitiveModel]:
    """One model of each kind that looks at a column."""
    models: list[SensitiveModel] = [
        DistinctLDiversity(column, 3),
        ProbabilisticLDiversity(column, D(3)),
        EntropyLDiversity(column, D(3)),
        RecursiveCLDiversity(column, D(3), 2),
        TCloseness(column, D("0.2")),
        NTCloseness(column, 100, D("0.2")),
        DeltaDisclosure(column, D(1)),
        BetaLikeness(column, D(1)),
    ]
    assert {type(model) for model in models} == set(get_args(SensitiveModel))
    return {type(model): model for model in models}


@pytest.mark.parametrize("kind", get_args(SensitiveModel))
def test_the_column_is_a_sensitive_one(kind: type[SensitiveModel]) -> None:
    field = f"privacy_models[0].{PRIVACY_FIELDS[kind]}.column"

    def found(column: str, default_role: Role | None = None) -> list[tuple[str, str]]:
        return faults(of_column(column)[kind], policy=replace(SOUND, default_role=default_role))

    assert found("charge") == []
    assert found("") == [(field, "nothing")]
    assert found("sex") == [(field, "'sex', whose role is QUASI_IDENTIFIER")]
    assert found("ward") == [(field, "'ward', whose role is INSENSITIVE")]
    assert found("wage") == [(field, "'wage', which is no sensitive column of the policy")]
    assert found("wage", Role.INSENSITIVE) == found("wage")
    # Only the database knows whether the column exists.
    assert found("wage", Role.SENSITIVE) == []
    assert found("ward", Role.SENSITIVE) == found("ward")


def test_a_wrong_column_gets_the_nearest_sensitive_one_as_hint() -> None:
    [fault] = validate_policy(replace(SOUND, privacy_models=(TCloseness("ilness", D("0.2")),)))
    assert fault.hint == "Did you mean 'illness'?"


def test_hierarchical_distances_need_a_hierarchy() -> None:
    def closeness(column: str, *, default_role: Role | None = None) -> list[str]:
        models = (
            TCloseness(column, D("0.2"), Distance.HIERARCHICAL),
            NTCloseness(column, 9, D("0.2"), Distance.HIERARCHICAL),
        )
        return fields(*models, policy=replace(SOUND, default_role=default_role))

    expected = ["privacy_models[0].t_closeness.distance", "privacy_models[1].n_t_closeness.distance"]
    assert closeness("illness") == []
    assert closeness("charge") == expected
    assert closeness("unlisted", default_role=Role.SENSITIVE) == expected


@pytest.mark.parametrize(
    "models",
    [
        # On another column.
        (TCloseness("illness", D("0.2")), TCloseness("charge", D("0.2"))),
        # With another distance: another kind of model.
        (TCloseness("illness", D("0.2")), NTCloseness("illness", 9, D("0.2"))),
        (TCloseness("illness", D("0.2")), TCloseness("illness", D("0.3"), Distance.ORDERED)),
        (EstimatedKMap(3, D("0.05")), EstimatedKMap(3, D("0.05"), CellSizes.ZERO_TRUNCATED_POISSON)),
        (PopulationUniqueness(D("0.1")), PopulationUniqueness(D("0.1"), UniquenessEstimator.PITMAN)),
        (EntropyLDiversity("illness", D(2)), EntropyLDiversity("illness", D(2), EntropyEstimator.GRASSBERGER)),
        (DeltaDisclosure("illness", D(2)), DeltaDisclosure("illness", D(1), AbsentValues.IGNORE)),
        (BetaLikeness("illness", D(2)), BetaLikeness("illness", D(3), enhanced=True)),
        (KAnonymity(3), KMap(5), EstimatedKMap(5, D("0.05")), Inclusion()),
        tuple(of_column("illness").values()) + tuple(of_column("charge").values()),
    ],
)
def test_models_that_go_together(models: tuple[PrivacyModel, ...]) -> None:
    assert faults(*models) == []


@pytest.mark.parametrize(
    ("model", "again"),
    [
        (KAnonymity(3), KAnonymity(5)),
        (KMap(3), KMap(3)),
        (DeltaPresence(D(0), D("0.5")), DeltaPresence(D("0.1"), D(1))),
        (TCloseness("illness", D("0.2")), TCloseness("illness", D("0.3"))),
        (NTCloseness("illness", 9, D("0.2")), NTCloseness("illness", 99, D("0.1"))),
        (RecursiveCLDiversity("illness", D(3), 2), RecursiveCLDiversity("illness", D(2), 3)),
        (Inclusion(), Inclusion()),
    ],
)
def test_the_same_model_twice(model: PrivacyModel, again: PrivacyModel) -> None:
    models = (model, AverageRisk(D("0.1")), again)
    assert faults(*models) == [("privacy_models[2]", "the same model as privacy_models[0]")]


def test_at_least_one_model_protects() -> None:
    assert faults(Inclusion()) == [("privacy_models", "inclusion only, which promises nothing by itself")]
    assert faults(Inclusion(), SampleUniqueness(D("0.1"))) == []
    assert faults() == [("privacy_models", "none")]


def chosen(*models: PrivacyModel) -> list[str]:
    """The fields of the faults of choosing by quasi-identifiers only."""
    policy = replace(SOUND, search=SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY))
    return fields(*models, policy=policy)


def test_choosing_by_quasi_identifiers_only_has_an_effect_and_something_to_choose_by() -> None:
    values = TCloseness("illness", D("0.2"))
    assert chosen(KAnonymity(5), values) == []
    assert chosen(AverageRisk(D("0.1")), values) == []
    assert chosen(KAnonymity(5)) == ["search.choose"]
    assert chosen(values) == ["search.choose"]
    assert chosen(Inclusion(), values) == ["search.choose"], "inclusion promises nothing that one could choose by"
    assert fields(values) == []
