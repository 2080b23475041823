"""The search of the lattice for the transformation that meets the policy with the least loss."""

from tableveil.search.control import Control, Stopped
from tableveil.search.exact import minimize
from tableveil.search.outcome import Candidate, Infeasible, Progress, SearchOutcome

__all__ = ["Candidate", "Control", "Infeasible", "Progress", "SearchOutcome", "Stopped", "minimize"]
