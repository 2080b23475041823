"""Functions that answer questions about generalized values: right, or by an interval that holds the truth."""

from tableveil.answers.macro import LABEL, Macro
from tableveil.answers.macros import MACROS

__all__ = ["LABEL", "MACROS", "Macro"]
