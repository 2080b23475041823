"""Section: the cost of a further privacy model per check, beside k-anonymity alone."""

import time
from decimal import Decimal
from pathlib import Path
from statistics import median

from benchmarks.markdown import seconds, table, times
from benchmarks.models import Models
from benchmarks.search.in_memory import problem_of
from benchmarks.section import Section, verdict
from tableveil.control import Control
from tableveil.policy import (
    AbsentValues,
    Aggregate,
    AverageRisk,
    BetaLikeness,
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
    LossModel,
    NTCloseness,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    RecursiveCLDiversity,
    SampleUniqueness,
    SensitiveModel,
    TCloseness,
)
from tableveil.search import SearchOutcome, exact

TITLE = "Privacy models: what a check costs"

DATASET = "adult"
QUASI_IDENTIFIERS = ("age", "education", "marital-status", "native-country", "race", "salary-class", "sex", "workclass")
SENSITIVE = "occupation"

K = KAnonymity(5)
LIMIT = Decimal("0.05")
SAMPLING_FRACTION = Decimal("0.1")

FURTHER: tuple[PrivacyModel, ...] = (
    DistinctLDiversity(SENSITIVE, 3),
    ProbabilisticLDiversity(SENSITIVE, Decimal(2)),
    EntropyLDiversity(SENSITIVE, Decimal(3)),
    EntropyLDiversity(SENSITIVE, Decimal(3), EntropyEstimator.GRASSBERGER),
    RecursiveCLDiversity(SENSITIVE, Decimal(4), 3),
    *(TCloseness(SENSITIVE, Decimal("0.3"), distance) for distance in Distance),
    *(NTCloseness(SENSITIVE, 1000, Decimal("0.3"), distance) for distance in Distance),
    DeltaDisclosure(SENSITIVE, Decimal(3)),
    DeltaDisclosure(SENSITIVE, Decimal(3), AbsentValues.IGNORE),
    BetaLikeness(SENSITIVE, Decimal(3)),
    BetaLikeness(SENSITIVE, Decimal(3), enhanced=True),
    KMap(10),
    EstimatedKMap(10, Decimal("0.05")),
    DeltaPresence(Decimal("0.05"), Decimal(1)),
    Inclusion(),
    AverageRisk(Decimal("0.01")),
    SampleUniqueness(Decimal("0.01")),
    PopulationUniqueness(Decimal("0.01")),
)

WITH_ROWS = KMap | DeltaPresence | Inclusion
"""Models that count the rows of the population: the table itself here."""

ROUNDS = 5
SECONDS = 20.0
"""The time for a model's searches: when it is spent, there is no further round."""

MOST = 2.0


def per_check(shared: Path) -> Section:
    """Searches with k-anonymity alone and with each further model in turn; says so if there is no data."""
    data = shared / "data"
    if not data.is_dir():
        return Section(TITLE, (f"Skipped: there is no `{data}`.",))
    return Section(
        TITLE,
        (
            f"{DATASET}, {len(QUASI_IDENTIFIERS)} quasi-identifiers, {K} and one further model, limit 5 %, loss, "
            "geometric mean, in numpy. The population whose rows are counted is the table itself; that of estimates is "
            f"{1 / SAMPLING_FRACTION:.0f} times as large. CPU milliseconds of a search over its checks, beside {K} "
            f"alone, which is searched in turn with it; medians of up to {ROUNDS}, of the ratio too.",
            table(
                ("further model", "checks", f"of {K}", "search s", "ms a check", f"of {K}", "ratio", "goal", ""),
                (_row(data, model) for model in FURTHER),
            ),
        ),
    )


def _row(data: Path, model: PrivacyModel) -> list[str]:
    alone: list[SearchOutcome] = []
    both: list[SearchOutcome] = []
    while len(both) < ROUNDS and sum(search.seconds for search in both) < SECONDS:
        alone.append(_search(data, (K,)))
        both.append(_search(data, (K, model)))
    # Runs next to each other in time are compared: other processes slow both.
    ratio = median(_cost(further) / _cost(base) for further, base in zip(both, alone, strict=True))
    return [
        str(model) if both[0].best is not None else f"{model}: infeasible",
        f"{both[0].checked:,}",
        f"{alone[0].checked:,}",
        seconds(median(search.seconds for search in both)),
        f"{1000 * median(map(_cost, both)):.2f}",
        f"{1000 * median(map(_cost, alone)):.2f}",
        f"{ratio:.2f} x",
        f"at most {times(MOST)}",
        verdict(ratio <= MOST),
    ]


def _search(data: Path, privacy: tuple[PrivacyModel, ...]) -> SearchOutcome:
    models = Models(
        privacy,
        LossModel(Aggregate.GEOMETRIC_MEAN),
        LIMIT,
        sensitive=(SENSITIVE,) if any(isinstance(model, SensitiveModel) for model in privacy) else (),
        every=1 if any(isinstance(model, WITH_ROWS) for model in privacy) else None,
        sampling_fraction=SAMPLING_FRACTION,
    )
    problem = problem_of(data, DATASET, QUASI_IDENTIFIERS, models)
    return exact(problem, Control(time.process_time))


def _cost(outcome: SearchOutcome) -> float:
    return outcome.seconds / outcome.checked
