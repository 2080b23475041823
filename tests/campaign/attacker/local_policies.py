"""Random policies for local recoding."""

from collections.abc import Sequence
from random import Random

from tests.campaign.attacker.columns import Document, QuasiIdentifier

CLASS_LOCAL = {"k_map", "estimated_k_map"}
"""The models that look at quasi-identifiers only, and that local recoding has beside k-anonymity."""


def limited(random: Random, column: QuasiIdentifier) -> Document:
    """A weight and limits of levels, where there are to be any."""
    given: Document = {"weight": random.choice([0, 0.3, 7, 1e-9, 1e9])} if random.random() < 0.3 else {}
    if random.random() < 0.3:
        lowest, highest = sorted(random.choices(range(column.top + 1), k=2))
        given |= {"minimum_level": lowest} | random.choice([{}, {"maximum_level": highest}])
    return given


def local_policy(random: Random, columns: Sequence[QuasiIdentifier], models: Sequence[Document]) -> Document:
    """Held columns, quality model and search."""
    search: Document = random.choice([{}, {}, {"time_limit_seconds": random.choice(["0.001", "0.05", "1"])}])
    looking = {"column" in parameters for model in models for parameters in model.values()}
    if looking == {False, True} and random.random() < 0.15:
        search = {**search, "choose": "QUASI_IDENTIFIERS_ONLY"}
    kind = random.choice(["loss", "loss", "loss", "precision", "entropy"])
    options = {
        "aggregate": random.choice([*["ARITHMETIC_MEAN"] * 3, "SUM", "GEOMETRIC_MEAN", "RANK"]),
        "factor": random.choice([0, 0.2, 0.5, 0.5, 0.5, 0.9, 1]),
    }
    held = {column.name: random.randint(1, 3) for column in columns if random.random() < 0.25}
    return {"local_recoding": {"most_levels": held}, "quality_model": {kind: options}, "search": search}
