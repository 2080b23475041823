"""Re-identification risk computed from class sizes."""

from tableveil.risk.prosecutor import ClassSizes, ProsecutorRisk, prosecutor_risk

__all__ = ["ClassSizes", "ProsecutorRisk", "prosecutor_risk"]
