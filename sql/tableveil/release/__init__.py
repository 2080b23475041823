"""Releases: their plan, their public objects and evidence, written and marked."""

from tableveil.release.by_combination import check_one_meaning, mixed_levels
from tableveil.release.plan import ReleasePlan
