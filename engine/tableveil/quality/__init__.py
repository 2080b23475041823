"""Quality models: how much a transformation costs the data's usefulness."""

from tableveil.quality.aggregate import Aggregation, Score
from tableveil.quality.loss import Loss

__all__ = ["Aggregation", "Loss", "Score"]
