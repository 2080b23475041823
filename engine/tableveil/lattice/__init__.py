"""The generalization lattice: transformations, their order, and boxes of them."""

from tableveil.lattice.lattice import Lattice, Transformation

__all__ = ["Lattice", "Transformation"]
