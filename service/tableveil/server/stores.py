"""Everything that servicers look up or start, except jobs; who callers are, and what the file of grants gives them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tableveil.access import Access, AccessRole, PrivacyBudgets, SchemaRules, WantedGrant, visibility
from tableveil.audit import Audit
from tableveil.backend import Database, seeing
from tableveil.convert.grants import wanted_from_proto
from tableveil.document.read import read_message
from tableveil.errors import Fault, InvalidError, shortened
from tableveil.identity import Authenticator, Credentials, Principal
from tableveil.identity.by_credential import ByCredential
from tableveil.identity.json_web_keys import KeySet, source_of_keys
from tableveil.identity.json_web_tokens import JsonWebTokens, Provider
from tableveil.identity.principal import ClientCertificates, principals_of
from tableveil.identity.tokens import Tokens
from tableveil.lookups import Hierarchies, Privacies, Releases, Reports, Results, RiskAnalyses, Tables
from tableveil.operate import Finding
from tableveil.pipelines.draft import Drafts
from tableveil.pipelines.widen import Widening
from tableveil.runtime import AnsweredRequests, JobManager, Loads, Publishing, Removals, Upkeep, Worksheets
from tableveil.serving.settings import ServeSettings
from tableveil.state.jobs import JobKind
from tableveil.state.release_objects import PublicRelease, public_releases
from tableveil.v1 import access_service_pb2 as v1


class Identities:
    """Tokens, JSON Web Tokens of a provider, and client certificates. It is an `Authenticator`; close it when done."""

    def __init__(self, settings: ServeSettings, tokens: Authenticator) -> None:
        """Reads the provider's keys for the first time, if there is one; `check_identities` was passed."""
        principals = principals_of(settings.certificate_principals)
        self._keys = KeySet(*source_of_keys(settings.oidc_keys)) if settings.oidc_keys else None
        provider = Provider(
            settings.oidc_issuer or "",
            settings.oidc_audience or "",
            settings.oidc_name_claim,
            settings.oidc_groups_claim,
        )
        self._by_credential = ByCredential(
            tokens,
            JsonWebTokens(provider, self._keys) if self._keys else None,
            ClientCertificates(principals) if principals else None,
        )

    def authenticate(self, credentials: Credentials) -> Principal:
        """The principal; see `Authenticator`."""
        return self._by_credential.authenticate(credentials)

    def close(self) -> None:
        """Reads keys no more."""
        if self._keys:
            self._keys.close()


def check_identities(settings: ServeSettings) -> None:
    """Raises `InvalidError` for a mapping of certificates, or a place of keys, that cannot work."""
    principals_of(settings.certificate_principals)
    if settings.oidc_keys:
        source_of_keys(settings.oidc_keys)


READING_ROLES = frozenset({AccessRole.STEWARD, AccessRole.APPROVER, AccessRole.ANALYST})
"""The roles that let a caller read the public objects of releases, as those of ReleaseService.ReadObject do."""


class ReaderAnswers:
    """Answers endpoints about their callers. May be used from any thread."""

    def __init__(self, authenticator: Authenticator, access: Access, database: Database) -> None:
        self._authenticator = authenticator
        self._access = access
        self._database = database

    def readable(self, credentials: Credentials) -> tuple[Principal, list[PublicRelease]]:
        """The principal of the credentials, and the releases that it may read, withdrawn ones included.

        Raises `Unauthenticated`.
        """
        principal = self._authenticator.authenticate(credentials)
        seen = visibility(self._access.grants, principal, READING_ROLES)
        with seeing(lambda: seen), self._database.ledger() as ledger:
            return principal, public_releases(ledger)


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


def read_grants(path: Path) -> list[WantedGrant]:
    """The grants in a YAML file.

    Raises:
        InvalidError: it cannot be read, or with all of its faults.
    """
    rules, wanted = v1.GrantRules(), []
    try:
        faults = read_message(rules, path.read_bytes(), "yaml", "a file of grants'")
    except OSError as error:
        faults = [Fault("grants", f"{shortened(str(path))}, which cannot be read: {error.strerror}", "a readable file")]
    for i, rule in enumerate(rules.grants if not faults else ()):
        try:
            wanted.append(wanted_from_proto(rule))
        except InvalidError as error:
            faults += [replace(fault, field=f"grants[{i}].{fault.field}") for fault in error.faults]
    if faults:
        raise InvalidError.about("GRANTS_INVALID", f"the grants in {shortened(str(path))} are invalid", faults)
    return wanted
