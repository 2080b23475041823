"""Equivalence classes, the counter that the search needs, and a plain implementation in numpy."""

from tableveil.classes.between import LevelMaps
from tableveil.classes.check import Check
from tableveil.classes.counter import ClassCounter
from tableveil.classes.effort import Effort
from tableveil.classes.elements import ListedElements
from tableveil.classes.joint import (
    WITHOUT_ROW,
    EarlierClasses,
    JointCounter,
    Owners,
    agreement,
    class_of_labels,
    combinations_of,
    distinct_rows,
    put_together,
    without_release,
)
from tableveil.classes.keys import KeyLayout
from tableveil.classes.model import ClassValues, EquivalenceClasses, Marginals
from tableveil.classes.nested import NestedClasses, nest
from tableveil.classes.numpy_counter import NumpyCounter
from tableveil.classes.parts import PartCount, count_parts
from tableveil.classes.remembering import RememberingCounter
from tableveil.classes.sensitive import PersonValues, SensitiveColumn, SensitiveRows
