"""Local recoding: a partition of the records into classes, each with levels of its own, and a bound for all of them."""

from tableveil.local_recoding.costs import label_costs, parts
from tableveil.local_recoding.judge import labels_of, released_classes
from tableveil.local_recoding.problem import SUPPRESSED, LocalPartition, LocalProblem, LocalProgress
from tableveil.local_recoding.reuse import KnownClasses, Reused, reuse
from tableveil.local_recoding.solve import LARGEST_BY_CELL, recode, settle, specialize
