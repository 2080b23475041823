"""The generalization lattice: transformations, their order, and boxes of them."""

from tableveil.lattice.lattice import Axis, Lattice, Transformation
