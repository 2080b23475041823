"""The operator's settings of the server, and its fixed limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tableveil.errors import Fault, InvalidError, shortened
from tableveil.loading import MOST_COLUMNS, LoadDirectory
from tableveil.serving.address import DEFAULT_ADDRESS, Listening
from tableveil.serving.tls import TlsFiles

LARGEST_MESSAGE = 16 * 2**20
"""Bytes of the largest request message; gRPC itself refuses larger ones, with RESOURCE_EXHAUSTED and this number."""

LARGE_REQUEST = 2**20
"""Bytes beyond which the requests of a principal are read and converted a few at a time."""

HEALTH_THREADS = 64
"""Threads of health checks, for which a caller needs no token: they hold none that others need."""

HEALTH_MESSAGES = 16
"""Messages of health checks that are received at once, each up to the largest, and as many answers to watchers that
wait to be taken: beyond them, the oldest gives way.
"""

HEALTH_QUEUE = 500
"""Health checks that wait for one of their threads: beyond them, checks are refused."""

HEALTH_WATCHES = 1000
"""Callers who watch the health, without a token: beyond them, the one that watches longest is let go."""

IDLE_READERS = 64
"""Connections at the address of metrics that have not asked yet: beyond them, the oldest is closed."""

MOST_CALLS = 4000
"""Calls that run or wait for a thread. A stranger's call waits for the moment that it takes to refuse it."""

STREAMS_PER_CONNECTION = 200
"""Calls that a connection has at once. gRPC's clients keep others back until one ends."""

RESERVED_THREADS = 16
"""Threads that streams never hold: for unary calls and health checks."""

FILES_FOR_CONNECTIONS = 0.5
"""The part of the files that the process may have open which connections take at most, those of strangers among them.

The rest is for the database, its spill files and the audit.
"""

CHECKS_AT_ONCE = 2
"""Checks of policies against the database, which read the whole source."""

UPLOADS_AT_ONCE = 4
"""Hierarchies that are being received, each up to the limits below."""

REPORTS_AT_ONCE = 2
"""Reports that are being made: the first of a release reads its rows, and a PDF takes seconds."""

LOADS_AT_ONCE = 4
"""Tables that are being loaded."""

MOST_HIERARCHY_ROWS = 5_000_000
LARGEST_HIERARCHY = 512 * 2**20

LARGEST_PAGE = 3 * 2**20
"""Bytes after which a page of a list ends early: clients accept 4 MiB unless told otherwise."""

STREAM_IDLE_SECONDS = 300.0
"""How long a stream waits for a client that does not read the requested data, or does not continue an upload."""

STOP_SECONDS = 7.0
"""How long a stopping server waits for running jobs.

They end within half a second unless they are being committed; supervisors may lose patience after ten.
"""

STOP_LIMIT_SECONDS = 10.0
"""The process ends after this time even if work still runs: a call that hangs in the database cannot be waited for."""

CALL_GRACE_SECONDS = 1.0
"""How long calls may go on once all jobs have ended."""

_MODE = re.compile(r"0?[67][0-7]{2}")


_COUNTS = (
    *("threads", "concurrent_jobs", "queue_limit", "stream_limit", "keep_days", "calls_per_principal"),
    *("most_columns", "streams_per_principal", "loads_per_principal", "queued_per_principal", "running_per_principal"),
)
"""The settings that are at least 1, or None."""


class LogFormat(StrEnum):
    """How the log is written: lines for people, or one JSON object a line for machines."""

    CONSOLE = "console"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """The options of `tableveil serve`.

    `memory_limit` and `spill_limit` are in DuckDB's notation ("2GiB"); None means its default, and half of the free
    disk. `threads` are the database's, None means all. `stream_limit` limits how many clients watch jobs, read objects
    or upload hierarchies at once. Each principal may make so many calls a second, hold so many streams and loads, and
    have so many jobs that wait and that run; None means that as many may run as of all principals together.

    The audit is written to the `audit_file`, None for one beside the database, and also to the address of a syslog.

    For addresses, TLS and sockets see `Listening`; `certificate_principals` are entries for `principals_of`, and
    `socket_mode` is octal. Tokens of an OpenID Connect provider are accepted by what `oidc_keys`, a file or URL, holds.

    Files may be loaded only from the `load_directories`, and backups written only to the `backup_directory`. Ended jobs
    and their results, except current releases, are deleted after `keep_days`; None keeps them. Releases into the
    schemas `needs_approval` wait until another person approves them; `*` stands for every schema. `publish` declares
    targets: see `declared_targets`; `warehouses` places of rows beside the database: see `declared_warehouses`.
    """

    database: Path
    addresses: tuple[str, ...] = (DEFAULT_ADDRESS,)
    allow_remote: bool = False
    plaintext: bool = False
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    certificate_principals: tuple[str, ...] = ()
    socket_mode: str = "0600"
    socket_group: str | None = None
    metrics_address: str | None = None
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_keys: str | None = None
    oidc_name_claim: str = "sub"
    oidc_groups_claim: str = "groups"
    memory_limit: str | None = None
    spill_limit: str | None = None
    threads: int | None = None
    concurrent_jobs: int = 2
    queue_limit: int = 1000
    stream_limit: int = 64
    calls_per_principal: int = 200
    streams_per_principal: int = 32
    loads_per_principal: int = 2
    most_columns: int = MOST_COLUMNS
    queued_per_principal: int = 500
    running_per_principal: int | None = None
    load_directories: tuple[LoadDirectory, ...] = ()
    grants: Path | None = None
    backup_directory: Path | None = None
    keep_days: int | None = None
    audit_file: Path | None = None
    audit_syslog: str | None = None
    needs_approval: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()
    warehouses: tuple[str, ...] = ()
    log_format: LogFormat = LogFormat.CONSOLE

    @property
    def listening(self) -> Listening:
        """Where the server listens."""
        tls = None
        if self.tls_certificate and self.tls_key:
            tls = TlsFiles(self.tls_certificate, self.tls_key, self.tls_client_ca)
        mode = int(self.socket_mode, 8)
        return Listening(self.addresses, self.allow_remote, self.plaintext, tls, mode, self.socket_group)

    def check(self) -> None:
        """Raises `InvalidError` with every number that is too small and options that do not fit each other."""
        faults = [*self._faults(), *self._faults_of_tls(), *self._faults_of_provider()]
        if faults:
            raise InvalidError.about("SETTINGS_INVALID", "the server cannot start with these settings", faults)

    def _faults(self) -> Iterator[Fault]:
        for name in _COUNTS:
            number: int | None = getattr(self, name)
            if number is not None and number < 1:
                yield Fault(name, str(number), "at least 1")
        for directory in self.load_directories:
            if not directory.path.is_dir():
                yield Fault("load_directories", shortened(str(directory.path)), "an existing directory")
        if not _MODE.fullmatch(self.socket_mode):
            yield Fault("socket_mode", shortened(self.socket_mode), "a mode such as 0660, by which its owner may write")

    def _faults_of_tls(self) -> Iterator[Fault]:
        if bool(self.tls_certificate) != bool(self.tls_key):
            missing, other = ("tls_key", "certificate") if self.tls_certificate else ("tls_certificate", "key")
            yield Fault(missing, "none", f"the file that belongs to the {other}")
        if self.tls_client_ca and not self.tls_certificate:
            yield Fault("tls_client_ca", "no certificate of the server", "tls_certificate and tls_key as well")
        if self.certificate_principals and not self.tls_client_ca:
            yield Fault("certificate_principal", "no authority of clients", "tls_client_ca as well")
        if self.plaintext and self.tls_certificate:
            yield Fault("plaintext", "a certificate as well", "either TLS here or TLS in a proxy")

    def _faults_of_provider(self) -> Iterator[Fault]:
        needed = ("oidc_issuer", "oidc_audience", "oidc_keys")
        missing = [name for name in needed if not getattr(self, name)]
        if len(missing) < len(needed):
            yield from (Fault(name, "none", f"all of {', '.join(needed)}, or none of them") for name in missing)
