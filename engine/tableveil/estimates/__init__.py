"""Draws one value per generalized cell, by assumptions about what lies under labels, from released rows alone."""

from tableveil.estimates.estimate import ASSUMPTIONS, MOST_FITTED, Assumption, Estimator, Rows, TextLabels, unseen
from tableveil.estimates.line import NumberLine, RangeLabels, Shape
from tableveil.estimates.regression import Levels
