"""Equivalence classes, what the search needs of whoever counts them, and a plain numpy counter."""

from tableveil.classes.between import LevelMaps
from tableveil.classes.check import Check
from tableveil.classes.counter import ClassCounter
from tableveil.classes.keys import KeyLayout
from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.classes.nested import NestedClasses, nest
from tableveil.classes.numpy_counter import NumpyCounter
from tableveil.classes.remembering import RememberingCounter

__all__ = [
    "Check",
    "ClassCounter",
    "EquivalenceClasses",
    "KeyLayout",
    "LevelMaps",
    "Marginals",
    "NestedClasses",
    "NumpyCounter",
    "RememberingCounter",
    "nest",
]
