"""Reads results back from the database: releases, results of jobs, hierarchies, tables."""

from tableveil.lookups.hierarchies import Hierarchies, Privacies
from tableveil.lookups.releases import Releases, Results, RiskAnalyses
from tableveil.lookups.reports import Reports
from tableveil.lookups.tables import Tables
