"""Quality models: how much a transformation costs the data's usefulness, and bounds of that before it is counted."""

from tableveil.quality.aggregate import Aggregation, Score
from tableveil.quality.choose import quality_of
from tableveil.quality.classification import Classification, Features, Told
from tableveil.quality.loss import Loss
from tableveil.quality.model import Assessment, Evidence, QualityModel, Table

__all__ = [
    "Aggregation",
    "Assessment",
    "Classification",
    "Evidence",
    "Features",
    "Loss",
    "QualityModel",
    "Score",
    "Table",
    "Told",
    "quality_of",
]
