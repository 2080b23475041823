"""How columns are aggregated, and what may stand beside clusters of the whole table: every fault once."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.hierarchy.rules import SuppressionOnly
from tableveil.policy import (
    AbsentValues,
    AggregateFunction,
    Aggregation,
    AttributePolicy,
    Choose,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyEstimator,
    EntropyLDiversity,
    EstimatedKMap,
    Game,
    HeightModel,
    KAnonymity,
    NTCloseness,
    NullHandling,
    NullPosition,
    OrderBy,
    Policy,
    Population,
    ReleaseTarget,
    Role,
    Scale,
    SearchOptions,
    SuppressedRecords,
    TableReference,
    TCloseness,
    ValueOrder,
    validate_policy,
)
from tableveil.policy.methods.microaggregation import Clustering, Microaggregation
from tableveil.policy.methods.record_level import RecordLevel

D = Decimal
MEAN, MEDIAN, MODE, GEOMETRIC, INTERVAL, COMMON = AggregateFunction
ORDINAL = Aggregation(MEDIAN, Scale.ORDINAL)
NOMINAL = Aggregation(COMMON, Scale.NOMINAL)
AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, nulls=NullHandling.ERROR, aggregation=Aggregation())
SEX = AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly(), nulls=NullHandling.SUPPRESS, aggregation=NOMINAL)
PAY = AttributePolicy("pay", Role.SENSITIVE)
SOUND = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(AGE, SEX, PAY),
    person_column=None,
    privacy_models=(KAnonymity(3), TCloseness("pay", D("0.2")), DistinctLDiversity("pay", 2)),
    release=ReleaseTarget("main", "released"),
    methods=(Microaggregation(),),
)


def faults_of(policy: Policy) -> list[tuple[str, str]]:
    faults = validate_policy(policy)
    assert all(fault.expected for fault in faults)
    return [(fault.field, fault.found) for fault in faults]


def with_age(**changes: Any) -> Policy:
    return replace(SOUND, attributes=(replace(AGE, **changes), SEX, PAY))


@pytest.mark.parametrize(
    "aggregation",
    [
        Aggregation(MEAN, bottom_coding="18", top_coding="90"),
        Aggregation(GEOMETRIC),
        Aggregation(INTERVAL, grid=D("0.5"), top_coding="90"),
        Aggregation(INTERVAL, grid=D(10**18)),
        Aggregation(MODE),
        Aggregation(MEDIAN),
        ORDINAL,
        Aggregation(MODE, Scale.ORDINAL),
    ],
    ids=str,
)
def test_sound_aggregations(aggregation: Aggregation) -> None:
    assert faults_of(with_age(aggregation=aggregation)) == []


def test_an_ordinal_column_may_have_an_order() -> None:
    assert faults_of(with_age(aggregation=ORDINAL, order=ValueOrder(OrderBy.NUMBER))) == []
    assert faults_of(with_age(aggregation=ORDINAL, order=ValueOrder(values=("low", "high")))) == []


@pytest.mark.parametrize(
    ("changes", "field", "found"),
    [
        ({"aggregation": Aggregation(COMMON)}, "aggregation.function", "COMMON_LABEL of a scale that is NUMERIC"),
        ({"aggregation": Aggregation(MEAN, Scale.ORDINAL)}, "aggregation.function", "MEAN of a scale that is ORDINAL"),
        ({"aggregation": Aggregation(INTERVAL)}, "aggregation.grid", "nothing"),
        ({"aggregation": Aggregation(INTERVAL, grid=D(0))}, "aggregation.grid", "0"),
        ({"aggregation": Aggregation(INTERVAL, grid=D("-0.5"))}, "aggregation.grid", "-0.5"),
        ({"aggregation": Aggregation(INTERVAL, grid=D("NaN"))}, "aggregation.grid", "NaN"),
        ({"aggregation": Aggregation(INTERVAL, grid=D("Infinity"))}, "aggregation.grid", "Infinity"),
        ({"aggregation": Aggregation(INTERVAL, grid=D(10**18 + 1))}, "aggregation.grid", str(10**18 + 1)),
        ({"aggregation": Aggregation(MEAN, grid=D(5))}, "aggregation.grid", "5"),
        ({"aggregation": replace(ORDINAL, bottom_coding="1")}, "aggregation.bottom_coding", "'1'"),
        ({"aggregation": replace(ORDINAL, top_coding="9")}, "aggregation.top_coding", "'9'"),
        ({"aggregation": NOMINAL}, "hierarchy", "nothing"),
        ({"hierarchy": SuppressionOnly()}, "hierarchy", "a hierarchy for a scale that is NUMERIC"),
        ({"order": ValueOrder(OrderBy.NUMBER)}, "order", "an order for a scale that is NUMERIC"),
        ({"nulls": NullHandling.VALUE}, "nulls", "VALUE for an aggregated column"),
        ({"minimum_level": 1}, "minimum_level", "1"),
        ({"maximum_level": 0}, "maximum_level", "0"),
        ({"aggregation": None, "hierarchy": SuppressionOnly()}, "aggregation", "nothing"),
    ],
)
def test_what_is_wrong_with_an_aggregated_column(changes: dict[str, Any], field: str, found: str) -> None:
    assert faults_of(with_age(**changes)) == [(f"attributes[0].{field}", found)]


def test_only_quasi_identifiers_are_aggregated() -> None:
    policy = replace(SOUND, attributes=(AGE, SEX, replace(PAY, aggregation=Aggregation())))
    assert faults_of(policy) == [("attributes[2].aggregation", "an aggregation for the role SENSITIVE")]


def test_nulls_have_no_place_in_the_order_of_an_aggregated_column() -> None:
    order = ValueOrder(values=("low", "high"), nulls=NullPosition.FIRST)
    assert faults_of(with_age(aggregation=ORDINAL, order=order)) == [("attributes[0].order.nulls", "FIRST")]


@pytest.mark.parametrize(
    ("changes", "field", "found"),
    [
        ({"privacy_models": (DistinctLDiversity("pay", 2),)}, "privacy_models", "no k_anonymity"),
        (
            {"privacy_models": (KAnonymity(2), NTCloseness("pay", 5, D("0.2")))},
            "privacy_models[1]",
            "n_t_closeness with microaggregation",
        ),
        (
            {"privacy_models": (KAnonymity(2), EntropyLDiversity("pay", D(2), EntropyEstimator.GRASSBERGER))},
            "privacy_models[1].entropy_l_diversity.estimator",
            "GRASSBERGER with microaggregation",
        ),
        (
            {"privacy_models": (KAnonymity(2), DeltaDisclosure("pay", D(1), AbsentValues.IGNORE))},
            "privacy_models[1].delta_disclosure.absent_values",
            "IGNORE with microaggregation",
        ),
        ({"quality_model": HeightModel()}, "quality_model", "a quality model with microaggregation"),
        ({"search": SearchOptions(seed=3)}, "search", "options of a search with microaggregation"),
        (
            {"search": SearchOptions(choose=Choose.QUASI_IDENTIFIERS_ONLY)},
            "search.choose",
            "choose with microaggregation",
        ),
        ({"game": Game(D(1200), D(300), D(300), D(4))}, "game", "game with microaggregation"),
        ({"methods": (Microaggregation(gain=D("-0.1")),)}, "microaggregation.gain", "-0.1"),
        ({"methods": (Microaggregation(gain=D("NaN")),)}, "microaggregation.gain", "NaN"),
        (
            {"methods": (Microaggregation(Clustering.UNIVARIATE),)},
            "microaggregation.clustering",
            "UNIVARIATE for 2 columns",
        ),
        (
            {"methods": (Microaggregation(Clustering.UNIVARIATE),), "attributes": (SEX, PAY)},
            "microaggregation.clustering",
            "UNIVARIATE for a nominal column",
        ),
        (
            {"suppressed_records": SuppressedRecords.KEEP, "marker_column": "gone"},
            "suppressed_records.handling",
            "KEEP",
        ),
    ],
)
def test_what_clusters_of_the_whole_table_rule_out(changes: dict[str, Any], field: str, found: str) -> None:
    assert (field, found) in faults_of(replace(SOUND, **changes))
    assert len(faults_of(replace(SOUND, **changes))) == 1


def test_populations_and_the_record_level_are_ruled_out() -> None:
    population = Population(size=1000)
    models = (KAnonymity(2), EstimatedKMap(3, D("0.05")))
    found = faults_of(replace(SOUND, population=population, privacy_models=models))
    assert ("population", "population with microaggregation") in found
    assert ("privacy_models[1]", "estimated_k_map with microaggregation") in found
    found = faults_of(replace(SOUND, methods=(*SOUND.methods, RecordLevel())))
    assert ("record_level", "record_level with microaggregation") in found


def test_one_ordinal_column_may_be_univariate() -> None:
    policy = replace(with_age(aggregation=ORDINAL), methods=(Microaggregation(Clustering.UNIVARIATE, gain=D(0)),))
    assert faults_of(replace(policy, attributes=(policy.attributes[0], PAY))) == []
