"""Everything that the servicers look up or start, except jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tableveil.access import Access, PrivacyBudgets, SchemaRules
from tableveil.audit import Audit
from tableveil.identity.tokens import Tokens
from tableveil.lookups import (
    Hierarchies,
    Privacies,
    Releases,
    Reports,
    Results,
    Tables,
)
from tableveil.pipelines.draft import Drafts
from tableveil.pipelines.widen import Widening
from tableveil.runtime import Loads, Publishing, Removals, Upkeep, Worksheets
from tableveil.server.readers import ReaderAnswers
from tableveil.state.kinds import JobKind


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything but jobs that a call can reach; `results` are those of jobs of each kind but releases."""

    releases: Releases
    hierarchies: Hierarchies
    privacies: Privacies
    results: Mapping[JobKind, Results[Any]]
    upkeep: Upkeep
    tables: Tables
    loads: Loads
    removals: Removals
    drafts: Drafts
    widening: Widening
    tokens: Tokens
    access: Access
    rules: SchemaRules
    budgets: PrivacyBudgets
    audit: Audit
    readers: ReaderAnswers
    publishing: Publishing
    reports: Reports
    worksheets: Worksheets
