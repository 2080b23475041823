"""Everything that the servicers look up or start, except jobs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tableveil.access import Access, PrivacyBudgets, SchemaRules
from tableveil.audit import Audit
from tableveil.backend import Database
from tableveil.identity.tokens import Tokens
from tableveil.lookups import Hierarchies, Privacies, Releases, Reports, Results, RiskAnalyses, Tables
from tableveil.operate import Finding
from tableveil.pipelines.draft import Drafts
from tableveil.pipelines.widen import Widening
from tableveil.runtime import AnsweredRequests, JobManager, Loads, Publishing, Removals, Upkeep, Worksheets
from tableveil.server.identities import Identities
from tableveil.server.readers import ReaderAnswers
from tableveil.serving.settings import ServeSettings
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
    answered: AnsweredRequests


@dataclass(frozen=True, slots=True)
class Running:
    """The running parts of a server, which are opened in an order and closed in the other: stores are made of them."""

    database: Database
    settings: ServeSettings
    jobs: JobManager
    publishing: Publishing
    identities: Identities
    tokens: Tokens
    access: Access
    audit: Audit


def stores_of(running: Running, examine: Callable[[], list[Finding]]) -> Stores:
    """All that calls can reach; `examine` has the server's own findings, for the doctor."""
    database, settings, jobs, access = running.database, running.settings, running.jobs, running.access
    results: dict[JobKind, Results[Any]] = {
        kind: Results(database, kind) for kind in JobKind if kind is not JobKind.RELEASE
    }
    results[JobKind.RISK_ANALYSIS] = RiskAnalyses(database)
    return Stores(
        releases=(releases := Releases(database)),
        hierarchies=Hierarchies(database),
        privacies=Privacies(database),
        results=results,
        upkeep=Upkeep(database, settings.backup_directory, jobs.at_work, examine),
        tables=Tables(database),
        loads=Loads(database, jobs, settings.load_directories, settings.most_columns),
        removals=Removals(database, jobs),
        drafts=Drafts(database),
        widening=Widening(database),
        tokens=running.tokens,
        access=access,
        rules=SchemaRules(database, access),
        budgets=PrivacyBudgets(database),
        audit=running.audit,
        readers=ReaderAnswers(running.identities, access, database),
        publishing=running.publishing,
        reports=Reports(database, releases),
        worksheets=Worksheets(database),
        answered=AnsweredRequests(database),
    )
