"""What to ask less of a policy that nothing meets: the requirements that conflict, and the least relaxations."""

from tableveil.search.relaxing.relax import Relaxed, relax
from tableveil.search.relaxing.requirements import Requirement
from tableveil.search.relaxing.searching import ProblemOf

__all__ = ["ProblemOf", "Relaxed", "Requirement", "relax"]
