"""The search of the lattice for the transformation that meets the policy with the least loss."""

from tableveil.search.anytime import anytime
from tableveil.search.control import Control, Stopped
from tableveil.search.exact import exact
from tableveil.search.outcome import Candidate, Infeasible, Progress, SearchOutcome
from tableveil.search.problem import Problem
from tableveil.search.strategy import search

__all__ = [
    "Candidate",
    "Control",
    "Infeasible",
    "Problem",
    "Progress",
    "SearchOutcome",
    "Stopped",
    "anytime",
    "exact",
    "search",
]
