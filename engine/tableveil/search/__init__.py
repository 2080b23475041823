"""The search of the lattice for the transformation that meets the policy with the least loss."""

from tableveil.search.anytime import anytime
from tableveil.search.findings import Infeasible, why_infeasible
from tableveil.search.outcome import Candidate, Problem, SearchOutcome, may_be_kept
from tableveil.search.proving import exact
from tableveil.search.strategy import search
