"""Policies: the requests of users, and the checks that need no data."""

from tableveil.policy.aggregation import AggregateFunction, Aggregation, Scale
from tableveil.policy.documentation import Documentation, ReleaseContext
from tableveil.policy.game import BreakEven, Game, Success
from tableveil.policy.guards import Guard, ReleaseGuards
from tableveil.policy.methods import METHODS, Analysis, MethodTraits, Recoded, methods_of
from tableveil.policy.model import (
    AROUND_ELEMENTS,
    DEFAULT_RISK_THRESHOLDS,
    NO_LIMIT,
    AttributePolicy,
    Choose,
    Elements,
    IfExists,
    LeftBehind,
    NullHandling,
    NullPosition,
    OrderBy,
    Policy,
    Population,
    ReleaseKind,
    ReleaseTarget,
    Role,
    SearchOptions,
    Strategy,
    SuppressedRecords,
    TableReference,
    ValueOrder,
)
from tableveil.policy.parts import JobPart
from tableveil.policy.privacy import (
    PRIVACY_FIELDS,
    AbsentValues,
    AverageRisk,
    BetaLikeness,
    CellSizes,
    DeltaDisclosure,
    DeltaPresence,
    Distance,
    DistinctLDiversity,
    Dominance,
    EntropyEstimator,
    EntropyLDiversity,
    EstimatedKMap,
    Inclusion,
    KAnonymity,
    KMap,
    KnownFacts,
    NoAttack,
    NTCloseness,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    Profitability,
    RecursiveCLDiversity,
    SafeHarbor,
    SampleUniqueness,
    SensitiveModel,
    SensitiveShare,
    TCloseness,
    UniquenessEstimator,
)
from tableveil.policy.quality import (
    BALANCED,
    Aggregate,
    AmbiguityModel,
    AverageClassSizeModel,
    ClassificationModel,
    DiscernibilityModel,
    EntropyModel,
    HeightModel,
    KLDivergenceModel,
    KLWeighting,
    LossModel,
    PrecisionModel,
    PublisherPayoutModel,
    QualityModel,
    described,
)
from tableveil.policy.related import Anchor, EventTable, Orphans, RelatedTables, RelativeTime
from tableveil.policy.validate import validate_policy
from tableveil.policy.validate_attributes import check_hierarchy
from tableveil.policy.validate_classification import check_classified_columns
from tableveil.policy.validate_search import check_common_level, level_field
from tableveil.policy.warnings import early_warnings, looking_at_values, notes_of_next, policy_warnings
