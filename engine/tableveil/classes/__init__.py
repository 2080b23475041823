"""Equivalence classes, what the search needs of whoever counts them, and a plain numpy counter."""

from tableveil.classes.between import LevelMaps
from tableveil.classes.counter import ClassCounter
from tableveil.classes.keys import KeyLayout
from tableveil.classes.model import EquivalenceClasses, Marginals
from tableveil.classes.numpy_counter import NumpyCounter

__all__ = ["ClassCounter", "EquivalenceClasses", "KeyLayout", "LevelMaps", "Marginals", "NumpyCounter"]
