"""Quality models: how much a transformation costs the data's usefulness, and bounds of that before it is counted."""

from tableveil.quality.choose import quality_of
from tableveil.quality.classification import ClassColumn, ClassificationQuality, Features
from tableveil.quality.loss import Loss
from tableveil.quality.model import AssessedTransformation, BoundEvidence, QualityModel, Score, WeightedAggregate
