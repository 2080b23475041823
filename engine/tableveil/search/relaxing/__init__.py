"""Relaxing a policy that nothing meets: the requirements that conflict, and the least relaxations."""

from tableveil.search.relaxing.relax import Relaxed, UnmetPolicy, relax, relax_judged, single_changes
from tableveil.search.relaxing.requirements import Requirement
from tableveil.search.relaxing.searching import LatticeQuestions, ProblemOf, RelaxedOutcome
from tableveil.search.relaxing.unmet import Unmet, refusal, ways_of
