"""The search of the lattice for the transformation that meets the policy with the least loss."""

from tableveil.search.anytime import anytime
from tableveil.search.exact import exact
from tableveil.search.infeasible import Infeasible, why_infeasible
from tableveil.search.outcome import Candidate, SearchOutcome
from tableveil.search.problem import Problem, may_be_kept
from tableveil.search.strategy import search
