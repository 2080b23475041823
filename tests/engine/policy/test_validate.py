"""Every fault of a policy is found, with its exact path, and all at once."""

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tableveil.hierarchy import InlineLevels, StoredLevels, TableLevels
from tableveil.hierarchy.rules import Intervals, Redaction, SuppressionOnly
from tableveil.policy import (
    Aggregate,
    AmbiguityModel,
    AttributePolicy,
    AverageClassSizeModel,
    DiscernibilityModel,
    Documentation,
    EntropyModel,
    Guard,
    HeightModel,
    IfExists,
    KAnonymity,
    KLDivergenceModel,
    KLWeighting,
    LossModel,
    NullHandling,
    NullPosition,
    OrderBy,
    Policy,
    PrecisionModel,
    PublisherPayoutModel,
    QualityModel,
    ReleaseGuards,
    ReleaseTarget,
    Role,
    SearchOptions,
    Success,
    SuppressedRecords,
    TableReference,
    ValueOrder,
    described,
    validate_policy,
)

AGE = AttributePolicy("age", Role.QUASI_IDENTIFIER, Intervals("0", "99", ("10",)))
SEX = AttributePolicy("sex", Role.QUASI_IDENTIFIER, SuppressionOnly())
NAME = AttributePolicy("name", Role.IDENTIFYING)
ILLNESS = AttributePolicy("illness", Role.SENSITIVE)
WARD = AttributePolicy("ward", Role.INSENSITIVE)

NOWHERE = TableReference("", "main", "")

SOUND = Policy(
    source=TableReference("", "main", "patients"),
    attributes=(AGE, SEX, NAME, ILLNESS, WARD),
    person_column="name",
    privacy_models=(KAnonymity(5),),
    release=ReleaseTarget("main", "released"),
    suppression_limit=Decimal("0.05"),
)


def fields(policy: Policy) -> list[str]:
    return [fault.field for fault in validate_policy(policy)]


def guarded(**guards: Any) -> ReleaseTarget:
    return ReleaseTarget("main", "released", if_exists=IfExists.REPLACE, guards=ReleaseGuards(**guards))


def with_attribute(index: int, **changes: Any) -> Policy:
    attributes = list(SOUND.attributes)
    attributes[index] = replace(attributes[index], **changes)
    return replace(SOUND, attributes=tuple(attributes))


def test_a_sound_policy_has_no_faults() -> None:
    assert validate_policy(SOUND) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"suppression_limit": Decimal(1)},
        {"suppression_limit": Decimal(0)},
        {"suppression_limit": Decimal("-0.0")},
        {"privacy_models": (KAnonymity(2),)},
        {"privacy_models": (KAnonymity(2**31 - 1),)},
        {"risk_thresholds": ()},
        {"search": SearchOptions(Decimal("0.001"))},
        {"person_column": None},
        {"default_role": Role.INSENSITIVE},
        {"documentation": Documentation(purpose="a" * 4000, risk_threshold=Decimal(1))},
        {"suppressed_records": SuppressedRecords.BLANK, "marker_column": "suppressed"},
        {"suppressed_records": SuppressedRecords.KEEP, "marker_column": "suppressed"},
        {"source": NOWHERE, "source_load": 5},
        {"source": NOWHERE, "source_query": "SELECT 1", "source_load": 5, "source_loads": (6,)},
        {"release": guarded(keep_columns=("age",), maximum_record_change=Decimal(0), off=(Guard.ERASED_COLUMNS,))},
    ],
)
def test_what_is_allowed_at_the_edge(changes: dict[str, Any]) -> None:
    assert validate_policy(replace(SOUND, **changes)) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"source": TableReference("", "main", "")}, ["source.table"]),
        ({"release": ReleaseTarget("main", "")}, ["release.name"]),
        ({"source_load": 5, "source_loads": (6, 5, 6)}, ["source.loads[1]", "source.loads[2]"]),
        ({"release": guarded(minimum_records=-1)}, ["release.guards.minimum_records"]),
        ({"release": guarded(maximum_record_change=Decimal("NaN"))}, ["release.guards.maximum_record_change"]),
        ({"release": guarded(keep_columns=("age", "illness"))}, ["release.guards.keep_columns[1]"]),
        ({"release": guarded(maximum_record_change=Decimal(0), off=(Guard.FEWER_RECORDS,))}, ["release.guards.off"]),
        (
            {"release": replace(guarded(maximum_record_change=Decimal(0)), if_exists=IfExists.FAIL)},
            ["release.guards.maximum_record_change"],
        ),
        ({"repeat_reason": " \u200b"}, ["repeat_reason"]),
        ({"documentation": Documentation(purpose="a" * 4001)}, ["documentation.purpose"]),
        ({"documentation": Documentation(risk_threshold=Decimal(0))}, ["documentation.risk_threshold"]),
        ({"documentation": Documentation(risk_threshold=Decimal("NaN"))}, ["documentation.risk_threshold"]),
        ({"attributes": (NAME, replace(AGE, reason="a" * 4001))}, ["attributes[1].reason"]),
        ({"person_column": None, "no_person_digests": True}, ["no_person_digests"]),
        ({"attributes": (NAME, ILLNESS)}, ["attributes"]),
        ({"attributes": (), "person_column": None}, ["attributes"]),
        ({"attributes": (AGE, NAME, AGE)}, ["attributes[0].column", "attributes[2].column"]),
        ({"attributes": (AGE, NAME, replace(AGE, column="AGE"))}, ["attributes[0].column", "attributes[2].column"]),
        ({"default_role": Role.QUASI_IDENTIFIER}, ["default_role"]),
        ({"person_column": ""}, ["person_column"]),
        ({"person_column": "age"}, ["attributes[0].role"]),
        ({"person_column": "ward"}, ["attributes[4].role"]),
        ({"person_column": "id", "default_role": Role.INSENSITIVE}, ["person_column"]),
        ({"privacy_models": ()}, ["privacy_models"]),
        ({"privacy_models": (KAnonymity(1),)}, ["privacy_models[0].k_anonymity.k"]),
        ({"privacy_models": (KAnonymity(0),)}, ["privacy_models[0].k_anonymity.k"]),
        ({"privacy_models": (KAnonymity(-5),)}, ["privacy_models[0].k_anonymity.k"]),
        ({"privacy_models": (KAnonymity(2**31),)}, ["privacy_models[0].k_anonymity.k"]),
        ({"privacy_models": (KAnonymity(3), KAnonymity(4))}, ["privacy_models[1]"]),
        ({"marker_column": "m"}, ["suppressed_records.marker_column"]),
        ({"suppressed_records": SuppressedRecords.BLANK}, ["suppressed_records.marker_column"]),
        ({"suppressed_records": SuppressedRecords.KEEP}, ["suppressed_records.marker_column"]),
        ({"suppressed_records": SuppressedRecords.KEEP, "marker_column": "ward"}, ["suppressed_records.marker_column"]),
        (
            {"suppressed_records": SuppressedRecords.BLANK, "marker_column": "Ward"},
            ["suppressed_records.marker_column"],
        ),
        ({"suppression_limit": Decimal("1.0000000000000000000000000001")}, ["suppression_limit"]),
        ({"suppression_limit": Decimal("-0.1")}, ["suppression_limit"]),
        ({"suppression_limit": Decimal("NaN")}, ["suppression_limit"]),
        ({"suppression_limit": Decimal("Infinity")}, ["suppression_limit"]),
        ({"risk_thresholds": (Decimal("0.1"), Decimal(0), Decimal(1))}, ["risk_thresholds[1]", "risk_thresholds[2]"]),
        ({"risk_thresholds": (Decimal("NaN"),)}, ["risk_thresholds[0]"]),
        ({"risk_thresholds": (Decimal("0.2"), Decimal("0.20"))}, ["risk_thresholds[1]"]),
        ({"search": SearchOptions(Decimal(0))}, ["search.time_limit_seconds"]),
        ({"search": SearchOptions(Decimal("-1"))}, ["search.time_limit_seconds"]),
        ({"search": SearchOptions(Decimal("NaN"))}, ["search.time_limit_seconds"]),
    ],
)
def test_faults_of_the_policy(changes: dict[str, Any], expected: list[str]) -> None:
    assert fields(replace(SOUND, **changes)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"column": ""}, ["attributes[0].column"]),
        ({"hierarchy": None}, ["attributes[0].hierarchy"]),
        ({"minimum_level": -1}, ["attributes[0].minimum_level"]),
        ({"maximum_level": -1}, ["attributes[0].maximum_level"]),
        ({"minimum_level": 2, "maximum_level": 1}, ["attributes[0].maximum_level"]),
        ({"weight": -0.1}, ["attributes[0].weight"]),
        ({"weight": math.nan}, ["attributes[0].weight"]),
        ({"weight": math.inf}, ["attributes[0].weight"]),
        ({"weight": 1e308}, ["attributes[0].weight"]),
        ({"weight": 1e9}, []),
        ({"hierarchy": StoredLevels("")}, ["attributes[0].hierarchy.stored.name"]),
        ({"hierarchy": StoredLevels("ages", -1)}, ["attributes[0].hierarchy.stored.version"]),
        ({"hierarchy": TableLevels("", "main", "")}, ["attributes[0].hierarchy.table.table.table"]),
        ({"hierarchy": TableLevels("", "main", "h", ("a",))}, ["attributes[0].hierarchy.table.columns"]),
        ({"hierarchy": TableLevels("", "main", "h", ("a", "b", "a"))}, ["attributes[0].hierarchy.table.columns[2]"]),
        ({"hierarchy": InlineLevels(())}, ["attributes[0].hierarchy.inline.rows"]),
        (
            {"hierarchy": InlineLevels((("1", "*"), ("1", "*"), ("2", "*", "*")))},
            ["attributes[0].hierarchy.inline.rows[2]", "attributes[0].hierarchy.inline.rows[1].labels[0]"],
        ),
        ({"hierarchy": InlineLevels((("1", "*"), ("2", "+")))}, ["attributes[0].hierarchy.inline.rows[1].labels[1]"]),
        ({"hierarchy": Intervals("0", "x", ("5",))}, ["attributes[0].hierarchy.intervals.maximum"]),
        (
            {"hierarchy": Redaction(0, 1)},
            [f"attributes[0].hierarchy.redaction.{name}" for name in ("length", "alphabet_size")],
        ),
    ],
)
def test_faults_of_a_quasi_identifier(changes: dict[str, Any], expected: list[str]) -> None:
    assert fields(with_attribute(0, **changes)) == expected


@pytest.mark.parametrize("index", [2, 3, 4])
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"minimum_level": 1}, "minimum_level"),
        ({"maximum_level": 0}, "maximum_level"),
        ({"weight": 2.0}, "weight"),
        ({"nulls": NullHandling.SUPPRESS}, "nulls"),
    ],
)
def test_options_of_quasi_identifiers_mean_nothing_for_others(index: int, changes: dict[str, Any], field: str) -> None:
    assert fields(with_attribute(index, **changes)) == [f"attributes[{index}].{field}"]


@pytest.mark.parametrize(("index", "faults"), [(0, 1), (2, 1), (3, 0), (4, 0)])
def test_only_columns_released_as_they_are_are_acknowledged(index: int, faults: int) -> None:
    policy = with_attribute(index, acknowledged=True)
    assert fields(policy) == [f"attributes[{index}].acknowledged"] * faults
    # Rows with an equal value are of different people then.
    assert fields(replace(policy, person_column=None)) == []


@pytest.mark.parametrize(("index", "faults"), [(2, 1), (3, 0), (4, 1)])
def test_sensitive_columns_may_have_a_hierarchy(index: int, faults: int) -> None:
    assert fields(with_attribute(index, hierarchy=SuppressionOnly())) == [f"attributes[{index}].hierarchy"] * faults


def test_the_hierarchy_of_a_sensitive_column_is_checked() -> None:
    assert fields(with_attribute(3, hierarchy=StoredLevels(""))) == ["attributes[3].hierarchy.stored.name"]


@pytest.mark.parametrize(
    "order",
    [
        ValueOrder(OrderBy.NUMBER),
        ValueOrder(values=("mild", "", "severe")),
        ValueOrder(nulls=NullPosition.FIRST),
        ValueOrder(values=("mild", "severe"), nulls=NullPosition.LAST),
    ],
)
def test_only_sensitive_columns_have_an_order(order: ValueOrder) -> None:
    found = [fields(with_attribute(index, order=order)) for index in range(5)]
    assert found == [
        ["attributes[0].order"],
        ["attributes[1].order"],
        ["attributes[2].order"],
        [],
        ["attributes[4].order"],
    ]


def test_an_order_says_one_thing_once() -> None:
    order = ValueOrder(OrderBy.DATE, ("mild", "severe", "mild", "Mild"))
    assert fields(with_attribute(3, order=order)) == ["attributes[3].order.by", "attributes[3].order.values[2]"]


def test_all_faults_are_reported_at_once() -> None:
    policy = replace(
        with_attribute(0, hierarchy=None, weight=math.nan),
        source=TableReference("", "main", ""),
        person_column="ward",
        privacy_models=(KAnonymity(1),),
        marker_column="m",
        suppression_limit=Decimal(2),
        risk_thresholds=(Decimal(7),),
    )
    assert fields(policy) == [
        "source.table",
        "attributes[0].hierarchy",
        "attributes[0].weight",
        "attributes[4].role",
        "privacy_models[0].k_anonymity.k",
        "suppressed_records.marker_column",
        "suppression_limit",
        "risk_thresholds[0]",
    ]


def test_names_of_10_000_characters_are_cut_in_messages() -> None:
    policy = replace(SOUND, attributes=(replace(AGE, column="x" * 10_000),) * 2 + (NAME,))
    faults = validate_policy(policy)
    assert [fault.field for fault in faults] == ["attributes[0].column", "attributes[1].column"]
    assert all(len(str(fault)) < 500 for fault in faults)


@pytest.mark.parametrize(
    "model",
    [
        LossModel(factor=0.0),
        LossModel(factor=1.0, monotone=True),
        EntropyModel(normalized=True, aggregate=Aggregate.RANK, factor=0.25),
        PrecisionModel(factor=0.75),
        HeightModel(Aggregate.MAXIMUM),
        DiscernibilityModel(monotone=True),
        AverageClassSizeModel(factor=0.0),
        AmbiguityModel(),
        KLDivergenceModel(KLWeighting.PER_RECORD),
    ],
)
def test_quality_models_that_are_allowed(model: QualityModel) -> None:
    assert validate_policy(replace(SOUND, quality_model=model)) == []


@pytest.mark.parametrize("factor", [-0.01, 1.01, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (LossModel, "loss"),
        (EntropyModel, "entropy"),
        (PrecisionModel, "precision"),
        (AverageClassSizeModel, "average_class_size"),
    ],
)
def test_factors_are_shares(model: Callable[..., QualityModel], kind: str, factor: float) -> None:
    assert fields(replace(SOUND, quality_model=model(factor=factor))) == [f"quality_model.{kind}.factor"]


@pytest.mark.parametrize(
    "model", [DiscernibilityModel(), AverageClassSizeModel(), AmbiguityModel(), KLDivergenceModel()]
)
def test_weights_need_a_model_with_parts(model: QualityModel) -> None:
    policy = with_attribute(1, weight=2.0)
    assert fields(replace(policy, quality_model=model)) == ["attributes[1].weight"]
    for with_parts in (LossModel(), EntropyModel(), PrecisionModel(), HeightModel()):
        assert fields(replace(policy, quality_model=with_parts)) == []


def searched(policy: Policy, **options: Any) -> list[tuple[str, str]]:
    """The faults of a policy that is searched with the options."""
    faults = validate_policy(replace(policy, search=SearchOptions(**options)))
    return [(fault.field, fault.found) for fault in faults]


def test_levels_name_exactly_the_quasi_identifiers() -> None:
    assert searched(SOUND, levels=(("age", 1), ("sex", 0))) == []
    assert searched(SOUND, levels=(("age", 1),)) == [("search.levels", "no level for 'sex'")]
    unknown = "which is no quasi-identifier of the policy"
    assert searched(SOUND, levels=(("Age", 1), ("age", 1), ("sex", 0), ("ward", 1))) == [
        ("search.levels[Age]", f"'Age', {unknown}"),
        ("search.levels[ward]", f"'ward', {unknown}"),
    ]


def test_levels_are_within_the_columns_own_limits() -> None:
    policy = with_attribute(0, minimum_level=1, maximum_level=2)
    found = [searched(policy, levels=(("age", level), ("sex", 0))) for level in range(5)]
    assert [len(faults) for faults in found] == [1, 0, 0, 1, 1]
    assert found[0] + found[3] == [("search.levels[age]", "0"), ("search.levels[age]", "3")]
    assert searched(SOUND, levels=(("age", 1), ("sex", -1))) == [("search.levels[sex]", "-1")]


def test_linked_columns_are_quasi_identifiers_and_in_one_group() -> None:
    assert searched(SOUND, linked=(("age", "sex"),)) == []
    assert searched(SOUND, linked=((), ("age",))) == [
        ("search.linked[0].columns", "nothing"),
        ("search.linked[1].columns", "'age'"),
    ]
    assert searched(SOUND, linked=(("age", "sex", "age"), ("ward", "sex"))) == [
        ("search.linked[0].columns[2]", "'age', which is in this group already"),
        ("search.linked[1].columns[0]", "'ward', which is no quasi-identifier of the policy"),
        ("search.linked[1].columns[1]", "'sex', which is in search.linked[0] already"),
    ]


def test_linked_columns_have_a_level_in_common() -> None:
    policy = with_attribute(0, minimum_level=1)
    assert searched(policy, linked=(("age", "sex"),)) == [], "the top of sex is not known yet"
    sex = replace(SEX, maximum_level=0)
    policy = replace(policy, attributes=(policy.attributes[0], sex, *policy.attributes[2:]))
    assert searched(policy, linked=(("age", "sex"),)) == [
        ("search.linked[0]", "'age', from level 1 on, with 'sex', up to level 0")
    ]


def test_linked_columns_have_the_same_given_level() -> None:
    linked = (("sex", "age"),)
    assert searched(SOUND, levels=(("age", 1), ("sex", 1)), linked=linked) == []
    assert searched(SOUND, levels=(("age", 1), ("sex", 0)), linked=linked) == [
        ("search.linked[0]", "columns to which search.levels gives different levels: 0 for 'sex', 1 for 'age'")
    ]


def test_a_wrong_name_gets_the_nearest_one_as_hint() -> None:
    options = SearchOptions(levels=(("agee", 1), ("age", 1), ("sex", 0)), linked=(("sx", "age"),))
    hints = [fault.hint for fault in validate_policy(replace(SOUND, search=options))]
    assert hints == ["Did you mean 'age'?", "Did you mean 'sex'?"]


def test_thousands_of_wrong_names_are_no_burden() -> None:
    names = tuple(f"{'x' * 5_000}{i}" for i in range(2_000))
    policy = replace(SOUND, search=SearchOptions(levels=tuple((name, 1) for name in names), linked=(names,)))
    faults = validate_policy(policy)
    assert len(faults) == 4_001
    assert all(len(str(fault)) < 500 for fault in faults)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (LossModel(), "loss, arithmetic mean"),
        (LossModel(Aggregate.MAXIMUM, 0.25, monotone=True), "loss, maximum, factor 0.25, monotone"),
        (EntropyModel(normalized=True), "entropy, normalized, sum"),
        (HeightModel(), "height, sum"),
        (AverageClassSizeModel(1.0), "average class size, factor 1"),
        (DiscernibilityModel(), "discernibility"),
        (KLDivergenceModel(KLWeighting.PER_RECORD), "KL divergence, every record weighted"),
        (PublisherPayoutModel(Success.MARKETER), "publisher payout, marketer"),
    ],
)
def test_models_are_described_for_people(model: QualityModel, text: str) -> None:
    assert described(model) == text
