"""Differential privacy of true records: rows that classes lose by chance, and a transformation drawn by its gain."""

from tableveil.differential_privacy.choice import draw_transformation, eta
from tableveil.differential_privacy.drops import Below, Drops, drops
from tableveil.differential_privacy.gains import Gains, values_of
