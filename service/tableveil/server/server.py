"""The server: database, jobs and endpoint, opened in this order and closed in the other."""

import logging
from contextlib import ExitStack

from tableveil import backend
from tableveil.access import Access, AccessRole
from tableveil.audit import Audit, audit_file
from tableveil.convert import stored_policy
from tableveil.fair_use import FairUse, Limits
from tableveil.identity import AuthenticatedBy, Principal
from tableveil.identity.first_token import PRINCIPAL, make_first_token
from tableveil.identity.secret import OwnToken
from tableveil.identity.tokens import Tokens
from tableveil.metrics import Metrics
from tableveil.operate import Finding
from tableveil.publishing.declared import declared_targets, directories_of
from tableveil.runtime import JobSettings, Matches, Publishing, QueueLimits, Retention, open_jobs
from tableveil.server.access_control import AccessControl, RolesByScope
from tableveil.server.call import UNDECLARED, declared
from tableveil.server.endpoint import ServerEndpoint
from tableveil.server.limited import LimitedCalls
from tableveil.server.metered import Meter, watch_server
from tableveil.server.recorded import RecordedCalls
from tableveil.server.services import DESCRIPTORS
from tableveil.server.stores import Identities, Running, check_identities, read_grants, stores_of
from tableveil.server.warehouses import close_warehouses, examine_warehouses, open_warehouses
from tableveil.serving.address import check_probed_address
from tableveil.serving.metrics import listen_for_metrics
from tableveil.serving.settings import CALL_GRACE_SECONDS, STOP_SECONDS, ServeSettings
from tableveil.serving.version import installed_version

logger = logging.getLogger("tableveil.server")

_OWN = Principal(PRINCIPAL, frozenset(), AuthenticatedBy.FILE, frozenset(AccessRole))
"""The caller of a server that its own process started."""


class TableveilServer:
    """A running server; close it when done."""

    def __init__(self, settings: ServeSettings, own_token: str | None = None) -> None:
        """Opens the database, ends the unfinished jobs of an earlier process, and answers calls.

        With an `own_token` it accepts no other one, and stores none.

        Raises:
            TableveilError: a setting is invalid, the database cannot be opened, or the address cannot be used.
        """
        settings.check()
        listening = settings.listening
        listening.check()
        check_identities(settings)
        if settings.metrics_address:
            check_probed_address(settings.metrics_address, "metrics_address", settings.allow_remote)
        methods = declared(DESCRIPTORS)
        self.metrics = metrics = Metrics((*methods, *UNDECLARED), installed_version())
        meter = Meter(metrics)
        targets = declared_targets(settings.publish)
        with ExitStack() as opened:
            loaded = [directory.path for directory in settings.load_directories]
            directories = (*loaded, *filter(None, (settings.backup_directory,)), *directories_of(targets.values()))
            database = backend.Database(
                backend.Settings(
                    settings.database, settings.memory_limit, settings.threads, directories, settings.spill_limit
                )
            )
            opened.callback(database.close)
            opened.callback(close_warehouses, database)
            open_warehouses(database, settings.warehouses)
            limits, approval = _queue_limits(settings), settings.needs_approval
            publishing = Publishing(database, targets, stored_policy, meter)
            jobs = open_jobs(
                *(database, JobSettings(settings.concurrent_jobs, limits, approval=approval)),
                observer=meter,
                publishing=publishing,
                policy_of=stored_policy,
            )
            opened.callback(jobs.close, STOP_SECONDS)
            retention = None if settings.keep_days is None else Retention(database, settings.keep_days)
            if retention is not None:
                opened.callback(retention.close)
            tokens = Tokens(database)
            opened.callback(tokens.close)
            identities = Identities(settings, tokens if own_token is None else OwnToken(own_token, _OWN))
            opened.callback(identities.close)
            if own_token is None and (path := make_first_token(tokens, database.path, list(AccessRole))) is not None:
                logger.info("%s has the first token, which has all roles", path)
            if suspended := tokens.suspended():
                logger.warning("%d tokens are suspended, since this is a restored database: see doctor", suspended)
            self.access = access = Access(database)
            access.follow(read_grants(settings.grants) if settings.grants else [], str(settings.grants))
            audit = Audit(settings.audit_file or audit_file(database.path), database, settings.audit_syslog)
            opened.callback(audit.close)
            matches = Matches(database, audit.record)
            opened.callback(matches.close, STOP_SECONDS)
            matches.start()
            jobs.follow(matches.look)
            running = Running(database, settings, jobs, publishing, identities, tokens, access, audit)
            stores = stores_of(running, lambda: _examined(audit, endpoint, database))
            access_control = AccessControl(
                methods,
                identities,
                RolesByScope(lambda: access.grants, tokens.standing),
                RecordedCalls(audit),
                LimitedCalls(FairUse(_limits(settings))),
                meter,
            )
            opened.callback(access_control.close)
            endpoint = ServerEndpoint(jobs, stores, access_control, listening, settings.stream_limit)
            opened.callback(endpoint.stop, 0.0)
            watch_server(metrics, database, jobs, audit, endpoint)
            self.metrics_address = None
            if settings.metrics_address:
                self.metrics_address = listen_for_metrics(settings.metrics_address, metrics, lambda: endpoint.ready)
                opened.callback(self.metrics_address.close)
            endpoint.start()
            opened.pop_all()
        self._database, self._jobs, self._retention, self._endpoint = database, jobs, retention, endpoint
        self._tokens, self._access_control, self._audit, self._matches = tokens, access_control, audit, matches
        self._identities, self.addresses = identities, endpoint.addresses
        self._replaced = False
        if settings.allow_remote:
            logger.warning("%s may be reached by other machines", ", ".join(self.addresses))

    @property
    def address(self) -> str:
        """The first of its addresses."""
        return self.addresses[0]

    def works(self) -> bool:
        """Whether the database can be used; if not, only another process on the same file helps.

        If the path names another file, this one goes on, but is not ready for work: only it still has the rows.
        """
        if self._database.replaced and not self._replaced:
            self._replaced = True
            logger.error("%s is not the file any more that is open: nothing more is written", self._database.path)
            self._endpoint.retire()
        return self._database.works()

    def close(self) -> bool:
        """Stops: reports it, ends the jobs, whose watchers see how they ended, then the calls, then the database.

        Returns whether all of them ended in time. If not, the database stays open, and only the end of the process
        closes it; what was committed is in its log.
        """
        self._endpoint.retire()
        jobs_ended = all([self._jobs.close(STOP_SECONDS), self._matches.close(STOP_SECONDS)])
        calls_ended = self._endpoint.stop(CALL_GRACE_SECONDS)
        self._access_control.close()
        self._audit.close()
        self._identities.close()
        self._tokens.close()
        if self._retention is not None:
            self._retention.close()
        # At last: a probe asks until the end whether the process lives.
        if self.metrics_address is not None:
            self.metrics_address.close()
        close_warehouses(self._database)
        if jobs_ended and calls_ended:
            self._database.close()
        else:
            self._database.sweep()
        return jobs_ended and calls_ended


def _examined(audit: Audit, endpoint: ServerEndpoint, database: backend.Database) -> list[Finding]:
    parts = [part.examine() for part in (audit, endpoint.certificates) if part is not None]
    return [*parts, *examine_warehouses(database)]


def _queue_limits(settings: ServeSettings) -> QueueLimits:
    return QueueLimits(settings.queue_limit, settings.queued_per_principal, settings.running_per_principal)


def _limits(settings: ServeSettings) -> Limits:
    return Limits(settings.calls_per_principal, settings.streams_per_principal, settings.loads_per_principal)
