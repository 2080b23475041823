"""Functions that answer questions about generalized values: right, or by an interval that holds the truth."""

from tableveil.answers.macro import Macro
from tableveil.answers.macros import MACROS

__all__ = ["MACROS", "Macro"]
