"""Equivalence classes, the counter that the search needs, and a plain implementation in numpy."""

from tableveil.classes.check import Check
from tableveil.classes.counter import ClassCounter
from tableveil.classes.delegating import Effort, RememberingCounter
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
from tableveil.classes.model import ClassValues, EquivalenceClasses, LevelMaps, Marginals, NestedClasses, nest
from tableveil.classes.numpy_counter import NumpyCounter, PartCount, count_parts
from tableveil.classes.sensitive import ListedElements, PersonValues, SensitiveColumn, SensitiveRows
