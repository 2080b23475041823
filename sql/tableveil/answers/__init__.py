"""Functions that answer questions about generalized values: right, or by an interval that holds the truth."""

from tableveil.answers.macro import Macro
from tableveil.answers.macros import MACROS, WIDTH_BUCKET

SPREAD_SCHEMAS = tuple(f"tableveil_{place}" for place in range(2, 6))
"""The schemas of a published file that have the estimated table, by its name, under the other assumptions.

So SHOW TABLES has it once, and a statement is run under another assumption by the name of a schema alone.
"""
