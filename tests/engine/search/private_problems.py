"""Random search problems with sensitive columns and a population, under any conjunction of privacy models."""

from collections import Counter
from decimal import Decimal

import numpy as np
from hypothesis import strategies as st

from tableveil.classes import NumpyCounter, SensitiveColumn, SensitiveRows
from tableveil.hierarchy import InlineLevels, ValueKind, attribute_levels, label_values
from tableveil.policy import (
    AbsentValues,
    AverageRisk,
    BetaLikeness,
    BreakEven,
    CellSizes,
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
    NoAttack,
    NTCloseness,
    PopulationUniqueness,
    PrivacyModel,
    ProbabilisticLDiversity,
    Profitability,
    RecursiveCLDiversity,
    SampleUniqueness,
    Success,
    TCloseness,
    UniquenessEstimator,
)
from tableveil.policy import QualityModel as Named
from tableveil.privacy import privacy_of
from tableveil.quality import quality_of
from tableveil.search import Problem
from tests.engine.quality.models import EVERY_MODEL, GAMES
from tests.engine.search.problems import hierarchies, lattices

COLUMNS = ("illness", "salary")
"""Sensitive columns: the first has a hierarchy."""

POPULATION_SIZE = 40


def decimals(*texts: str) -> st.SearchStrategy[Decimal]:
    return st.sampled_from([Decimal(text) for text in texts])


COLUMN = st.sampled_from(COLUMNS)
THRESHOLDS = decimals("0", "0.05", "0.1", "0.25", "0.3", "0.5", "0.9")
DISTANCES = st.tuples(st.just(COLUMNS[0]), st.sampled_from(Distance)) | st.tuples(
    st.just(COLUMNS[1]), st.sampled_from([Distance.EQUAL, Distance.ORDERED])
)

EACH_MODEL: dict[str, st.SearchStrategy[PrivacyModel]] = {
    "k-anonymity": st.builds(KAnonymity, st.integers(2, 5)),
    "k-map": st.builds(KMap, st.integers(2, 6)),
    "estimated k-map": st.builds(EstimatedKMap, st.integers(2, 6), decimals("0.05", "0.2"), st.sampled_from(CellSizes)),
    "presence": st.builds(DeltaPresence, decimals("0", "0.1", "0.3"), decimals("0.5", "0.8", "1")),
    "inclusion": st.just(Inclusion()),
    "average risk": st.builds(AverageRisk, decimals("0.2", "0.4", "0.6")),
    "sample uniqueness": st.builds(SampleUniqueness, decimals("0", "0.1", "0.3")),
    "population uniqueness": st.builds(
        PopulationUniqueness, decimals("0", "0.05", "0.3"), st.sampled_from(UniquenessEstimator)
    ),
    "profitability": st.builds(Profitability, st.sampled_from(Success), st.sampled_from(BreakEven)),
    "no attack": st.builds(NoAttack, st.sampled_from(Success)),
    "distinct": st.builds(DistinctLDiversity, COLUMN, st.integers(2, 3)),
    "probabilistic": st.builds(ProbabilisticLDiversity, COLUMN, decimals("1.2", "1.5", "2", "3")),
    "entropy": st.builds(EntropyLDiversity, COLUMN, decimals("1.2", "2", "3"), st.sampled_from(EntropyEstimator)),
    "recursive": st.builds(RecursiveCLDiversity, COLUMN, decimals("0.5", "1", "2", "4"), st.integers(2, 3)),
    "t-closeness": st.builds(lambda of, t: TCloseness(of[0], t, of[1]), DISTANCES, THRESHOLDS),
    "(n,t)-closeness": st.builds(
        lambda of, n, t: NTCloseness(of[0], n, t, of[1]), DISTANCES, st.integers(2, 8), THRESHOLDS
    ),
    "disclosure": st.builds(DeltaDisclosure, COLUMN, decimals("0.5", "1", "2"), st.sampled_from(AbsentValues)),
    "likeness": st.builds(BetaLikeness, COLUMN, decimals("0.5", "1", "3"), st.booleans()),
}

DROPS = st.just(False)

ANY_MODELS = st.lists(st.one_of(*EACH_MODEL.values()), min_size=1, max_size=3)


@st.composite
def private_problems(
    draw: st.DrawFn,
    privacy: st.SearchStrategy[list[PrivacyModel]] = ANY_MODELS,
    models: st.SearchStrategy[Named] = EVERY_MODEL,
    most_attributes: int = 3,
    keeps: st.SearchStrategy[bool] = DROPS,
) -> Problem:
    """Few records, so that the definitions can be followed."""
    chosen = draw(st.lists(hierarchies(), min_size=1, max_size=most_attributes))
    levels = []
    for rows in chosen:
        names = [row[0] for row in rows]
        levels.append(attribute_levels(label_values(InlineLevels(rows), ValueKind.TEXT, names, names), has_null=False))
    combination = st.tuples(*(st.integers(0, len(rows) - 1) for rows in chosen))
    values = st.tuples(*(st.sampled_from([0, 0, 1, 1, 2, 3, None]) for _ in COLUMNS))
    records = draw(st.lists(st.tuples(combination, values), min_size=1, max_size=14))
    withheld = draw(st.lists(values, max_size=2))
    outside = draw(st.lists(combination, max_size=8))
    counted = Counter(of for of, _ in records)
    population = Counter([of for of, _ in records] + outside)
    rows_of = sorted(population)
    sensitive = [_column(draw, column, position, rows_of, records, withheld) for position, column in enumerate(COLUMNS)]
    counter = NumpyCounter(
        levels,
        [np.array([of[j] for of in rows_of], np.int32) for j in range(len(chosen))],
        np.array([counted[of] for of in rows_of], np.int64),
        len(withheld),
        sensitive=sensitive,
        population=np.array([population[of] for of in rows_of], np.int64),
    )
    suppressible = draw(st.sampled_from([0, len(withheld), counter.records]) | st.integers(0, counter.records))
    game = draw(GAMES)
    return Problem(
        lattice=draw(lattices([attribute.top for attribute in levels])),
        counter=counter,
        privacy=privacy_of(draw(privacy), counter, POPULATION_SIZE, game),
        quality=quality_of(draw(models), counter, [1.0] * len(levels), suppressible, game),
        suppressible=suppressible,
        keeps_suppressed=draw(keeps),
    )


Values = tuple[int | None, ...]


def _column(
    draw: st.DrawFn,
    column: str,
    position: int,
    rows: list[tuple[int, ...]],
    records: list[tuple[tuple[int, ...], Values]],
    withheld: list[Values],
) -> tuple[SensitiveColumn, SensitiveRows]:
    """A sensitive column of the records, with codes for the values that occur."""
    everything = [of[position] for _, of in records] + [of[position] for of in withheld]
    occurring: list[int | None] = [*sorted({value for value in everything if value is not None})]
    hierarchy = None
    if position == 0:
        names = [f"v{value}" for value in occurring]
        parents = {f"v{value}": ("low" if value < 2 else "high") for value in range(4)}
        listed = InlineLevels(tuple((name, parent, "*") for name, parent in parents.items()))
        labelled = label_values(listed, ValueKind.TEXT, names, names)
        hierarchy = attribute_levels(labelled, has_null=None in everything)
    if None in everything:
        occurring.append(None)
    code = {value: number for number, value in enumerate(occurring)}
    whole = Counter(everything)
    found = SensitiveColumn(
        column,
        np.array([whole[value] for value in occurring], np.int64),
        null_code=code.get(None),
        null_first=draw(st.booleans()),
        levels=hierarchy,
    )
    number = {of: row for row, of in enumerate(rows)}
    pairs = sorted(Counter((number[of], code[values[position]]) for of, values in records).items())
    spread = SensitiveRows(
        np.array([row for (row, _), _ in pairs], np.intp),
        np.array([value for (_, value), _ in pairs], np.intp),
        np.array([count for _, count in pairs], np.int64),
    )
    return found, spread
