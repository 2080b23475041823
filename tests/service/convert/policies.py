"""Random policies of the domain, with everything that a policy may say."""

from dataclasses import fields
from typing import Any

from hypothesis import strategies as st

from tableveil.hierarchy import (
    Combination,
    HierarchyDefinition,
    InlineLevels,
    SafeHarborAge,
    SafeHarborDate,
    SafeHarborZip,
    StoredLevels,
    TableLevels,
)
from tableveil.hierarchy.rules import (
    Dates,
    DateUnit,
    DayPart,
    Group,
    Grouping,
    GroupingLevel,
    Intervals,
    MaskFrom,
    OrderBased,
    OrderLabels,
    PadAt,
    Redaction,
    SimpleRule,
    SuppressionOnly,
    TimeLevel,
    TimesOfDay,
)
from tableveil.policy import (
    DEFAULT_RISK_THRESHOLDS,
    METHODS,
    NO_LIMIT,
    AbsentValues,
    Aggregate,
    AmbiguityModel,
    AttributePolicy,
    AverageClassSizeModel,
    AverageRisk,
    BetaLikeness,
    BreakEven,
    CellSizes,
    Choose,
    ClassificationModel,
    DeltaDisclosure,
    DeltaPresence,
    DiscernibilityModel,
    Distance,
    DistinctLDiversity,
    Documentation,
    EntropyEstimator,
    EntropyLDiversity,
    EntropyModel,
    EstimatedKMap,
    Game,
    Guard,
    HeightModel,
    IfExists,
    Inclusion,
    KAnonymity,
    KLDivergenceModel,
    KLWeighting,
    KMap,
    KnownFacts,
    LossModel,
    NoAttack,
    NTCloseness,
    NullHandling,
    NullPosition,
    OrderBy,
    Policy,
    Population,
    PopulationUniqueness,
    PrecisionModel,
    PrivacyModel,
    ProbabilisticLDiversity,
    Profitability,
    PublisherPayoutModel,
    QualityModel,
    RecursiveCLDiversity,
    ReleaseContext,
    ReleaseGuards,
    ReleaseKind,
    ReleaseTarget,
    Role,
    SafeHarbor,
    SampleUniqueness,
    SearchOptions,
    SensitiveShare,
    Strategy,
    Success,
    SuppressedRecords,
    TableReference,
    TCloseness,
    UniquenessEstimator,
    ValueOrder,
)
from tableveil.policy.methods.differential_privacy import DifferentialPrivacy
from tableveil.policy.methods.local_recoding import LocalRecoding
from tableveil.policy.methods.microaggregation import ClosenessAlgorithm, Clustering, Microaggregation
from tableveil.policy.methods.record_level import RecordLevel
from tableveil.policy.methods.related_tables import RELATED_TABLES

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FILLED = NAMES.filter(bool)
TEXTS = st.lists(NAMES, max_size=3).map(tuple)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
DECIMALS = st.decimals("-1e20", "1e20", places=20, allow_nan=False, allow_infinity=False)
SIMPLE_RULES: st.SearchStrategy[SimpleRule] = st.one_of(
    st.builds(Intervals, NAMES, NAMES, TEXTS, NAMES, NAMES, st.lists(TEXTS, max_size=2).map(tuple)),
    st.builds(Dates, NAMES, NAMES, st.lists(st.sampled_from(DateUnit), max_size=3).map(tuple)),
    st.builds(
        Redaction,
        INT32,
        INT32,
        st.sampled_from(MaskFrom),
        INT32.filter(bool),
        NAMES,
        FILLED,
        NAMES,
        st.none() | st.sampled_from(PadAt),
    ),
    st.just(SuppressionOnly()),
    st.builds(
        Grouping,
        st.lists(
            st.builds(GroupingLevel, st.lists(st.builds(Group, NAMES, TEXTS), max_size=2).map(tuple), NAMES), max_size=2
        ).map(tuple),
    ),
    st.builds(OrderBased, TEXTS, st.lists(INT32, max_size=2).map(tuple), st.sampled_from(OrderLabels)),
    st.builds(
        TimesOfDay,
        st.lists(
            st.builds(TimeLevel, NAMES, st.lists(st.builds(DayPart, NAMES, NAMES), max_size=2).map(tuple)), max_size=2
        ).map(tuple),
    ),
)
HIERARCHIES: st.SearchStrategy[HierarchyDefinition] = st.one_of(
    SIMPLE_RULES,
    st.builds(Combination, st.lists(TEXTS, max_size=2).map(tuple), SIMPLE_RULES),
    st.builds(InlineLevels, st.lists(TEXTS, max_size=3).map(tuple)),
    st.builds(StoredLevels, NAMES, INT32),
    st.builds(TableLevels, NAMES, FILLED, NAMES, TEXTS),
    st.builds(SafeHarborZip, NAMES, FILLED, NAMES, FILLED, FILLED),
    st.just(SafeHarborAge()),
    st.builds(SafeHarborDate, NAMES, NAMES, NAMES),
)
ATTRIBUTES = st.builds(
    AttributePolicy,
    column=NAMES,
    role=st.sampled_from(Role),
    hierarchy=st.none() | HIERARCHIES,
    minimum_level=INT32,
    maximum_level=st.none() | INT32,
    weight=st.floats(allow_nan=False),
    nulls=st.sampled_from(NullHandling),
    acknowledged=st.booleans(),
    order=st.builds(ValueOrder, st.sampled_from(OrderBy), TEXTS, st.none() | st.sampled_from(NullPosition)),
    reason=NAMES,
)
PRIVACY_MODELS: st.SearchStrategy[PrivacyModel] = st.one_of(
    st.builds(KAnonymity, INT32),
    st.builds(KMap, INT32),
    st.builds(EstimatedKMap, INT32, DECIMALS, st.sampled_from(CellSizes)),
    st.builds(DeltaPresence, DECIMALS, DECIMALS),
    st.just(Inclusion()),
    st.builds(AverageRisk, DECIMALS),
    st.builds(SampleUniqueness, DECIMALS),
    st.builds(PopulationUniqueness, DECIMALS, st.sampled_from(UniquenessEstimator)),
    st.builds(Profitability, st.sampled_from(Success), st.sampled_from(BreakEven)),
    st.builds(NoAttack, st.sampled_from(Success)),
    st.just(SafeHarbor()),
    st.builds(KnownFacts, INT32),
    st.builds(SensitiveShare, NAMES, DECIMALS, NAMES, TEXTS),
    st.builds(DistinctLDiversity, NAMES, INT32),
    st.builds(ProbabilisticLDiversity, NAMES, DECIMALS),
    st.builds(EntropyLDiversity, NAMES, DECIMALS, st.sampled_from(EntropyEstimator)),
    st.builds(RecursiveCLDiversity, NAMES, DECIMALS, INT32),
    st.builds(TCloseness, NAMES, DECIMALS, st.sampled_from(Distance)),
    st.builds(NTCloseness, NAMES, INT64, DECIMALS, st.sampled_from(Distance)),
    st.builds(DeltaDisclosure, NAMES, DECIMALS, st.sampled_from(AbsentValues)),
    st.builds(BetaLikeness, NAMES, DECIMALS, st.booleans()),
)
TABLES = st.builds(TableReference, NAMES, FILLED, NAMES)
POPULATIONS = st.builds(
    lambda rows, scale: Population(**rows, **scale),
    st.just({}) | TABLES.map(lambda table: {"table": table}) | FILLED.map(lambda column: {"subset_column": column}),
    st.just({})
    | INT64.map(lambda size: {"size": size})
    | DECIMALS.map(lambda fraction: {"sampling_fraction": fraction}),
)
FACTORS = st.floats(allow_nan=False)
AGGREGATES = st.sampled_from(Aggregate)
QUALITY_MODELS: st.SearchStrategy[QualityModel] = st.one_of(
    st.builds(LossModel, AGGREGATES, FACTORS, st.booleans()),
    st.builds(EntropyModel, st.booleans(), AGGREGATES, FACTORS, st.booleans()),
    st.builds(PrecisionModel, AGGREGATES, FACTORS, st.booleans()),
    st.builds(HeightModel, AGGREGATES),
    st.builds(DiscernibilityModel, st.booleans()),
    st.builds(AverageClassSizeModel, FACTORS, st.booleans()),
    st.builds(AmbiguityModel, st.booleans()),
    st.builds(KLDivergenceModel, st.sampled_from(KLWeighting), st.booleans()),
    st.builds(PublisherPayoutModel, st.sampled_from(Success)),
    st.builds(ClassificationModel, TEXTS, TEXTS, FACTORS, FACTORS, FACTORS),
)
SEARCHES = st.builds(
    SearchOptions,
    time_limit_seconds=st.none() | st.just(NO_LIMIT) | DECIMALS,
    seed=INT64,
    strategy=st.sampled_from(Strategy),
    levels=st.dictionaries(NAMES, INT32, max_size=3).map(lambda levels: tuple(sorted(levels.items()))),
    linked=st.lists(TEXTS, max_size=3).map(tuple),
    choose=st.sampled_from(Choose),
)
DOCUMENTATIONS = st.builds(
    Documentation,
    **dict.fromkeys((field.name for field in fields(Documentation) if field.type == "str"), NAMES),
    context=st.none() | st.sampled_from(ReleaseContext),
    risk_threshold=st.none() | DECIMALS,
)
GUARDS = st.builds(
    ReleaseGuards, INT64, st.none() | DECIMALS, TEXTS, st.lists(st.sampled_from(Guard), max_size=2).map(tuple)
)
METHOD_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "record_level": st.builds(RecordLevel, st.booleans()),
    "local_recoding": st.builds(
        LocalRecoding,
        st.dictionaries(NAMES, st.integers(1, 9), max_size=2).map(lambda most: tuple(sorted(most.items()))),
        st.none() | st.integers(1, 10**9),
    ),
    "differential_privacy": st.builds(
        DifferentialPrivacy,
        DECIMALS,
        DECIMALS,
        st.dictionaries(NAMES, st.integers(0, 9), max_size=2).map(lambda scheme: tuple(sorted(scheme.items()))),
        st.none() | DECIMALS,
        st.lists(NAMES, max_size=2).map(tuple),
        st.none() | st.integers(1, 10**9),
    ),
    "microaggregation": st.builds(
        Microaggregation, st.sampled_from(Clustering), st.sampled_from(ClosenessAlgorithm), DECIMALS
    ),
}
# Related tables share the attributes with the people: test_related.py has policies of them.
METHOD_OPTION_FIELDS = [method.field for method in METHODS if method.field and method is not RELATED_TABLES]
POLICIES = st.builds(
    Policy,
    source=TABLES,
    attributes=st.lists(ATTRIBUTES, max_size=3).map(tuple),
    person_column=st.none() | NAMES,
    privacy_models=st.lists(PRIVACY_MODELS, max_size=4).map(tuple),
    release=st.builds(
        ReleaseTarget, FILLED, NAMES, st.sampled_from(ReleaseKind), st.sampled_from(IfExists), guards=GUARDS
    ),
    source_load=st.none() | st.integers(1, 10**9),
    source_loads=st.lists(st.integers(1, 10**9), max_size=2).map(tuple),
    default_role=st.none() | st.sampled_from(Role),
    suppression_limit=DECIMALS,
    suppressed_records=st.sampled_from(SuppressedRecords),
    marker_column=NAMES,
    quality_model=QUALITY_MODELS,
    search=SEARCHES,
    risk_thresholds=st.just(DEFAULT_RISK_THRESHOLDS) | st.lists(DECIMALS, min_size=1, max_size=3).map(tuple),
    repeat_reason=NAMES,
    population=st.none() | POPULATIONS,
    game=st.none() | st.builds(Game, DECIMALS, DECIMALS, DECIMALS, DECIMALS),
    methods=st.tuples(*(st.none() | METHOD_OPTIONS[field] for field in METHOD_OPTION_FIELDS)).map(
        lambda asked: tuple(options for options in asked if options is not None)
    ),
    documentation=DOCUMENTATIONS,
)
