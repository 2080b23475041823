"""Re-identification risk computed from class sizes."""

from tableveil.risk.population import population_uniqueness
from tableveil.risk.prosecutor import ClassSizes, ProsecutorRisk, prosecutor_risk

__all__ = ["ClassSizes", "ProsecutorRisk", "population_uniqueness", "prosecutor_risk"]
